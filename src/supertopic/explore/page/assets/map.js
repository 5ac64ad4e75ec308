/* A map of topics and documents, and a heatmap of the topics' similarity beside it. */

const map = { color: "topic" };

function drawMap(root) {
  const place = el("div", {});
  root.replaceChildren(
    el(
      "div",
      { class: "tools" },
      field(
        "Colour documents by",
        chooser(mapColors(), map.color, (value) => {
          map.color = value;
          announce("map");
        }),
      ),
    ),
    place,
  );
  panel(place, ["map", "topic", "labels", "theme"], (at) =>
    at.replaceChildren(el("div", { class: "two even" }, mapFigure(), similarityFigure())),
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

/* A document lies among its topics, nearer to those it has most of. */
function documentPlaces() {
  if (!app.mapPlaces) {
    const topics = app.data.arrays.places.data;
    const found = new Float64Array(2 * nDocuments());
    for (let d = 0; d < nDocuments(); d++) {
      let total = 1e-12;
      for (let k = 0; k < nTopics(); k++) {
        const weight = shareOf(d, k) ** 2;
        total += weight;
        found[2 * d] += weight * topics[2 * k];
        found[2 * d + 1] += weight * topics[2 * k + 1];
      }
      found[2 * d] /= total;
      found[2 * d + 1] /= total;
    }
    app.mapPlaces = found;
  }
  return app.mapPlaces;
}

/* {color(d), note}: how documents are coloured. */
function documentColors() {
  const kind = map.color[0];
  const i = Number(map.color.slice(1));
  if (map.color === "topic") {
    return {
      color: (d) => topicColor(largest(row(app.data.arrays.shares, d))),
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
    return { color: (d) => (Number.isNaN(value(d)) ? none : topicColor(value(d))), note: "", legend: classes };
  }
  const all = Array.from({ length: nDocuments() }, (_, d) => value(d))
    .filter((v) => !Number.isNaN(v))
    .sort((a, b) => a - b);
  const [low, high] = [all[Math.floor(0.02 * all.length)], all[Math.max(0, Math.ceil(0.98 * all.length) - 1)]];
  if (kind === "e") {
    const most = Math.max(Math.abs(low), Math.abs(high), 1e-12);
    return {
      color: (d) => (Number.isNaN(value(d)) ? none : diverging(0.15 * Math.sign(value(d)) + (0.85 * value(d)) / most)),
      note: "Blue: predicted too high (or wrong). Orange: too low.",
    };
  }
  const shade = (v) => blend(paint("down"), paint("up"), Math.max(0, Math.min(1, (v - low) / (high - low || 1))));
  return {
    color: (d) => (Number.isNaN(value(d)) ? none : shade(value(d))),
    note: `From orange (${number(low)}) to blue (${number(high)}).`,
  };
}

function mapScales(width) {
  const topics = app.data.arrays.places.data;
  const size = Math.min(width, 560);
  const xs = range(Array.from({ length: nTopics() }, (_, k) => topics[2 * k]));
  const ys = range(Array.from({ length: nTopics() }, (_, k) => topics[2 * k + 1]));
  return { x: scale(...xs, 62, width - 62), y: scale(...ys, size - 46, 34), size };
}

/* Where topics lie, how large they are, and how they are called. */
function topicCircles(x, y) {
  const places = app.data.arrays.places.data;
  const biggest = Math.max(...meanShares(), 1e-9);
  return Array.from({ length: nTopics() }, (_, k) => ({
    cx: x(places[2 * k]),
    cy: y(places[2 * k + 1]),
    r: 7 + 12 * Math.sqrt(meanShares()[k] / biggest),
    name: fitText(topicName(k, 2), 110, 11),
  }));
}

/* The topics whose names lie over no circle and no name of a larger topic. */
function freeNames(circles) {
  const taken = circles.map(({ cx, cy, r }) => [cx - r, cy - r, cx + r, cy + r]);
  const named = new Set();
  for (const k of bestPlaces(Float64Array.from(meanShares()), nTopics())) {
    const { cx, cy, r, name } = circles[k];
    const half = 3.1 * name.length;
    const box = [cx - half, cy + r + 2, cx + half, cy + r + 15];
    const meets = ([x0, y0, x1, y1]) => box[0] < x1 && x0 < box[2] && box[1] < y1 && y0 < box[3];
    if (taken.some(meets)) continue;
    taken.push(box);
    named.add(k);
  }
  return named;
}

function mapFigure() {
  const colors = documentColors();
  const places = documentPlaces();
  const draw = (width) => {
    const { x, y, size } = mapScales(width);
    const points = Array.from({ length: nDocuments() }, (_, d) => [
      x(places[2 * d]),
      y(places[2 * d + 1]),
      colors.color(d),
    ]);
    const circles = topicCircles(x, y);
    const named = freeNames(circles);
    const marks = Array.from({ length: nTopics() }, (_, k) => {
      const { cx, cy, r, name } = circles[k];
      return svg(
        "g",
        {
          class: "row",
          role: "button",
          tabindex: 0,
          "aria-label": `${topicTitle(k)}, ${topicName(k)}`,
          "data-topic": k,
          onclick: (event) => {
            event.stopPropagation();
            go("topics", k);
          },
          onkeydown: (event) => event.key === "Enter" && go("topics", k),
        },
        circle(cx, cy, r, {
          fill: paint("surface"),
          "fill-opacity": 0.75,
          stroke: topicColor(k),
          "stroke-width": app.topic === k ? 4 : 2,
        }),
        label(cx, cy + 4, String(k), { "text-anchor": "middle", "font-size": 12, "font-weight": 600 }),
        named.has(k)
          ? label(cx, cy + r + 12, name, {
              "text-anchor": "middle",
              "font-size": 11,
              fill: paint("muted"),
              stroke: paint("surface"),
              "stroke-width": 3,
              "paint-order": "stroke",
            })
          : null,
        svg("title", {}, topicName(k, 6)),
      );
    });
    return { parts: [pointImage(points, width, size, nDocuments() > 5000 ? 1.3 : 2.4, 0.55), ...marks], height: size };
  };
  const note = [
    "Topics with similar words lie near each other, as far as a plane allows. Documents lie among their topics. ",
    colors.note || "",
  ].join("");
  const made = figure(
    "map",
    "Map of topics and documents",
    note,
    draw,
    () => [["row", "x", "y"], ...Array.from({ length: nDocuments() }, (_, d) => [d, places[2 * d], places[2 * d + 1]])],
    { role: "group" },
  );
  openNearest(made, (width) => {
    const { x, y } = mapScales(width);
    return Array.from({ length: nDocuments() }, (_, d) => [x(places[2 * d]), y(places[2 * d + 1]), d]);
  });
  if (colors.legend)
    made.append(
      el(
        "div",
        { class: "legend" },
        colors.legend.slice(0, 24).map((name, code) => el("span", {}, swatch(code), said(cut(name, 30)))),
      ),
    );
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
    order.forEach((a, i) =>
      order.forEach((b, j) => {
        pen.fillStyle = sequential(Math.pow(1 - row(distance, a)[b] / 255, 1.5));
        pen.fillRect(j, i, 1, 1);
      }),
    );
    const size = high * order.length;
    const every = Math.max(1, Math.ceil(11 / high));
    const names = order.map((k, i) =>
      i % every
        ? null
        : label(left - 6, i * high + high / 2 + 4, fitText(`${k}  ${topicName(k)}`, left - 10, 11), {
            "text-anchor": "end",
            "font-size": 11,
          }),
    );
    return {
      parts: [
        svg("image", {
          href: canvas.toDataURL(),
          x: left,
          y: 0,
          width: cell * order.length,
          height: size,
          preserveAspectRatio: "none",
          style: "image-rendering: pixelated",
        }),
        ...names,
      ],
      height: size + 6,
    };
  };
  return figure(
    "similarity",
    "How similar topics are",
    "Dark: nearly the same words. Similar topics stand side by side. A map can mislead; this picture loses nothing.",
    draw,
    () => [["topic", ...order], ...order.map((a) => [a, ...order.map((b) => number(1 - row(distance, a)[b] / 255))])],
  );
}
