/* Names of topics: given by the model or by the reader, kept in the browser, saved to and read from a file. */

function labelStore() {
  const { estimator, words, topics } = app.data;
  return `supertopic:${estimator}:${topics.length}:${words.length}:${fingerprint()}`;
}

/* A number that tells models apart. */
function fingerprint() {
  let sum = 7;
  const { data } = app.data.arrays.top;
  for (let i = 0; i < data.length; i += 1 + (data.length >> 9))
    sum = (sum * 31 + Math.round(data[i] * 1e9)) % 2147483647;
  return sum;
}

function readLabels() {
  app.labels = {};
  app.data.topics.forEach((topic, k) => {
    if (topic.label) app.labels[k] = topic.label;
  });
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
  announce("labels");
}

function keepLabels() {
  try {
    localStorage.setItem(labelStore(), JSON.stringify(app.labels));
  } catch {
    /* see readLabels */
  }
}

/* {topic: name}, without what is no topic or no name. */
function checkLabels(found) {
  const names = found && typeof found === "object" && "labels" in found ? found.labels : found;
  const kept = {};
  for (const [key, text] of Object.entries(names || {})) {
    const k = Number(key);
    if (Number.isInteger(k) && k >= 0 && k < app.data.topics.length && typeof text === "string")
      kept[k] = cut(text, 200);
  }
  return kept;
}

function exportLabels() {
  const content = { supertopic: "topic labels", n_topics: nTopics(), labels: app.labels };
  download("topic_labels.json", JSON.stringify(content, null, 2), "application/json");
}

async function importLabels(file) {
  app.labels = { ...app.labels, ...checkLabels(JSON.parse(await file.text())) };
  keepLabels();
  announce("labels");
}

/* "Acting", or the topic's first words. */
function topicName(k, n = 3) {
  return app.labels[k] || namingWords(k, n).map(wordName).join(", ");
}

function topicTitle(k) {
  const noun = app.data.topic_noun;
  return app.labels[k] ? `${noun} ${k}: ${app.labels[k]}` : `${noun} ${k}`;
}

/* A button that goes to a topic. */
function topicLink(k, text) {
  return el("button", { type: "button", class: "link", onclick: () => go("topics", k) }, said(text || topicName(k)));
}

function swatch(k) {
  return svg(
    "svg",
    { class: "swatch", viewBox: "0 0 10 10", "aria-hidden": "true" },
    circle(5, 5, 5, { fill: topicColor(k) }),
  );
}
