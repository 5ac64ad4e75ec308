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
  listeners.push({ place, kinds, draw, stale: false });
  draw(place);
  return place;
}

function dropListeners(unwanted) {
  listeners.splice(0, Infinity, ...listeners.filter((own) => !unwanted(own)));
}

const isShown = (place) => place.isConnected && place.offsetParent !== null;

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

const nTopics = () => app.model.nTopics;
const nDocuments = () => app.data.documents.n;
const shareOf = (d, k) => app.data.arrays.shares.data[d * nTopics() + k] / 65535;

/* The mean share of a topic in the documents of the page. */
function meanShares() {
  if (!app.means) {
    const { data, shape } = app.data.arrays.shares;
    const sums = new Float64Array(shape[1]);
    for (let i = 0; i < data.length; i++) sums[i % shape[1]] += data[i];
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
  const ends = [app.countStarts[d], app.countStarts[d + 1]];
  let word = 0;
  const ids = Array.from(steps.data.subarray(...ends), (step) => (word += step));
  return { ids, counts: Array.from(values.data.subarray(...ends)) };
}

const documentText = (d) => app.data.documents.texts?.[d] ?? null;

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
  const words = bestPlaces(found.counts, 12).map((j) => wordName(found.ids[j]));
  return words.join(" · ") || "(empty)";
}

const wordName = (id) => cut(app.data.words[id], 40);

/* The outcome that a column of coefficients belongs to, and which class it is (-1 for a number or one column). */
function outcomeOfColumn(c) {
  for (const [place, { parts }] of app.data.outcomes.entries()) {
    const i = parts.findIndex(({ columns: [first, last] }) => c >= first && c < last);
    if (i < 0) continue;
    const [first, last] = parts[i].columns;
    return { place, code: parts.length > 1 ? i : last - first > 1 ? c - first : -1 };
  }
  return { place: 0, code: -1 };
}

const currentOutcome = () => (app.data.outcomes.length ? outcomeOfColumn(app.column).place : -1);
const isGrade = ({ parts }) => parts.some(({ response }) => response === "ordinal");

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
  return [!isClass && (up ? "Higher " : "Lower "), stressed(name)];
}

/* Whether linear predictors have the unit of the response. */
function hasPlainScale(c) {
  const { response } = app.data.outcomes[outcomeOfColumn(c).place].parts[0];
  return ["gaussian", "epsilon_insensitive"].includes(response);
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
 * `chances` of a margin are scores; `probabilities` stand beside them where the model has some. */
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
  app.errors[place] ??= Float64Array.from({ length: nDocuments() }, (_, one) => findError(place, one));
  return app.errors[place][d];
}

function findError(place, d) {
  const { y, mean: predicted, chances } = answerOf(place, d);
  if (Number.isNaN(y)) return NaN;
  if (!chances) return predicted - y;
  if (isGrade(app.data.outcomes[place])) return sum(chances.map((p, c) => p * Math.abs(c - y)));
  return Math.max(...chances) - chances[y];
}

function isWrong(place, d) {
  const { y, ends, decided } = answerOf(place, d);
  if (Number.isNaN(y)) return false;
  return ends ? y < ends[0] || y > ends[1] : decided !== y;
}
