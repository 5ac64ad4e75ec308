/* The card of one topic: its words, its effect, its most typical documents, its name. */

const card = { order: "relevance", lambda: 0.6 };
/* What labels have made of a topic. */
const MOVED = {
  new: "New: topics of words alone, without labels, have none like it.",
  moved: "Moved: like a topic of words alone, but labels have changed its words.",
  "as in LDA": "As in LDA: topics of words alone, without labels, have it as well.",
};
/* The orders of words: [text, note]. */
const ORDERS = {
  deviation: ["Deviations", "What the topic adds to (blue) or takes from (orange) the background, on the log scale."],
  relevance: ["Relevant", "Words by their relevance to the topic. Grey: on average."],
  probability: ["Most probable", "Words by their probability in the topic; grey: in an average document."],
  frex: ["Exclusive", "Words that are both frequent in the topic and rare in others (FREX). Grey: on average."],
};

function drawCard(place, k = app.topic) {
  dropListeners((own) => own.once && !own.place.isConnected);
  const noun = app.data.topic_noun;
  const look = { type: "text", placeholder: "Give it a name", maxlength: 200, dir: "auto" };
  const named = { value: app.labels[k] || "", onchange: (event) => setLabel(k, event.target.value) };
  const input = el("input", { ...look, ...named, "aria-label": `Name of ${noun.toLowerCase()} ${k}` });
  const head = div("card-head", swatch(k), el("h2", {}, `${noun} ${k}`), input);
  put(place, head, cardFacts(k), cardOrders(k), cardFigure(k), facetLists(k), typicalDocuments(k));
}

function cardFacts(k) {
  const { dead, twins, common, moved } = app.data.topics[k];
  const effect = app.data.effects && [" ", showsMatrix() ? classesSentence(k) : effectSentence(k, app.column)];
  const links = listed(twins.map((other) => topicLink(other, `topic ${other}`)));
  return [
    el("p", {}, `It has ${shareSpoken(k)} of these documents.`, effect),
    moved && para("note", MOVED[moved]),
    dead && para("flag", "This topic is hardly used: it may be left over."),
    common && para("flag", "Its first words are words of all topics: it says little by itself."),
    twins.length > 0 && para("flag", "Its words are nearly those of ", links, ": fewer topics may do."),
  ];
}

/* Which classes a topic goes with, and which it speaks against. */
function classesSentence(k) {
  const found = app.data.outcomes[0].classes.map((name, code) => {
    const c = columnOfClass(0, code);
    return { name, c, ...effectOf(k, c) };
  });
  const side = (sign, text) => {
    const own = found.filter((one) => isClear(one) && sign * one.value > 0).sort((a, b) => sign * (b.value - a.value));
    const names = own.slice(0, 3).map(({ name, value, c }) => span(stressed(name, 40), ` (${effectText(value, c)})`));
    return names.length > 0 && [text, listed(names), ". "];
  };
  return [side(1, "It goes with "), side(-1, "Less likely with it: ")];
}

function effectSentence(k, c) {
  const effect = effectOf(k, c);
  const { name, isClass } = columnMeaning(c);
  const { share_low: from, share_high: to } = app.data.arrays;
  const range = `From ${percent(from.data[k])} to ${percent(to.data[k])} of a document, `;
  const kind = app.data.effects.kinds[c];
  const what = isClass ? (kind === "score" ? "the score of " : "the probability of ") : "the predicted ";
  const change = kind === "ratio" ? " is " : " changes by ";
  const interval = Number.isNaN(effect.low) ? "" : ` (${intervalText(effect, c)})`;
  const doubt = isClear(effect) ? "" : " The interval includes no change.";
  return [range, what, stressed(name), `${change}${effectText(effect.value, c)}${interval}.${doubt}`];
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
    put(shown, ORDERS[card.order][1]);
    put(
      weighs,
      `λ = ${number(card.lambda, 2)} weighs relevance: near 1 frequent words lead, near 0 words of few topics.`,
    );
    wordOrders().forEach(([order], i) => chosen.children[i].setAttribute("aria-pressed", String(order === card.order)));
  });
  return [div("tools", chosen, el("label", { class: "field inline" }, span("λ"), slider), weighs), shown];
}

function wordOrders() {
  const orders = Object.entries(ORDERS).map(([order, [text]]) => [order, text]);
  return app.data.arrays.deviation_rows ? orders : orders.slice(1);
}

/* A part of the card that changes with the order of its words, while the card shows this topic. */
function panelOnce(place, k, draw) {
  listeners.push({ place, kinds: ["card"], draw: () => app.topic === k && draw(), stale: false, once: true });
  queueMicrotask(draw);
}

function cardFigure(k) {
  const items = () => cardWords(k, card.order, card.lambda, 15);
  const usual = (word) => app.data.arrays.word_mean.data[word];
  const draw = (width) => {
    if (card.order === "deviation") return deviationBars(width, items());
    const bar = ({ word, value }) => ({ name: wordName(word), value, color: topicColor(k), usual: usual(word) });
    return bars(width, items().map(bar));
  };
  const rows = () => [
    ["word", card.order === "deviation" ? "deviation" : "probability", "average"],
    ...items().map(({ word, value }) => [app.data.words[word], value, usual(word)]),
  ];
  const made = figure(`topic_${k}_words`, "Words", "", draw, null, rows);
  panelOnce(made, k, () => made.isConnected && made.redraw());
  return made;
}

function deviationBars(width, items) {
  const bar = ({ word, value }) => ({ name: wordName(word), value, color: upDown(value) });
  return bars(width, items.map(bar), { form: signed });
}

/* What facets and their interactions add (FacetedSAGE, GeoSAGE). */
function facetLists(k) {
  const found = app.data.inference.facets.filter(({ topic }) => topic === null || topic === k);
  return found.slice(0, 12).map(({ title, words }) => {
    const items = words.slice(0, 8).map(([word, value]) => ({ word, value }));
    const rows = () => words.map(([word, value]) => [app.data.words[word], value]);
    return figure(`topic_${k}_facet`, title, "", (width) => deviationBars(width, items), ["word", "deviation"], rows);
  });
}

/* The documents with the largest share of a topic. */
function typicalOf(k, n) {
  const shares = upTo(nDocuments()).map((d) => shareOf(d, k));
  return bestPlaces(shares, n).map((d) => ({ d, share: shares[d] }));
}

function typicalDocuments(k) {
  const rows = () => typicalOf(k, 50).map(({ d, share }) => [d, documentName(d), share]);
  const save = saveButtons(`topic_${k}_documents`, "typical documents", null, ["row", "name", "share"], rows);
  const places = typicalOf(k, 5).map(({ d }) => d);
  const links = documentList(places, (d) => `${percent(shareOf(d, k))} of its words`);
  return el("section", { class: "typical" }, el("h3", {}, "Most typical documents "), save, links);
}

/* Documents as links: the name, a fact, how the text begins. */
function documentList(places, factOf) {
  const link = (d) => [
    el("span", { class: "who" }, said(documentName(d))),
    el("span", { class: "fact" }, factOf(d)),
    el("span", { class: "snippet", dir: "auto" }, snippet(d)),
  ];
  const item = (d) => el("li", {}, el("a", { href: `#documents/${d}`, class: "document-link" }, link(d)));
  return el("ol", { class: "plain" }, places.map(item));
}
