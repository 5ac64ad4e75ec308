/* The first view: which topics raise the response, the card of one of them, and the worst predictions. */

function drawTopics(root) {
  const axis = el("div", { class: "axis-place" });
  const worst = el("div", { class: "worst-place" });
  const side = el("div", { class: "card", id: "card", "aria-live": "polite" });
  root.replaceChildren(
    panel(el("div", { class: "lead" }), ["column", "labels", "theme"], drawLead),
    el("div", { class: "two first" }, axis, side, worst),
  );
  panel(axis, ["column", "labels", "theme"], drawAxisFigure);
  panel(axis, ["topic"], markRows);
  panel(worst, ["column", "theme"], drawWorst);
  panel(side, ["topic", "column", "labels", "theme"], drawCard);
}

function columnChooser() {
  const { effects } = app.data;
  if (!effects || effects.names.length < 2) return null;
  return field(
    "Look at",
    chooser(
      effects.names.map((_, c) => [c, columnMeaning(c).name]),
      app.column,
      (c) => chooseColumn(Number(c)),
    ),
  );
}

/* By which class a document is explained: the predicted one, or one of the reader's choice. */
function explainChooser() {
  const { effects } = app.data;
  const place = currentOutcome();
  if (!effects || effects.names.length < 2) return null;
  if (columnOfClass(place, 0) < 0) return columnChooser();
  return field(
    "Explain",
    chooser(
      [[-1, "the predicted class"], ...effects.names.map((_, c) => [c, columnMeaning(c).name])],
      app.explained,
      (c) => {
        app.explained = Number(c);
        if (app.explained >= 0) app.column = app.explained;
        announce("column");
      },
    ),
  );
}

/* Sentences that say what the picture shows. */
function drawLead(place) {
  const { effects } = app.data;
  const chosen = columnChooser();
  if (!effects) {
    const top = axisOrder(0)
      .slice(0, 3)
      .map((k) => topicLink(k));
    place.replaceChildren(
      el("p", { class: "headline" }, "Most words of these documents belong to ", ...listed(top), "."),
    );
    return;
  }
  const c = app.column;
  const order = axisOrder(c);
  const clear = order.filter(
    (k) => isClear(effectOf(k, c)) || (Number.isNaN(effectOf(k, c).low) && effectOf(k, c).value !== 0),
  );
  const up = clear.filter((k) => effectOf(k, c).value > 0).slice(0, 3);
  const down = clear
    .filter((k) => effectOf(k, c).value < 0)
    .reverse()
    .slice(0, 3);
  const line = (side, topics) => {
    const links = listed(topics.map((k) => topicLink(k)));
    return el(
      "p",
      { class: "headline" },
      arrow(side),
      "Topics that ",
      ...effectPhrase(c, side === "up"),
      ": ",
      ...links,
      ".",
    );
  };
  const lines = [up.length ? line("up", up) : null, down.length ? line("down", down) : null].filter(Boolean);
  if (!lines.length)
    lines.push(el("p", { class: "headline" }, "No topic has a clear effect on ", said(columnMeaning(c).name), "."));
  place.replaceChildren(...[chosen, ...lines].filter(Boolean));
}

function arrow(side) {
  return el("span", { class: `arrow ${side}`, "aria-hidden": "true" }, side === "up" ? "▲" : "▼");
}

function axisNote(c) {
  if (!app.data.effects) return "How much of the documents each topic has. Choose a topic to see its words.";
  const { coef_std: std, coef_interval: interval } = app.data.arrays;
  const known = interval || std.data.some(Number.isFinite); // a margin has no errors
  const intervals = known ? "Lines are 90 % intervals; a circle is empty where its interval includes zero. " : "";
  const zeros = ["laplace", "jeffreys"].includes(app.data.effects.prior) ? "A grey circle is exactly zero. " : "";
  return (
    "How much a document that is all of one topic differs from an average one. " +
    `${intervals}${zeros}Large circles are topics with many words. ${scaleSentence(c)} Choose a topic to see its words.`
  );
}

function drawAxisFigure(place) {
  const c = app.column;
  const note = axisNote(c);
  const made = figure(
    "topics",
    app.data.effects ? "Effects of the topics" : "Topics by their share",
    note,
    (width) => drawAxis(width, c),
    () => axisRows(c),
    { role: "group" },
  );
  place.replaceChildren(made);
}

/* The documents whose predictions are most wrong. */
function worstOf(place, n) {
  const found = [];
  for (let d = 0; d < nDocuments(); d++) {
    const error = errorOf(place, d);
    if (!Number.isNaN(error) && error !== 0) found.push([d, Math.abs(error)]);
  }
  return found
    .sort((a, b) => b[1] - a[1])
    .slice(0, n)
    .map(([d]) => d);
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
      el("p", { class: "note" }, "Open one to see which topics and words led there."),
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
