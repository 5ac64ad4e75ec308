/* How well the model fits: calibration, errors, coverage, margins, inclusion. */

function drawFit(root) {
  const place = el("div", {});
  root.replaceChildren(place);
  panel(place, ["column", "theme", "labels"], drawFitted);
}

function drawFitted(place) {
  const i = currentOutcome();
  const known =
    i < 0
      ? []
      : Array.from({ length: nDocuments() }, (_, d) => d).filter(
          (d) => !Number.isNaN(app.data.arrays[`y_${i}`].data[d]),
        );
  const parts = [columnChooser()];
  if (i < 0) parts.push(el("p", { class: "note" }, "This model has no response, so that there is nothing to predict."));
  else if (!known.length)
    parts.push(
      el("p", { class: "note" }, "The true values were not given to report(): the predictions cannot be checked."),
    );
  else parts.push(...fitParts(i, known));
  if (app.data.arrays.inclusion) parts.push(inclusionFigure(app.column));
  place.replaceChildren(...parts.filter(Boolean));
}

function fitParts(i, known) {
  const outcome = app.data.outcomes[i];
  const flag = app.data.checks.training
    ? el(
        "p",
        { class: "flag" },
        "These are the documents that the model was fitted to: new documents are predicted less well.",
      )
    : null;
  if (outcome.kind === "number") {
    return [
      flag,
      measures(numberMeasures(i, known)),
      el("div", { class: "two even" }, scatterFigure(i, known), residualFigure(i, known)),
      coverageFigure(i, known),
    ];
  }
  const more = outcome.kind === "score" ? marginFigure(i, known) : reliabilityFigure(i, known);
  const calibrated = outcome.kind === "score" && answerOf(i, known[0]).probabilities;
  return [
    flag,
    measures(classMeasures(i, known)),
    el("div", { class: "two even" }, confusionFigure(i, known), more),
    calibrated ? reliabilityFigure(i, known) : null,
  ];
}

function measures(rows) {
  const boxes = rows.map(([name, value, about]) =>
    el("div", { class: "measure" }, el("dt", {}, name), el("dd", {}, value), el("dd", { class: "note" }, about)),
  );
  const save = saveButtons("measures", "measures", null, () => [
    ["measure", "value"],
    ...rows.map((cells) => cells.slice(0, 2)),
  ]);
  return el(
    "section",
    {},
    el("div", { class: "caption" }, el("h3", {}, "In numbers"), save),
    el("dl", { class: "measures" }, boxes),
  );
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);
}

function numberMeasures(i, known) {
  const answers = known.map((d) => answerOf(i, d));
  const centre = mean(answers.map(({ y }) => y));
  const square = mean(answers.map(({ y, mean: p }) => (y - p) ** 2));
  const variance = mean(answers.map(({ y }) => (y - centre) ** 2));
  const inside = mean(answers.map(({ y, ends }) => (y >= ends[0] && y <= ends[1] ? 1 : 0)));
  return [
    ["R²", number(1 - square / variance), "share of the variance that is predicted"],
    [
      "mean absolute error",
      number(mean(answers.map(({ y, mean: p }) => Math.abs(y - p)))),
      "in the unit of the response",
    ],
    ["root mean square error", number(Math.sqrt(square)), "in the unit of the response"],
    ["coverage", percent(inside), "of the intervals that should hold 90 %"],
  ];
}

function classMeasures(i, known) {
  const answers = known.map((d) => answerOf(i, d));
  const counts = app.data.outcomes[i].classes.map((_, code) => answers.filter(({ y }) => y === code).length);
  const found = [
    [
      "accuracy",
      percent(mean(answers.map(({ y, decided }) => (y === decided ? 1 : 0)))),
      "documents whose class is predicted",
    ],
    ["largest class", percent(Math.max(...counts) / answers.length), "accuracy of always saying the most frequent one"],
  ];
  const probabilities = ({ chances, probabilities: beside }) => beside || chances;
  if (app.data.outcomes[i].kind === "class" || answers[0].probabilities)
    found.push([
      "log loss",
      number(mean(answers.map((answer) => -Math.log(Math.max(probabilities(answer)[answer.y], 1e-15))))),
      "in nats: lower is better",
    ]);
  return found;
}

/* Tenths of the predictions: [{predicted, seen, n}]. */
function tenths(pairs, n = 10) {
  const order = [...pairs].sort((a, b) => a[0] - b[0]);
  const found = [];
  for (let b = 0; b < n; b++) {
    const part = order.slice(Math.floor((b * order.length) / n), Math.floor(((b + 1) * order.length) / n));
    if (part.length)
      found.push({ predicted: mean(part.map(([p]) => p)), seen: mean(part.map(([, y]) => y)), n: part.length });
  }
  return found;
}

function scatterFigure(i, known) {
  const pairs = known.map((d) => {
    const { y, mean: p } = answerOf(i, d);
    return [p, y, d];
  });
  const [low, high] = range(pairs.flatMap(([p, y]) => [p, y]));
  const draw = (width) => {
    const size = Math.min(width, 460);
    const x = scale(low, high, 54, size - 12);
    const y = scale(low, high, size - 54, 12);
    const dots = pointImage(
      pairs.map(([p, value]) => [x(p), y(value), paint("accent")]),
      size,
      size,
      pairs.length > 3000 ? 1.5 : 2.5,
      0.35,
    );
    const groups = tenths(pairs);
    return {
      parts: [
        bottomAxis(x, size - 54, size - 66),
        leftAxis(y, 54, size - 66),
        dots,
        segment(x(low), y(low), x(high), y(high), paint("muted"), { "stroke-dasharray": "4 4" }),
        curve(
          groups.map((g) => [x(g.predicted), y(g.seen)]),
          paint("down"),
        ),
        ...groups.map((g) => circle(x(g.predicted), y(g.seen), 4.5, { fill: paint("down"), stroke: paint("surface") })),
        axisTitle(size / 2, size - 16, "predicted"),
        axisTitle(14, size / 2, "true", true),
      ],
      height: size,
    };
  };
  const made = figure(
    "calibration",
    "Predicted and true",
    "Orange: the mean truth of ten groups of predictions. On the dashed line predictions are neither too bold " +
      "nor too flat. Choose a point to open its document.",
    draw,
    () => [["row", "predicted", "true"], ...pairs.map(([p, y, d]) => [d, p, y])],
  );
  openNearest(made, (width) => {
    const size = Math.min(width, 460);
    const x = scale(low, high, 54, size - 12);
    const y = scale(low, high, size - 54, 12);
    return pairs.map(([p, value, d]) => [x(p), y(value), d]);
  });
  return made;
}

/* A click on a drawing opens the document of the nearest point, given as [x, y, row]. */
function openNearest(made, points) {
  made.querySelector(".drawing").addEventListener("click", (event) => {
    const drawing = made.querySelector("svg");
    const box = drawing.getBoundingClientRect();
    const width = drawing.viewBox.baseVal.width;
    const [cx, cy] = [event.clientX - box.left, event.clientY - box.top].map((v) => (v * width) / box.width);
    let best = [20 * 20, -1];
    for (const [x, y, d] of points(width)) {
      const distance = (x - cx) ** 2 + (y - cy) ** 2;
      if (distance < best[0]) best = [distance, d];
    }
    if (best[1] >= 0) go("documents", best[1]);
  });
}

/* Many points as one picture: [x, y, colour]. */
function pointImage(points, width, height, radius, opacity) {
  const canvas = el("canvas", { width: Math.round(2 * width), height: Math.round(2 * height) });
  const pen = canvas.getContext("2d");
  pen.scale(2, 2);
  pen.globalAlpha = opacity;
  for (const [x, y, color] of points) {
    pen.fillStyle = color;
    pen.beginPath();
    pen.arc(x, y, radius, 0, 7);
    pen.fill();
  }
  return svg("image", { href: canvas.toDataURL(), width, height });
}

function histogram(values, n = 24) {
  const [low, high] = range(values);
  const step = (high - low) / n || 1;
  const counts = new Array(n).fill(0);
  for (const value of values) counts[Math.min(n - 1, Math.max(0, Math.floor((value - low) / step)))] += 1;
  return counts.map((count, b) => ({ from: low + b * step, to: low + (b + 1) * step, count }));
}

function drawHistogram(width, found, color, marks = []) {
  const height = 260;
  const x = scale(found[0].from, found[found.length - 1].to, 48, width - 12);
  const y = scale(0, Math.max(...found.map(({ count }) => count), 1), height - 40, 10);
  const boxes = found.map(({ from, to, count }) =>
    box(x(from) + 0.5, y(count), Math.max(x(to) - x(from) - 1, 1), y(0) - y(count), color((from + to) / 2)),
  );
  const lines = marks
    .filter((at) => at >= x.low && at <= x.high)
    .map((at) => segment(x(at), 10, x(at), y(0), paint("ink"), { "stroke-dasharray": "3 3" }));
  return {
    parts: [leftAxis(y, 48, width - 60, whole), bottomAxis(x, height - 40, 0), ...boxes, ...lines],
    height: height - 12,
  };
}

function residualFigure(i, known) {
  const values = known.map((d) => errorOf(i, d));
  const found = histogram(values);
  return figure(
    "residuals",
    "Errors: predicted less true",
    "To the right of zero predictions are too high.",
    (width) => drawHistogram(width, found, (at) => paint(at < 0 ? "down" : "up"), [0]),
    () => [["row", "error"], ...known.map((d, n) => [d, values[n]])],
  );
}

/* Coverage by tenth of the predictions. */
function coverageFigure(i, known) {
  const order = [...known].sort((a, b) => answerOf(i, a).mean - answerOf(i, b).mean);
  const parts = Array.from({ length: 10 }, (_, b) =>
    order.slice(Math.floor((b * order.length) / 10), Math.floor(((b + 1) * order.length) / 10)),
  ).filter((part) => part.length);
  const items = parts.map((part) => ({
    name: `predictions near ${number(mean(part.map((d) => answerOf(i, d).mean)))}`,
    value: mean(part.map((d) => (isWrong(i, d) ? 0 : 1))),
  }));
  return figure(
    "coverage",
    "How often intervals hold the truth",
    "They should hold 90 % everywhere.",
    (width) => bars(width, items, { form: percent, low: 0, high: 1 }),
    () => [["group", "coverage"], ...items.map(({ name, value }) => [name, value])],
  );
}

function confusionFigure(i, known) {
  const { classes } = app.data.outcomes[i];
  const table = classes.map(() => new Float64Array(classes.length));
  for (const d of known) {
    const { y, decided } = answerOf(i, d);
    table[y][decided] += 1;
  }
  const draw = (width) => {
    const left = Math.round(Math.min(130, width * 0.3));
    const top = 84;
    const cell = Math.max(16, Math.min(64, (width - left - 8) / classes.length));
    const parts = [
      label(left, 12, "predicted →", { fill: paint("muted"), "font-size": 11 }),
      label(left - 6, top - 6, "true ↓", { "text-anchor": "end", fill: paint("muted"), "font-size": 11 }),
    ];
    classes.forEach((name, c) => {
      const x = left + (c + 0.4) * cell;
      parts.push(
        label(x, top - 8, fitText(name, 84, 11), { "font-size": 11, transform: `rotate(-40 ${x} ${top - 8})` }),
      );
      parts.push(label(left - 6, top + (c + 0.5) * cell + 4, fitText(name, left - 10, 12), { "text-anchor": "end" }));
      const total = Math.max(
        table[c].reduce((sum, n) => sum + n, 0),
        1,
      );
      table[c].forEach((count, p) => {
        const share = count / total;
        const shade =
          c === p
            ? blend(paint("surface"), paint("up"), 0.75 * share)
            : blend(paint("surface"), paint("down"), 0.75 * share);
        parts.push(
          pressable(
            `True ${name}, predicted ${classes[p]}: ${count} documents`,
            () => showClass(c, p),
            {},
            box(left + p * cell + 1, top + c * cell + 1, cell - 2, cell - 2, shade, {
              stroke: paint("line"),
              class: "cell",
            }),
            cell > 22
              ? label(left + (p + 0.5) * cell, top + (c + 0.5) * cell + 4, count ? whole(count) : "·", {
                  "text-anchor": "middle",
                  "font-size": cell > 40 ? 12 : 10,
                })
              : null,
          ),
        );
      });
    });
    return { parts, height: top + classes.length * cell + 10 };
  };
  return figure(
    "confusion",
    "True and predicted classes",
    "Numbers of documents. Choose a cell to see them.",
    draw,
    () => [["true \\ predicted", ...classes], ...classes.map((name, c) => [name, ...table[c]])],
    { role: "group" },
  );
}

function showClass(truth, decided) {
  Object.assign(filters, { ...NO_FILTERS, truth: String(truth), decided: String(decided) });
  forgetView("documents");
  app.document = -1;
  go("documents");
}

/* How often a class is true where it has a given probability. */
function reliabilityFigure(i, known) {
  const { classes } = app.data.outcomes[i];
  const { code } = outcomeOfColumn(app.column);
  const shown = code >= 0 ? code : classes.length - 1;
  const pairs = known.map((d) => {
    const { y, chances, probabilities } = answerOf(i, d);
    return [(probabilities || chances)[shown], y === shown ? 1 : 0];
  });
  const groups = tenths(pairs);
  const draw = (width) => {
    const size = Math.min(width, 400);
    const x = scale(0, 1, 54, size - 12);
    const y = scale(0, 1, size - 54, 12);
    return {
      parts: [
        bottomAxis(x, size - 54, size - 66, percent),
        leftAxis(y, 54, size - 66, percent),
        segment(x(0), y(0), x(1), y(1), paint("muted"), { "stroke-dasharray": "4 4" }),
        curve(
          groups.map((g) => [x(g.predicted), y(g.seen)]),
          paint("accent"),
        ),
        ...groups.map((g) => circle(x(g.predicted), y(g.seen), 5, { fill: paint("accent") })),
        label(size / 2, size - 16, "predicted probability", { "text-anchor": "middle", fill: paint("muted") }),
      ],
      height: size,
    };
  };
  return figure(
    "reliability",
    `Are probabilities of ${cut(classes[shown], 40)} right?`,
    "How often the class is true, by its predicted probability. On the dashed line they agree.",
    draw,
    () => [["predicted", "seen", "documents"], ...groups.map((g) => [g.predicted, g.seen, g.n])],
  );
}

/* How far the true class is ahead of the best other one. */
function marginOf(i, d) {
  const { y, chances } = answerOf(i, d);
  return chances[y] - Math.max(...chances.filter((_, c) => c !== y));
}

function marginFigure(i, known) {
  const two = app.data.outcomes[i].classes.length === 2;
  const values = known.map((d) => (two ? marginOf(i, d) / 2 : marginOf(i, d)));
  const cost = app.data.outcomes[i].parts[0].cost;
  const support = app.data.arrays.support;
  const carried = support
    ? ` ${whole(known.filter((d) => support.data[d]).length)} documents carry the model (support documents).`
    : "";
  return figure(
    "margins",
    "Margins",
    "How far the true class is ahead of the best other one. Left of zero the prediction is wrong; " +
      `left of the second line a document costs something.${carried}`,
    (width) => drawHistogram(width, histogram(values), (at) => paint(at < 0 ? "down" : "up"), [0, cost]),
    () => [["row", "margin", "support"], ...known.map((d, n) => [d, values[n], support ? support.data[d] : ""])],
  );
}

/* SSTM: how often a topic has a coefficient among the draws. */
function inclusionFigure(c) {
  const { inclusion, r_hat: rHat, sign } = app.data.arrays;
  const at = (array, k) => (array ? row(array, Math.min(c, array.shape[0] - 1))[k] : NaN);
  const order = axisOrder(c).sort((a, b) => at(inclusion, b) - at(inclusion, a));
  const items = order.slice(0, 30).map((k) => ({
    name: `${k}  ${topicName(k)}`,
    value: at(inclusion, k),
    color: effectOf(k, c).value === 0 ? paint("zero") : paint(effectOf(k, c).value < 0 ? "down" : "up"),
  }));
  return figure(
    "inclusion",
    "How sure it is that a topic matters",
    "The share of posterior draws in which the topic has an effect. Grey: the chosen model leaves it out.",
    (width) => bars(width, items, { form: percent, low: 0, high: 1 }),
    () => [
      ["topic", "inclusion", "probability_positive", "r_hat"],
      ...order.map((k) => [k, at(inclusion, k), at(sign, k), at(rHat, k)]),
    ],
  );
}
