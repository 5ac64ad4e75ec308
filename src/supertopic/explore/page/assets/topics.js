/* The first view: which topics the response goes with, the card of one of them, and the worst predictions. */

function drawTopics(root) {
  const axis = div("axis-place");
  const worst = div("worst-place");
  const side = el("div", { class: "card", id: "card", "aria-live": "polite" });
  root.replaceChildren(
    panel(div("lead"), ["column", "labels", "theme"], drawLead),
    div("two first", axis, side, worst),
    panel(div("beside"), ["column", "theme"], drawWordEffects),
  );
  panel(axis, ["column", "labels", "theme"], drawAxisFigure);
  panel(axis, ["topic"], markRows);
  panel(worst, ["column", "theme"], drawWorst);
  panel(side, ["topic", "column", "labels", "theme"], drawCard);
}

/* What is looked at; `whole`: with all classes at once among the choices. */
function columnChooser(whole = false) {
  const { effects } = app.data;
  if (!effects || effects.names.length < 2) return null;
  const options = effects.names.map((_, c) => [c, columnMeaning(c).name]);
  const all = whole && hasMatrix();
  const choose = (c) => {
    if (all) app.whole = c === "all" ? "yes" : "no";
    chooseColumn(c === "all" ? app.column : Number(c));
  };
  const shown = [...(all ? [["all", "all classes"]] : []), ...options];
  return field("Look at", chooser(shown, all && showsMatrix() ? "all" : app.column, choose));
}

function showsMatrix() {
  return app.whole !== "no" && hasMatrix();
}

/* By which class a document is explained: the predicted one, or one of the reader's choice. */
function explainChooser() {
  const { effects } = app.data;
  const place = currentOutcome();
  if (!effects || effects.names.length < 2) return null;
  if (columnOfClass(place, 0) < 0) return columnChooser();
  const options = [[-1, "the predicted class"], ...effects.names.map((_, c) => [c, columnMeaning(c).name])];
  return pick("Explain", options, app.explained, (c) => {
    app.explained = Number(c);
    if (app.explained >= 0) app.column = app.explained;
    announce("column");
  });
}

/* Sentences that say what the picture shows. */
function drawLead(place) {
  const { effects } = app.data;
  const chosen = columnChooser(true);
  if (!effects) {
    const top = axisOrder(0)
      .slice(0, 3)
      .map((k) => topicLink(k));
    place.replaceChildren(para("headline", "Most words of these documents belong to ", ...listed(top), "."));
    return;
  }
  const c = app.column;
  if (showsMatrix()) {
    place.replaceChildren(chosen);
    return;
  }
  const line = (up) => {
    const topics = strongestTopics(c, up, 3);
    if (!topics.length) return null;
    const links = topics.map((k) => el("span", {}, topicLink(k), ` (${effectText(effectOf(k, c).value, c)})`));
    const goes = columnMeaning(c).isClass && !up ? " is less likely with " : " goes with ";
    return para("headline", arrow(up ? "up" : "down"), ...sideName(c, up), goes, ...listed(links), ".");
  };
  const none = ["No topic clearly goes with ", said(columnMeaning(c).name), "."];
  const lines = [line(true), line(false)].filter(Boolean);
  place.replaceChildren(...[chosen, ...(lines.length ? lines : [para("headline", ...none)])].filter(Boolean));
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
    () => [["word", "adds", "documents"], ...found.map(([w, value, n]) => [app.data.words[w], value, n])],
  );
  place.replaceChildren(made);
}

function arrow(side) {
  return el("span", { class: `arrow ${side}`, "aria-hidden": "true" }, side === "up" ? "▲" : "▼");
}

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
  const c = app.column;
  if (showsMatrix()) {
    drawMatrixFigure(place);
    return;
  }
  const note = axisNote(c);
  const made = figure(
    "topics",
    app.data.effects
      ? "Effects of the topics on the prediction"
      : `${app.data.topic_noun === "Class" ? "Classes" : "Topics"} by their share`,
    note,
    (width) => drawAxis(width, c),
    () => axisRows(c),
    { role: "group" },
  );
  place.replaceChildren(made);
}

/* The documents whose predictions are most wrong. */
function worstOf(place, n) {
  const size = Float64Array.from({ length: nDocuments() }, (_, d) => Math.abs(errorOf(place, d)) || 0);
  return bestPlaces(size, n).filter((d) => size[d] > 0);
}

function drawWorst(place) {
  const outcome = currentOutcome();
  const found = outcome < 0 ? [] : worstOf(outcome, 6);
  if (!found.length) {
    place.replaceChildren();
    return;
  }
  const items = found.map((d) => el("li", {}, documentLink(d, answerSentence(outcome, d))));
  const rows = () => [
    ["row", "name", "true", "predicted"],
    ...worstOf(outcome, 200).map((d) => [d, documentName(d), ...answerCells(outcome, d)]),
  ];
  place.replaceChildren(
    el(
      "section",
      { class: "worst" },
      el("h2", {}, "Predictions that are most wrong"),
      saveButtons("most_wrong", "most wrong", null, rows),
      para("note", "Open one to see which topics and words led there."),
      el("ol", { class: "plain" }, items),
    ),
  );
}

function answerSentence(place, d) {
  const answer = answerOf(place, d);
  const outcome = app.data.outcomes[place];
  const predicted = outcome.kind === "number" ? number(answer.mean) : cut(outcome.classes[answer.decided], 30);
  if (Number.isNaN(answer.y)) return `predicted ${predicted}`;
  return `predicted ${predicted}, in truth ${valueName(place, answer.y)}`;
}

function answerCells(place, d) {
  const answer = answerOf(place, d);
  const outcome = app.data.outcomes[place];
  if (outcome.kind === "number") return [answer.y, answer.mean];
  return [Number.isNaN(answer.y) ? "" : outcome.classes[answer.y], outcome.classes[answer.decided]];
}
