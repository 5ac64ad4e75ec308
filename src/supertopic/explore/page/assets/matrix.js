/* Many classes at once: topics by classes, a dot for each clear effect on the probability of a class. */

/* Whether the first view starts with all classes: more than two of one response, each with effects of its own. */
function hasMatrix() {
  return app.data.outcomes.length === 1 && columnOfClass(0, 2) >= 0;
}

/* {recall, n} of each class; NaN where the truth is not known. */
function classRecalls() {
  const { classes } = app.data.outcomes[0];
  const [right, n] = [new Float64Array(classes.length), new Float64Array(classes.length)];
  const { y_0: truth, decided_0: decided } = app.data.arrays;
  truth.data.forEach((y, d) => {
    if (Number.isNaN(y)) return;
    n[y] += 1;
    right[y] += decided.data[d] === y ? 1 : 0;
  });
  return classes.map((_, c) => ({ recall: right[c] / n[c], n: n[c] }));
}

/* Effects that are drawn: clear ones, and of those without intervals the larger ones. */
function matrixEffects() {
  const { classes } = app.data.outcomes[0];
  const table = classes.map((_, c) => Array.from({ length: nTopics() }, (__, k) => effectOf(k, columnOfClass(0, c))));
  const most = Math.max(...table.flat().map(({ value }) => Math.abs(value)), 1e-12);
  const least = (effect) => (Number.isNaN(effect.low) ? 0.1 * most : 0.02 * most);
  const shown = table.map((row) => row.map((e) => (isClear(e) && Math.abs(e.value) >= least(e) ? e.value : 0)));
  return { shown, most };
}

/* Topics in the order of the class they go with most; topics that no class uses stand apart. */
function matrixOrder(shown) {
  const best = (k) => shown.reduce((at, row, c) => (row[k] > shown[at][k] ? c : at), 0);
  const topics = Array.from({ length: nTopics() }, (_, k) => k);
  const used = topics.filter((k) => shown.some((row) => row[k] !== 0));
  used.sort((a, b) => best(a) - best(b) || shown[best(b)][b] - shown[best(a)][a]);
  return { used, rest: topics.filter((k) => !used.includes(k)) };
}

function drawMatrixFigure(place) {
  const { classes } = app.data.outcomes[0];
  const recalls = classRecalls();
  const { shown, most } = matrixEffects();
  const { used, rest } = matrixOrder(shown);
  const columns = classes.map((_, c) => columnOfClass(0, c));
  const open = (c) => {
    app.whole = "no";
    chooseColumn(columns[c]);
  };
  const draw = (width) => {
    const left = Math.round(Math.min(width * 0.4, 230));
    const cell = Math.min(44, (width - left - 74) / classes.length);
    const [height, head] = [24, 112];
    const radius = (value) => Math.max(Math.sqrt(Math.abs(value) / most) * Math.min(11, cell / 2), 1.2);
    const x = (c) => left + 12 + (c + 0.5) * cell;
    const heads = classes.map((name, c) => {
      const { recall, n } = recalls[c];
      const known = n ? ` (${percent(recall)} of ${whole(n)})` : "";
      const brief = n && classes.length > 8 ? ` (${percent(recall)})` : known;
      const turned = { "font-size": 10, transform: `rotate(-65 ${x(c)} ${head - 8})` };
      const text = label(x(c), head - 8, fitText(name, 106 - textWidth(brief, 10), 10, true) + brief, turned);
      return pressable(`${name}${known}: effects of all topics`, () => open(c), { class: "row head" }, text);
    });
    const rows = used.map((k, i) => {
      const y = head + (i + 0.5) * height;
      const spoken = classes.flatMap((name, c) =>
        shown[c][k] ? [`${name} ${effectText(shown[c][k], columns[c])}`] : [],
      );
      const dots = classes.map((name, c) => {
        if (!shown[c][k]) return null;
        const color = upDown(shown[c][k]);
        const dot = circle(x(c), y - head - i * height, radius(shown[c][k]), { fill: color, "data-class": c });
        dot.append(svg("title", {}, `${name}: ${effectText(shown[c][k], columns[c])}`));
        return dot;
      });
      const line = segment(left + 12, height / 2, left + 12 + classes.length * cell, height / 2, paint("line"));
      const row = axisRow(k, i, height, width, `${topicTitle(k)}, ${topicName(k)}: ${spoken.join(", ")}`, [
        rowName(k, left),
        line,
        ...dots,
      ]);
      row.setAttribute("transform", `translate(0 ${head + i * height})`);
      return row;
    });
    const bottom = head + used.length * height + 22;
    const key = [1, 0.25].map((part, i) => [
      circle(left + 24 + i * 110, bottom, radius(part * most), { fill: paint("up") }),
      label(left + 40 + i * 110, bottom + 4, effectText(part * most, columns[0]), small()),
    ]);
    return { parts: [...heads, ...rows, ...key.flat()], height: bottom + 16 };
  };
  const table = () => [
    ["topic", "label", ...classes],
    ...[...used, ...rest].map((k) => [k, topicName(k), ...columns.map((c) => effectOf(k, c).value)]),
  ];
  const points =
    app.data.effects.kinds[columns[0]] === "points" ? "in percentage points of its probability" : "in its score";
  const note =
    `What the prediction of each class changes by from little to much of a topic (${quantiles()}), ${points}: ` +
    "blue up, orange down, the area of a dot its size; only clear effects. In brackets: how many documents of a " +
    "class are recognised. Choose a class for its intervals.";
  const made = figure("matrix", "Topics and classes", note, draw, table, { role: "group" });
  place.replaceChildren(made);
  if (rest.length) {
    const links = listed(rest.map((k) => topicLink(k)));
    const title = el("summary", {}, `${rest.length === 1 ? "One topic" : `${rest.length} topics`} that no class uses`);
    place.append(el("details", {}, title, el("p", {}, ...links)));
  }
}
