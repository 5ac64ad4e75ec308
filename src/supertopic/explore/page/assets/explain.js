/* What words and topics add to a linear predictor, on the user's scale. */

/* The columns beside c in a softmax, whose mean is taken off each of them; null elsewhere. */
function softmaxColumns(data, c) {
  const parts = data.outcomes.flatMap((outcome) => outcome.parts);
  const { columns: ends, response } = parts.find(({ columns: [first, last] }) => first <= c && c < last) ?? {};
  return response === "softmax" ? upTo(ends[1] - ends[0]).map((i) => ends[0] + i) : null;
}

/* value(c), in a softmax less its mean over the classes. */
function centred(data, value, c) {
  const columns = softmaxColumns(data, c);
  return columns ? value(c) - mean(columns.map(value)) : value(c);
}

/* The linear predictor (C,) on the user's scale: origin + unit·s. */
function usersPredictor(data, score) {
  const { origin, unit } = data.effects;
  return Float64Array.from(score, (_, c) => origin[c] + unit[c] * centred(data, (b) => score[b], c));
}

/* What each word adds to the response's shares, a row for each: as in supertopic.inference.after.prediction. */
function responseShares(model, found, given) {
  const counts = seenCounts(model, given);
  const nTokens = sum(counts);
  const prior = model.at_mode ? model.alpha : model.alpha.map(() => 0);
  const total = nTokens + sum(prior);
  return found.phi.map((phi, j) => phi.map((p, k) => (counts[j] * (p + prior[k] / nTokens)) / total));
}

/* What each word adds to column c, over the average document; all of them add up to predictor - intercept. */
function wordContributions(data, model, found, ids, counts, c) {
  if (!data.effects) return oneTopicContributions(model, ids, counts, c);
  const coef = row(data.arrays.coef, c);
  const shares = responseShares(model, found, counts);
  const own = ownParts(data, model, ids, counts, c);
  return ids.map((_, j) => dot(coef, shares[j]) + own[j]);
}

/* What the words themselves (not their topics) add to column c. */
function ownParts(data, model, ids, counts, c) {
  if (!model.wordCoef) return ids.map(() => 0);
  const coefOf = (id) => centred(data, (b) => row(model.wordCoef, b)[id], c);
  return wordFeatures(model, ids, counts).map((value, j) => data.effects.unit[c] * value * coefOf(ids[j]));
}

/* One topic for all words: how much more a word speaks for topic c than for the others on average. */
function oneTopicContributions(model, ids, counts, c) {
  const seen = seenCounts(model, counts);
  const ratios = (id) => ofTopics(model, (k) => logRatio(model, id, k));
  return ids.map(ratios).map((own, j) => seen[j] * (own[c] - mean(own)));
}

/* The bars of a waterfall for column c: the intercept, topics, words, covariates; they add up to the predictor. */
function waterfallParts(data, shares, predictor, c, words) {
  const coef = row(data.arrays.coef, c);
  const topics = Array.from(shares, (share, k) => ({ topic: k, share, value: share * coef[k] }));
  const start = data.effects.intercept[c];
  return { start, topics, words, rest: predictor[c] - start - words - dot(shares, coef), end: predictor[c] };
}
