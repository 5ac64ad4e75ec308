/* One document, of the corpus or typed: its prediction, its words in colour, and what led there. */

/* Everything about a document: {d, text, ids, counts, found, predictor}. */
function readDocument(d) {
  const known = countsOf(d);
  const text = documentText(d);
  if (!known || !app.model.kind)
    return { d, text, ids: null, counts: null, found: null, predictor: storedPredictor(d) };
  const found = scoreDocument(app.model, known.ids, known.counts, null);
  return { d, text, ...known, found, predictor: storedPredictor(d) };
}

function storedPredictor(d) {
  return app.data.effects ? row(app.data.arrays.predictor, d) : null;
}

function readTyped(text, covariates) {
  const { found: words, text: shown } = findWords(app.tokenizer, text);
  const { ids, counts, unknown } = countTerms(findTerms(app.tokenizer, words));
  const found = scoreDocument(app.model, ids, counts, covariates);
  const predictor = app.data.effects ? usersPredictor(app.data, found.score) : null;
  return { d: -1, text: shown, ids, counts, unknown, found, predictor };
}

/* The shares of a document, where its words are not at hand from the numbers kept. */
function sharesOf(document) {
  if (document.found) return document.found.mean;
  return Float64Array.from({ length: nTopics() }, (_, k) => shareOf(document.d, k));
}

/* The column of coefficients to explain a document by. */
function explainedColumn(document) {
  if (!app.data.effects) return document.found ? largest(document.found.shares) : 0;
  if (app.explained >= 0) return app.explained;
  const place = currentOutcome();
  const answer = answerFor(document, place);
  const own = answer && answer.decided !== undefined ? columnOfClass(place, answer.decided) : -1;
  return own < 0 ? app.column : own;
}

/* The prediction for a document, of the corpus or typed. */
function answerFor(document, place) {
  if (document.d >= 0) return answerOf(place, document.d);
  return predictOutcome(app.data.outcomes[place], document.found);
}

function waterfallOf(document, c) {
  const words = document.found ? wordPart(app.data, app.model, document.ids, document.counts, c) : 0;
  return waterfallParts(app.data, { mean: sharesOf(document) }, document.predictor, c, words);
}

/* The parts of the view of a document: its words and its waterfall. */
function explainDocument(document) {
  const c = explainedColumn(document);
  const pieces = [];
  const found = app.data.effects ? waterfallOf(document, c) : null;
  if (found) pieces.push(...confusionReason(document), ...reasons(document, found, c));
  if (document.found) pieces.push(...wordsFigure(document, c));
  else pieces.push(plainText(document));
  if (found) {
    const { name } = columnMeaning(c);
    pieces.push(
      figure(
        document.d < 0 ? "typed_waterfall" : `document_${document.d}_waterfall`,
        `From an average document to this one: ${cut(name, 60)}`,
        "Each bar is the share of a topic times its coefficient. Together they lead to the linear predictor.",
        (width) => drawWaterfall(width, found),
        () => waterfallRows(found),
      ),
    );
  }
  pieces.push(sharesFigure(document));
  return pieces;
}

function sharesFigure(document) {
  const shares = sharesOf(document);
  const order = bestPlaces(shares, 8).filter((k) => shares[k] > 0.005);
  const name = document.d < 0 ? "typed_shares" : `document_${document.d}_shares`;
  return figure(
    name,
    "Topics of this document",
    "",
    (width) =>
      bars(
        width,
        order.map((k) => ({ name: `${k}  ${topicName(k)}`, value: shares[k], color: topicColor(k) })),
        { form: percent, low: 0 },
      ),
    () => [["topic", "label", "share"], ...Array.from(shares, (share, k) => [k, topicName(k), share])],
  );
}

/* Why a wrong class was predicted and not the true one: what speaks more for the former than for the latter. */
function confusionReason(document) {
  const place = currentOutcome();
  const { y, decided } = document.d < 0 ? {} : answerOf(place, document.d);
  if (y === undefined || decided === undefined || Number.isNaN(y) || y === decided) return [];
  const [chosen, other] = [columnOfClass(place, decided), columnOfClass(place, y)];
  if (chosen < 0) return [];
  const [more, less] = [chosen, other].map((c) => row(app.data.arrays.coef, c));
  const topics = Array.from(sharesOf(document), (share, k) => ({ topic: k, value: share * (more[k] - less[k]) }));
  const strong = topics.sort((a, b) => b.value - a.value).filter(({ value }) => value > 0.01);
  if (!strong.length) return [];
  const { classes } = app.data.outcomes[place];
  const parts = listed(
    strong.slice(0, 2).map(({ topic, value }) => el("span", {}, topicLink(topic), ` (${signed(value, 2)})`)),
  );
  const words = document.found ? strongestWords(document, chosen, other) : [];
  const said2 = words.length ? ["; words such as ", ...listed(words.map((id) => el("q", {}, said(wordName(id)))))] : [];
  const why = ["Why ", el("em", {}, said(cut(classes[decided], 40))), " and not "];
  return [para("reason", ...why, el("em", {}, said(cut(classes[y], 40))), "? ", ...parts, ...said2, ".")];
}

/* The three words that speak more for one column than for another. */
function strongestWords(document, c, other) {
  const less = contributions(document, other);
  return contributions(document, c)
    .map(({ id, value }, j) => ({ id, value: value - less[j].value }))
    .filter(({ value }) => value > 0)
    .sort((a, b) => b.value - a.value)
    .slice(0, 3)
    .map(({ id }) => id);
}

/* A sentence that says why: the strongest topics and words. */
function reasons(document, found, c) {
  const { name, isClass } = columnMeaning(c);
  const topics = waterfallBars(found, 40).filter(({ topic }) => topic !== undefined);
  const total = found.end - found.start;
  const side = (sign) =>
    topics.filter(({ value }) => sign * value > 0.05 * Math.max(Math.abs(total), 1e-9)).slice(0, 2);
  const words = document.found ? contributions(document, c) : [];
  const strong = (sign) => words.filter(({ value }) => sign * value > 0).slice(0, 3);
  words.sort((a, b) => b.value - a.value);
  const up = strong(1);
  words.reverse();
  const down = strong(-1);
  const line = (sign, few) => {
    const names = side(sign);
    if (!names.length && !few.length) return null;
    const verb = isClass
      ? [sign > 0 ? "For " : "Against ", el("em", {}, said(name)), ": "]
      : [sign > 0 ? "Points upwards: " : "Points downwards: "];
    const said1 = listed(names.map(({ topic, value }) => el("span", {}, topicLink(topic), ` (${signed(value, 2)})`)));
    const quoted = listed(few.map(({ id }) => el("q", {}, said(wordName(id)))));
    const said2 = few.length ? [names.length ? "; words such as " : "words such as ", ...quoted] : [];
    return para("reason", arrow(sign > 0 ? "up" : "down"), ...verb, ...said1, ...said2, ".");
  };
  const where = isClass
    ? `Score of ${name}: an`
    : scaleKind(c) === "plain"
      ? "An"
      : "On the scale of the coefficients, an";
  const level = `${where} average document stands at ${number(found.start)}, this one at ${number(found.end)}.`;
  const lines = [line(1, up), line(-1, down)];
  return [para("reason", level), ...(total < 0 ? lines.reverse() : lines)].filter(Boolean);
}

function contributions(document, c) {
  const values = wordContributions(app.data, app.model, document.found, document.ids, document.counts, c);
  return document.ids.map((id, j) => ({ id, value: values[j], count: document.counts[j] }));
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
  const rows = () => [["word", "count", "contribution", "topic"], ...wordRows(document, c)];
  const name = document.d < 0 ? "typed_words" : `document_${document.d}_words`;
  draw();
  return [div("tools", el("h3", {}, "Words"), chosen, saveButtons(name, "words", null, rows)), place, legend];
}

function wordRows(document, c) {
  return contributions(document, c).map(({ id, value, count }, j) => [
    app.data.words[id],
    count,
    value,
    largest(document.found.phi[j]),
  ]);
}

function paintWords(document, c, place, legend) {
  const places = new Map(document.ids.map((id, j) => [id, j]));
  const values = contributions(document, c).map(({ value, count }) => value / count);
  const most = Math.max(...values.map(Math.abs), 1e-12);
  const topics = document.found.phi.map(largest);
  const [raised, up, down] = ["raised", "up", "down"].map(paint);
  const [palette, strongest] = [topicColors(), isDark() ? 0.5 : 0.6];
  const mark = (j, text) => {
    const node = el("mark", {}, text);
    const k = topics[j];
    const strength =
      shownWords.by === "topic"
        ? 0.25 * document.found.phi[j][k] + 0.05
        : Math.pow(Math.abs(values[j]) / most, 1.4) * strongest;
    const color = shownWords.by === "topic" ? palette[k % palette.length] : values[j] < 0 ? down : up;
    node.style.backgroundColor = blend(raised, color, strength);
    if (shownWords.by === "topic") node.style.borderBottomColor = color;
    else if (strength > 0.2) node.style.borderBottom = `2px ${values[j] < 0 ? "dotted" : "solid"} ${color}`;
    const adds = app.data.effects ? `, adds ${signed(values[j])}` : "";
    node.title = `${topicTitle(k)} (${percent(document.found.phi[j][k])})${adds}`;
    return node;
  };
  place.classList.toggle("by-topic", shownWords.by === "topic");
  place.replaceChildren(
    ...(document.text === null ? wordList(document, mark) : markedText(document.text, places, mark)),
  );
  drawLegend(legend, document, topics, c);
  if (document.d >= 0 && document.text !== null && document.text.length === app.data.documents.limit) {
    place.append(para("note", "The text is cut here. The prediction is that of the whole text."));
  }
}

/* Text and marks; a word in several terms has the mark of the shortest known one. */
function markedText(given, places, mark) {
  if (!app.tokenizer) return [given];
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
  nodes.push(text.slice(at));
  const holder = el("p", { dir: "auto", class: "text" });
  holder.append(...nodes);
  return [holder];
}

function wordList(document, mark) {
  const order = document.ids.map((id, j) => j).sort((a, b) => document.counts[b] - document.counts[a]);
  const nodes = order.slice(0, 300).flatMap((j) => {
    const times = document.counts[j] === 1 ? "" : `×${number(document.counts[j])}`;
    return [mark(j, wordName(document.ids[j]) + times), " "];
  });
  return [para("text", nodes)];
}

function drawLegend(legend, document, topics, c) {
  if (shownWords.by !== "topic") {
    const { name, isClass } = app.data.effects ? columnMeaning(c) : { name: "its class", isClass: true };
    legend.replaceChildren(
      el("span", {}, arrow("up"), "blue, solid line: points to ", isClass ? "" : "higher ", said(cut(name, 40))),
      el("span", {}, arrow("down"), `orange, dotted line: points ${isClass ? "away from it" : "to lower"}`),
    );
    return;
  }
  const totals = new Map();
  topics.forEach((k, j) => totals.set(k, (totals.get(k) || 0) + document.counts[j]));
  const order = [...totals.entries()].sort((a, b) => b[1] - a[1]).slice(0, 8);
  legend.replaceChildren(...order.map(([k]) => el("span", {}, swatch(k), `${k} `, topicLink(k))));
}

function plainText(document) {
  const why = app.model.kind
    ? "The words of this document are not part of the page, which holds those of a part of the documents only."
    : "Inference of this model is not part of the page: its words have no colours.";
  return div(
    "reading",
    document.text === null ? null : el("p", { class: "text", dir: "auto" }, document.text),
    para("note", why),
  );
}

function truthSentence({ y, mean: predicted, ends: [low, high] }) {
  const off = predicted - y;
  const where = y >= low && y <= high ? "within" : "outside";
  const side = off > 0 ? "high" : "low";
  return `In truth ${number(y)}: the prediction is ${number(Math.abs(off))} too ${side}, ${where} the interval.`;
}

/* The prediction in a sentence, and the classes as bars. */
function answerParts(place, answer, probability = 0.9) {
  const outcome = app.data.outcomes[place];
  const name = el("em", {}, said(outcome.name));
  const known = answer.y !== undefined && !Number.isNaN(answer.y);
  if (outcome.kind === "number") {
    const [low, high] = answer.ends;
    const interval = ` (${percent(probability)} interval ${number(low)} to ${number(high)})`;
    return [
      para("answer", "Predicted ", name, ": ", el("strong", {}, number(answer.mean)), interval),
      known ? para("truth", truthSentence(answer)) : null,
      intervalFigure(place, answer),
    ];
  }
  const verdict = known ? (answer.decided === answer.y ? "right" : "wrong") : "";
  const values = answer.probabilities || answer.chances;
  const scores = outcome.kind === "score" && !answer.probabilities;
  const order = bestPlaces(Float64Array.from(values), 8);
  const items = order.map((code) => ({
    name: cut(outcome.classes[code], 40) + (known && code === answer.y ? " (true)" : ""),
    value: values[code],
    color: code === answer.decided ? paint("accent") : paint("zero"),
  }));
  return [
    para("answer", "Predicted ", name, ": ", el("strong", {}, said(cut(outcome.classes[answer.decided], 60)))),
    known
      ? para("truth", "In truth ", said(cut(outcome.classes[answer.y], 60)), `: the prediction is ${verdict}.`)
      : null,
    figure(
      `classes_${place}`,
      scores ? "Scores of the classes" : "Probabilities of the classes",
      answer.probabilities ? "Calibrated on documents left out. The class with the highest score is predicted." : "",
      (width) => bars(width, items, scores ? { form: (value) => number(value) } : { form: percent, low: 0, high: 1 }),
      () => [["class", "value"], ...Array.from(values, (value, code) => [outcome.classes[code], value])],
    ),
  ];
}

/* A line from the lowest to the highest y, with the interval, the prediction and the truth. */
function intervalFigure(place, answer) {
  const { data } = app.data.arrays[`y_${place}`];
  const ends = answer.ends.filter(Number.isFinite);
  const [low, high] = range([...range(data), answer.mean, ...ends]);
  const clip = (value) => Math.max(low, Math.min(high, value));
  const draw = (width) => {
    const x = scale(low, high, 16, width - 16);
    const parts = [
      bottomAxis(x, 30, 24),
      segment(x(clip(answer.ends[0])), 16, x(clip(answer.ends[1])), 16, paint("accent"), {
        "stroke-width": 6,
        "stroke-linecap": "round",
        opacity: 0.35,
      }),
      circle(x(answer.mean), 16, 6, { fill: paint("accent") }),
    ];
    if (answer.y !== undefined && !Number.isNaN(answer.y)) {
      const at = x(answer.y);
      parts.push(
        svg("path", { d: `M${at} 8l6 8l-6 8l-6 -8z`, fill: paint("surface"), stroke: paint("ink"), "stroke-width": 2 }),
      );
    }
    return { parts, height: 52 };
  };
  const known = answer.y !== undefined && !Number.isNaN(answer.y);
  return figure(
    `prediction_${place}`,
    "Prediction",
    `Dot: predicted. Band: interval.${known ? " Diamond: the truth." : ""}`,
    draw,
    () => [
      ["predicted", "low", "high", "true"],
      [answer.mean, ...answer.ends, answer.y],
    ],
  );
}
