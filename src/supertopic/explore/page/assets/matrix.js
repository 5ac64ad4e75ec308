/* Many classes at once: topics by classes, a dot for each clear effect on the probability of a class. */

/* Whether the first view starts with all classes: more than two of one response, each with effects of its own. */
const hasMatrix = () => app.data.outcomes.length === 1 && columnOfClass(0, 2) >= 0;

/* {recall, n} of each class. */
function classRecalls() {
  const { y_0: truth, decided_0: decided } = app.data.arrays;
  return app.data.outcomes[0].classes.map((_, c) => {
    const own = upTo(nDocuments()).filter((d) => truth.data[d] === c);
    return { recall: mean(own.map((d) => Number(decided.data[d] === c))), n: own.length };
  });
}

/* Effects that are drawn: clear ones, and of those without intervals the larger ones. */
function matrixEffects() {
  const { classes } = app.data.outcomes[0];
  const table = classes.map((_, c) => upTo(nTopics()).map((k) => effectOf(k, columnOfClass(0, c))));
  const most = Math.max(...table.flat().map(({ value }) => Math.abs(value)), 1e-12);
  const least = (effect) => (Number.isNaN(effect.low) ? 0.1 * most : 0.02 * most);
  const shown = table.map((row) => row.map((e) => (isClear(e) && Math.abs(e.value) >= least(e) ? e.value : 0)));
  return { shown, most };
}

/* Topics in the order of the class they go with most; topics that no class uses stand apart. */
function matrixOrder(shown) {
  const best = (k) => shown.reduce((at, row, c) => (row[k] > shown[at][k] ? c : at), 0);
  const topics = upTo(nTopics());
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
  const textOf = (c, k) => effectText(shown[c][k], columns[c]);
  const open = (c) => {
    app.whole = "no";
    chooseColumn(columns[c]);
  };
  const draw = (width) => {
    const left = sideWidth(width, 0.4, 230);
    const cell = Math.min(44, (width - left - 74) / classes.length);
    const [height, head] = [24, 112];
    const radius = (value) => Math.max(Math.sqrt(Math.abs(value) / most) * Math.min(11, cell / 2), 1.2);
    const x = (c) => left + 12 + (c + 0.5) * cell;
    const heads = classes.map((name, c) => {
      const { recall, n } = recalls[c];
      const known = n ? ` (${percent(recall)} of ${whole(n)})` : "";
      const brief = n && classes.length > 8 ? ` (${percent(recall)})` : known;
      const text = fitText(name, 106 - textWidth(brief, 10), 10, true) + brief;
      const words = label(x(c), head - 8, text, anchored("start", 10, turned(-65, x(c), head - 8)));
      return pressable(`${name}${known}: effects of all topics`, () => open(c), { class: "row head" }, words);
    });
    const rows = used.map((k, i) => {
      const own = upTo(classes.length).filter((c) => shown[c][k]);
      const spoken = `${topicSpoken(k)}: ${own.map((c) => `${classes[c]} ${textOf(c, k)}`).join(", ")}`;
      const dots = own.map((c) => {
        const more = { fill: upDown(shown[c][k]), "data-class": c };
        return circle(x(c), height / 2, radius(shown[c][k]), more, tip(`${classes[c]}: ${textOf(c, k)}`));
      });
      const line = segment(left + 12, height / 2, left + 12 + classes.length * cell, height / 2, paint("line"));
      return axisRow(k, head + i * height, height, width, spoken, rowName(k, left), line, dots);
    });
    const bottom = head + used.length * height + 22;
    const key = [1, 0.25].map((part, i) => [
      circle(left + 24 + i * 110, bottom, radius(part * most), { fill: paint("up") }),
      label(left + 40 + i * 110, bottom + 4, effectText(part * most, columns[0]), small()),
    ]);
    return { parts: [...heads, ...rows, ...key.flat()], height: bottom + 16 };
  };
  const table = () => [...used, ...rest].map((k) => [k, topicName(k), ...columns.map((c) => effectOf(k, c).value)]);
  const inPoints = app.data.effects.kinds[columns[0]] === "points";
  const unit = inPoints ? "in percentage points of its probability" : "in its score";
  const note =
    `What the prediction of each class changes by from little to much of a topic (${quantiles()}), ${unit}: ` +
    "blue up, orange down, the area of a dot its size; only clear effects. In brackets: how many documents of a " +
    "class are recognised. Choose a class for its intervals.";
  const made = figure("matrix", "Topics and classes", note, draw, ["topic", "label", ...classes], table);
  const title = el("summary", {}, `${rest.length === 1 ? "One topic" : `${rest.length} topics`} that no class uses`);
  const links = el("p", {}, listed(rest.map((k) => topicLink(k))));
  put(place, made, rest.length > 0 && el("details", {}, title, links));
}
