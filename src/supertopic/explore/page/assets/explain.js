/* What words and topics add to a linear predictor, on the user's scale. */

/* The linear predictor (C,) on the user's scale: origin + unit·s, s of a softmax less its mean over the classes. */
function usersPredictor(data, score) {
  const { origin, unit } = data.effects;
  const found = Float64Array.from(score);
  for (const outcome of data.outcomes) {
    for (const part of outcome.parts) {
      if (part.response !== "softmax") continue;
      const [first, last] = part.columns;
      let mean = 0;
      for (let c = first; c < last; c++) mean += score[c] / (last - first);
      for (let c = first; c < last; c++) found[c] = score[c] - mean;
    }
  }
  return found.map((s, c) => origin[c] + unit[c] * s);
}

/* What each word adds to the response's shares, a row for each: as in supertopic.inference.after.prediction. */
function responseShares(model, found, given) {
  const counts = seenCounts(model, given);
  const nTokens = counts.reduce((sum, c) => sum + c, 0);
  const prior = model.at_mode ? model.alpha : model.alpha.map(() => 0);
  const total = prior.reduce((sum, a) => sum + a, nTokens);
  return found.phi.map((phi, j) => phi.map((p, k) => (counts[j] * (p + prior[k] / nTokens)) / total));
}

/* What each word adds to column c, over the average document; all of them add up to predictor - intercept. */
function wordContributions(data, model, found, ids, counts, c) {
  if (!data.effects) return oneTopicContributions(model, ids, counts, c);
  const coef = row(data.arrays.coef, c);
  const shares = responseShares(model, found, counts);
  const features = model.wordCoef ? wordFeatures(model, ids, counts) : null;
  return ids.map((id, j) => {
    let sum = 0;
    for (let k = 0; k < coef.length; k++) sum += shares[j][k] * coef[k];
    const own = features ? data.effects.unit[c] * features[j] * centredWordCoef(data, model, id, c) : 0;
    return sum + own;
  });
}

/* The coefficient of a word; in a softmax less its mean over the classes. */
function centredWordCoef(data, model, id, c) {
  const own = row(model.wordCoef, c)[id];
  const part = data.outcomes.flatMap((outcome) => outcome.parts).find(({ columns: [a, b] }) => a <= c && c < b);
  if (!part || part.response !== "softmax") return own;
  const [first, last] = part.columns;
  let mean = 0;
  for (let b = first; b < last; b++) mean += row(model.wordCoef, b)[id] / (last - first);
  return own - mean;
}

/* One topic for all words: how much more a word speaks for topic c than for the others on average. */
function oneTopicContributions(model, ids, counts, c) {
  const ratios = new Float64Array(model.nTopics);
  return ids.map((id, j) => {
    logRatios(model, id, ratios);
    const mean = ratios.reduce((sum, r) => sum + r, 0) / ratios.length;
    return seenCounts(model, counts)[j] * (ratios[c] - mean);
  });
}

/* The bars of a waterfall for column c: the intercept, topics, words, covariates; they add up to the predictor. */
function waterfallParts(data, found, predictor, c, words = 0) {
  const coef = row(data.arrays.coef, c);
  const topics = Array.from(found.mean, (share, k) => ({ topic: k, share, value: share * coef[k] }));
  const start = data.effects.intercept[c];
  const rest = predictor[c] - start - words - topics.reduce((sum, t) => sum + t.value, 0);
  return { start, topics, words, rest, end: predictor[c] };
}

/* What the words themselves (not their topics) add to column c. */
function wordPart(data, model, ids, counts, c) {
  if (!model.wordCoef) return 0;
  const features = wordFeatures(model, ids, counts);
  return ids.reduce((sum, id, j) => sum + data.effects.unit[c] * features[j] * centredWordCoef(data, model, id, c), 0);
}
