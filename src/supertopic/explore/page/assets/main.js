/* The page: its head, its views, and the way between them. */

/* [name, title, how it is drawn, what it is drawn anew for where it does not say so itself]. */
const VIEWS = [
  ["topics", "Topics", drawTopics],
  ["documents", "Documents", drawDocuments],
  ["text", "Try a text", drawTyped],
  ["groups", "Groups", drawGroups],
  ["fit", "Fit", drawFit, ["column", "theme", "labels"]],
  ["map", "Map", drawMap],
  ["compared", "Compared", drawCompared],
  ["checks", "Checks", drawChecks, ["labels", "theme", "column"]],
];
const sections = new Map();

const byId = (id) => document.getElementById(id);
const viewsShown = () => VIEWS.filter(([id]) => id !== "compared" || app.data.compared);

async function start() {
  const [holder, main] = [byId("data"), byId("main")];
  try {
    app.data = await readData(holder.textContent);
    holder.remove();
    app.model = makeModel(app.data);
    app.tokenizer = app.data.inference.tokens ? makeTokenizer(app.data.inference.tokens, app.data.words) : null;
  } catch (error) {
    const why = `The page could not be read: ${error.message} A browser of 2023 or later is needed.`;
    return put(main, para("flag", why));
  }
  readLabels();
  app.topic = strongestTopic();
  if (app.data.outcomes.length && worstOf(0, 1).length) filters.sort = "error";
  if (app.data.topic_noun === "Class" && app.data.arrays.deviation_rows) card.order = "deviation";
  starts = KEPT.map(([, place, key]) => place[key]);
  drawHead();
  drawTabs();
  for (const [id, title] of viewsShown())
    sections.set(id, el("section", { id: `view-${id}`, class: "view", "aria-label": title, hidden: true }));
  put(main, [...sections.values()]);
  addEventListener("hashchange", route);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => announce("theme"));
  followPrinting();
  route();
  globalThis.supertopic = outside();
}

/* The topic that is shown first: the one with the largest effect. */
function strongestTopic() {
  const order = axisOrder(0);
  return app.data.effects ? order[largest(order.map((k) => Math.abs(effectOf(k, 0).value)))] : order[0];
}

function drawHead() {
  const { data } = app;
  const kindOf = ({ response }) => (response.startsWith("hinge") ? "max-margin" : response.replaceAll("_", " "));
  const outcomeText = ({ name, parts }) => `${cut(name, 40)}${parts.length ? ` (${kindOf(parts[0])})` : ""}`;
  const predicts = data.outcomes.slice(0, 4).map((outcome) => said(outcomeText(outcome)));
  const sizes = Object.entries({ topics: nTopics(), documents: nDocuments(), words: data.words.length });
  const facts = [data.estimator, ...sizes.map(([name, n]) => `${whole(n)} ${name}`)];
  const more = { class: "quiet", id: "theme", "aria-label": "Change between light and dark" };
  const head = div("head", el("h1", { dir: "auto" }, data.title), searchBox(), press("◐", changeTheme, more));
  const what = predicts.length > 0 && [" · predicts ", listed(predicts)];
  put(byId("top"), head, para("facts-line", facts.join(" · "), what), foundStrip(data.found));
  const made = `Made with supertopic ${data.version}. This file is complete: it loads nothing from the network.`;
  put(byId("foot"), para("note", made));
}

/* What the model found, in sentences that can be copied; amber where topics hardly predict anything. */
function foundStrip({ sentences, hardly }) {
  const piece = ([part, bold]) => (bold ? el("b", {}, part) : part);
  const text = el("p", { id: "strip-text" }, ...sentences.map((pieces) => [pieces.map(piece), " "]));
  const copy = press("Copy", () => copyText(text, copy), { class: "quiet" });
  return el("div", { id: "strip", class: hardly ? "hardly" : null }, text, copy);
}

/* By selecting it: a page that is opened from disk may not write to the clipboard by itself. */
function copyText(node, button) {
  getSelection().selectAllChildren(node);
  button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
}

function drawTabs() {
  const links = viewsShown().map(([id, title]) => el("a", { href: `#${id}`, "data-view": id }, title));
  put(byId("tabs"), links);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    byId("main").focus();
  });
}

/* #documents/12 shows the view of documents with number 12 opened. */
function route(event) {
  const { view: asked, argument: n, changed } = readAddress();
  const view = sections.has(asked) ? asked : "topics";
  const [ofDocument, ofTopic] = ["documents", "topics"].map((id) => view === id && n >= 0);
  const moved = app.view !== view;
  app.view = view;
  for (const [id, section] of sections) section.hidden = id !== view;
  markTab(view);
  if (changed) {
    for (const id of sections.keys()) forgetView(id);
    drawTheme();
  }
  if (ofDocument && n < nDocuments()) app.document = n;
  if (ofTopic && n < nTopics()) app.topic = n;
  show(view);
  if (ofDocument) {
    announce("document");
    revealDocument();
  }
  if (ofTopic) announce("topic");
  if (moved && !ofDocument) scrollTo(0, 0);
  if (ofTopic && event) revealCard();
  writeAddress();
}

function markTab(view) {
  const tabs = byId("tabs");
  for (const link of tabs.children) link.removeAttribute("aria-current");
  const link = tabs.querySelector(`[data-view=${view}]`);
  link.setAttribute("aria-current", "page");
  tabs.scrollLeft = link.offsetLeft - (tabs.clientWidth - link.clientWidth) / 2;
}

/* A view that is drawn anew when it is next shown. */
function forgetView(id) {
  const section = sections.get(id);
  dropListeners((own) => section.contains(own.place));
  section.replaceChildren();
}

const isNarrow = () => matchMedia("(max-width: 800px)").matches;

/* On a phone the card of a topic stands below the axis. */
function revealCard() {
  if (isNarrow()) byId("card")?.scrollIntoView({ block: "start" });
}

/* Draws a view when it is first shown, and what has changed since when it is shown again. */
function show(view) {
  const section = sections.get(view);
  const [, , draw, kinds] = VIEWS.find(([id]) => id === view);
  if (section.childNodes.length) redrawStale();
  else if (kinds) section.append(panel(div(null), kinds, draw));
  else draw(section);
}

function revealDocument() {
  const title = byId("document-title");
  if (!title) return;
  title.focus({ preventScroll: true });
  const { top } = title.getBoundingClientRect();
  if (top < 0 || top > innerHeight - 200) title.scrollIntoView({ block: "start" });
}

function changeTheme() {
  app.theme = isDark() ? "light" : "dark";
  drawTheme();
  announce("theme");
  for (const own of listeners) if (own.kinds.includes("theme") && !isShown(own.place)) own.stale = true;
}

function drawTheme(theme = app.theme) {
  if (theme) document.documentElement.dataset.theme = theme;
  else delete document.documentElement.dataset.theme;
}

/* What tests and curious readers may use from the console. */
function outside() {
  const read = (text) => readTyped(text, typedCovariates());
  const quantiles = { gammaQuantile, poissonQuantile, negativeBinomialQuantile, inverseGaussianQuantile };
  const others = { answerOf, topicColor, relevance, frex, topWords, csvOf };
  return {
    ...others,
    data: app.data,
    predictText: (text, probability = 0.9) =>
      app.data.outcomes.map((outcome) => predictOutcome(outcome, read(text).found, probability)),
    sharesOfText: (text) => Array.from(read(text).found.shares),
    countsOfText: (text) => countText(app.tokenizer, text),
    explainText: (text, c = 0) => {
      const document = read(text);
      return { words: contributions(document, c), waterfall: app.data.effects ? waterfallOf(document, c) : null };
    },
    scoreOfDocument: (d) => Array.from(readDocument(d).found.score || []),
    special: { normalCdf, normalQuantile, gammaP, logGamma, digamma, ...quantiles },
  };
}

start();
