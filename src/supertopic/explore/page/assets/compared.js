/* This model beside one that was there before: effects of the same topics joined by lines, what came and what went. */

function drawCompared(root) {
  const { text, names } = app.data.compared;
  const place = panel(div(null), ["column", "labels", "theme"], drawSlopes);
  put(root, para("headline", text), names.length > 1 && columnChooser(), place);
}

function drawSlopes(place) {
  const { columns, names, rows } = app.data.compared;
  const at = Math.max(columns.indexOf(app.column), 0);
  const own = rows.filter((row) => !names.length || row.column === names[at]);
  const form = (value) => (names.length ? effectText(value, columns[at]) : percent(value));
  const ends = ({ effect, effect_before: then, share, share_before: shareThen }) =>
    names.length ? [then, effect] : [shareThen, share];
  const name = ({ topic, label: words }) => (topic === null ? words : topicName(topic, 4));
  const what = names.length ? "Effects on the prediction" : "Shares of the words";
  const made = figure(
    "compared",
    `${what}, before and now`,
    "Each line is a topic that both models have. Orange: its effect moved by more than the errors of both explain. " +
      "A dot on the left is a topic that is gone, one on the right a topic that is new. Choose one to see its words.",
    (width) => drawSlopeLines(width, own, ends, name, form),
    ["status", "before", "now", "topic", "value_before", "value_now", "moved"],
    () => own.map((row) => [row.status, row.before, row.topic, name(row), ...ends(row), row.moved]),
  );
  put(place, made);
}

/* Names stand beside their ends, moved apart where they would lie on each other. */
function drawSlopeLines(width, rows, ends, name, form) {
  const [top, line] = [34, 17];
  const side = sideWidth(width, 0.38, 330);
  const height = top + Math.max(rows.length, 8) * line + 20;
  const y = scale(...range(rows.flatMap(ends)), height - 20, top);
  const x = [side, width - side];
  const colorOf = (row) => paint(row.moved ? "down" : row.status === "same" ? "ink" : "up");
  const names = [0, 1].flatMap((i) => {
    const found = rows.filter((row) => ends(row)[i] !== null).sort((a, b) => ends(b)[i] - ends(a)[i]);
    let last = top - line;
    return found.map((row) => {
      last = Math.min(Math.max(y(ends(row)[i]), last + line), height);
      const value = form(ends(row)[i]);
      const text = fitText(i ? `${value}  ${name(row)}` : `${name(row)}  ${value}`, side - 16);
      const style = anchored(i ? "start" : "end", 12, { fill: colorOf(row) });
      return label(x[i] + (i ? 12 : -12), last + 4, text, style);
    });
  });
  const marks = rows.map((row) => {
    const [then, now] = ends(row);
    const points = [then, now].flatMap((value, i) => (value === null ? [] : [[x[i], y(value)]]));
    const dots = points.map(([cx, cy]) => circle(cx, cy, 4, { fill: colorOf(row) }));
    const joined = points.length > 1 ? curve(points, colorOf(row), { opacity: row.moved ? 1 : 0.4 }) : null;
    const spoken = `${name(row)}: ${then === null ? "new" : form(then)}, ${now === null ? "gone" : form(now)}`;
    if (row.topic === null) return group(joined, dots);
    return pressable(spoken, () => go("topics", row.topic), {}, joined, dots);
  });
  const heads = ["before", "now"].map((text, i) => axisTitle(x[i], 16, text));
  return { parts: [...heads, ...marks, ...names], height };
}
