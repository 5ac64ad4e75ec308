/* What is chosen on the page, and who wants to know when it changes. */

const app = {
  data: null,
  model: null,
  tokenizer: null,
  topic: 0,
  column: 0,
  explained: -1, // the column that documents are explained by; -1: that of the class that is predicted
  document: -1,
  view: "topics",
  whole: "yes", // all classes at once, where there are many
  theme: "", // "light" or "dark" where the reader has chosen
  labels: {},
};
const listeners = [];

/* Runs now, and again whenever one of the things named has changed, while its place is shown. */
function panel(place, kinds, draw) {
  const own = { place, kinds, draw, stale: false };
  listeners.push(own);
  draw(place);
  return place;
}

function dropListeners(unwanted) {
  listeners.splice(0, Infinity, ...listeners.filter((own) => !unwanted(own)));
}

function isShown(place) {
  return place.isConnected && place.offsetParent !== null;
}

function announce(kind) {
  for (const own of [...listeners]) {
    if (!own.kinds.includes(kind)) continue;
    if (isShown(own.place)) redrawPanel(own);
    else own.stale = true;
  }
  writeAddress();
}

function redrawPanel(own) {
  own.stale = false;
  own.draw(own.place);
}

function redrawStale() {
  for (const own of listeners) if (own.stale && isShown(own.place)) redrawPanel(own);
}

function chooseTopic(k) {
  app.topic = k;
  announce("topic");
}

function chooseColumn(c) {
  app.column = c;
  if (app.explained >= 0) app.explained = c;
  announce("column");
}

function go(view, argument) {
  const hash = argument === undefined ? `#${view}` : `#${view}/${argument}`;
  if (location.hash.split("?")[0] === hash) route({ type: "again" });
  else location.hash = hash;
}

/* --- reading the data --- */

function nTopics() {
  return app.model.nTopics;
}

function nDocuments() {
  return app.data.documents.n;
}

function shareOf(d, k) {
  const { data, shape } = app.data.arrays.shares;
  return data[d * shape[1] + k] / 65535;
}

/* The mean share of a topic in the documents of the page. */
function meanShares() {
  if (!app.means) {
    const { data, shape } = app.data.arrays.shares;
    const sums = new Float64Array(shape[1]);
    for (let i = 0; i < data.length;) for (let k = 0; k < shape[1]; k++, i++) sums[k] += data[i];
    app.means = sums.map((sum) => sum / 65535 / shape[0]);
  }
  return app.means;
}

/* The word counts of a document: {ids, counts}; null where they are not in the page. */
function countsOf(d) {
  const { count_rows: lengths, count_steps: steps, count_values: values } = app.data.arrays;
  if (!app.countStarts) {
    app.countStarts = new Uint32Array(lengths.data.length + 1);
    lengths.data.forEach((n, i) => (app.countStarts[i + 1] = app.countStarts[i] + Math.max(n, 0)));
  }
  if (lengths.data[d] < 0) return null;
  const ids = [];
  const counts = [];
  let word = 0;
  for (let i = app.countStarts[d]; i < app.countStarts[d + 1]; i++) {
    word += steps.data[i];
    ids.push(word);
    counts.push(values.data[i]);
  }
  return { ids, counts };
}

function documentText(d) {
  const { texts } = app.data.documents;
  return texts ? texts[d] : null;
}

/* How a document is called: its name, or its row number. */
function documentName(d) {
  const { names } = app.data.documents;
  return names ? cut(names[d], 80) : `Document ${d}`;
}

function snippet(d, length = 120) {
  const text = documentText(d);
  const plain = (given) => cut(given.replace(/\s+/g, " ").trim(), length);
  if (text !== null) return plain(text.slice(0, 4 * length)) || "(empty)";
  const found = countsOf(d);
  if (!found) return "";
  const order = bestPlaces(found.counts, 12).map((j) => wordName(found.ids[j]));
  return order.join(" · ") || "(empty)";
}

function wordName(id) {
  return cut(app.data.words[id], 40);
}

/* The outcome that a column of coefficients belongs to, and which class it is (-1 for a number or one column). */
function outcomeOfColumn(c) {
  for (let place = 0; place < app.data.outcomes.length; place++) {
    const parts = app.data.outcomes[place].parts;
    for (let i = 0; i < parts.length; i++) {
      const [first, last] = parts[i].columns;
      if (c >= first && c < last) return { place, code: parts.length > 1 ? i : last - first > 1 ? c - first : -1 };
    }
  }
  return { place: 0, code: -1 };
}

function currentOutcome() {
  return app.data.outcomes.length ? outcomeOfColumn(app.column).place : -1;
}

function isGrade(outcome) {
  return outcome.parts.some(({ response }) => response === "ordinal");
}

/* What a column of coefficients is about: {name, isClass}; "good" for a class, "rating" for a number or a grade. */
function columnMeaning(c) {
  const { place, code } = outcomeOfColumn(c);
  const outcome = app.data.outcomes[place];
  if (outcome.kind === "number" || isGrade(outcome)) return { name: cut(outcome.name, 60), isClass: false };
  return { name: cut(outcome.classes[code < 0 ? outcome.classes.length - 1 : code], 60), isClass: true };
}

/* "Higher rating", "Lower rating" or "good", as nodes. */
function sideName(c, up) {
  const { name, isClass } = columnMeaning(c);
  return isClass ? [el("em", {}, said(name))] : [up ? "Higher " : "Lower ", el("em", {}, said(name))];
}

/* The scale of linear predictors: the unit of the response ("plain"), its logarithm, log-odds, or another one. */
function scaleKind(c) {
  const { response, link } = app.data.outcomes[outcomeOfColumn(c).place].parts[0];
  if (response === "gaussian" || response === "epsilon_insensitive") return "plain";
  if (response === "logit" || response === "softmax") return "odds";
  const logs = ["poisson", "negative_binomial", "gamma", "inverse_gaussian", "weibull"];
  return logs.includes(response) && link !== "canonical" ? "log" : "other";
}

/* The column of coefficients of a class; -1 where classes have none of their own. */
function columnOfClass(place, code) {
  const { parts } = app.data.outcomes[place];
  if (parts.length > 1) return parts[code].columns[0];
  if (!parts.length) return -1;
  const [first, last] = parts[0].columns;
  return last - first > 1 ? first + code : -1;
}

/* The prediction and the truth of a document: {y, mean, ends} or {y, chances, decided}.
 * `chances` of a margin are scores; `probabilities` stand beside them where the model has some.
 */
function answerOf(place, d) {
  const { y, predicted, low, high, decided, chances: beside } = answersOf(place);
  if (low) return { y: y.data[d], mean: predicted.data[d], ends: [low.data[d], high.data[d]] };
  const answer = { y: y.data[d], chances: Array.from(row(predicted, d)), decided: decided.data[d] };
  return beside ? { ...answer, probabilities: Array.from(row(beside, d)) } : answer;
}

/* The arrays of an outcome. */
function answersOf(place) {
  const names = ["y", "predicted", "low", "high", "decided", "chances"];
  const found = (i) => Object.fromEntries(names.map((name) => [name, app.data.arrays[`${name}_${i}`]]));
  app.answers ??= app.data.outcomes.map((_, i) => found(i));
  return app.answers[place];
}

/* How wrong the prediction of a document is; NaN where y is not known. */
function errorOf(place, d) {
  app.errors ??= [];
  app.errors[place] ??= Float64Array.from({ length: nDocuments() }, (_, row) => findError(place, row));
  return app.errors[place][d];
}

function findError(place, d) {
  const outcome = app.data.outcomes[place];
  const answer = answerOf(place, d);
  if (Number.isNaN(answer.y)) return NaN;
  if (outcome.kind === "number") return answer.mean - answer.y;
  if (isGrade(outcome)) return answer.chances.reduce((sum, p, c) => sum + p * Math.abs(c - answer.y), 0);
  return Math.max(...answer.chances) - answer.chances[answer.y];
}

function isWrong(place, d) {
  const outcome = app.data.outcomes[place];
  const answer = answerOf(place, d);
  if (Number.isNaN(answer.y)) return false;
  if (outcome.kind === "number") return answer.y < answer.ends[0] || answer.y > answer.ends[1];
  return answer.decided !== answer.y;
}

function valueName(place, value) {
  const outcome = app.data.outcomes[place];
  if (Number.isNaN(value)) return "not known";
  return outcome.kind === "number" ? number(value) : cut(outcome.classes[value], 40);
}
