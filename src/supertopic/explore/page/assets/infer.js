/* Topic shares of one document without y, and the moments of its linear predictors.
 *
 * The same fixed point as in supertopic.inference.after.prediction:
 *   phi_jk ∝ w_jk exp(psi(gamma_k)),  gamma_k = alpha_k + sum_j c_j phi_jk     (gamma_k for exp psi where collapsed)
 */

const WEIGHT_OFFSET = 1e-18;

/* What inference needs of the data. */
function makeModel(data) {
  const { arrays, inference } = data;
  const get = (name) => (arrays[name] ? arrays[name].data : null);
  const found = {
    ...inference,
    nTopics: arrays.far.shape[1],
    nWords: arrays.far.shape[0],
    top: get("top"),
    far: get("far"),
    reach: get("reach") ? get("reach")[0] : 0,
    alpha: get("alpha"),
    logShares: get("log_shares"),
    coef: arrays.inner_coef || null,
    offset: get("inner_offset"),
    wordCoef: arrays.word_coef || null,
    wordScale: get("word_scale"),
  };
  found.others = Array.from({ length: inference.members || 0 }, (_, e) => ({
    ...found,
    top: get(`top_${e}`),
    far: get(`far_${e}`),
    reach: get(`reach_${e}`) ? get(`reach_${e}`)[0] : 0,
    coef: arrays[`inner_coef_${e}`],
  }));
  return found;
}

/* log(p(word | topic) / its largest value over topics), for all topics. */
function logRatios(model, word, into) {
  const first = word * model.nTopics;
  for (let k = 0; k < model.nTopics; k++) {
    const value = model.far[first + k];
    const part = value / 65535;
    into[k] = model.reach ? -model.reach * part * part : -value;
  }
  return into;
}

/* p(word | topic) for all topics. */
function wordRow(model, word, into) {
  logRatios(model, word, into);
  for (let k = 0; k < model.nTopics; k++) into[k] = model.top[word] * Math.exp(into[k]);
  return into;
}

function priorShares(model) {
  const total = model.alpha.reduce((sum, a) => sum + a, 0);
  return Float64Array.from(model.alpha, (a) => a / total);
}

/* Counts as topics see them. */
function seenCounts(model, counts) {
  return model.log_counts ? counts.map((c) => Math.log2(1 + c)) : counts;
}

/* {shares, mean, phi, nTokens}: shares as `transform` gives them, mean = those the response depends on. */
function inferDocument(model, ids, counts) {
  if (model.kind === "one_topic") return inferOneTopic(model, ids, counts);
  if (model.kind === "class_topics") return inferClasses(model, ids, counts);
  const prior = priorShares(model);
  if (!ids.length) return { shares: prior, mean: prior, phi: [], nTokens: 0 };
  const found = inferRows(model, weightRows(model, ids), seenCounts(model, counts));
  const mean = model.at_mode ? found.shares : Float64Array.from(found.total, (t) => t / found.nTokens);
  return { ...found, mean, nTokens: counts.reduce((sum, c) => sum + c, 0) };
}

function weightRows(model, ids) {
  const rows = ids.map((id) => wordRow(model, id, new Float64Array(model.nTopics)));
  for (const weights of rows) for (let k = 0; k < weights.length; k++) weights[k] += WEIGHT_OFFSET;
  return rows;
}

/* The fixed point for words with these weights (one row each): {shares, phi, total, theta, nTokens}. */
function inferRows(model, rows, counts) {
  const nTopics = model.alpha.length;
  const nTokens = counts.reduce((sum, c) => sum + c, 0);
  const gamma = Float64Array.from(model.alpha, (a) => a + nTokens / nTopics);
  const theta = new Float64Array(nTopics);
  ascend(model, rows, counts, gamma, theta);
  const gammaTotal = gamma.reduce((sum, g) => sum + g, 0);
  const shares = Float64Array.from(gamma, (g) => g / gammaTotal);
  return { shares, ...shareWords(rows, counts, theta), theta, nTokens };
}

/* Topics of classes beside shared ones: inference once for each class with its columns, weighed by the bounds. */
function inferClasses(model, ids, counts) {
  const rows = weightRows(model, ids);
  const nTokens = counts.reduce((sum, c) => sum + c, 0);
  const prior = priorShares(model);
  const each = model.columns.map((columns) => {
    if (!ids.length) return { shares: prior, phi: [], bound: 0 };
    const own = rows.map((weights) => Float64Array.from(columns, (k) => weights[k]));
    const found = inferRows(model, own, counts);
    return { ...found, bound: wordBound(model, own, counts, found) };
  });
  const posterior = softmax(each.map(({ bound }, c) => bound + model.logShares[c]));
  const bounds = each.map(({ bound }) => bound);
  const tempered = temper(bounds, model.logShares, model.temperature);
  const shares = new Float64Array(model.nTopics);
  const phi = ids.map(() => new Float64Array(model.nTopics));
  each.forEach((found, c) => {
    model.columns[c].forEach((k, place) => {
      shares[k] += posterior[c] * found.shares[place];
      found.phi.forEach((own, j) => (phi[j][k] += posterior[c] * own[place]));
    });
  });
  return { shares, mean: shares, phi, nTokens, tempered };
}

/* The bound of log p(words): sum_j c_j log(w_j·theta), and the terms of the Dirichlet. */
function wordBound(model, rows, counts, { theta, total }) {
  let bound = 0;
  rows.forEach((weights, j) => {
    let norm = 1e-30;
    for (let k = 0; k < theta.length; k++) norm += weights[k] * theta[k];
    bound += counts[j] * Math.log(norm);
  });
  let alphas = 0;
  let gammas = 0;
  for (let k = 0; k < theta.length; k++) {
    alphas += model.alpha[k];
    gammas += model.alpha[k] + total[k];
    bound += logGamma(model.alpha[k] + total[k]) - logGamma(model.alpha[k]) - total[k] * Math.log(theta[k]);
  }
  return bound + logGamma(alphas) - logGamma(gammas);
}

function weigh(model, gamma, theta) {
  for (let k = 0; k < gamma.length; k++) theta[k] = model.collapsed ? gamma[k] : Math.exp(digamma(gamma[k]));
}

/* Move gamma on from two passes, from `before` to `between` to gamma, to where such passes lead (SQUAREM). */
function leap(alpha, before, between, gamma) {
  let first = 0;
  let second = 0;
  for (let k = 0; k < gamma.length; k++) {
    const r = between[k] - before[k];
    first += r * r;
    second += (gamma[k] - between[k] - r) ** 2;
  }
  const s = Math.min(Math.max(Math.sqrt(first / Math.max(second, 1e-30)), 1), 16);
  for (let k = 0; k < gamma.length; k++) {
    const r = between[k] - before[k];
    const least = alpha[k] + 0.1 * (gamma[k] - alpha[k]);
    gamma[k] = Math.max(before[k] + s * (2 * r + s * (gamma[k] - between[k] - r)), least);
  }
}

/* Coordinate ascent; it ends once the mean change of gamma is below the tolerance.
 * After every two passes, gamma leaps ahead, as in Python: from the fourth on, and from the second in collapsed
 * inference. */
function ascend(model, rows, counts, gamma, theta) {
  const nTopics = gamma.length;
  const total = new Float64Array(nTopics);
  const kept = [new Float64Array(nTopics), new Float64Array(nTopics)];
  weigh(model, gamma, theta);
  for (let pass = 0; pass < model.max_passes; pass++) {
    kept[pass % 2].set(gamma);
    total.fill(0);
    for (let j = 0; j < rows.length; j++) {
      const weights = rows[j];
      let norm = 1e-30;
      for (let k = 0; k < nTopics; k++) norm += weights[k] * theta[k];
      const ratio = counts[j] / norm;
      for (let k = 0; k < nTopics; k++) total[k] += ratio * weights[k];
    }
    let change = 0;
    for (let k = 0; k < nTopics; k++) {
      const next = model.alpha[k] + theta[k] * total[k];
      change += Math.abs(next - gamma[k]);
      gamma[k] = next;
    }
    weigh(model, gamma, theta);
    if (change / nTopics < model.tol) break;
    if (pass % 2 === 1 && (model.collapsed || pass > 2)) {
      leap(model.alpha, kept[0], kept[1], gamma);
      weigh(model, gamma, theta);
    }
  }
}

function shareWords(rows, counts, theta) {
  const total = new Float64Array(theta.length);
  const phi = rows.map((weights, j) => {
    const share = new Float64Array(theta.length);
    let norm = 1e-30;
    for (let k = 0; k < theta.length; k++) norm += weights[k] * theta[k];
    for (let k = 0; k < theta.length; k++) {
      share[k] = (weights[k] * theta[k]) / norm;
      total[k] += counts[j] * share[k];
    }
    return share;
  });
  return { phi, total };
}

/* All words of a document share one topic: its posterior, and the same with words that count less (`tempered`). */
function inferOneTopic(model, ids, given) {
  const counts = seenCounts(model, given);
  const prior = Float64Array.from(priorShares(model), Math.log);
  const words = new Float64Array(model.nTopics);
  const ratios = new Float64Array(model.nTopics);
  ids.forEach((id, j) => {
    logRatios(model, id, ratios);
    for (let k = 0; k < model.nTopics; k++) words[k] += counts[j] * ratios[k];
  });
  const nTokens = given.reduce((sum, c) => sum + c, 0);
  const shares = softmax(prior.map((log, k) => log + words[k]));
  const tempered = temper(words, prior, model.temperature);
  return { shares, mean: shares, phi: ids.map(() => shares), nTokens, tempered };
}

/* Probabilities of classes from log p(words | class) and their log shares, as in certainty/tempering.py. */
function temper(words, logShares, [level, power, weight]) {
  const centre = words.reduce((sum, value) => sum + value, 0) / words.length;
  const spread = Math.sqrt(words.reduce((sum, value) => sum + (value - centre) ** 2, 0) / words.length);
  const heat = level * Math.max(spread, 1e-6) ** power;
  const own = spread > 1e-6 ? weight : 1;
  return softmax(Array.from(words, (value, c) => value / heat + own * logShares[c]));
}

function softmax(logs) {
  const top = Math.max(...logs);
  const found = logs.map((value) => Math.exp(value - top));
  const total = found.reduce((sum, value) => sum + value, 0);
  return found.map((value) => value / total);
}

/* {score, moment}: E[s], and E[s²] of a quadratic or E[exp s] of a product column; topics only. */
function topicMoments(model, found, counts) {
  const columns = model.coef.shape[0];
  const score = new Float64Array(columns);
  const moment = new Float64Array(columns);
  for (let c = 0; c < columns; c++) {
    const coef = row(model.coef, c);
    let mean = 0;
    for (let k = 0; k < coef.length; k++) mean += coef[k] * found.mean[k];
    score[c] = mean;
    const known = model.at_mode || !found.nTokens || !model.uses_moments;
    if (known) moment[c] = model.product[c] ? Math.exp(Math.min(mean, 300)) : mean * mean;
    else moment[c] = (model.collapsed ? meanMoment : tokenMoment)(coef, model.product[c], found, counts, mean);
  }
  return { score, moment };
}

/* The moment with a phi for each word. */
function tokenMoment(coef, isProduct, found, counts, mean) {
  const n = found.nTokens;
  let log = 0;
  let variance = 0;
  found.phi.forEach((phi, j) => {
    let own = 0;
    let square = 0;
    for (let k = 0; k < coef.length; k++) {
      const value = isProduct ? Math.exp(coef[k] / n) : coef[k];
      own += value * phi[k];
      square += value * value * phi[k];
    }
    log += counts[j] * Math.log(own);
    variance += counts[j] * (square - own * own);
  });
  return isProduct ? Math.exp(log) : mean * mean + variance / (n * n);
}

/* The moment of n tokens that all have the document's mean shares. */
function meanMoment(coef, isProduct, found) {
  const n = found.nTokens;
  let first = 0;
  let square = 0;
  for (let k = 0; k < coef.length; k++) {
    const value = isProduct ? Math.expm1(coef[k] / n) : coef[k];
    first += value * found.mean[k];
    square += value * value * found.mean[k];
  }
  if (isProduct) return Math.exp(Math.min(n * Math.log1p(Math.max(first, -1 + 1e-9)), 300));
  return first * first + Math.max(square - first * first, 0) / n;
}

/* The tf-idf features of a document, of length one. */
function wordFeatures(model, ids, counts) {
  const values = ids.map((id, j) => Math.max(1 + Math.log(Math.max(counts[j], 1e-12)), 0) * model.wordScale[id]);
  const length = Math.sqrt(
    Math.max(
      values.reduce((sum, v) => sum + v * v, 0),
      1e-300,
    ),
  );
  return values.map((v) => v / length);
}

/* What covariates and words add to s: (C,). */
function otherParts(model, ids, counts, covariates) {
  const added = Float64Array.from(model.offset);
  for (const { inner, difference } of covariates || []) {
    for (let c = 0; c < added.length; c++) added[c] += inner[c] * difference;
  }
  if (model.wordCoef) {
    const features = wordFeatures(model, ids, counts);
    for (let c = 0; c < added.length; c++) {
      const coef = row(model.wordCoef, c);
      ids.forEach((id, j) => (added[c] += features[j] * coef[id]));
    }
  }
  return added;
}

/* Moments with a known part added: E[(s + a)²], or exp(a) E[exp s]. */
function shiftMoments(model, { score, moment }, added) {
  const shifted = { score: score.map((s, c) => s + added[c]), moment: new Float64Array(score.length) };
  for (let c = 0; c < score.length; c++) {
    shifted.moment[c] = model.product[c]
      ? moment[c] * Math.exp(Math.max(Math.min(added[c], 300), -300))
      : moment[c] + 2 * added[c] * score[c] + added[c] * added[c];
  }
  return shifted;
}

/* The mean over the fits of an ensemble, with the mean of their variances; shares are those of the first fit. */
function withOthers(model, ids, counts, first) {
  if (!model.others.length) return first;
  const all = [first, ...model.others.map((other) => topicMoments(other, inferDocument(other, ids, counts), counts))];
  const average = (value) => first.score.map((_, c) => all.reduce((sum, one) => sum + value(one, c), 0) / all.length);
  const score = average((one, c) => one.score[c]);
  const variance = average(({ score: s, moment: m }, c) => m[c] - s[c] * s[c]);
  const logs = average((one, c) => Math.log(Math.max(one.moment[c], 1e-300)));
  const moment = score.map((s, c) => (model.product[c] ? Math.exp(logs[c]) : s * s + variance[c]));
  return { score, moment };
}

/* Everything about one document: shares, phi, score, moment. */
function scoreDocument(model, ids, counts, covariates) {
  const found = inferDocument(model, ids, counts);
  if (!model.coef) return found;
  const moments = withOthers(model, ids, counts, topicMoments(model, found, counts));
  return { ...found, ...shiftMoments(model, moments, otherParts(model, ids, counts, covariates)) };
}
