/* Topic shares of one document without y, and the moments of its linear predictors.
 *
 * The same fixed point as in supertopic.inference.after.prediction:
 *   phi_jk ∝ w_jk exp(psi(gamma_k)),  gamma_k = alpha_k + sum_j c_j phi_jk     (gamma_k for exp psi where collapsed)
 */

const WEIGHT_OFFSET = 1e-18;

/* What inference needs of the data; `others` are the other fits of an ensemble. */
function makeModel({ arrays, inference }) {
  const get = (name) => arrays[name]?.data ?? null;
  const topics = (end) => ({ top: get(`top${end}`), far: get(`far${end}`), reach: get(`reach${end}`)?.[0] ?? 0 });
  const found = {
    ...inference,
    ...topics(""),
    nTopics: arrays.far.shape[1],
    nWords: arrays.far.shape[0],
    alpha: get("alpha"),
    logShares: get("log_shares"),
    coef: arrays.inner_coef || null,
    offset: get("inner_offset"),
    wordCoef: arrays.word_coef || null,
    wordScale: get("word_scale"),
  };
  const other = (e) => ({ ...found, ...topics(`_${e}`), coef: arrays[`inner_coef_${e}`] });
  found.others = upTo(inference.members || 0).map(other);
  return found;
}

/* log(p(word | topic) / its largest value over topics). */
function logRatio({ far, nTopics: width, reach }, word, k) {
  const value = far[word * width + k];
  return reach ? -reach * (value / 65535) ** 2 : -value;
}

/* f(k) of all topics. */
const ofTopics = ({ nTopics: n }, f) => Float64Array.from({ length: n }, (_, k) => f(k));
const wordProbability = (model, word, k) => model.top[word] * Math.exp(logRatio(model, word, k));
const priorShares = (model) => normalised(Float64Array.from(model.alpha));

/* Counts as topics see them. */
const seenCounts = (model, counts) => (model.log_counts ? counts.map((c) => Math.log2(1 + c)) : counts);

/* {shares, mean, phi, nTokens}: shares as `transform` gives them, mean = those the response depends on. */
function inferDocument(model, ids, counts) {
  if (model.kind === "one_topic") return inferOneTopic(model, ids, counts);
  if (model.kind === "class_topics") return inferClasses(model, ids, counts);
  const prior = priorShares(model);
  if (!ids.length) return { shares: prior, mean: prior, phi: [], nTokens: 0 };
  const found = inferRows(model, weightRows(model, ids), seenCounts(model, counts));
  const average = model.at_mode ? found.shares : found.total.map((t) => t / found.nTokens);
  return { ...found, mean: average, nTokens: sum(counts) };
}

function weightRows(model, ids) {
  return ids.map((id) => ofTopics(model, (k) => wordProbability(model, id, k) + WEIGHT_OFFSET));
}

/* The fixed point for words with these weights (one row each): {shares, phi, total, theta, nTokens}. */
function inferRows(model, rows, counts) {
  const nTokens = sum(counts);
  const start = Float64Array.from(model.alpha, (a) => a + nTokens / model.alpha.length);
  const { gamma, theta } = ascend(model, rows, counts, start);
  return { shares: normalised(gamma), ...shareWords(rows, counts, theta), theta, nTokens };
}

/* Topics of classes beside shared ones: inference once for each class with its columns, weighed by the bounds. */
function inferClasses(model, ids, counts) {
  const rows = weightRows(model, ids);
  const each = model.columns.map((columns) => {
    if (!ids.length) return { shares: priorShares(model), phi: [], bound: 0 };
    const own = rows.map((weights) => Float64Array.from(columns, (k) => weights[k]));
    const found = inferRows(model, own, counts);
    return { ...found, bound: wordBound(model, own, counts, found) };
  });
  const bounds = each.map(({ bound }) => bound);
  const posterior = softmax(bounds.map((bound, c) => bound + model.logShares[c]));
  const shares = new Float64Array(model.nTopics);
  const phi = ids.map(() => new Float64Array(model.nTopics));
  each.forEach((found, c) => {
    model.columns[c].forEach((k, place) => {
      shares[k] += posterior[c] * found.shares[place];
      found.phi.forEach((own, j) => (phi[j][k] += posterior[c] * own[place]));
    });
  });
  const tempered = temper(bounds, model.logShares, model.temperature);
  return { shares, mean: shares, phi, nTokens: sum(counts), tempered };
}

/* p(word) up to its scale. */
const normOf = (weights, theta) => 1e-30 + dot(weights, theta);

/* The bound of log p(words): sum_j c_j log(w_j·theta), and the terms of the Dirichlet. */
function wordBound({ alpha }, rows, counts, { theta, total }) {
  const words = rows.map((weights, j) => counts[j] * Math.log(normOf(weights, theta)));
  const gamma = total.map((value, k) => alpha[k] + value);
  const topics = gamma.map((g, k) => logGamma(g) - logGamma(alpha[k]) - total[k] * Math.log(theta[k]));
  return sum(words) + sum(topics) + logGamma(sum(alpha)) - logGamma(sum(gamma));
}

const weigh = (model, gamma) => gamma.map((g) => (model.collapsed ? g : Math.exp(digamma(g))));

/* Where two passes, from `before` to `between` to gamma, lead if such passes go on (SQUAREM). */
function leap(alpha, before, between, gamma) {
  const steps = between.map((value, k) => value - before[k]);
  const bends = gamma.map((value, k) => value - between[k] - steps[k]);
  const s = clamp(Math.sqrt(dot(steps, steps) / Math.max(dot(bends, bends), 1e-30)), 1, 16);
  return gamma.map((value, k) => {
    const least = alpha[k] + 0.1 * (value - alpha[k]);
    return Math.max(before[k] + s * (2 * steps[k] + s * bends[k]), least);
  });
}

/* {gamma, theta} of coordinate ascent; it ends once the mean change of gamma is below the tolerance.
 * After every two passes, gamma leaps ahead, as in Python: from the fourth on, and from the second in collapsed
 * inference. */
function ascend(model, rows, counts, start) {
  const kept = [];
  let gamma = start;
  let theta = weigh(model, gamma);
  for (let pass = 0; pass < model.max_passes; pass++) {
    const before = gamma;
    kept[pass % 2] = before;
    const total = new Float64Array(gamma.length);
    for (let j = 0; j < rows.length; j++) {
      const ratio = counts[j] / normOf(rows[j], theta);
      for (let k = 0; k < total.length; k++) total[k] += ratio * rows[j][k];
    }
    gamma = Float64Array.from(total, (value, k) => model.alpha[k] + theta[k] * value);
    theta = weigh(model, gamma);
    if (mean(gamma.map((g, k) => Math.abs(g - before[k]))) < model.tol) break;
    if (pass % 2 === 1 && (model.collapsed || pass > 2)) {
      gamma = leap(model.alpha, ...kept, gamma);
      theta = weigh(model, gamma);
    }
  }
  return { gamma, theta };
}

function shareWords(rows, counts, theta) {
  const total = new Float64Array(theta.length);
  const phi = rows.map((weights, j) => {
    const norm = normOf(weights, theta);
    const shares = weights.map((weight, k) => (weight * theta[k]) / norm);
    shares.forEach((share, k) => (total[k] += counts[j] * share));
    return shares;
  });
  return { phi, total };
}

/* All words of a document share one topic: its posterior, and the same with words that count less (`tempered`). */
function inferOneTopic(model, ids, given) {
  const counts = seenCounts(model, given);
  const prior = priorShares(model).map(Math.log);
  const words = ofTopics(model, (k) => sum(ids.map((id, j) => counts[j] * logRatio(model, id, k))));
  const shares = softmax(prior.map((log, k) => log + words[k]));
  const tempered = temper(words, prior, model.temperature);
  return { shares, mean: shares, phi: ids.map(() => shares), nTokens: sum(given), tempered };
}

/* Probabilities of classes from log p(words | class) and their log shares, as in certainty/tempering.py. */
function temper(words, logShares, [level, power, weight]) {
  const spread = spreadOf(words);
  const heat = level * Math.max(spread, 1e-6) ** power;
  const own = spread > 1e-6 ? weight : 1;
  return softmax(Array.from(words, (value, c) => value / heat + own * logShares[c]));
}

/* {score, moment}: E[s], and E[s²] of a quadratic or E[exp s] of a product column; topics only. */
function topicMoments(model, found, counts) {
  const known = model.at_mode || !found.nTokens || !model.uses_moments;
  const momentOf = model.collapsed ? meanMoment : tokenMoment;
  const coefs = upTo(model.coef.shape[0]).map((c) => row(model.coef, c));
  const score = Float64Array.from(coefs, (coef) => dot(coef, found.mean));
  const moment = score.map((s, c) => {
    if (!known) return momentOf(coefs[c], model.product[c], found, counts, s);
    return model.product[c] ? Math.exp(Math.min(s, 300)) : s * s;
  });
  return { score, moment };
}

/* The moment with a phi for each word. */
function tokenMoment(coef, isProduct, { nTokens: n, phi }, counts, score) {
  const values = Float64Array.from(coef, (value) => (isProduct ? Math.exp(value / n) : value));
  const squares = values.map((value) => value * value);
  const own = phi.map((shares) => dot(values, shares));
  if (isProduct) return Math.exp(sum(own.map((value, j) => counts[j] * Math.log(value))));
  return score * score + sum(phi.map((shares, j) => counts[j] * (dot(squares, shares) - own[j] * own[j]))) / (n * n);
}

/* The moment of n tokens that all have the document's mean shares. */
function meanMoment(coef, isProduct, { nTokens: n, mean: shares }) {
  const values = Float64Array.from(coef, (value) => (isProduct ? Math.expm1(value / n) : value));
  const first = dot(values, shares);
  if (isProduct) return Math.exp(Math.min(n * Math.log1p(Math.max(first, -1 + 1e-9)), 300));
  const squares = values.map((value) => value * value);
  return first * first + Math.max(dot(squares, shares) - first * first, 0) / n;
}

/* The tf-idf features of a document, of length one. */
function wordFeatures(model, ids, counts) {
  const values = ids.map((id, j) => Math.max(1 + Math.log(Math.max(counts[j], 1e-12)), 0) * model.wordScale[id]);
  const length = Math.sqrt(Math.max(dot(values, values), 1e-300));
  return values.map((v) => v / length);
}

/* What covariates and words add to s: (C,). */
function otherParts(model, ids, counts, covariates) {
  const features = model.wordCoef ? wordFeatures(model, ids, counts) : [];
  return Float64Array.from(model.offset, (offset, c) => {
    const beside = covariates.map(({ inner, difference }) => inner[c] * difference);
    const words = features.map((value, j) => value * row(model.wordCoef, c)[ids[j]]);
    return offset + sum(beside) + sum(words);
  });
}

/* Moments with a known part added: E[(s + a)²], or exp(a) E[exp s]. */
function shiftMoments(model, { score, moment }, added) {
  const shifted = moment.map((value, c) => {
    const a = added[c];
    return model.product[c] ? value * Math.exp(clamp(a, -300, 300)) : value + 2 * a * score[c] + a * a;
  });
  return { score: score.map((s, c) => s + added[c]), moment: shifted };
}

/* The mean over the fits of an ensemble, with the mean of their variances; shares are those of the first fit. */
function withOthers(model, ids, counts, first) {
  if (!model.others.length) return first;
  const all = [first, ...model.others.map((other) => topicMoments(other, inferDocument(other, ids, counts), counts))];
  const average = (value) => first.score.map((_, c) => mean(all.map((one) => value(one, c))));
  const score = average((one, c) => one.score[c]);
  const variance = average(({ score: s, moment: m }, c) => m[c] - s[c] * s[c]);
  const logs = average((one, c) => Math.log(Math.max(one.moment[c], 1e-300)));
  const moment = score.map((s, c) => (model.product[c] ? Math.exp(logs[c]) : s * s + variance[c]));
  return { score, moment };
}

/* Everything about one document: shares, phi, score, moment. */
function scoreDocument(model, ids, counts, covariates = []) {
  const found = inferDocument(model, ids, counts);
  if (!model.coef) return found;
  const moments = withOthers(model, ids, counts, topicMoments(model, found, counts));
  return { ...found, ...shiftMoments(model, moments, otherParts(model, ids, counts, covariates)) };
}
