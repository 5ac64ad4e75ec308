/* A map of topics and documents, and a heatmap of the topics' similarity beside it. */

const map = { color: "topic" };

function drawMap(root) {
  const place = div(null);
  const chosen = pick("Colour documents by", mapColors(), map.color, (value) => {
    map.color = value;
    announce("map");
  });
  root.replaceChildren(div("tools", chosen), place);
  panel(place, ["map", "topic", "labels", "theme"], (at) =>
    at.replaceChildren(div("two even", mapFigure(), similarityFigure())),
  );
}

function mapColors() {
  const outcomes = app.data.outcomes.flatMap(({ name }, i) => [
    [`y${i}`, `${cut(name, 40)}: true`],
    [`p${i}`, `${cut(name, 40)}: predicted`],
    [`e${i}`, `${cut(name, 40)}: error`],
  ]);
  return [["topic", "largest topic"], ...outcomes, ...app.data.metadata.map(({ name }, i) => [`m${i}`, cut(name, 60)])];
}

/* {color(d), note}: how documents are coloured. */
function documentColors() {
  const kind = map.color[0];
  const i = Number(map.color.slice(1));
  const palette = topicColors();
  const colorAt = (code) => palette[code % palette.length];
  if (map.color === "topic") {
    return {
      color: (d) => colorAt(largest(row(app.data.arrays.shares, d))),
      note: "Each document has the colour of its largest topic.",
    };
  }
  const classes =
    (kind === "y" || kind === "p") && app.data.outcomes[i].kind !== "number"
      ? app.data.outcomes[i].classes
      : kind === "m" && app.data.metadata[i].kind === "category"
        ? app.data.metadata[i].categories
        : null;
  const value = {
    y: (d) => app.data.arrays[`y_${i}`].data[d],
    p: (d) => (classes ? app.data.arrays[`decided_${i}`].data[d] : app.data.arrays[`predicted_${i}`].data[d]),
    e: (d) => errorOf(i, d),
    m: (d) => app.data.arrays[`metadata_${i}`].data[d],
  }[kind];
  const none = paint("zero");
  if (classes) {
    return { color: (d) => (Number.isNaN(value(d)) ? none : colorAt(value(d))), note: "", legend: classes };
  }
  const all = Array.from({ length: nDocuments() }, (_, d) => value(d))
    .filter((v) => !Number.isNaN(v))
    .sort((a, b) => a - b);
  const [low, high] = [all[Math.floor(0.02 * all.length)], all[Math.max(0, Math.ceil(0.98 * all.length) - 1)]];
  if (kind === "e") {
    const most = Math.max(Math.abs(low), Math.abs(high), 1e-12);
    const shade = shades((part) => diverging(2 * part - 1));
    const part = (v) => 0.5 + 0.075 * Math.sign(v) + (0.425 * v) / most;
    return {
      color: (d) => (Number.isNaN(value(d)) ? none : shade(part(value(d)))),
      note: "Blue: predicted too high (or wrong). Orange: too low.",
    };
  }
  const [from, to] = [paint("down"), paint("up")];
  const shade = shades((part) => blend(from, to, part));
  return {
    color: (d) => (Number.isNaN(value(d)) ? none : shade((value(d) - low) / (high - low || 1))),
    note: `From orange (${number(low)}) to blue (${number(high)}).`,
  };
}

/* A function from parts (0 to 1) to colours, of which 201 are made. */
function shades(color) {
  const found = Array.from({ length: 201 }, (_, i) => color(i / 200));
  return (part) => found[Math.round(200 * Math.max(0, Math.min(1, part)))];
}

/* Where topics lie on a drawing of some width, how large they are, and where documents lie among them.
 * Topics that would cover each other are pushed apart; a document lies nearer to the topics it has most of.
 */
function mapLayout(width) {
  app.layouts ??= new Map();
  if (!app.layouts.has(width)) {
    const { data: places } = app.data.arrays.places;
    const size = Math.min(width, 620);
    const topics = Array.from({ length: nTopics() }, (_, k) => k);
    const ends = [0, 1].map((axis) => range(topics.map((k) => places[2 * k + axis])));
    const x = scale(...ends[0], 50, width - 50);
    const y = scale(...ends[1], size - 40, 30);
    const biggest = Math.max(...meanShares(), 1e-9);
    const most = Math.min(19, 0.32 * Math.sqrt((width * size) / nTopics()));
    const circles = topics.map((k) => ({
      k,
      cx: x(places[2 * k]),
      cy: y(places[2 * k + 1]),
      r: most * (0.35 + 0.65 * Math.sqrt(meanShares()[k] / biggest)),
    }));
    pushApart(circles, width, size);
    app.layouts.set(width, { circles, size, points: documentPoints(circles) });
  }
  return app.layouts.get(width);
}

function pushApart(circles, width, height) {
  for (let turn = 0; turn < 300; turn++) {
    let moved = false;
    for (let i = 0; i < circles.length; i++) {
      for (let j = i + 1; j < circles.length; j++) {
        const a = circles[i];
        const b = circles[j];
        const dx = b.cx - a.cx || 0.01 * (b.k - a.k);
        const dy = b.cy - a.cy;
        const reach = a.r + b.r + 3;
        if (Math.abs(dx) > reach || Math.abs(dy) > reach) continue;
        const distance = Math.sqrt(dx * dx + dy * dy);
        const missing = (reach - distance) / 2;
        if (missing <= 0.01) continue;
        moved = true;
        const step = missing / distance;
        a.cx -= step * dx;
        a.cy -= step * dy;
        b.cx += step * dx;
        b.cy += step * dy;
      }
    }
    for (const one of circles) {
      one.cx = Math.max(one.r + 2, Math.min(width - one.r - 2, one.cx));
      one.cy = Math.max(one.r + 2, Math.min(height - one.r - 2, one.cy));
    }
    if (!moved) return;
  }
}

/* (D, 2) places of documents: the mean of the topics' places, weighted by their shares squared. */
function documentPoints(circles) {
  const { data, shape } = app.data.arrays.shares;
  const found = new Float64Array(2 * shape[0]);
  for (let d = 0, i = 0; d < shape[0]; d++) {
    let [total, x, y] = [1e-12, 0, 0];
    for (let k = 0; k < shape[1]; k++, i++) {
      const weight = data[i] * data[i];
      total += weight;
      x += weight * circles[k].cx;
      y += weight * circles[k].cy;
    }
    found[2 * d] = x / total;
    found[2 * d + 1] = y / total;
  }
  return found;
}

/* Names {k, x, y, text}, the largest topics first: below, above or beside a circle, where nothing else stands. */
function placeNames(circles, width, height) {
  const taken = circles.map(({ cx, cy, r }) => [cx - r, cy - r, cx + r, cy + r]);
  const free = ([x0, y0, x1, y1]) =>
    x0 >= 0 &&
    x1 <= width &&
    y0 >= 0 &&
    y1 <= height &&
    !taken.some(([a, b, c, d]) => x0 < c && a < x1 && y0 < d && b < y1);
  return bestPlaces(Float64Array.from(meanShares()), nTopics()).flatMap((k) => {
    const { cx, cy, r } = circles[k];
    const text = fitText(r < 9 ? `${k} ${topicName(k, 2)}` : topicName(k, 2), 130, 11);
    const half = textWidth(text, 11) / 2 + 1;
    const ways = [
      [cx, cy + r + 12],
      [cx, cy - r - 4],
      [cx + r + half + 3, cy + 4],
      [cx - r - half - 3, cy + 4],
    ];
    for (const [x, y] of ways) {
      const place = [x - half, y - 10, x + half, y + 3];
      if (!free(place)) continue;
      taken.push(place);
      return [{ k, x, y, text }];
    }
    return [];
  });
}

function mapFigure() {
  const colors = documentColors();
  const documents = Array.from({ length: nDocuments() }, (_, d) => d);
  const draw = (width) => {
    const { circles, size, points } = mapLayout(width);
    const dots = documents.map((d) => [points[2 * d], points[2 * d + 1], colors.color(d)]);
    const marks = circles.map(({ k, cx, cy, r }) => {
      const ring = { fill: paint("surface"), "fill-opacity": 0.75, stroke: topicColor(k) };
      const spoken = `${topicTitle(k)}, ${topicName(k)}`;
      const open = (event) => {
        event.stopPropagation();
        go("topics", k);
      };
      return pressable(
        spoken,
        open,
        { "data-topic": k },
        circle(cx, cy, r, { ...ring, "stroke-width": app.topic === k ? 4 : 2 }),
        r < 9 ? null : label(cx, cy + 4, String(k), { "text-anchor": "middle", "font-size": 11, "font-weight": 600 }),
        svg("title", {}, `${k} ${topicName(k, 6)}`),
      );
    });
    const halo = { stroke: paint("surface"), "stroke-width": 3, "paint-order": "stroke", "pointer-events": "none" };
    const style = { "text-anchor": "middle", "font-size": 11, ...halo };
    const names = placeNames(circles, width, size).map(({ x, y, text }) => label(x, y, text, style));
    const small = nDocuments() > 5000;
    return {
      parts: [pointImage(dots, width, size, small ? 1.3 : 2.4, small ? 0.35 : 0.55), ...marks, ...names],
      height: size,
    };
  };
  const made = figure(
    "map",
    "Map of topics and documents",
    "Topics with similar words lie near each other, as far as a plane allows. Documents lie among their topics. " +
      `${colors.note || ""} Point at a topic without a name to read it.`,
    draw,
    () => {
      const { points } = mapLayout(600);
      return [["row", "x", "y"], ...documents.map((d) => [d, points[2 * d], points[2 * d + 1]])];
    },
    { role: "group" },
  );
  openNearest(made, (width) => {
    const { points } = mapLayout(width);
    return documents.map((d) => [points[2 * d], points[2 * d + 1], d]);
  });
  const entry = (name, code) => el("span", {}, swatch(code), said(cut(name, 30)));
  if (colors.legend) made.append(div("legend", colors.legend.slice(0, 24).map(entry)));
  return made;
}

function similarityFigure() {
  const { order } = app.data;
  const distance = app.data.arrays.divergence;
  const draw = (width) => {
    const left = Math.round(Math.min(190, width * 0.36));
    const cell = (width - left - 4) / order.length;
    const high = Math.max(cell, order.length > 40 ? 0 : 14);
    const canvas = el("canvas", { width: order.length, height: order.length });
    const pen = canvas.getContext("2d");
    const shade = shades((like) => sequential(like ** 1.5));
    order.forEach((a, i) =>
      order.forEach((b, j) => {
        pen.fillStyle = shade(1 - row(distance, a)[b] / 255);
        pen.fillRect(j, i, 1, 1);
      }),
    );
    const size = high * order.length;
    const every = Math.max(1, Math.ceil(11 / high));
    const names = order.map((k, i) => {
      const name = fitText(`${k}  ${topicName(k)}`, left - 10, 11);
      const style = { "text-anchor": "end", "font-size": 11 };
      return i % every ? null : label(left - 6, Math.max((i + 0.5) * high + 4, 10), name, style);
    });
    const shape = { x: left, y: 0, width: cell * order.length, height: size, preserveAspectRatio: "none" };
    const picture = svg("image", { href: canvas.toDataURL(), ...shape, style: "image-rendering: pixelated" });
    const key = likenessBar(left, size + 12, Math.min(40, (width - left) / 6));
    return { parts: [picture, ...names, key], height: size + 44 };
  };
  return figure(
    "similarity",
    "How similar topics are",
    "Similar topics stand side by side. A map can mislead; this picture loses nothing.",
    draw,
    () => [["topic", ...order], ...order.map((a) => [a, ...order.map((b) => number(1 - row(distance, a)[b] / 255))])],
  );
}

function likenessBar(x, y, width) {
  const muted = { "font-size": 10, fill: paint("muted") };
  const steps = [0, 0.2, 0.4, 0.6, 0.8, 1].map((like, i) => box(x + i * width, y, width, 10, sequential(like ** 1.5)));
  const ends = [
    label(x, y + 24, "other words", muted),
    label(x + 6 * width, y + 24, "the same words", { ...muted, "text-anchor": "end" }),
  ];
  return group(...steps, ...ends);
}
