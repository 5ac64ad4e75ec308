/* How well the model fits: calibration, errors, coverage, margins, inclusion. */

function drawFit(place) {
  const { outcomes, arrays } = app.data;
  const i = currentOutcome();
  const truth = i < 0 ? [] : arrays[`y_${i}`].data;
  const known = upTo(truth.length).filter((d) => !Number.isNaN(truth[d]));
  const missing = "The true values were not given to report(): the predictions cannot be checked.";
  const nothing = i < 0 ? "This model has no response, so that there is nothing to predict." : missing;
  put(
    place,
    (outcomes.length > 1 || arrays.inclusion) && columnChooser(),
    known.length ? fitParts(i, known) : para("note", nothing),
    arrays.inclusion && inclusionFigure(app.column),
  );
}

function fitParts(i, known) {
  const { kind, classes } = app.data.outcomes[i];
  const fitted = "These are the documents that the model was fitted to: new documents are predicted less well.";
  const flag = app.data.checks.training && para("flag", fitted);
  if (kind === "number") {
    const pictures = div("two even", scatterFigure(i, known), residualFigure(i, known));
    return [flag, measures(numberMeasures(i, known)), pictures, coverageFigure(i, known)];
  }
  const more = kind === "score" ? marginFigure(i, known) : reliabilityFigure(i, known);
  const calibrated = kind === "score" && answerOf(i, known[0]).probabilities;
  const pictures = div(classes.length > 12 ? "" : "two even", confusionFigure(i, known), more);
  return [flag, measures(classMeasures(i, known)), pictures, calibrated && reliabilityFigure(i, known)];
}

function measures(rows) {
  const boxes = rows.map(([name, value, about]) =>
    div("measure", el("dt", {}, name), el("dd", {}, value), el("dd", { class: "note" }, about)),
  );
  const cells = () => rows.map(([name, value]) => [name, value]);
  const save = saveButtons("measures", "measures", null, ["measure", "value"], cells);
  return el("section", {}, div("caption", el("h3", {}, "In numbers"), save), el("dl", { class: "measures" }, boxes));
}

function numberMeasures(i, known) {
  const truth = known.map((d) => answerOf(i, d).y);
  const errors = known.map((d) => errorOf(i, d));
  const square = mean(errors.map((error) => error ** 2));
  const inside = mean(known.map((d) => Number(!isWrong(i, d))));
  const unit = "in the unit of the response";
  return [
    ["R²", number(1 - square / spreadOf(truth) ** 2), "share of the variance that is predicted"],
    ["mean absolute error", number(mean(errors.map(Math.abs))), unit],
    ["root mean square error", number(Math.sqrt(square)), unit],
    ["coverage", percent(inside), "of the intervals that should hold 90 %"],
  ];
}

function classMeasures(i, known) {
  const answers = known.map((d) => answerOf(i, d));
  const { kind, classes } = app.data.outcomes[i];
  const most = Math.max(...classes.map((_, code) => answers.filter(({ y }) => y === code).length));
  const right = mean(known.map((d) => Number(!isWrong(i, d))));
  const loss = ({ y, chances, probabilities = chances }) => -Math.log(Math.max(probabilities[y], 1e-15));
  const found = [
    ["accuracy", percent(right), "documents whose class is predicted"],
    ["largest class", percent(most / answers.length), "accuracy of always saying the most frequent one"],
    ["log loss", number(mean(answers.map(loss))), "in nats: lower is better"],
  ];
  return kind === "class" || answers[0].probabilities ? found : found.slice(0, 2);
}

/* Tenths of the predictions: [{predicted, seen, error, n}]. */
function tenths(pairs, n = 10) {
  const order = [...pairs].sort((a, b) => a[0] - b[0]);
  const start = (b) => Math.floor((b * order.length) / n);
  const parts = upTo(n).map((b) => order.slice(start(b), start(b + 1)));
  return parts
    .filter(({ length }) => length)
    .map((part) => {
      const truth = part.map(([, y]) => y);
      const error = part.length > 1 ? spreadOf(truth) / Math.sqrt(part.length - 1) : NaN;
      return { predicted: mean(part.map(([p]) => p)), seen: mean(truth), error, n: part.length };
    });
}

/* Points of tenths with 90 % intervals, joined by a line. */
function tenthMarks(groups, x, y, color, [lowest, highest]) {
  const whiskers = groups.map(({ predicted, seen, error, n }) => {
    const [low, high] = [-1, 1].map((sign) => y(clamp(seen + sign * Z90 * error, lowest, highest)));
    return n > 1 && segment(x(predicted), low, x(predicted), high, color, { "stroke-width": 1.5 });
  });
  const dots = groups.map((g) => circle(x(g.predicted), y(g.seen), 4.5, { fill: color, stroke: paint("surface") }));
  const points = groups.map((g) => [x(g.predicted), y(g.seen)]);
  return group(whiskers, curve(points, color), dots);
}

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
    const [x, y] = [make(...ends, 54, size - 12), make(...ends, size - 54, 12)];
    return { size, x, y, dots: pairs.map(([p, value, d]) => [x(p), y(value), d]) };
  };
  const draw = (width) => {
    const { size, x, y, dots } = shape(width);
    const color = paint("accent");
    const picture = pointImage(dots, () => color, size, size, pairs.length > 3000 ? 1.5 : 2.5, 0.35);
    return agreement(size, x, y, number, [picture, tenthMarks(groups, x, y, paint("down"), ends)], "predicted", "true");
  };
  const made = figure(
    "calibration",
    "Predicted and true",
    `Orange: the mean truth in ten groups of about ${whole(groups[0].n)} documents, with 90 % intervals. On the ` +
      "dashed line predictions are neither overconfident nor too flat. Choose a point to open its document.",
    draw,
    ["row", "predicted", "true"],
    () => pairs.map(([p, y, d]) => [d, p, y]),
  );
  return openNearest(made, (width) => shape(width).dots);
}

/* Marks on axes of one scale, with the dashed line on which both agree. */
function agreement(size, x, y, form, marks, below, beside) {
  const line = segment(x(x.low), y(y.low), x(x.high), y(y.high), paint("muted"), dashes("4 4"));
  const titles = [axisTitle(size / 2, size - 16, below), axisTitle(14, size / 2, beside, -90)];
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
    const distances = points(width).map(([x, y, d]) => [Math.hypot(x - cx, y - cy), d]);
    const [, best] = distances.reduce((least, one) => (one[0] < least[0] ? one : least), [20, -1]);
    if (best >= 0) go("documents", best);
  });
  return made;
}

/* Points [x, y, row] as one picture; of very many, a coarser one that is made quickly. */
function pointImage(points, colorOf, width, height, radius, opacity) {
  const many = points.length > 10000;
  const fine = many ? 1 : 2;
  const canvas = el("canvas", { width: Math.round(fine * width), height: Math.round(fine * height) });
  const pen = canvas.getContext("2d");
  pen.scale(fine, fine);
  pen.globalAlpha = opacity;
  for (const [x, y, d] of points) {
    pen.fillStyle = colorOf(d);
    if (many) pen.fillRect(x - radius, y - radius, 2 * radius, 2 * radius);
    else {
      pen.beginPath();
      pen.arc(x, y, radius, 0, 7);
      pen.fill();
    }
  }
  return svg("image", { href: canvas.toDataURL(), width, height });
}

function histogram(values, n = 24) {
  const [low, high] = range(values);
  const step = (high - low) / n || 1;
  const counts = new Array(n).fill(0);
  for (const value of values) counts[clamp(Math.floor((value - low) / step), 0, n - 1)] += 1;
  return counts.map((count, b) => ({ from: low + b * step, to: low + (b + 1) * step, count }));
}

/* How many values lie where, in the colours of their side of zero, with dashed lines at marks. */
function drawHistogram(width, values, marks) {
  const height = 260;
  const found = histogram(values);
  const x = scale(found[0].from, found.at(-1).to, 48, width - 12);
  const y = scale(0, Math.max(...found.map(({ count }) => count), 1), height - 40, 10);
  const boxes = found.map(({ from, to, count }) =>
    box(x(from) + 0.5, y(count), Math.max(x(to) - x(from) - 1, 1), y(0) - y(count), upDown((from + to) / 2)),
  );
  const inside = marks.filter((at) => at >= x.low && at <= x.high);
  const lines = inside.map((at) => segment(x(at), 10, x(at), y(0), paint("ink"), dashes("3 3")));
  const axes = [leftAxis(y, 48, width - 60, whole), bottomAxis(x, height - 40, 0)];
  return { parts: [...axes, ...boxes, ...lines], height: height - 12 };
}

function residualFigure(i, known) {
  const errors = known.map((d) => errorOf(i, d));
  return figure(
    "residuals",
    "Errors: predicted less true",
    "To the right of zero predictions are too high.",
    (width) => drawHistogram(width, errors, [0]),
    ["row", "error"],
    () => known.map((d, at) => [d, errors[at]]),
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
  const inside = (d) => Number(!isWrong(i, d));
  const groups = tenths(known.map((d) => [answerOf(i, d).mean, inside(d)]));
  const all = shareInterval(mean(known.map(inside)), known.length);
  const tenth = ({ predicted, seen, n }) => ({
    name: `near ${number(predicted)} (${whole(n)})`,
    near: number(predicted),
    ...shareInterval(seen, n),
  });
  const colored = (item) => ({ ...item, color: paint(item.high < 0.9 ? "down" : "accent") });
  const items = [{ name: `all (${whole(known.length)})`, ...all }, ...groups.map(tenth)].map(colored);
  const short = items.filter(({ near, high }) => near && high < 0.9);
  const places = short.map(({ near, value }) => `${near} (${percent(value)})`).join(", ");
  const where = short.length ? `They fall short near predictions of ${places}.` : "No group falls clearly short.";
  return figure(
    "coverage",
    "How often intervals hold the truth",
    `By the prediction, with the number of documents. Dashed: the promised 90 %. Lines: 90 % intervals. ${where}`,
    (width) => intervals(width, items, { form: percent, mark: 0.9, high: 1 }),
    ["group", "coverage", "low_90", "high_90"],
    () => items.map((item) => [item.name, item.value, item.low, item.high]),
  );
}

/* Classes in an order in which those that are taken for each other stand side by side. */
function likeOrder(table) {
  const sizes = table.map(sum);
  const like = (a, b) => (table[a][b] + table[b][a]) / Math.max(sizes[a] + sizes[b], 1);
  const order = [largest(sizes)];
  while (order.length < table.length) {
    const last = order.at(-1);
    const rest = upTo(table.length).filter((c) => !order.includes(c));
    order.push(rest.reduce((best, c) => (like(last, c) > like(last, best) ? c : best)));
  }
  return order;
}

function confusionFigure(i, known) {
  const { classes } = app.data.outcomes[i];
  const table = classes.map(() => new Float64Array(classes.length));
  for (const d of known) {
    const { y, decided } = answerOf(i, d);
    table[y][decided] += 1;
  }
  const graded = isGrade(app.data.outcomes[i]);
  const order = graded || classes.length < 4 ? upTo(classes.length) : likeOrder(table);
  const sizes = table.map((row) => sum(row) || 1);
  const draw = (width) => {
    const left = sideWidth(width, 0.3, 150);
    const top = 84;
    const cell = clamp((width - left - 8) / classes.length, 10, 64);
    const parts = [label(left, 12, "predicted →", small()), label(left - 6, top - 6, "true ↓", small("end"))];
    order.forEach((c, r) => {
      const x = left + (r + 0.5) * cell;
      const text = fitText(classes[c], Math.min(84, (width - x) / 0.65), 11, true);
      parts.push(label(x, top - 8, text, anchored("start", 11, turned(-50, x, top - 8))));
      const n = ` (${whole(sizes[c])})`;
      const name = fitText(classes[c], left - 10 - textWidth(n, 11), 11, true) + n;
      parts.push(label(left - 6, top + (r + 0.5) * cell + 4, name, anchored("end")));
      order.forEach((p, q) => {
        const share = table[c][p] / sizes[c];
        const place = [left + q * cell + 1, top + r * cell + 1, cell - 2, cell - 2];
        const color = blend(paint("surface"), paint(c === p ? "up" : "down"), 0.75 * share);
        const style = anchored("middle", cell > 40 ? 12 : 10);
        const figures = share ? `${Math.round(100 * share)}` : "·";
        const spoken = `True ${classes[c]}, predicted ${classes[p]}: ${table[c][p]} documents`;
        const more = tip(`${spoken}, ${percent(share)} of the class`);
        const mark = box(...place, color, { stroke: paint("line"), class: "cell" });
        const shown = cell > 19 && label(left + (q + 0.5) * cell, top + (r + 0.5) * cell + 4, figures, style);
        parts.push(pressable(spoken, () => showClass(c, p), {}, mark, shown, more));
      });
    });
    return { parts, height: top + classes.length * cell + 10 };
  };
  const made = figure(
    "confusion",
    "True and predicted classes",
    "Percent of the documents of each true class; in brackets how many there are. Choose a cell to see them.",
    draw,
    ["true \\ predicted", ...order.map((c) => classes[c])],
    () => order.map((c) => [classes[c], ...order.map((p) => table[c][p])]),
  );
  return fill(made, {}, classes.length > 2 ? confusions(classes, table, sizes) : []);
}

/* The pairs of classes that are most often taken for each other. */
function confusions(classes, table, sizes) {
  const pairs = table
    .flatMap((row, c) => Array.from(row, (n, p) => ({ c, p, n })))
    .filter(({ c, p, n }) => c !== p && n > 0)
    .sort((a, b) => b.n - a.n);
  const item = ({ c, p, n }) => {
    const names = [said(cut(classes[c], 40)), " taken for ", said(cut(classes[p], 40))];
    const open = press(names, () => showClass(c, p), { class: "link" });
    return el("li", {}, open, `: ${whole(n)} documents, ${percent(n / sizes[c])} of the class`);
  };
  if (!pairs.length) return [];
  return [el("h4", {}, "Most frequent mistakes"), el("ol", { class: "mistakes" }, pairs.slice(0, 10).map(item))];
}

function showClass(truth, decided) {
  app.document = -1;
  showFiltered({ truth: String(truth), decided: String(decided) });
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
  const off = sum(groups.map(({ n, predicted, seen }) => (n / known.length) * Math.abs(predicted - seen)));
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
    ["predicted", "seen", "std_error", "documents"],
    () => groups.map((g) => [g.predicted, g.seen, g.error, g.n]),
  );
}

/* How far the true class is ahead of the best other one. */
function marginOf(i, d) {
  const { y, chances } = answerOf(i, d);
  return chances[y] - Math.max(...chances.filter((_, c) => c !== y));
}

function marginFigure(i, known) {
  const { classes, parts } = app.data.outcomes[i];
  const values = known.map((d) => (classes.length === 2 ? marginOf(i, d) / 2 : marginOf(i, d)));
  const support = app.data.arrays.support?.data;
  const n = support && known.filter((d) => support[d]).length;
  const carried = support ? ` ${whole(n)} documents carry the model (support documents).` : "";
  return figure(
    "margins",
    "Margins",
    "How far the true class is ahead of the best other one. Left of zero the prediction is wrong; " +
      `left of the second line a document costs something.${carried}`,
    (width) => drawHistogram(width, values, [0, parts[0].cost]),
    ["row", "margin", "support"],
    () => known.map((d, at) => [d, values[at], support ? support[d] : ""]),
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
    return { name: numbered(k), value: at(inclusion, k), color };
  });
  return figure(
    "inclusion",
    "How sure it is that a topic matters",
    "The share of posterior draws in which the topic has an effect. Grey: the chosen model leaves it out.",
    (width) => bars(width, items, { form: percent, low: 0, high: 1 }),
    ["topic", "inclusion", "probability_positive", "r_hat"],
    () => order.map((k) => [k, ...[inclusion, sign, rHat].map((array) => at(array, k))]),
  );
}
