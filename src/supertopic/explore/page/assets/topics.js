/* The first view: which topics the response goes with, the card of one of them, and the worst predictions. */

function drawTopics(root) {
  const holder = el("div", { class: "card", id: "card", "aria-live": "polite" });
  const lead = panel(div("lead"), ["column", "labels", "theme"], drawLead);
  const axis = panel(div("axis-place"), ["column", "labels", "theme"], drawAxisFigure);
  const side = panel(holder, ["topic", "column", "labels", "theme"], drawCard);
  const worst = panel(div("worst-place"), ["column", "theme"], drawWorst);
  const beside = panel(div("beside"), ["column", "theme"], drawWordEffects);
  panel(axis, ["topic"], markRows);
  put(root, lead, div("two first", axis, side, worst), beside);
}

/* What is looked at; `whole`: with all classes at once among the choices. */
function columnChooser(whole = false) {
  if (nColumns() < 2) return null;
  const all = whole && hasMatrix();
  const choose = (c) => {
    if (all) app.whole = c === "all" ? "yes" : "no";
    chooseColumn(c === "all" ? app.column : Number(c));
  };
  const shown = [...(all ? [["all", "all classes"]] : []), ...columnOptions()];
  return pick("Look at", shown, all && showsMatrix() ? "all" : app.column, choose);
}

const columnOptions = () => app.data.effects.names.map((_, c) => [c, columnMeaning(c).name]);
const showsMatrix = () => app.whole !== "no" && hasMatrix();

/* By which class a document is explained: the predicted one, or one of the reader's choice. */
function explainChooser() {
  if (nColumns() < 2) return null;
  if (columnOfClass(currentOutcome(), 0) < 0) return columnChooser();
  const options = [[-1, "the predicted class"], ...columnOptions()];
  return pick("Explain", options, app.explained, (c) => {
    app.explained = Number(c);
    if (app.explained >= 0) app.column = app.explained;
    announce("column");
  });
}

/* Sentences that say what the picture shows. */
function drawLead(place) {
  const chosen = columnChooser(true);
  if (!app.data.effects) {
    const top = axisOrder(0).slice(0, 3);
    const links = listed(top.map((k) => topicLink(k)));
    return put(place, para("headline", "Most words of these documents belong to ", links, "."));
  }
  if (showsMatrix()) return put(place, chosen);
  const c = app.column;
  const line = (up) => {
    const topics = strongestTopics(c, up, 3);
    if (!topics.length) return null;
    const links = topics.map((k) => span(topicLink(k), ` (${effectText(effectOf(k, c).value, c)})`));
    const goes = columnMeaning(c).isClass && !up ? " is less likely with " : " goes with ";
    return para("headline", arrow(up ? "up" : "down"), sideName(c, up), goes, listed(links), ".");
  };
  const none = para("headline", "No topic clearly goes with ", said(columnMeaning(c).name), ".");
  const lines = [line(true), line(false)];
  return put(place, chosen, lines.some(Boolean) ? lines : none);
}

/* Words that predict beside topics (words=True). */
function drawWordEffects(place) {
  const found = app.data.effects?.words[app.column] || [];
  if (!found.length) return;
  const items = found.map(([w, value, n]) => ({ name: `${wordName(w)} (${whole(n)})`, value, color: upDown(value) }));
  const made = figure(
    "word_effects",
    `Words that predict beside the topics: ${columnMeaning(app.column).name}`,
    "What a word adds to the linear predictor, on average over the documents that hold it; in brackets how many do. " +
      "The words that matter most to all documents together.",
    (width) => bars(width, items, { form: (value) => signed(value, 2) }),
    ["word", "adds", "documents"],
    () => found.map(([w, value, n]) => [app.data.words[w], value, n]),
  );
  put(place, made);
}

const arrow = (side) => el("span", { class: `arrow ${side}`, "aria-hidden": "true" }, side === "up" ? "▲" : "▼");

function quantiles() {
  const [low, high] = app.data.effects.quantiles.map((value) => `${number(value)} %`);
  return `its share at the ${low} and the ${high} quantile`;
}

function axisNote(c) {
  const noun = app.data.topic_noun.toLowerCase();
  if (!app.data.effects) return `How much of the documents each ${noun} has. Choose a ${noun} to see its words.`;
  const known = !Number.isNaN(effectOf(0, c).low); // a margin has no errors
  const intervals = known ? "Lines are 90 % intervals; a circle is empty where its interval includes no change. " : "";
  const zeros = axisOrder(c).some((k) => isZero(k, c)) ? "A grey circle has a coefficient of exactly zero. " : "";
  const units = {
    difference: "",
    ratio: "× 1.4 is 40 % more. ",
    points: "In percentage points (pp). ",
    score: "Of the score: the highest wins. ",
  }[app.data.effects.kinds[c]];
  return (
    `What the prediction changes by from little to much of a topic (${quantiles()}), the others ` +
    `giving way. ${units}${intervals}${zeros}Large circles are topics with many words. Choose a topic to see its words.`
  );
}

function drawAxisFigure(place) {
  const [c, hasEffects] = [app.column, app.data.effects];
  if (showsMatrix()) return drawMatrixFigure(place);
  const plain = `${app.data.topic_noun === "Class" ? "Classes" : "Topics"} by their share`;
  const made = figure(
    "topics",
    hasEffects ? "Effects of the topics on the prediction" : plain,
    axisNote(c),
    (width) => (hasEffects ? drawEffects(width, c) : drawPrevalence(width)),
    hasEffects ? EFFECTS_HEAD : AXIS_HEAD,
    () => axisRows(c),
  );
  return put(place, made);
}

/* The documents whose predictions are most wrong. */
function worstOf(place, n) {
  const size = Float64Array.from({ length: nDocuments() }, (_, d) => Math.abs(errorOf(place, d)) || 0);
  return bestPlaces(size, n).filter((d) => size[d] > 0);
}

function drawWorst(place) {
  const outcome = currentOutcome();
  const found = outcome < 0 ? [] : worstOf(outcome, 6);
  if (!found.length) return put(place);
  const title = el("h2", {}, "Predictions that are most wrong");
  const head = ["row", "name", "true", "predicted"];
  const rows = () => worstOf(outcome, 200).map((d) => [d, documentName(d), ...answerCells(outcome, d)]);
  const save = saveButtons("most_wrong", "most wrong", null, head, rows);
  const note = para("note", "Open one to see which topics and words led there.");
  const links = documentList(found, (d) => answerSentence(outcome, d));
  return put(place, el("section", { class: "worst" }, title, save, note, links));
}

function answerSentence(place, d) {
  const { y, mean: predicted, decided } = answerOf(place, d);
  const { kind, classes } = app.data.outcomes[place];
  const truth = Number.isNaN(y) ? "" : `, in truth ${kind === "number" ? number(y) : cut(classes[y], 40)}`;
  return `predicted ${kind === "number" ? number(predicted) : cut(classes[decided], 30)}${truth}`;
}

function answerCells(place, d) {
  const { y, mean: predicted, decided } = answerOf(place, d);
  const { kind, classes } = app.data.outcomes[place];
  if (kind === "number") return [y, predicted];
  return [Number.isNaN(y) ? "" : classes[y], classes[decided]];
}
