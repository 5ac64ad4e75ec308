/* The coefficient axis: every topic at its coefficient, with its interval, sized by its share of the documents. */

const Z90 = 1.6448536269514722;

/* {value, low, high} of a topic in a column; low and high are NaN where no error is known. */
function effectOf(k, c) {
  const { coef, coef_std: std, coef_interval: interval } = app.data.arrays;
  const place = c * coef.shape[1] + k;
  const value = coef.data[place];
  if (interval && value !== 0) {
    const half = coef.data.length;
    return { value, low: interval.data[place], high: interval.data[half + place] };
  }
  const reach = Z90 * std.data[place];
  return { value, low: value - reach, high: value + reach };
}

/* Whether an interval leaves zero out. */
function isClear({ value, low, high }) {
  return value !== 0 && (low > 0 || high < 0);
}

function axisOrder(c) {
  const order = Array.from({ length: nTopics() }, (_, k) => k);
  const value = (k) => (app.data.effects ? effectOf(k, c).value : meanShares()[k]);
  return order.sort((a, b) => value(b) - value(a) || a - b);
}

function axisRows(c) {
  const head = ["topic", "label", "words", "share"];
  const rows = axisOrder(c).map((k) => [
    k,
    app.labels[k] || "",
    topWords(k, 10)
      .map((w) => app.data.words[w])
      .join(" "),
    meanShares()[k],
  ]);
  if (!app.data.effects) return [head, ...rows];
  const more = rows.map(([k]) => [effectOf(k, c).value, effectOf(k, c).low, effectOf(k, c).high]);
  return [[...head, "coefficient", "low_90", "high_90"], ...rows.map((cells, i) => [...cells, ...more[i]])];
}

function drawAxis(width, c) {
  return app.data.effects ? drawEffects(width, c) : drawPrevalence(width);
}

/* One row of the axis; it can be reached and moved along by keyboard. */
function axisRow(k, i, height, width, said, children) {
  const chosen = app.topic === k;
  const hit = box(0, 0, width, height, "transparent", { rx: 4, class: "hit" });
  return svg(
    "g",
    {
      class: "row",
      transform: `translate(0 ${i * height})`,
      tabindex: chosen ? 0 : -1,
      role: "button",
      "aria-pressed": String(chosen),
      "aria-label": said,
      "data-topic": k,
      onclick: (event) => {
        pickRow(event.currentTarget);
        revealCard();
      },
      onkeydown: moveAlong,
    },
    hit,
    children,
  );
}

function pickRow(target) {
  chooseTopic(Number(target.dataset.topic));
  target.focus();
}

/* Shows which topic is chosen, without drawing anew: the focus stays where it is. */
function markRows(place) {
  for (const other of place.querySelectorAll(".row")) {
    const chosen = Number(other.dataset.topic) === app.topic;
    other.setAttribute("aria-pressed", String(chosen));
    other.setAttribute("tabindex", chosen ? 0 : -1);
  }
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
  const name = `${k}  ${topicName(k, 4)}`;
  return label(width, 17, fitText(name, width - 6, 13), { "text-anchor": "end", "font-size": 13, direction: "ltr" });
}

function drawEffects(width, c) {
  const height = 26;
  const order = axisOrder(c);
  const left = Math.round(Math.min(width * 0.44, 250));
  const found = order.map((k) => effectOf(k, c));
  const [low, high] = range([0, ...found.flatMap((e) => [e.value, e.low, e.high])]);
  const x = scale(low, high, left + 18, width - 16);
  const bottom = order.length * height + 8;
  const biggest = Math.max(...meanShares(), 1e-9);
  const strongest = Math.max(...found.map((e) => Math.abs(e.value)), 1e-12);
  const rows = order.map((k, i) => {
    const effect = found[i];
    const color = effect.value === 0 ? paint("zero") : paint(effect.value > 0 ? "up" : "down");
    const faint =
      effect.value === 0 ? color : blend(paint("surface"), color, 0.45 + (0.55 * Math.abs(effect.value)) / strongest);
    const radius = 3 + 6 * Math.sqrt(meanShares()[k] / biggest);
    const clear = isClear(effect);
    const spoken =
      `${topicTitle(k)}, ${topicName(k)}: coefficient ${number(effect.value)}` +
      (Number.isNaN(effect.low) ? "" : `, 90 % interval ${number(effect.low)} to ${number(effect.high)}`) +
      `, ${percent(meanShares()[k])} of the words`;
    return axisRow(k, i, height, width, spoken, [
      rowName(k, left),
      Number.isNaN(effect.low)
        ? null
        : segment(x(effect.low), 13, x(effect.high), 13, faint, { "stroke-width": 2, "stroke-linecap": "round" }),
      circle(x(effect.value), 13, radius, {
        stroke: faint,
        "stroke-width": 2,
        fill: clear || effect.value === 0 || Number.isNaN(effect.low) ? faint : paint("surface"),
      }),
    ]);
  });
  const zero = segment(x(0), 0, x(0), bottom - 4, paint("muted"), { "stroke-dasharray": "2 3" });
  const { isClass } = columnMeaning(c);
  const sides = [
    label(x(0) - 8, bottom + 34, isClass ? "← less likely" : "← lowers", {
      "text-anchor": "end",
      fill: paint("down"),
      "font-size": 12,
    }),
    label(x(0) + 8, bottom + 34, isClass ? "more likely →" : "raises →", { fill: paint("up"), "font-size": 12 }),
  ];
  return { parts: [bottomAxis(x, bottom, bottom), zero, ...rows, ...sides], height: bottom + 44 };
}

function drawPrevalence(width) {
  const height = 26;
  const order = axisOrder(0);
  const left = Math.round(Math.min(width * 0.5, 300));
  const x = scale(0, Math.max(...meanShares(), 1e-9), left + 8, width - 56);
  const bottom = order.length * height + 8;
  const rows = order.map((k, i) =>
    axisRow(k, i, height, width, `${topicTitle(k)}, ${topicName(k)}: ${percent(meanShares()[k])} of the words`, [
      rowName(k, left),
      box(x(0), 6, Math.max(x(meanShares()[k]) - x(0), 1), 14, topicColor(k), { rx: 2 }),
      label(x(meanShares()[k]) + 6, 17, percent(meanShares()[k]), { "font-size": 11, fill: paint("muted") }),
    ]),
  );
  return { parts: [bottomAxis(x, bottom, bottom, percent), ...rows], height: bottom + 28 };
}
