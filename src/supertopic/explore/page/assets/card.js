/* The card of one topic: its words, its effect, its most typical documents, its name. */

const card = { order: "relevance", lambda: 0.6 };
/* What labels have made of a topic. */
const MOVED = {
  new: "New: topics of words alone, without labels, have none like it.",
  moved: "Moved: like a topic of words alone, but labels have changed its words.",
  "as in LDA": "As in LDA: topics of words alone, without labels, have it as well.",
};

function drawCard(place, k = app.topic) {
  const input = el("input", {
    type: "text",
    value: app.labels[k] || "",
    placeholder: "Give it a name",
    "aria-label": `Name of ${app.data.topic_noun.toLowerCase()} ${k}`,
    maxlength: 200,
    dir: "auto",
    onchange: (event) => setLabel(k, event.target.value),
  });
  dropListeners((own) => own.once && !own.place.isConnected);
  const head = div("card-head", swatch(k), el("h2", {}, `${app.data.topic_noun} ${k}`), input);
  place.replaceChildren(head, ...cardFacts(k), ...cardOrders(k), cardFigure(k), ...facetLists(k), typicalDocuments(k));
}

function cardFacts(k) {
  const { dead, twins, common, moved } = app.data.topics[k];
  const facts = [el("p", {}, `It has ${percent(meanShares()[k])} of the words of these documents.`)];
  if (app.data.effects) facts[0].append(" ", ...(showsMatrix() ? classesSentence(k) : effectSentence(k, app.column)));
  if (moved) facts.push(para("note", MOVED[moved]));
  if (dead) facts.push(para("flag", "This topic is hardly used: it may be left over."));
  if (common) facts.push(para("flag", "Its first words are words of all topics: it says little by itself."));
  if (twins.length) {
    const links = listed(twins.map((other) => topicLink(other, `topic ${other}`)));
    facts.push(para("flag", "Its words are nearly those of ", ...links, ": fewer topics may do."));
  }
  return facts;
}

/* Which classes a topic goes with, and which it speaks against. */
function classesSentence(k) {
  const { classes } = app.data.outcomes[0];
  const found = classes
    .map((name, code) => ({ name, c: columnOfClass(0, code) }))
    .map((one) => ({ ...one, ...effectOf(k, one.c) }));
  const side = (sign, said1) => {
    const own = found.filter((one) => isClear(one) && sign * one.value > 0).sort((a, b) => sign * (b.value - a.value));
    const names = own
      .slice(0, 3)
      .map(({ name, value, c }) => el("span", {}, el("em", {}, said(cut(name, 40))), ` (${effectText(value, c)})`));
    return names.length ? [said1, ...listed(names), ". "] : [];
  };
  return [...side(1, "It goes with "), ...side(-1, "Less likely with it: ")];
}

function effectSentence(k, c) {
  const effect = effectOf(k, c);
  const { name, isClass } = columnMeaning(c);
  const shown = el("em", {}, said(name));
  const { share_low: from, share_high: to } = app.data.arrays;
  const range = `From ${percent(from.data[k])} to ${percent(to.data[k])} of a document, `;
  const kind = app.data.effects.kinds[c];
  const what = isClass ? (kind === "score" ? "the score of " : "the probability of ") : "the predicted ";
  const change = kind === "ratio" ? " is " : " changes by ";
  const interval = Number.isNaN(effect.low) ? "" : ` (${intervalText(effect, c)})`;
  const doubt = isClear(effect) ? "" : " The interval includes no change.";
  return [range, what, shown, `${change}${effectText(effect.value, c)}${interval}.${doubt}`];
}

function cardOrders(k) {
  const choose = (order) => {
    card.order = order;
    announce("card");
  };
  const chosen = switcher("Order of the words", wordOrders(), card.order, choose);
  const oninput = (event) => {
    card.lambda = Number(event.target.value);
    choose("relevance");
  };
  const ends = { type: "range", min: 0, max: 1, step: 0.05, "aria-label": "Lambda of relevance" };
  const slider = el("input", { ...ends, value: card.lambda, oninput });
  const [shown, weighs] = [para("note"), el("span", { class: "note" })];
  panelOnce(shown, k, () => {
    shown.replaceChildren(orderNote());
    weighs.replaceChildren(lambdaNote());
    wordOrders().forEach(([order], i) => chosen.children[i].setAttribute("aria-pressed", String(order === card.order)));
  });
  return [div("tools", chosen, el("label", { class: "field inline" }, el("span", {}, "λ"), slider), weighs), shown];
}

function wordOrders() {
  const orders = [
    ["relevance", "Relevant"],
    ["probability", "Most probable"],
    ["frex", "Exclusive"],
  ];
  return app.data.arrays.deviation_rows ? [["deviation", "Deviations"], ...orders] : orders;
}

function orderNote() {
  return {
    probability: "Words by their probability in the topic; grey: in an average document.",
    relevance: "Words by their relevance to the topic. Grey: on average.",
    frex: "Words that are both frequent in the topic and rare in others (FREX). Grey: on average.",
    deviation: "What the topic adds to (blue) or takes from (orange) the background, on the log scale.",
  }[card.order];
}

function lambdaNote() {
  return `λ = ${number(card.lambda, 2)} weighs relevance: near 1 frequent words lead, near 0 words of few topics.`;
}

/* A part of the card that changes with the order of its words, while the card shows this topic. */
function panelOnce(place, k, draw) {
  listeners.push({ place, kinds: ["card"], draw: () => app.topic === k && draw(), stale: false, once: true });
  queueMicrotask(draw);
}

function cardFigure(k) {
  const items = () => cardWords(k, card.order, card.lambda, 15);
  const draw = (width) => {
    const color = (value) => (card.order === "deviation" ? upDown(value) : topicColor(k));
    const usual = (word) => (card.order === "deviation" ? null : app.data.arrays.word_mean.data[word]);
    const bar = ({ word, value }) => ({ name: wordName(word), value, color: color(value), usual: usual(word) });
    return bars(width, items().map(bar), card.order === "deviation" ? { form: signed } : {});
  };
  const rows = () => [
    ["word", card.order === "deviation" ? "deviation" : "probability", "average"],
    ...items().map(({ word, value }) => [app.data.words[word], value, app.data.arrays.word_mean.data[word]]),
  ];
  const made = figure(`topic_${k}_words`, "Words", "", draw, rows);
  panelOnce(made, k, () => made.isConnected && made.redraw());
  return made;
}

/* What facets and their interactions add (FacetedSAGE, GeoSAGE). */
function facetLists(k) {
  const found = app.data.inference.facets.filter(({ topic }) => topic === null || topic === k);
  return found.slice(0, 12).map(({ title, words }) => {
    const items = () => words.slice(0, 8).map(([w, value]) => ({ name: wordName(w), value, color: upDown(value) }));
    const rows = () => [["word", "deviation"], ...words.map(([w, value]) => [app.data.words[w], value])];
    return figure(`topic_${k}_facet`, title, "", (width) => bars(width, items(), { form: signed }), rows);
  });
}

/* The documents with the largest share of a topic. */
function typicalOf(k, n) {
  const shares = Float64Array.from({ length: nDocuments() }, (_, d) => shareOf(d, k));
  return bestPlaces(shares, n).map((d) => ({ d, share: shares[d] }));
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
