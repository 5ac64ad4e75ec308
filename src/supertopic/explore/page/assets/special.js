/* Sums, and the special functions that predictions and intervals need. */

/* 0, 1, …, n - 1. */
const upTo = (n) => Array.from({ length: n }, (_, i) => i);
const clamp = (value, low, high) => Math.max(low, Math.min(high, value));
const sum = (values) => values.reduce((total, value) => total + value, 0);
const mean = (values) => sum(values) / Math.max(values.length, 1);

function dot(a, b) {
  let total = 0;
  for (let i = 0; i < a.length; i++) total += a[i] * b[i];
  return total;
}

/* The standard deviation. */
function spreadOf(values) {
  const centre = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - centre) ** 2)));
}

/* The values over their sum. */
function normalised(values) {
  const total = sum(values);
  return values.map((value) => value / total);
}

function softmax(logs) {
  const top = Math.max(...logs);
  return normalised(logs.map((value) => Math.exp(value - top)));
}

/* The place of the largest value. */
function largest(values) {
  let best = 0;
  for (let c = 1; c < values.length; c++) if (values[c] > values[best]) best = c;
  return best;
}

function digamma(x) {
  let shift = 0;
  while (x < 8) {
    shift -= 1 / x;
    x += 1;
  }
  const inv2 = 1 / (x * x);
  const tail = inv2 * (1 / 12 - inv2 * (1 / 120 - inv2 * (1 / 252 - inv2 * (1 / 240 - inv2 / 132))));
  return shift + Math.log(x) - 0.5 / x - tail;
}

function logGamma(x) {
  if (x < 0.5) return Math.log(Math.PI / Math.abs(Math.sin(Math.PI * x))) - logGamma(1 - x);
  const g = [
    0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
    12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
  ];
  let sum = g[0];
  for (let i = 1; i < 9; i++) sum += g[i] / (x - 1 + i);
  const t = x + 6.5;
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/* Regularised lower incomplete gamma function P(a, x). */
function gammaP(a, x) {
  if (x <= 0) return 0;
  const front = Math.exp(a * Math.log(x) - x - logGamma(a));
  if (x < a + 1) {
    let term = 1 / a;
    let sum = term;
    for (let n = 1; n < 10000 && Math.abs(term) > 1e-16 * Math.abs(sum); n++) {
      term *= x / (a + n);
      sum += term;
    }
    return front * sum;
  }
  let b = x + 1 - a;
  let c = 1e300;
  let d = 1 / b;
  let h = d;
  for (let i = 1; i < 10000; i++) {
    const an = -i * (i - a);
    b += 2;
    d = 1 / (Math.abs(an * d + b) < 1e-300 ? 1e-300 : an * d + b);
    c = Math.abs(b + an / c) < 1e-300 ? 1e-300 : b + an / c;
    h *= d * c;
    if (Math.abs(d * c - 1) < 1e-15) break;
  }
  return 1 - front * h;
}

/* Phi(x), by the incomplete gamma function: exact to rounding in the body and relative in the tails. */
function normalCdf(x) {
  if (x === 0) return 0.5;
  const half = 0.5 * gammaP(0.5, 0.5 * x * x);
  if (x > 0) return 0.5 + half;
  return x > -5 ? 0.5 - half : normalTail(-x);
}

/* 1 - Phi(x) for x >= 5, by a continued fraction. */
function normalTail(x) {
  let f = 0;
  for (let i = 60; i > 0; i--) f = i / (x + f);
  return Math.exp(-0.5 * x * x) / Math.sqrt(2 * Math.PI) / (x + f);
}

/* The x between low and high with f(x) = goal, f increasing. */
function bisect(f, goal, low, high) {
  for (let i = 0; i < 200 && high - low > 1e-14 * Math.max(1, Math.abs(high)); i++) {
    const middle = 0.5 * (low + high);
    if (f(middle) < goal) low = middle;
    else high = middle;
  }
  return 0.5 * (low + high);
}

function normalQuantile(p) {
  if (p <= 0) return -Infinity;
  if (p >= 1) return Infinity;
  if (p > 0.5) return -normalQuantile(1 - p);
  return bisect(normalCdf, p, -40, 0);
}

/* The x above zero with cdf(x) = p; its upper end is searched from `high` on. */
function quantileOf(cdf, p, high) {
  while (cdf(high) < p) high *= 2;
  return bisect(cdf, p, 0, high);
}

const gammaQuantile = (p, shape) => quantileOf((x) => gammaP(shape, x), p, shape + 1);

/* The smallest whole number whose cumulative probability is at least p; `log` gives log-probabilities. */
function countQuantile(p, log) {
  let total = 0;
  for (let n = 0; n < 10000000; n++) {
    total += Math.exp(log(n));
    if (total >= p - 1e-12) return n;
  }
  return Infinity;
}

const poissonQuantile = (p, centre) => countQuantile(p, (n) => n * Math.log(centre) - centre - logGamma(n + 1));

function negativeBinomialQuantile(p, r, centre) {
  const stay = r / (r + centre);
  const start = r * Math.log(stay) - logGamma(r);
  const step = Math.log1p(-stay);
  return countQuantile(p, (n) => start + logGamma(n + r) - logGamma(n + 1) + n * step);
}

/* Inverse Gaussian with mean mu and shape lambda. */
function inverseGaussianQuantile(p, mu, lambda) {
  const cdf = (x) => {
    const root = Math.sqrt(lambda / x);
    const second = normalCdf(-root * (x / mu + 1));
    return normalCdf(root * (x / mu - 1)) + (second > 0 ? Math.exp((2 * lambda) / mu + Math.log(second)) : 0);
  };
  return quantileOf(cdf, p, mu);
}
