/* Predictions from the moments of the linear predictors: the inverse links of supertopic.responses. */

/* The variance of s, from E[exp s] or from E[s²]. */
const productVariance = (score, moment) => (moment > 1e-300 ? Math.max(2 * (Math.log(moment) - score), 0) : 0);
const plainVariance = (score, moment) => Math.max(moment - score * score, 0);

/* The squared coefficient of variation of exp s. */
const doubtOf = (variance) => Math.expm1(Math.min(variance, 300));
const sigmoid = (x) => 1 / (1 + Math.exp(-x));
const pair = (one) => [1 - one, one];
/* A score so far drawn in that its logistic is about the mean of those of a normal s. */
const flattened = (score, variance) => score / Math.sqrt(1 + (Math.PI / 8) * variance);
/* The ends of an interval, by quantiles. */
const endsOf = (level, quantile) => [0.5 * (1 - level), 0.5 * (1 + level)].map((tail) => quantile(tail));

function expOfProduct(score, moment, power) {
  return Math.exp(Math.min(power * score + 0.5 * power * power * productVariance(score, moment), 300));
}

const LINEAR = { mean: ({ dispersion: d }, [s]) => d[1] + d[2] * s, interval: gaussianInterval };

/* By the name of a response: mean(part, score, moment) for numbers, chances(…) for classes. */
const RESPONSES = {
  gaussian: LINEAR,
  epsilon_insensitive: LINEAR,
  poisson: { mean: (part, s, [m]) => m, interval: poissonInterval },
  negative_binomial: { mean: negativeBinomialMean, interval: negativeBinomialInterval },
  gamma: { mean: gammaMean, interval: gammaInterval },
  inverse_gaussian: { mean: inverseGaussianMean, interval: inverseGaussianInterval },
  weibull: {
    mean: ({ dispersion: d }, [s], [m]) => d[1] * Math.exp(logGamma(1 + 1 / d[0])) * expOfProduct(s, m, -1 / d[0]),
    interval: weibullInterval,
  },
  logit: { chances: (part, [s], [m]) => pair(sigmoid(flattened(s, plainVariance(s, m)))) },
  probit: { chances: (part, [s], [m]) => pair(normalCdf(s / Math.sqrt(1 + plainVariance(s, m)))) },
  softmax: { chances: softmaxChances },
  ordinal: { chances: ordinalChances, decide: medianClass },
  hinge: { chances: hingeScores },
  hinge_each: { chances: hingeScores },
};

function gaussianInterval(part, [s], [m], level) {
  const d = part.dispersion;
  const centre = LINEAR.mean(part, [s]);
  const reach = normalQuantile(0.5 + 0.5 * level) * Math.sqrt(d[0] + plainVariance(s, m)) * d[2];
  return [centre - reach, centre + reach];
}

function poissonInterval(part, [s], [m], level) {
  const doubt = doubtOf(productVariance(s, m));
  return endsOf(level, (tail) =>
    doubt > 1e-9 ? negativeBinomialQuantile(tail, 1 / doubt, m) : poissonQuantile(tail, m),
  );
}

function negativeBinomialMean({ dispersion: d }, [s], [m]) {
  return d[0] * Math.exp(s + 0.5 * plainVariance(s, m));
}

function negativeBinomialInterval(part, [s], [m], level) {
  const r = 1 / ((1 + 1 / part.dispersion[0]) * Math.exp(Math.min(plainVariance(s, m), 300)) - 1);
  const centre = negativeBinomialMean(part, [s], [m]);
  return endsOf(level, (tail) => negativeBinomialQuantile(tail, r, centre));
}

function gammaMean({ dispersion: d, link }, [s], [m]) {
  if (link === "canonical") return (d[1] * (1 + plainVariance(s, m) / (s * s))) / s;
  return d[1] * expOfProduct(s, m, -1);
}

function gammaInterval(part, [s], [m], level) {
  const doubt = part.link === "canonical" ? Math.max(m / (s * s) - 1, 0) : doubtOf(productVariance(s, m));
  const shape = 1 / ((1 + 1 / part.dispersion[0]) * (1 + doubt) - 1);
  const unit = gammaMean(part, [s], [m]) / shape;
  return endsOf(level, (tail) => gammaQuantile(tail, shape) * unit);
}

function inverseGaussianMean({ dispersion: d, link }, [s], [m]) {
  const variance = plainVariance(s, m);
  if (link === "log") return d[1] * Math.exp(s + 0.5 * variance);
  return (d[1] * (1 + (0.375 * variance) / (s * s))) / Math.sqrt(s);
}

function inverseGaussianInterval(part, [s], [m], level) {
  const d = part.dispersion;
  const variance = plainVariance(s, m);
  const centre = inverseGaussianMean(part, [s], [m]);
  const doubt = part.link === "log" ? Math.expm1(Math.min(variance, 100)) : (0.25 * variance) / (s * s);
  const ratio = (centre / (d[0] * d[1])) * Math.pow(1 + doubt, 3) + doubt;
  return endsOf(level, (tail) => inverseGaussianQuantile(tail, centre, centre / ratio));
}

function weibullInterval({ dispersion: d }, [s], [m], level) {
  const centre = d[1] * Math.exp(-s / d[0]);
  const shape = d[0] / Math.sqrt(1 + (6 / (Math.PI * Math.PI)) * productVariance(s, m));
  return endsOf(level, (tail) => centre * Math.pow(-Math.log1p(-tail), 1 / shape));
}

/* Predictors that lie far apart are drawn in more: supertopic.fitted.certainty.softmax_heat. */
function cooled(heat, score, variance) {
  if (!heat) return [score, variance];
  const off = Array.from(score, (s, c) => s - heat.zero[c]);
  const slope = 1 / (heat.level * Math.pow(Math.max(spreadOf(off), heat.least_spread), heat.power));
  const tempered = off.map((value, c) => heat.zero[c] + slope * value);
  return [led(heat, tempered), variance.map((value) => slope * slope * value)];
}

/* The leading class is moved by a part of its log-odds. */
function led({ lead, zero }, score) {
  const sharp = (logs) => softmax(Array.from(logs, (value) => 4 * value));
  const [leading, before, chances] = [sharp(score), sharp(zero), softmax(score)];
  const sure = Math.min(dot(chances, leading), 1 - 1e-12);
  const moved = lead * (Math.log(sure) - Math.log1p(-sure));
  return score.map((value, c) => value + moved * (leading[c] - before[c]));
}

function softmaxChances(part, given, moment) {
  const own = Array.from(given, (s, c) => productVariance(s, moment[c]));
  const [score, variance] = cooled(part.heat, given, own);
  const odds = (b, c) => Math.exp(Math.min(flattened(score[b] - score[c], variance[b] + variance[c]), 300));
  return normalised(variance.map((_, c) => 1 / sum(variance.map((__, b) => odds(b, c)))));
}

function ordinalChances({ dispersion: cuts }, [s], [m]) {
  const spread = Math.sqrt(1 + plainVariance(s, m));
  const below = [0, ...cuts.map((cut) => normalCdf((cut - s) / spread)), 1];
  return below.slice(1).map((value, c) => value - below[c]);
}

function medianClass(chances) {
  let below = 0;
  const middle = chances.findIndex((chance) => (below += chance) >= 0.5 - 1e-12);
  return middle < 0 ? chances.length - 1 : middle;
}

function hingeScores({ n_classes: n }, score) {
  return n === 2 ? [-score[0], score[0]] : Array.from(score);
}

function partMoments(part, found) {
  const [first, last] = part.columns;
  return [found.score.slice(first, last), found.moment.slice(first, last)];
}

/* What an outcome predicts: {mean, ends} of a number; {chances, decided} of classes; null: unknown. */
function predictOutcome(outcome, found, probability = 0.9) {
  if (!outcome.parts.length) return { chances: Array.from(found.tempered), decided: largest(found.tempered) };
  if (outcome.parts.some((part) => !RESPONSES[part.response])) return null;
  if (outcome.parts.length > 1) return oneAgainstRest(outcome, found);
  const part = outcome.parts[0];
  const response = RESPONSES[part.response];
  const moments = partMoments(part, found);
  if (outcome.kind === "number") {
    const own = levelOf(part, moments[0], found.nTokens, part.levels[String(probability)] ?? probability);
    return { mean: response.mean(part, ...moments), ends: intervalAt(response, part, moments, own) };
  }
  const chances = response.chances(part, ...moments);
  const answer = { chances, decided: (response.decide || largest)(chances) };
  return part.scaled.length ? { ...answer, probabilities: scaledProbabilities(part.scaled, moments[0]) } : answer;
}

/* A document's level: the distance of the level times the scale, as in supertopic.responses.interval_scale. */
function levelOf(part, score, nTokens, level) {
  if (!part.scale) return level;
  const logs = [score[0], Math.log1p(nTokens)].map((x, f) => straight(x, part.scale.knots[f], part.scale.values[f]));
  const widest = normalQuantile(0.5 + 0.5 * part.widest);
  const plain = level > part.widest ? Math.max(level, 1) * widest : normalQuantile(0.5 + 0.5 * level);
  const distance = plain * Math.exp(logs[0] + logs[1]);
  return distance > widest ? distance / widest : 2 * normalCdf(distance) - 1;
}

/* Straight lines between values at knots, and the values of the ends beyond. */
function straight(x, knots, values) {
  if (x <= knots[0]) return values[0];
  if (x >= knots.at(-1)) return values.at(-1);
  const k = knots.findLastIndex((knot) => knot <= x);
  return values[k] + ((x - knots[k]) / (knots[k + 1] - knots[k])) * (values[k + 1] - values[k]);
}

/* The interval at a level: above one, the widest of the response, its ends that many times as far from the median. */
function intervalAt(response, part, moments, level) {
  if (level < 1) return response.interval(part, ...moments, level);
  const [middle] = response.interval(part, ...moments, 0);
  const [low, high] = response.interval(part, ...moments, part.widest);
  const ends = [
    Math.max(middle - level * Math.max(middle - low, part.grain), part.lowest),
    middle + level * Math.max(high - middle, part.grain),
  ];
  return part.grain ? [Math.ceil(ends[0] - 1e-6), Math.floor(ends[1] + 1e-6)] : ends;
}

/* Probabilities from the scores of a margin: levels and one slope, fitted to documents left out. */
function scaledProbabilities(scaled, score) {
  const line = Array.from(score, (s, c) => scaled[c] + scaled.at(-1) * s);
  return line.length > 1 ? softmax(line) : pair(sigmoid(line[0]));
}

function oneAgainstRest(outcome, found) {
  const chanceOf = (part) => RESPONSES[part.response].chances(part, ...partMoments(part, found))[1];
  const chances = normalised(outcome.parts.map((part) => chanceOf(part) + 1e-300));
  return { chances, decided: largest(chances) };
}
