/* The words of topics, in several orders. */

/* p(word | topic) of one topic, (V,). */
function topicWords(k) {
  app.topicCache ??= new Map();
  if (!app.topicCache.has(k)) {
    const found = Float64Array.from({ length: app.model.nWords }, (_, w) => wordProbability(app.model, w, k));
    if (app.topicCache.size > 30) app.topicCache.clear();
    app.topicCache.set(k, found);
  }
  return app.topicCache.get(k);
}

/* The places of the n largest values, the largest first. */
function bestPlaces(values, n) {
  const best = [];
  for (let i = 0; i < values.length; i++) {
    if (best.length === n && !(values[i] > values[best[n - 1]])) continue;
    let at = best.length;
    while (at > 0 && values[i] > values[best[at - 1]]) at -= 1;
    best.splice(at, 0, i);
    if (best.length > n) best.pop();
  }
  return best;
}

/* The n most probable words of a topic, and those it is called by: frequent in it, and less so elsewhere. */
const topWords = (k, n) => bestPlaces(topicWords(k), n);
const namingWords = (k, n) => app.data.topics[k].words.slice(0, n);

/* λ log p(w | k) + (1 - λ) log p(w | k) / p(w)  (Sievert & Shirley 2014). */
function relevance(k, lambda) {
  const mean = app.data.arrays.word_mean.data;
  return topicWords(k).map((p, w) => {
    const log = Math.log(Math.max(p, 1e-300));
    return lambda * log + (1 - lambda) * (log - Math.log(Math.max(mean[w], 1e-300)));
  });
}

/* The place of each value among all, from 0 to 1. */
function ranks(values) {
  const order = Array.from(values.keys()).sort((a, b) => values[a] - values[b]);
  const found = new Float64Array(values.length);
  order.forEach((w, i) => (found[w] = (i + 1) / order.length));
  return found;
}

/* The harmonic mean of the ranks of frequency and exclusivity (Airoldi & Bischof 2016). */
function frex(k, weight = 0.5) {
  const own = topicWords(k);
  const sum = app.data.arrays.word_sum.data;
  const frequent = ranks(own);
  const exclusive = ranks(own.map((p, w) => p / Math.max(sum[w], 1e-300)));
  return own.map((_, w) => 1 / (weight / exclusive[w] + (1 - weight) / frequent[w]));
}

/* What a SAGE topic adds to the background: [{word, value}…] by how much probability they change. */
function deviationWords(k, n) {
  const { background, deviation_rows: rows, deviation_words: words, deviation_values: values } = app.data.arrays;
  const found = upTo(rows.data[k + 1] - rows.data[k]).map((i) => {
    const at = rows.data[k] + i;
    return { word: words.data[at], value: values.data[at] };
  });
  const change = ({ word, value }) => Math.abs(Math.exp(background.data[word]) * Math.expm1(value));
  found.sort((a, b) => change(b) - change(a));
  return found.slice(0, n).sort((a, b) => b.value - a.value);
}

/* Rows {word, value} of a topic card. */
function cardWords(k, order, lambda, n) {
  if (order === "deviation") return deviationWords(k, n);
  const own = topicWords(k);
  const values = { probability: () => own, relevance: () => relevance(k, lambda), frex: () => frex(k) }[order]();
  return bestPlaces(values, n).map((word) => ({ word, value: own[word] }));
}
