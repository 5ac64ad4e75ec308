/* How well the model fits: calibration, errors, coverage, margins, inclusion. */

function drawFit(root) {
  const place = div(null);
  root.replaceChildren(place);
  panel(place, ["column", "theme", "labels"], drawFitted);
}

function drawFitted(place) {
  const i = currentOutcome();
  const truth = i < 0 ? [] : app.data.arrays[`y_${i}`].data;
  const known = [...truth.keys()].filter((d) => !Number.isNaN(truth[d]));
  const several = app.data.outcomes.length > 1 || app.data.arrays.inclusion;
  const parts = [several ? columnChooser() : null];
  if (i < 0) parts.push(para("note", "This model has no response, so that there is nothing to predict."));
  else if (!known.length)
    parts.push(para("note", "The true values were not given to report(): the predictions cannot be checked."));
  else parts.push(...fitParts(i, known));
  if (app.data.arrays.inclusion) parts.push(inclusionFigure(app.column));
  place.replaceChildren(...parts.filter(Boolean));
}

function fitParts(i, known) {
  const outcome = app.data.outcomes[i];
  const flag = app.data.checks.training
    ? para("flag", "These are the documents that the model was fitted to: new documents are predicted less well.")
    : null;
  if (outcome.kind === "number") {
    const pictures = div("two even", scatterFigure(i, known), residualFigure(i, known));
    return [flag, measures(numberMeasures(i, known)), pictures, coverageFigure(i, known)];
  }
  const more = outcome.kind === "score" ? marginFigure(i, known) : reliabilityFigure(i, known);
  const calibrated = outcome.kind === "score" && answerOf(i, known[0]).probabilities;
  return [
    flag,
    measures(classMeasures(i, known)),
    el("div", { class: outcome.classes.length > 12 ? "" : "two even" }, confusionFigure(i, known), more),
    calibrated ? reliabilityFigure(i, known) : null,
  ];
}

function measures(rows) {
  const boxes = rows.map(([name, value, about]) =>
    div("measure", el("dt", {}, name), el("dd", {}, value), el("dd", { class: "note" }, about)),
  );
  const save = saveButtons("measures", "measures", null, () => [
    ["measure", "value"],
    ...rows.map((cells) => cells.slice(0, 2)),
  ]);
  return el("section", {}, div("caption", el("h3", {}, "In numbers"), save), el("dl", { class: "measures" }, boxes));
}

function mean(values) {
  return values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);
}

function numberMeasures(i, known) {
  const answers = known.map((d) => answerOf(i, d));
  const centre = mean(answers.map(({ y }) => y));
  const square = mean(answers.map(({ y, mean: p }) => (y - p) ** 2));
  const variance = mean(answers.map(({ y }) => (y - centre) ** 2));
  const unit = "in the unit of the response";
  const inside = mean(answers.map(({ y, ends }) => (y >= ends[0] && y <= ends[1] ? 1 : 0)));
  return [
    ["R²", number(1 - square / variance), "share of the variance that is predicted"],
    ["mean absolute error", number(mean(answers.map(({ y, mean: p }) => Math.abs(y - p)))), unit],
    ["root mean square error", number(Math.sqrt(square)), unit],
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

/* Tenths of the predictions: [{predicted, seen, error, n}]. */
function tenths(pairs, n = 10) {
  const order = [...pairs].sort((a, b) => a[0] - b[0]);
  const start = (b) => Math.floor((b * order.length) / n);
  const parts = Array.from({ length: n }, (_, b) => order.slice(start(b), start(b + 1)));
  return parts
    .filter((part) => part.length)
    .map((part) => {
      const seen = mean(part.map(([, y]) => y));
      const variance = mean(part.map(([, y]) => (y - seen) ** 2));
      const error = part.length > 1 ? Math.sqrt(variance / (part.length - 1)) : NaN;
      return { predicted: mean(part.map(([p]) => p)), seen, error, n: part.length };
    });
}

/* Points of tenths with 90 % intervals, joined by a line. */
function tenthMarks(groups, x, y, color, [lowest, highest]) {
  const clip = (value) => Math.max(lowest, Math.min(highest, value));
  const bars = groups.map(({ predicted, seen, error, n }) => {
    const [low, high] = [-1, 1].map((sign) => y(clip(seen + sign * Z90 * error)));
    return n > 1 ? segment(x(predicted), low, x(predicted), high, color, { "stroke-width": 1.5 }) : null;
  });
  const dots = groups.map((g) => circle(x(g.predicted), y(g.seen), 4.5, { fill: color, stroke: paint("surface") }));
  const points = groups.map((g) => [x(g.predicted), y(g.seen)]);
  return group([...bars, curve(points, color), ...dots]);
}

const TENTH_HEAD = ["predicted", "seen", "std_error", "documents"];
const tenthRow = (g) => [g.predicted, g.seen, g.error, g.n];

/* Counts and other numbers above zero have logarithmic axes where they spread over orders of magnitude. */
function numberScale(i, low, high) {
  const { lowest, grain } = app.data.outcomes[i].parts[0];
  if (lowest < 0 || high < 20 * Math.max(low, grain || 1e-12)) return scale;
  return (...ends) => logScale(grain ? Math.log1p : Math.log, ...ends);
}

function scatterFigure(i, known) {
  const { y: truth, predicted } = answersOf(i);
  const pairs = known.map((d) => [predicted.data[d], truth.data[d], d]);
  const ends = range(pairs.flatMap(([p, y]) => [p, y]));
  const groups = tenths(pairs);
  const shape = (width) => {
    const size = Math.min(width, 460);
    const make = numberScale(i, ...ends);
    return { size, x: make(...ends, 54, size - 12), y: make(...ends, size - 54, 12) };
  };
  const draw = (width) => {
    const { size, x, y } = shape(width);
    const color = paint("accent");
    const dots = pairs.map(([p, value]) => [x(p), y(value), color]);
    const picture = pointImage(dots, size, size, pairs.length > 3000 ? 1.5 : 2.5, 0.35);
    return agreement(size, x, y, number, [picture, tenthMarks(groups, x, y, paint("down"), ends)], "predicted", "true");
  };
  const made = figure(
    "calibration",
    "Predicted and true",
    `Orange: the mean truth in ten groups of about ${whole(groups[0].n)} documents, with 90 % intervals. On the ` +
      "dashed line predictions are neither overconfident nor too flat. Choose a point to open its document.",
    draw,
    () => [["row", "predicted", "true"], ...pairs.map(([p, y, d]) => [d, p, y])],
  );
  openNearest(made, (width) => {
    const { x, y } = shape(width);
    return pairs.map(([p, value, d]) => [x(p), y(value), d]);
  });
  return made;
}

/* Marks on axes of one scale, with the dashed line on which both agree. */
function agreement(size, x, y, form, marks, below, beside) {
  const dashed = { "stroke-dasharray": "4 4" };
  const line = segment(x(x.low), y(y.low), x(x.high), y(y.high), paint("muted"), dashed);
  const titles = [axisTitle(size / 2, size - 16, below), axisTitle(14, size / 2, beside, true)];
  const axes = [bottomAxis(x, size - 54, size - 66, form), leftAxis(y, 54, size - 66, form)];
  return { parts: [...axes, line, ...marks, ...titles], height: size };
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

/* Points as one picture: [x, y, colour]; of very many, a coarser one that is made quickly. */
function pointImage(points, width, height, radius, opacity) {
  const many = points.length > 10000;
  const fine = many ? 1 : 2;
  const canvas = el("canvas", { width: Math.round(fine * width), height: Math.round(fine * height) });
  const pen = canvas.getContext("2d");
  pen.scale(fine, fine);
  pen.globalAlpha = opacity;
  for (const [x, y, color] of points) {
    pen.fillStyle = color;
    if (many) {
      pen.fillRect(x - radius, y - radius, 2 * radius, 2 * radius);
      continue;
    }
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
    (width) => drawHistogram(width, found, (at) => upDown(at), [0]),
    () => [["row", "error"], ...known.map((d, n) => [d, values[n]])],
  );
}

/* Wilson's 90 % interval of a share. */
function shareInterval(share, n) {
  const z2 = Z90 * Z90;
  const centre = (share + z2 / (2 * n)) / (1 + z2 / n);
  const reach = (Z90 * Math.sqrt((share * (1 - share)) / n + z2 / (4 * n * n))) / (1 + z2 / n);
  return { value: share, low: centre - reach, high: centre + reach };
}

/* Coverage by tenth of the predictions, beside the 90 % that are promised. */
function coverageFigure(i, known) {
  const inside = (d) => (isWrong(i, d) ? 0 : 1);
  const groups = tenths(known.map((d) => [answerOf(i, d).mean, inside(d)]));
  const all = shareInterval(mean(known.map(inside)), known.length);
  const items = [
    { name: `all (${whole(known.length)})`, ...all },
    ...groups.map(({ predicted, seen, n }) => ({
      name: `near ${number(predicted)} (${whole(n)})`,
      near: number(predicted),
      ...shareInterval(seen, n),
    })),
  ].map((item) => ({ ...item, color: paint(item.high < 0.9 ? "down" : "accent") }));
  const short = items.filter(({ near, high }) => near && high < 0.9);
  const places = short.map(({ near, value }) => `${near} (${percent(value)})`).join(", ");
  const said1 = short.length ? ` They fall short near predictions of ${places}.` : " No group falls clearly short.";
  return figure(
    "coverage",
    "How often intervals hold the truth",
    `By the prediction, with the number of documents. Dashed: the promised 90 %. Lines: 90 % intervals.${said1}`,
    (width) => intervals(width, items, { form: percent, mark: 0.9, high: 1 }),
    () => [
      ["group", "coverage", "low_90", "high_90"],
      ...items.map((item) => [item.name, item.value, item.low, item.high]),
    ],
  );
}

/* Classes in an order in which those that are taken for each other stand side by side. */
function likeOrder(table) {
  const sizes = table.map((row) => row.reduce((sum, n) => sum + n, 0));
  const like = (a, b) => (table[a][b] + table[b][a]) / Math.max(sizes[a] + sizes[b], 1);
  const order = [sizes.indexOf(Math.max(...sizes))];
  while (order.length < table.length) {
    const last = order[order.length - 1];
    const rest = table.map((_, c) => c).filter((c) => !order.includes(c));
    order.push(rest.reduce((best, c) => (like(last, c) > like(last, best) ? c : best)));
  }
  return order;
}

function confusionFigure(i, known) {
  const { classes, parts: responses } = app.data.outcomes[i];
  const table = classes.map(() => new Float64Array(classes.length));
  for (const d of known) {
    const { y, decided } = answerOf(i, d);
    table[y][decided] += 1;
  }
  const graded = responses.some(({ response }) => response === "ordinal");
  const order = graded || classes.length < 4 ? classes.map((_, c) => c) : likeOrder(table);
  const sizes = table.map((row) => row.reduce((sum, n) => sum + n, 0) || 1);
  const draw = (width) => {
    const left = Math.round(Math.min(150, width * 0.3));
    const top = 84;
    const cell = Math.max(10, Math.min(64, (width - left - 8) / classes.length));
    const parts = [label(left, 12, "predicted →", small()), label(left - 6, top - 6, "true ↓", small("end"))];
    order.forEach((c, r) => {
      const x = left + (r + 0.5) * cell;
      const turned = { "font-size": 11, transform: `rotate(-50 ${x} ${top - 8})` };
      parts.push(label(x, top - 8, fitText(classes[c], Math.min(84, (width - x) / 0.65), 11, true), turned));
      const n = ` (${whole(sizes[c])})`;
      const name = fitText(classes[c], left - 10 - textWidth(n, 11), 11, true) + n;
      parts.push(label(left - 6, top + (r + 0.5) * cell + 4, name, { "text-anchor": "end", "font-size": 11 }));
      order.forEach((p, q) => {
        const share = table[c][p] / sizes[c];
        const place = [left + q * cell + 1, top + r * cell + 1, cell - 2, cell - 2];
        const color = blend(paint("surface"), paint(c === p ? "up" : "down"), 0.75 * share);
        const centred = { "text-anchor": "middle", "font-size": cell > 40 ? 12 : 10 };
        const text = share ? `${Math.round(100 * share)}` : "·";
        const spoken = `True ${classes[c]}, predicted ${classes[p]}: ${table[c][p]} documents`;
        const tip = svg("title", {}, `${spoken}, ${percent(share)} of the class`);
        const mark = box(...place, color, { stroke: paint("line"), class: "cell" });
        const shown = cell > 19 ? label(left + (q + 0.5) * cell, top + (r + 0.5) * cell + 4, text, centred) : null;
        parts.push(pressable(spoken, () => showClass(c, p), {}, mark, shown, tip));
      });
    });
    return { parts, height: top + classes.length * cell + 10 };
  };
  const made = figure(
    "confusion",
    "True and predicted classes",
    "Percent of the documents of each true class; in brackets how many there are. Choose a cell to see them.",
    draw,
    () => [
      ["true \\ predicted", ...order.map((c) => classes[c])],
      ...order.map((c) => [classes[c], ...order.map((p) => table[c][p])]),
    ],
    { role: "group" },
  );
  if (classes.length > 2) made.append(...confusions(classes, table, sizes));
  return made;
}

/* The pairs of classes that are most often taken for each other. */
function confusions(classes, table, sizes) {
  const pairs = table
    .flatMap((row, c) => Array.from(row, (n, p) => ({ c, p, n })))
    .filter(({ c, p, n }) => c !== p && n > 0)
    .sort((a, b) => b.n - a.n);
  const item = ({ c, p, n }) => {
    const names = [said(cut(classes[c], 40)), " taken for ", said(cut(classes[p], 40))];
    const open = el("button", { type: "button", class: "link", onclick: () => showClass(c, p) }, names);
    return el("li", {}, open, `: ${whole(n)} documents, ${percent(n / sizes[c])} of the class`);
  };
  if (!pairs.length) return [];
  return [el("h4", {}, "Most frequent mistakes"), el("ol", { class: "mistakes" }, pairs.slice(0, 10).map(item))];
}

function showClass(truth, decided) {
  Object.assign(filters, { ...NO_FILTERS, truth: String(truth), decided: String(decided) });
  forgetView("documents");
  app.document = -1;
  go("documents");
}

/* How often predictions are right, by the probability they are given; of two classes, how often the second is true. */
function reliabilityFigure(i, known) {
  const { classes } = app.data.outcomes[i];
  const two = classes.length === 2;
  const pairs = known.map((d) => {
    const { y, chances, probabilities = chances, decided } = answerOf(i, d);
    return two ? [probabilities[1], y] : [probabilities[decided], y === decided ? 1 : 0];
  });
  const groups = tenths(pairs);
  const off = groups.reduce((sum, g) => sum + (g.n / known.length) * Math.abs(g.predicted - g.seen), 0);
  const what = two ? `${cut(classes[1], 40)} is true` : "the predicted class is right";
  const draw = (width) => {
    const size = Math.min(width, 400);
    const x = scale(0, 1, 54, size - 18);
    const y = scale(0, 1, size - 54, 12);
    const marks = tenthMarks(groups, x, y, paint("accent"), [0, 1]);
    return agreement(size, x, y, percent, [marks], "predicted probability", "");
  };
  return figure(
    "reliability",
    "Are probabilities right?",
    `How often ${what}, by its predicted probability: ten groups of about ${whole(groups[0].n)} documents, with 90 % ` +
      `intervals. On the dashed line they agree; on average they are ${percent(off)} apart.`,
    draw,
    () => [TENTH_HEAD, ...groups.map(tenthRow)],
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
    (width) => drawHistogram(width, histogram(values), (at) => upDown(at), [0, cost]),
    () => [["row", "margin", "support"], ...known.map((d, n) => [d, values[n], support ? support.data[d] : ""])],
  );
}

/* SSTM: how often a topic has a coefficient among the draws. */
function inclusionFigure(c) {
  const { inclusion, r_hat: rHat, sign } = app.data.arrays;
  const at = (array, k) => (array ? row(array, Math.min(c, array.shape[0] - 1))[k] : NaN);
  const order = axisOrder(c).sort((a, b) => at(inclusion, b) - at(inclusion, a));
  const items = order.slice(0, 30).map((k) => {
    const { value } = effectOf(k, c);
    const color = paint(value === 0 ? "zero" : value < 0 ? "down" : "up");
    return { name: `${k}  ${topicName(k)}`, value: at(inclusion, k), color };
  });
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
