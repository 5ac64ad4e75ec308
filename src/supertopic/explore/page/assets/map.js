/* A map of topics and documents, and a heatmap of the topics' similarity beside it. */

const map = { color: "topic" };

function drawMap(root) {
  const chosen = pick("Colour documents by", mapColors(), map.color, (value) => {
    map.color = value;
    announce("map");
  });
  const draw = (place) => put(place, div("two even", mapFigure(), similarityFigure()));
  put(root, div("tools", chosen), panel(div(null), ["map", "topic", "labels", "theme"], draw));
}

function mapColors() {
  const sides = Object.entries({ y: "true", p: "predicted", e: "error" });
  const outcomes = app.data.outcomes.flatMap(({ name }, i) =>
    sides.map(([kind, side]) => [`${kind}${i}`, `${cut(name, 40)}: ${side}`]),
  );
  return [["topic", "largest topic"], ...outcomes, ...app.data.metadata.map(({ name }, i) => [`m${i}`, cut(name, 60)])];
}

/* {color(d), note}: how documents are coloured. */
function documentColors() {
  const { outcomes, metadata, arrays } = app.data;
  const [kind, i] = [map.color[0], Number(map.color.slice(1))];
  const palette = topicColors();
  const colorAt = (code) => palette[code % palette.length];
  if (map.color === "topic") {
    const color = (d) => colorAt(largest(row(arrays.shares, d)));
    return { color, note: "Each document has the colour of its largest topic." };
  }
  const ofKind = kind === "m" ? metadata[i].categories : kind === "e" ? [] : outcomes[i].classes;
  const legend = ofKind?.length ? ofKind : null;
  const name = { y: "y", p: legend ? "decided" : "predicted", m: "metadata" }[kind];
  const value = (d) => (kind === "e" ? errorOf(i, d) : arrays[`${name}_${i}`].data[d]);
  const none = paint("zero");
  const known = (color) => (d) => (isKnown(value(d)) ? color(value(d)) : none);
  if (legend) return { color: known(colorAt), note: "", legend };
  const all = upTo(nDocuments()).map(value).filter(isKnown);
  all.sort((a, b) => a - b);
  const [low, high] = [all[Math.floor(0.02 * all.length)], all[Math.max(0, Math.ceil(0.98 * all.length) - 1)]];
  if (kind === "e") {
    const most = Math.max(Math.abs(low), Math.abs(high), 1e-12);
    const shade = shades((part) => diverging(2 * part - 1));
    const color = known((v) => shade(0.5 + 0.075 * Math.sign(v) + (0.425 * v) / most));
    return { color, note: "Blue: predicted too high (or wrong). Orange: too low." };
  }
  const [from, to] = [paint("down"), paint("up")];
  const shade = shades((part) => blend(from, to, part));
  const color = known((v) => shade((v - low) / (high - low || 1)));
  return { color, note: `From orange (${number(low)}) to blue (${number(high)}).` };
}

/* A function from parts (0 to 1) to colours, of which 201 are made. */
function shades(color) {
  const found = upTo(201).map((i) => color(i / 200));
  return (part) => found[Math.round(200 * clamp(part, 0, 1))];
}

/* Where topics lie on a drawing of some width, how large they are, and where documents lie among them.
 * Topics that would cover each other are pushed apart; a document lies nearer to the topics it has most of. */
function mapLayout(width) {
  app.layouts ??= new Map();
  if (!app.layouts.has(width)) {
    const { data: places } = app.data.arrays.places;
    const size = Math.min(width, 620);
    const topics = upTo(nTopics());
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
        const [a, b] = [circles[i], circles[j]];
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
      one.cx = clamp(one.cx, one.r + 2, width - one.r - 2);
      one.cy = clamp(one.cy, one.r + 2, height - one.r - 2);
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

/* Names {x, y, text}, the largest topics first: below, above or beside a circle, where nothing else stands. */
function placeNames(circles, width, height) {
  const taken = circles.map(({ cx, cy, r }) => [cx - r, cy - r, cx + r, cy + r]);
  const inside = ([x0, y0, x1, y1]) => x0 >= 0 && x1 <= width && y0 >= 0 && y1 <= height;
  const covered = ([x0, y0, x1, y1]) => taken.some(([a, b, c, d]) => x0 < c && a < x1 && y0 < d && b < y1);
  return bestPlaces(meanShares(), nTopics()).flatMap((k) => {
    const { cx, cy, r } = circles[k];
    const text = fitText(r < 9 ? `${k} ${topicName(k, 2)}` : topicName(k, 2), 130, 11);
    const half = textWidth(text, 11) / 2 + 1;
    const ways = [
      [cx, cy + r + 12],
      [cx, cy - r - 4],
      [cx + r + half + 3, cy + 4],
      [cx - r - half - 3, cy + 4],
    ];
    const placeAt = ([x, y]) => [x - half, y - 10, x + half, y + 3];
    const way = ways.find((one) => inside(placeAt(one)) && !covered(placeAt(one)));
    if (!way) return [];
    taken.push(placeAt(way));
    return [{ x: way[0], y: way[1], text }];
  });
}

function mapFigure() {
  const colors = documentColors();
  const placesOf = (width) => {
    const { points } = mapLayout(width);
    return upTo(nDocuments()).map((d) => [points[2 * d], points[2 * d + 1], d]);
  };
  const draw = (width) => {
    const { circles, size } = mapLayout(width);
    const marks = circles.map(({ k, cx, cy, r }) => {
      const ring = { fill: paint("surface"), "fill-opacity": 0.75, stroke: topicColor(k) };
      const disc = circle(cx, cy, r, { ...ring, "stroke-width": app.topic === k ? 4 : 2 });
      const text = r >= 9 && label(cx, cy + 4, String(k), anchored("middle", 11, { "font-weight": 600 }));
      const open = (event) => {
        event.stopPropagation();
        go("topics", k);
      };
      return pressable(topicSpoken(k), open, { "data-topic": k }, disc, text, tip(`${k} ${topicName(k, 6)}`));
    });
    const halo = { stroke: paint("surface"), "stroke-width": 3, "paint-order": "stroke", "pointer-events": "none" };
    const style = anchored("middle", 11, halo);
    const names = placeNames(circles, width, size).map(({ x, y, text }) => label(x, y, text, style));
    const look = nDocuments() > 5000 ? [1.3, 0.35] : [2.4, 0.55];
    const dots = pointImage(placesOf(width), colors.color, width, size, ...look);
    return { parts: [dots, ...marks, ...names], height: size };
  };
  const made = figure(
    "map",
    "Map of topics and documents",
    "Topics with similar words lie near each other, as far as a plane allows. Documents lie among their topics. " +
      `${colors.note || ""} Point at a topic without a name to read it.`,
    draw,
    ["row", "x", "y"],
    () => placesOf(600).map(([x, y, d]) => [d, x, y]),
  );
  openNearest(made, placesOf);
  const one = (name, code) => span(swatch(code), said(cut(name, 30)));
  return fill(made, {}, [colors.legend && div("legend", colors.legend.slice(0, 24).map(one))]);
}

function similarityFigure() {
  const { order } = app.data;
  const likeness = (a, b) => 1 - row(app.data.arrays.divergence, a)[b] / 255;
  const draw = (width) => {
    const left = sideWidth(width, 0.36, 190);
    const cell = (width - left - 4) / order.length;
    const high = Math.max(cell, order.length > 40 ? 0 : 14);
    const canvas = el("canvas", { width: order.length, height: order.length });
    const pen = canvas.getContext("2d");
    const shade = shades((like) => sequential(like ** 1.5));
    order.forEach((a, i) =>
      order.forEach((b, j) => {
        pen.fillStyle = shade(likeness(a, b));
        pen.fillRect(j, i, 1, 1);
      }),
    );
    const size = high * order.length;
    const every = Math.max(1, Math.ceil(11 / high));
    const names = order.map((k, i) => {
      const name = fitText(numbered(k), left - 10, 11);
      return i % every ? null : label(left - 6, Math.max((i + 0.5) * high + 4, 10), name, anchored("end"));
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
    ["topic", ...order],
    () => order.map((a) => [a, ...order.map((b) => number(likeness(a, b)))]),
  );
}

function likenessBar(x, y, width) {
  const muted = { fill: paint("muted") };
  const steps = [0, 0.2, 0.4, 0.6, 0.8, 1].map((like, i) => box(x + i * width, y, width, 10, sequential(like ** 1.5)));
  const first = label(x, y + 24, "other words", anchored("start", 10, muted));
  return group(steps, first, label(x + 6 * width, y + 24, "the same words", anchored("end", 10, muted)));
}
