/* Diagnostics: did the fit converge, what was left out, which settings it had; and the names of topics as a file. */

function drawChecks(root) {
  const place = div(null);
  root.replaceChildren(place);
  panel(place, ["labels", "theme", "column"], drawChecked);
}

function drawChecked(place) {
  const { bound, log_joint: joint, r_hat: rHat } = app.data.arrays;
  const parts = [measures(checkRows())];
  const traces = [];
  if (bound && bound.data.length > 1)
    traces.push(traceFigure("bound", "Objective by iteration", "It should rise and level off.", bound.data));
  if (joint)
    traces.push(
      traceFigure(
        "log_joint",
        "Log joint probability of the draws",
        "It should wander around a level, without a trend.",
        joint.data,
      ),
    );
  if (traces.length) parts.push(div("two even", traces));
  if (rHat) parts.push(rHatFigure());
  parts.push(flagList(), labelTools(), parameterTable());
  place.replaceChildren(...parts.filter(Boolean));
}

function checkRows() {
  const { checks, words } = app.data;
  const seen = checks.tokens + checks.unknown;
  return [
    ["documents", whole(nDocuments()), checks.training ? "those that the model was fitted to" : "not those of the fit"],
    ["empty documents", whole(checks.empty), "without a known word; they get the mean shares"],
    ["words", whole(words.length), `in the vocabulary${checks.stop_words ? ", stop words left out" : ""}`],
    [
      "unknown words",
      percent(checks.unknown / Math.max(seen, 1)),
      `${whole(checks.unknown)} of ${whole(seen)} were dropped`,
    ],
    ["iterations", whole(checks.iterations), `of the engine “${checks.inference}”`],
  ];
}

function traceFigure(name, title, note, values) {
  const draw = (width) => {
    const x = scale(1, Math.max(values.length, 2), 70, width - 12);
    const y = scale(...range(values), 180, 12);
    const path = Array.from(values, (value, i) => `${i ? "L" : "M"}${x(i + 1)} ${y(value)}`).join("");
    return {
      parts: [
        leftAxis(y, 70, width - 82, (v) => number(v, 5)),
        bottomAxis(x, 180, 0, whole),
        svg("path", { d: path, fill: "none", stroke: paint("accent"), "stroke-width": 2 }),
      ],
      height: 204,
    };
  };
  return figure(name, title, note, draw, () => [
    ["iteration", "value"],
    ...Array.from(values, (value, i) => [i + 1, value]),
  ]);
}

function rHatFigure() {
  const { r_hat: rHat } = app.data.arrays;
  const values = Array.from(row(rHat, Math.min(app.column, rHat.shape[0] - 1)));
  const items = values.map((value, k) => ({
    name: `${k}  ${topicName(k)}`,
    value: Number.isFinite(value) ? value : 1,
    color: value > 1.1 ? paint("down") : paint("accent"),
  }));
  items.sort((a, b) => b.value - a.value);
  return figure(
    "r_hat",
    "R-hat of the coefficients",
    "Near 1 the chains agree. Above 1.1 (orange) more sweeps are needed.",
    (width) => bars(width, items.slice(0, 30), { low: 0 }),
    () => [["topic", "r_hat"], ...values.map((value, k) => [k, value])],
  );
}

function flagList() {
  const link = (k) => topicLink(k, topicTitle(k));
  const found = app.data.topics.flatMap(({ dead, twins, common }, k) => {
    const others = twins.filter((other) => other > k);
    const like = others.length ? [" has nearly the words of ", ...listed(others.map(link)), "."] : null;
    const said1 = [dead && [" is hardly used."], like, common && [" begins with words of all topics."]];
    return said1.filter(Boolean).map((text) => el("li", {}, link(k), ...text));
  });
  const none = para("note", "None: every topic is used, with words of its own.");
  return titled("Topics to look at twice", found.length ? el("ul", {}, found) : none);
}

function labelTools() {
  const onchange = async ({ target }) => {
    const wrong = el("p", { class: "flag", role: "alert" }, "The file holds no names of topics.");
    if (target.files.length) await importLabels(target.files[0]).catch(() => target.after(wrong));
  };
  const more = { type: "file", accept: ".json,application/json", "aria-label": "Read names from a file" };
  const input = el("input", { ...more, onchange });
  return titled(
    "Names of the topics",
    para(
      "note",
      "Names that you give are kept in this browser. ",
      "Save them to a file to give them to others, or back to the model with ",
      el("code", {}, 'model.set_topic_labels("topic_labels.json")'),
      ".",
    ),
    div("tools", press("Save names", exportLabels), field("Read names", input)),
  );
}

function parameterTable() {
  const rows = Object.entries(app.data.parameters).map(([name, value]) =>
    el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, said(value))),
  );
  return el(
    "details",
    {},
    el("summary", {}, "All settings of the model"),
    el("table", { class: "facts" }, el("caption", {}, app.data.estimator), el("tbody", {}, rows)),
  );
}
