/* Diagnostics: did the fit converge, what was left out, which settings it had; and the names of topics as a file. */

/* What was drawn or climbed by iteration: [array, title, note]. */
const TRACES = [
  ["bound", "Objective by iteration", "It should rise and level off."],
  ["log_joint", "Log joint probability of the draws", "It should wander around a level, without a trend."],
];

function drawChecks(place) {
  const { arrays } = app.data;
  const there = TRACES.filter(([name]) => arrays[name] && (name !== "bound" || arrays[name].data.length > 1));
  const traces = there.map(([name, title, note]) => traceFigure(name, title, note, arrays[name].data));
  put(
    place,
    measures(checkRows()),
    traces.length > 0 && div("two even", traces),
    arrays.r_hat && rHatFigure(),
    flagList(),
    labelTools(),
    parameterTable(),
  );
}

function checkRows() {
  const { checks, words } = app.data;
  const seen = checks.tokens + checks.unknown;
  const dropped = `${whole(checks.unknown)} of ${whole(seen)} were dropped`;
  return [
    ["documents", whole(nDocuments()), checks.training ? "those that the model was fitted to" : "not those of the fit"],
    ["empty documents", whole(checks.empty), "without a known word; they get the mean shares"],
    ["words", whole(words.length), `in the vocabulary${checks.stop_words ? ", stop words left out" : ""}`],
    ["unknown words", percent(checks.unknown / Math.max(seen, 1)), dropped],
    ["iterations", whole(checks.iterations), `of the engine “${checks.inference}”`],
  ];
}

function traceFigure(name, title, note, values) {
  const draw = (width) => {
    const x = scale(1, Math.max(values.length, 2), 70, width - 12);
    const y = scale(...range(values), 180, 12);
    const line = Array.from(values, (value, i) => [x(i + 1), y(value)]);
    const axes = [leftAxis(y, 70, width - 82, (v) => number(v, 5)), bottomAxis(x, 180, 0, whole)];
    return { parts: [...axes, curve(line, paint("accent"))], height: 204 };
  };
  const rows = () => Array.from(values, (value, i) => [i + 1, value]);
  return figure(name, title, note, draw, ["iteration", "value"], rows);
}

function rHatFigure() {
  const { r_hat: rHat } = app.data.arrays;
  const values = Array.from(row(rHat, Math.min(app.column, rHat.shape[0] - 1)));
  const items = values.map((value, k) => ({
    name: numbered(k),
    value: Number.isFinite(value) ? value : 1,
    color: paint(value > 1.1 ? "down" : "accent"),
  }));
  items.sort((a, b) => b.value - a.value);
  return figure(
    "r_hat",
    "R-hat of the coefficients",
    "Near 1 the chains agree. Above 1.1 (orange) more sweeps are needed.",
    (width) => bars(width, items.slice(0, 30), { low: 0 }),
    ["topic", "r_hat"],
    () => values.map((value, k) => [k, value]),
  );
}

function flagList() {
  const link = (k) => topicLink(k, topicTitle(k));
  const found = app.data.topics.flatMap(({ dead, twins, common }, k) => {
    const others = twins.filter((other) => other > k);
    const like = others.length > 0 && [" has nearly the words of ", listed(others.map(link)), "."];
    const flags = [dead && " is hardly used.", like, common && " begins with words of all topics."];
    return flags.filter(Boolean).map((text) => el("li", {}, link(k), text));
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
  const kept = "Names that you give are kept in this browser. Save them to a file to give them to others, ";
  const code = el("code", {}, 'model.set_topic_labels("topic_labels.json")');
  const tools = div("tools", press("Save names", exportLabels), field("Read names", input));
  return titled("Names of the topics", para("note", kept, "or back to the model with ", code, "."), tools);
}

function parameterTable() {
  const table = factTable(app.data.estimator, Object.entries(app.data.parameters));
  return el("details", {}, el("summary", {}, "All settings of the model"), table);
}
