/* The coefficient axis: every topic at its coefficient, with its interval, sized by its share of the documents. */

const Z90 = 1.6448536269514722;

/* {value, low, high}: what the prediction changes by from little to much of a topic; NaN where no error is known.
 * A ratio is its logarithm here, so that none is zero whatever the kind. */
function effectOf(k, c) {
  const { effect, effect_low: low, effect_high: high } = app.data.arrays;
  const place = c * effect.shape[1] + k;
  return { value: effect.data[place], low: low.data[place], high: high.data[place] };
}

/* "+0.5", "× 1.4" or "+3.1 pp". */
function effectText(value, c) {
  const kind = app.data.effects.kinds[c];
  if (kind === "ratio") return `× ${number(Math.exp(value))}`;
  return kind === "points" ? `${oneDecimal(value)} pp` : signed(value, 2);
}

function intervalText({ low, high }, c) {
  return Number.isNaN(low) ? "" : `90\u00a0% interval ${effectText(low, c)} to ${effectText(high, c)}`;
}

/* Whether an interval leaves zero out; without intervals, whether there is an effect at all. */
const isClear = ({ value, low, high }) => value !== 0 && (Number.isNaN(low) || low > 0 || high < 0);

/* A sparse prior has put the coefficient of the topic to zero. */
function isZero(k, c) {
  const { effects, arrays } = app.data;
  return ["laplace", "jeffreys"].includes(effects.prior) && row(arrays.coef, c)[k] === 0;
}

function axisOrder(c) {
  const values = upTo(nTopics()).map((k) => (app.data.effects ? effectOf(k, c).value : meanShares()[k]));
  return upTo(nTopics()).sort((a, b) => values[b] - values[a] || a - b);
}

/* Topics with clear effects on one side, the strongest first. */
function strongestTopics(c, up, n) {
  const found = axisOrder(c).filter((k) => isClear(effectOf(k, c)) && effectOf(k, c).value > 0 === up);
  return (up ? found : found.reverse()).slice(0, n);
}

const AXIS_HEAD = ["topic", "label", "words", "share"];
const EFFECTS_HEAD = [...AXIS_HEAD, "share_low", "share_high", "effect", "low_90", "high_90", "coefficient"];

function axisRows(c) {
  const { effects, arrays } = app.data;
  const plain = (value) => (effects.kinds[c] === "ratio" ? Math.exp(value) : value);
  const more = (k) => {
    const { value, low, high } = effectOf(k, c);
    const ends = [arrays.share_low.data[k], arrays.share_high.data[k]];
    return [...ends, ...[value, low, high].map(plain), row(arrays.coef, c)[k]];
  };
  return axisOrder(c).map((k) => {
    const words = topWords(k, 10).map((w) => app.data.words[w]);
    return [k, app.labels[k] || "", words.join(" "), meanShares()[k], ...(effects ? more(k) : [])];
  });
}

/* One row of the axis, from y on; it can be reached and moved along by keyboard. */
function axisRow(k, y, height, width, spoken, ...children) {
  const onclick = (event) => {
    pickRow(event.currentTarget);
    revealCard();
  };
  const hit = box(0, 0, width, height, "transparent", { rx: 4, class: "hit" });
  const place = { transform: `translate(0 ${y})`, "data-topic": k, ...chosenOrNot(k) };
  return pressable(spoken, onclick, { ...place, onkeydown: moveAlong }, hit, children);
}

const chosenOrNot = (k) => ({ "aria-pressed": String(k === app.topic), tabindex: k === app.topic ? 0 : -1 });

function pickRow(target) {
  chooseTopic(Number(target.dataset.topic));
  target.focus();
}

/* Shows which topic is chosen, without drawing anew: the focus stays where it is. */
function markRows(place) {
  for (const row of place.querySelectorAll(".row")) fill(row, chosenOrNot(Number(row.dataset.topic)), []);
}

function moveAlong(event) {
  const rows = [...event.currentTarget.parentNode.querySelectorAll(".row")];
  const here = rows.indexOf(event.currentTarget);
  const steps = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: rows.length - 1, Enter: here, " ": here };
  const next = rows[steps[event.key]];
  if (!next) return;
  event.preventDefault();
  pickRow(next);
}

function rowName(k, width) {
  const name = fitText(numbered(k, 4), width - 6, 13);
  return label(width, 17, name, anchored("end", 13, { direction: "ltr" }));
}

function drawEffects(width, c) {
  const height = 26;
  const order = axisOrder(c);
  const left = sideWidth(width, 0.44, 250);
  const found = order.map((k) => effectOf(k, c));
  const [low, high] = range([0, ...found.flatMap((e) => [e.value, e.low, e.high])]);
  const x = effectScale(low, high, left + 18, width - 16, c);
  const bottom = order.length * height + 8;
  const biggest = Math.max(...meanShares(), 1e-9);
  const strongest = Math.max(...found.map((e) => Math.abs(e.value)), 1e-12);
  const rows = order.map((k, i) => {
    const effect = found[i];
    const color = paint(isZero(k, c) || effect.value === 0 ? "zero" : effect.value > 0 ? "up" : "down");
    const faint = blend(paint("surface"), color, 0.45 + (0.55 * Math.abs(effect.value)) / strongest);
    const radius = 3 + 6 * Math.sqrt(meanShares()[k] / biggest);
    const interval = Number.isNaN(effect.low) ? "" : `, ${intervalText(effect, c)}`;
    const spoken = `${topicSpoken(k)}: ${effectText(effect.value, c)}${interval}, ${shareSpoken(k)}`;
    const [from, to] = [x(effect.low), x(effect.high)];
    const line = interval && segment(from, 13, to, 13, faint, { "stroke-width": 2, "stroke-linecap": "round" });
    const inside = isClear(effect) ? faint : paint("surface");
    const dot = circle(x(effect.value), 13, radius, { stroke: faint, "stroke-width": 2, fill: inside });
    return axisRow(k, i * height, height, width, spoken, rowName(k, left), line, dot);
  });
  const zero = segment(x(0), 0, x(0), bottom - 4, paint("muted"), dashes("2 3"));
  const { isClass } = columnMeaning(c);
  const side = (at, text, anchor, color) =>
    label(x(0) + at, bottom + 34, text, anchored(anchor, 12, { fill: paint(color) }));
  const sides = [
    side(-8, isClass ? "← less likely" : "← lower", "end", "down"),
    side(8, isClass ? "more likely →" : "higher →", "start", "up"),
  ];
  const axis = bottomAxis(x, bottom, bottom, (value) => effectText(value, c));
  return { parts: [axis, zero, ...rows, ...sides], height: bottom + 44 };
}

/* Round numbers of what is shown: of ratios, their logarithms. */
function effectScale(low, high, from, to, c) {
  const found = scale(low, high, from, to);
  if (app.data.effects.kinds[c] !== "ratio") return found;
  const decades = Array.from({ length: 13 }, (_, i) => 10 ** (i - 6));
  const round = high - low > 3 ? decades : ticks(Math.exp(low), Math.exp(high), 4).filter((value) => value > 0);
  const logs = [...new Set([1, ...round])].map(Math.log);
  return Object.assign(found, { ticks: logs.filter((value) => value >= low && value <= high) });
}

function drawPrevalence(width) {
  const height = 26;
  const order = axisOrder(0);
  const left = sideWidth(width, 0.5, 300);
  const x = scale(0, Math.max(...meanShares(), 1e-9), left + 8, width - 56);
  const bottom = order.length * height + 8;
  const rows = order.map((k, i) => {
    const share = meanShares()[k];
    const bar = box(x(0), 6, Math.max(x(share) - x(0), 1), 14, topicColor(k), { rx: 2 });
    const text = label(x(share) + 6, 17, percent(share), small());
    return axisRow(k, i * height, height, width, `${topicSpoken(k)}: ${shareSpoken(k)}`, rowName(k, left), bar, text);
  });
  return { parts: [bottomAxis(x, bottom, bottom, percent), ...rows], height: bottom + 28 };
}
