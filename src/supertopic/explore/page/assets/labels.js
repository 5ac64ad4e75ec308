/* Names of topics: given by the model or by the reader, kept in the browser, saved to and read from a file. */

function labelStore() {
  const { estimator, words, topics } = app.data;
  return `supertopic:${estimator}:${topics.length}:${words.length}:${fingerprint()}`;
}

/* A number that tells models apart. */
function fingerprint() {
  const { data } = app.data.arrays.top;
  const step = 1 + (data.length >> 9);
  return data.reduce((found, p, i) => (i % step ? found : (found * 31 + Math.round(p * 1e9)) % 2147483647), 7);
}

function readLabels() {
  app.labels = Object.fromEntries(app.data.topics.flatMap(({ label }, k) => (label ? [[k, label]] : [])));
  try {
    Object.assign(app.labels, checkLabels(JSON.parse(localStorage.getItem(labelStore()) || "{}")));
  } catch {
    /* a browser may forbid storage for files: names then last as long as the page */
  }
}

function setLabel(k, text) {
  const label = cut(text.trim(), 200);
  if (label) app.labels[k] = label;
  else delete app.labels[k];
  keepLabels();
}

function keepLabels() {
  try {
    localStorage.setItem(labelStore(), JSON.stringify(app.labels));
  } catch {
    /* see readLabels */
  }
  announce("labels");
}

/* {topic: name}, without what is no topic or no name. */
function checkLabels(found) {
  const names = found && typeof found === "object" && "labels" in found ? found.labels : found;
  const given = Object.entries(names || {}).map(([key, text]) => [Number(key), text]);
  const kept = given.filter(([k, text]) => isPlace(k, nTopics()) && typeof text === "string");
  return Object.fromEntries(kept.map(([k, text]) => [k, cut(text, 200)]));
}

function exportLabels() {
  const content = { supertopic: "topic labels", n_topics: nTopics(), labels: app.labels };
  download("topic_labels.json", JSON.stringify(content, null, 2), "application/json");
}

async function importLabels(file) {
  Object.assign(app.labels, checkLabels(JSON.parse(await file.text())));
  keepLabels();
}

/* "Acting", or the topic's first words; "3  Acting"; "Topic 3: Acting"; as it is spoken; its share. */
const topicName = (k, n = 3) => app.labels[k] || namingWords(k, n).map(wordName).join(", ");
const numbered = (k, n = 3) => `${k}  ${topicName(k, n)}`;
const topicTitle = (k) => `${app.data.topic_noun} ${k}${app.labels[k] ? `: ${app.labels[k]}` : ""}`;
const topicSpoken = (k) => `${topicTitle(k)}, ${topicName(k)}`;
const shareSpoken = (k) => `${percent(meanShares()[k])} of the words`;

/* A button that goes to a topic. */
const topicLink = (k, text) => press(said(text || topicName(k)), () => go("topics", k), { class: "link" });

function swatch(k) {
  const shape = { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" };
  return svg("svg", shape, circle(5, 5, 5, { fill: topicColor(k) }));
}
