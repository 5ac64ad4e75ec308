/* One document, of the corpus or typed: its prediction, its words in colour, and what led there. */

/* Everything about a document: {d, text, ids, counts, found, predictor}. */
function readDocument(d) {
  const known = app.model.kind ? countsOf(d) : null;
  const found = known ? scoreDocument(app.model, known.ids, known.counts) : null;
  const predictor = app.data.effects ? row(app.data.arrays.predictor, d) : null;
  return { d, text: documentText(d), ...known, found, predictor };
}

function readTyped(text, covariates) {
  const { found: words, text: shown } = findWords(app.tokenizer, text);
  const { ids, counts, unknown } = countTerms(findTerms(app.tokenizer, words));
  const found = scoreDocument(app.model, ids, counts, covariates);
  const predictor = app.data.effects ? usersPredictor(app.data, found.score) : null;
  return { d: -1, text: shown, ids, counts, unknown, found, predictor };
}

/* How figures about a document are named. */
const figureName = ({ d }, what) => `${d < 0 ? "typed" : `document_${d}`}_${what}`;

/* The shares of a document, where its words are not at hand from the numbers kept. */
function sharesOf({ d, found }) {
  return found ? found.mean : Float64Array.from({ length: nTopics() }, (_, k) => shareOf(d, k));
}

/* The column of coefficients to explain a document by. */
function explainedColumn(document) {
  if (!app.data.effects) return document.found ? largest(document.found.shares) : 0;
  if (app.explained >= 0) return app.explained;
  const place = currentOutcome();
  const { decided } = answerFor(document, place) ?? {};
  const own = decided === undefined ? -1 : columnOfClass(place, decided);
  return own < 0 ? app.column : own;
}

/* The prediction for a document, of the corpus or typed. */
function answerFor({ d, found }, place) {
  return d >= 0 ? answerOf(place, d) : predictOutcome(app.data.outcomes[place], found);
}

function waterfallOf(document, c) {
  const words = document.found ? sum(ownParts(app.data, app.model, document.ids, document.counts, c)) : 0;
  return waterfallParts(app.data, sharesOf(document), document.predictor, c, words);
}

/* The parts of the view of a document: its words and its waterfall. */
function explainDocument(document) {
  const c = explainedColumn(document);
  const fall = app.data.effects ? waterfallOf(document, c) : null;
  return [
    fall && [confusionReason(document), reasons(document, fall, c)],
    document.found ? wordsFigure(document, c) : plainText(document),
    fall && waterfallFigure(document, fall, c),
    sharesFigure(document),
  ];
}

function waterfallFigure(document, fall, c) {
  return figure(
    figureName(document, "waterfall"),
    `From an average document to this one: ${cut(columnMeaning(c).name, 60)}`,
    "Each bar is the share of a topic times its coefficient. Together they lead to the linear predictor.",
    (width) => drawWaterfall(width, fall),
    ["part", "share", "value"],
    () => waterfallRows(fall),
  );
}

function sharesFigure(document) {
  const shares = sharesOf(document);
  const order = bestPlaces(shares, 8).filter((k) => shares[k] > 0.005);
  const item = (k) => ({ name: numbered(k), value: shares[k], color: topicColor(k) });
  return figure(
    figureName(document, "shares"),
    "Topics of this document",
    "",
    (width) => bars(width, order.map(item), { form: percent, low: 0 }),
    ["topic", "label", "share"],
    () => Array.from(shares, (share, k) => [k, topicName(k), share]),
  );
}

/* Topics with what they add, and words that add most, as a part of a sentence. */
function topicsAndWords(topics, ids) {
  const links = topics.map(({ topic, value }) => span(topicLink(topic), ` (${signed(value, 2)})`));
  const quoted = ids.map((id) => el("q", {}, said(wordName(id))));
  const between = `${topics.length ? "; " : ""}words such as `;
  return [listed(links), quoted.length > 0 && [between, listed(quoted)], "."];
}

/* Why a wrong class was predicted and not the true one: what speaks more for the former than for the latter. */
function confusionReason(document) {
  const place = currentOutcome();
  const { y, decided } = document.d < 0 ? {} : answerOf(place, document.d);
  if (y === undefined || decided === undefined || Number.isNaN(y) || y === decided) return null;
  const [chosen, other] = [columnOfClass(place, decided), columnOfClass(place, y)];
  if (chosen < 0) return null;
  const [more, less] = [chosen, other].map((c) => row(app.data.arrays.coef, c));
  const topics = Array.from(sharesOf(document), (share, k) => ({ topic: k, value: share * (more[k] - less[k]) }));
  const strong = topics.sort((a, b) => b.value - a.value).filter(({ value }) => value > 0.01);
  if (!strong.length) return null;
  const { classes } = app.data.outcomes[place];
  const why = ["Why ", stressed(classes[decided], 40), " and not ", stressed(classes[y], 40), "? "];
  return para("reason", why, topicsAndWords(strong.slice(0, 2), strongestWords(document, chosen, other)));
}

/* The three words that speak more for one column than for another. */
function strongestWords(document, c, other) {
  const less = contributions(document, other);
  return strongest(contributions(document, c).map(({ id, value }, j) => ({ id, value: value - less[j].value })));
}

function strongest(words, sign = 1) {
  const own = words.filter(({ value }) => sign * value > 0).sort((a, b) => sign * (b.value - a.value));
  return own.slice(0, 3).map(({ id }) => id);
}

/* A sentence that says why: the strongest topics and words. */
function reasons(document, fall, c) {
  const { name, isClass } = columnMeaning(c);
  const topics = waterfallBars(fall, 40).filter(({ topic }) => topic !== undefined);
  const total = fall.end - fall.start;
  const least = 0.05 * Math.max(Math.abs(total), 1e-9);
  const words = contributions(document, c);
  const line = (sign) => {
    const few = topics.filter(({ value }) => sign * value > least).slice(0, 2);
    const ids = strongest(words, sign);
    if (!few.length && !ids.length) return null;
    const verb = isClass
      ? [sign > 0 ? "For " : "Against ", stressed(name), ": "]
      : `Points ${sign > 0 ? "upwards" : "downwards"}: `;
    return para("reason", arrow(sign > 0 ? "up" : "down"), verb, topicsAndWords(few, ids));
  };
  const where = isClass ? `Score of ${name}: an` : hasPlainScale(c) ? "An" : "On the scale of the coefficients, an";
  const level = `${where} average document stands at ${number(fall.start)}, this one at ${number(fall.end)}.`;
  return [para("reason", level), ...(total < 0 ? [-1, 1] : [1, -1]).map(line)];
}

/* What the words of a document add to column c; none where they are not at hand. */
function contributions({ found, ids, counts }, c) {
  if (!found) return [];
  const values = wordContributions(app.data, app.model, found, ids, counts, c);
  return ids.map((id, j) => ({ id, value: values[j], count: counts[j] }));
}

const shownWords = { by: "effect" };

/* The text with its words in colour, or the words alone where there is no text. */
function wordsFigure(document, c) {
  const place = div("reading");
  const legend = div("legend");
  const draw = () => paintWords(document, c, place, legend);
  const adds = app.data.effects || app.model.kind === "one_topic";
  const options = [...(adds ? [["effect", "What it adds"]] : []), ["topic", "Topic"]];
  if (!adds) shownWords.by = "topic";
  const chosen = switcher("Colour of the words", options, shownWords.by, (by) => {
    shownWords.by = by;
    draw();
  });
  const rows = () =>
    contributions(document, c).map(({ id, value, count }, j) => {
      return [app.data.words[id], count, value, largest(document.found.phi[j])];
    });
  const head = ["word", "count", "contribution", "topic"];
  const save = saveButtons(figureName(document, "words"), "words", null, head, rows);
  draw();
  return [div("tools", el("h3", {}, "Words"), chosen, save), place, legend];
}

function paintWords(document, c, place, legend) {
  const byTopic = shownWords.by === "topic";
  const { phi } = document.found;
  const places = new Map(document.ids.map((id, j) => [id, j]));
  const values = contributions(document, c).map(({ value, count }) => value / count);
  const most = Math.max(...values.map(Math.abs), 1e-12);
  const topics = phi.map(largest);
  const [raised, up, down] = ["raised", "up", "down"].map(paint);
  const [palette, full] = [topicColors(), isDark() ? 0.5 : 0.6];
  const mark = (j, text) => {
    const node = el("mark", {}, text);
    const k = topics[j];
    const strength = byTopic ? 0.25 * phi[j][k] + 0.05 : Math.pow(Math.abs(values[j]) / most, 1.4) * full;
    const color = byTopic ? palette[k % palette.length] : values[j] < 0 ? down : up;
    node.style.backgroundColor = blend(raised, color, strength);
    if (byTopic) node.style.borderBottomColor = color;
    else if (strength > 0.2) node.style.borderBottom = `2px ${values[j] < 0 ? "dotted" : "solid"} ${color}`;
    const adds = app.data.effects ? `, adds ${signed(values[j])}` : "";
    node.title = `${topicTitle(k)} (${percent(phi[j][k])})${adds}`;
    return node;
  };
  const { d, text } = document;
  const isCut = d >= 0 && text?.length === app.data.documents.limit;
  place.classList.toggle("by-topic", byTopic);
  put(
    place,
    text === null ? wordList(document, mark) : markedText(text, places, mark),
    isCut && para("note", "The text is cut here. The prediction is that of the whole text."),
  );
  put(legend, byTopic ? topicLegend(document, topics) : effectLegend(c));
}

/* Text and marks; a word in several terms has the mark of the shortest known one. */
function markedText(given, places, mark) {
  if (!app.tokenizer) return given;
  const { found, text } = findWords(app.tokenizer, given);
  const chosen = new Array(found.length).fill(-1);
  for (const { id, first, last } of findTerms(app.tokenizer, found)) {
    const j = places.get(id);
    if (j === undefined) continue;
    for (let i = first; i <= last; i++) if (chosen[i] < 0) chosen[i] = j;
  }
  const nodes = [];
  let at = 0;
  found.forEach(({ start, end }, i) => {
    if (chosen[i] < 0) return;
    nodes.push(text.slice(at, start), mark(chosen[i], text.slice(start, end)));
    at = end;
  });
  return el("p", { dir: "auto", class: "text" }, nodes, text.slice(at));
}

function wordList({ ids, counts }, mark) {
  const order = upTo(ids.length).sort((a, b) => counts[b] - counts[a]);
  const times = (j) => (counts[j] === 1 ? "" : `×${number(counts[j])}`);
  const marks = order.slice(0, 300).map((j) => [mark(j, wordName(ids[j]) + times(j)), " "]);
  return para("text", marks);
}

function effectLegend(c) {
  const { name, isClass } = app.data.effects ? columnMeaning(c) : { name: "its class", isClass: true };
  return [
    span(arrow("up"), "blue, solid line: points to ", isClass ? "" : "higher ", said(cut(name, 40))),
    span(arrow("down"), `orange, dotted line: points ${isClass ? "away from it" : "to lower"}`),
  ];
}

function topicLegend({ counts }, topics) {
  const totals = new Map();
  topics.forEach((k, j) => totals.set(k, (totals.get(k) || 0) + counts[j]));
  const order = [...totals].sort((a, b) => b[1] - a[1]).slice(0, 8);
  return order.map(([k]) => span(swatch(k), `${k} `, topicLink(k)));
}

function plainText({ text }) {
  const why = app.model.kind
    ? "The words of this document are not part of the page, which holds those of a part of the documents only."
    : "Inference of this model is not part of the page: its words have no colours.";
  return div("reading", text !== null && el("p", { class: "text", dir: "auto" }, text), para("note", why));
}

const isKnown = (y) => y !== undefined && !Number.isNaN(y);

/* The prediction in a sentence, and where it lies, or the classes as bars. */
function answerParts(place, answer, probability = 0.9) {
  const { name, kind } = app.data.outcomes[place];
  const start = ["Predicted ", el("em", {}, said(name)), ": "];
  return kind === "number" ? numberParts(place, answer, probability, start) : classParts(place, answer, start);
}

function numberParts(place, answer, probability, start) {
  const { y, mean: predicted, ends } = answer;
  const [low, high] = ends;
  const interval = ` (${percent(probability)} interval ${number(low)} to ${number(high)})`;
  const where = y >= low && y <= high ? "within" : "outside";
  const off = `${number(Math.abs(predicted - y))} too ${predicted > y ? "high" : "low"}`;
  return [
    para("answer", start, el("strong", {}, number(predicted)), interval),
    isKnown(y) && para("truth", `In truth ${number(y)}: the prediction is ${off}, ${where} the interval.`),
    intervalFigure(place, answer),
  ];
}

function classParts(place, { y, decided, chances, probabilities }, start) {
  const { kind, classes } = app.data.outcomes[place];
  const values = probabilities || chances;
  const scores = kind === "score" && !probabilities;
  const items = bestPlaces(values, 8).map((code) => ({
    name: cut(classes[code], 40) + (code === y ? " (true)" : ""),
    value: values[code],
    color: paint(code === decided ? "accent" : "zero"),
  }));
  const verdict = `: the prediction is ${decided === y ? "right" : "wrong"}.`;
  const made = figure(
    `classes_${place}`,
    scores ? "Scores of the classes" : "Probabilities of the classes",
    probabilities ? "Calibrated on documents left out. The class with the highest score is predicted." : "",
    (width) => bars(width, items, scores ? {} : { form: percent, low: 0, high: 1 }),
    ["class", "value"],
    () => values.map((value, code) => [classes[code], value]),
  );
  return [
    para("answer", start, el("strong", {}, said(cut(classes[decided], 60)))),
    isKnown(y) && para("truth", "In truth ", said(cut(classes[y], 60)), verdict),
    made,
  ];
}

/* A line from the lowest to the highest y, with the interval, the prediction and the truth. */
function intervalFigure(place, { y, mean: predicted, ends }) {
  const all = range(app.data.arrays[`y_${place}`].data);
  const [low, high] = range([...all, predicted, ...ends.filter(Number.isFinite)]);
  const draw = (width) => {
    const x = scale(low, high, 16, width - 16);
    const [from, to] = ends.map((value) => x(clamp(value, low, high)));
    const band = { "stroke-width": 6, "stroke-linecap": "round", opacity: 0.35 };
    const edge = { fill: paint("surface"), stroke: paint("ink"), "stroke-width": 2 };
    const parts = [
      bottomAxis(x, 30, 24),
      segment(from, 16, to, 16, paint("accent"), band),
      circle(x(predicted), 16, 6, { fill: paint("accent") }),
      isKnown(y) && svg("path", { d: `M${x(y)} 8l6 8l-6 8l-6 -8z`, ...edge }),
    ];
    return { parts, height: 52 };
  };
  return figure(
    `prediction_${place}`,
    "Prediction",
    `Dot: predicted. Band: interval.${isKnown(y) ? " Diamond: the truth." : ""}`,
    draw,
    ["predicted", "low", "high", "true"],
    () => [[predicted, ...ends, y]],
  );
}
