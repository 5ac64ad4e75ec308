/* The card of one topic: its words, its effect, its most typical documents, its name. */

const card = { order: "relevance", lambda: 0.6 };

function drawCard(place, k = app.topic) {
  const input = el("input", {
    type: "text",
    value: app.labels[k] || "",
    placeholder: "Give it a name",
    "aria-label": `Name of topic ${k}`,
    maxlength: 200,
    dir: "auto",
    onchange: (event) => setLabel(k, event.target.value),
  });
  const head = el("div", { class: "card-head" }, swatch(k), el("h2", {}, `Topic ${k}`), input);
  place.replaceChildren(head, ...cardFacts(k), ...cardOrders(k), cardFigure(k), ...facetLists(k), typicalDocuments(k));
}

function cardFacts(k) {
  const { dead, twins } = app.data.topics[k];
  const facts = [el("p", {}, `It has ${percent(meanShares()[k])} of the words of these documents.`)];
  if (app.data.effects) facts[0].append(" ", ...effectSentence(k, app.column));
  if (dead) facts.push(el("p", { class: "flag" }, "This topic is hardly used: it may be left over."));
  if (twins.length) {
    const links = listed(twins.map((other) => topicLink(other, `topic ${other}`)));
    facts.push(el("p", { class: "flag" }, "Its words are nearly those of ", ...links, ": fewer topics may do."));
  }
  return facts;
}

function effectSentence(k, c) {
  const effect = effectOf(k, c);
  if (effect.value === 0)
    return ["Its coefficient is exactly zero: it has no effect on ", el("em", {}, said(columnMeaning(c).name)), "."];
  const spread = Number.isNaN(effect.low)
    ? ""
    : ` (90\u00a0% interval ${number(effect.low)} to ${number(effect.high)})`;
  const doubt =
    Number.isNaN(effect.low) || isClear(effect) ? "" : " The interval includes zero, so that the effect may be none.";
  const tenth = tenthOf(effect.value, c);
  return [
    "It ",
    ...effectPhrase(c, effect.value > 0, true),
    `${tenth && `, ${tenth} for every 10 % of a document`}. `,
    `A document all of it, against an average one: ${signed(effect.value)}${spread}.${doubt}`,
  ];
}

/* What a tenth of a document does, on a scale that needs no explanation; "" where there is none. */
function tenthOf(value, c) {
  return {
    plain: `by ${number(Math.abs(value) / 10)}`,
    log: `${number(Math.exp(value / 10))} times`,
    odds: `with ${number(Math.exp(value / 10))} times the odds`,
    other: "",
  }[scaleKind(c)];
}

function cardOrders(k) {
  const redraw = () => announce("card");
  const chosen = switcher("Order of the words", wordOrders(), card.order, (order) => {
    card.order = order;
    redraw();
  });
  const slider = el("input", {
    type: "range",
    min: 0,
    max: 1,
    step: 0.05,
    value: card.lambda,
    "aria-label": "Lambda of relevance",
    oninput: (event) => {
      card.lambda = Number(event.target.value);
      announce("card");
    },
  });
  const shown = el("p", { class: "note" });
  panelOnce(shown, k, () => {
    shown.replaceChildren(orderNote());
    slider.parentNode.hidden = card.order !== "relevance";
  });
  return [
    el("div", { class: "tools" }, chosen, el("label", { class: "field inline" }, el("span", {}, "λ"), slider)),
    shown,
  ];
}

function wordOrders() {
  const orders = [
    ["relevance", "Relevant"],
    ["probability", "Most probable"],
    ["frex", "Exclusive"],
  ];
  return app.data.arrays.deviation_rows ? [...orders, ["deviation", "Deviations"]] : orders;
}

function orderNote() {
  return {
    probability: "Words by their probability in the topic.",
    relevance: `λ = ${number(card.lambda, 2)}: near 1 frequent words come first, near 0 words of few topics.`,
    frex: "Words that are both frequent in the topic and rare in others (FREX).",
    deviation: "What the topic adds to (blue) or takes from (orange) the background, on the log scale.",
  }[card.order];
}

/* A part of the card that changes with the order of its words, while the card shows this topic. */
function panelOnce(place, k, draw) {
  const own = { place, kinds: ["card"], draw: () => app.topic === k && draw(), stale: false };
  for (let i = listeners.length - 1; i >= 0; i--) {
    if (listeners[i].once && !listeners[i].place.isConnected) listeners.splice(i, 1);
  }
  listeners.push(Object.assign(own, { once: true }));
  queueMicrotask(draw);
}

function cardFigure(k) {
  const items = () => cardWords(k, card.order, card.lambda, 15);
  const draw = (width) => {
    const color = (value) => (card.order === "deviation" ? paint(value < 0 ? "down" : "up") : topicColor(k));
    const shown = items().map(({ word, value }) => ({ name: wordName(word), value, color: color(value) }));
    return bars(width, shown, card.order === "deviation" ? { form: signed } : {});
  };
  const rows = () => [
    ["word", card.order === "deviation" ? "deviation" : "probability"],
    ...items().map(({ word, value }) => [app.data.words[word], value]),
  ];
  const made = figure(`topic_${k}_words`, "Words", "", draw, rows);
  panelOnce(made, k, () => made.isConnected && made.redraw());
  return made;
}

/* What facets and their interactions add (FacetedSAGE, GeoSAGE). */
function facetLists(k) {
  const found = app.data.inference.facets.filter(({ topic }) => topic === null || topic === k);
  return found.slice(0, 12).map(({ title, words }) =>
    figure(
      `topic_${k}_facet`,
      title,
      "",
      (width) =>
        bars(
          width,
          words.slice(0, 8).map(([w, value]) => ({
            name: wordName(w),
            value,
            color: paint(value < 0 ? "down" : "up"),
          })),
          { form: signed },
        ),
      () => [["word", "deviation"], ...words.map(([w, value]) => [app.data.words[w], value])],
    ),
  );
}

/* The documents with the largest share of a topic. */
function typicalOf(k, n) {
  const best = [];
  for (let d = 0; d < nDocuments(); d++) {
    const share = shareOf(d, k);
    if (best.length < n || share > best[n - 1].share) {
      best.push({ d, share });
      best.sort((a, b) => b.share - a.share);
      best.length = Math.min(best.length, n);
    }
  }
  return best;
}

function typicalDocuments(k) {
  const found = typicalOf(k, 5);
  const rows = () => [["row", "name", "share"], ...typicalOf(k, 50).map(({ d, share }) => [d, documentName(d), share])];
  const items = found.map(({ d, share }) => el("li", {}, documentLink(d, `${percent(share)} of its words`)));
  return el(
    "section",
    { class: "typical" },
    el("h3", {}, "Most typical documents "),
    saveButtons(`topic_${k}_documents`, "typical documents", null, rows),
    el("ol", { class: "plain" }, items),
  );
}

/* A document in a list: its name, a fact, how it begins. */
function documentLink(d, fact) {
  return el(
    "a",
    { href: `#documents/${d}`, class: "document-link" },
    el("span", { class: "who" }, said(documentName(d))),
    el("span", { class: "fact" }, fact),
    el("span", { class: "snippet", dir: "auto" }, snippet(d)),
  );
}
