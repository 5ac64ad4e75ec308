/* The page: its head, its views, and the way between them. */

const VIEWS = [
  ["topics", "Topics", drawTopics],
  ["documents", "Documents", drawDocuments],
  ["text", "Try a text", drawTyped],
  ["groups", "Groups", drawGroups],
  ["fit", "Fit", drawFit],
  ["map", "Map", drawMap],
  ["compared", "Compared", drawCompared],
  ["checks", "Checks", drawChecks],
];
const sections = new Map();

async function start() {
  const holder = document.getElementById("data");
  const main = document.getElementById("main");
  try {
    app.data = await readData(holder.textContent);
    holder.remove();
    app.model = makeModel(app.data);
    app.tokenizer = app.data.inference.tokens ? makeTokenizer(app.data.inference.tokens, app.data.words) : null;
  } catch (error) {
    main.replaceChildren(
      para("flag", `The page could not be read: ${error.message} A browser of 2023 or later is needed.`),
    );
    return;
  }
  if (!app.data.compared)
    VIEWS.splice(
      VIEWS.findIndex(([id]) => id === "compared"),
      1,
    );
  readLabels();
  app.topic = strongestTopic();
  if (app.data.outcomes.length && worstOf(0, 1).length) filters.sort = "error";
  if (app.data.topic_noun === "Class" && app.data.arrays.deviation_rows) card.order = "deviation";
  starts = KEPT.map(([, place, key]) => place[key]);
  drawHead();
  drawTabs();
  main.replaceChildren();
  for (const [id, title] of VIEWS) {
    const section = el("section", { id: `view-${id}`, class: "view", "aria-label": title, hidden: true });
    sections.set(id, section);
    main.append(section);
  }
  addEventListener("hashchange", route);
  followTheme();
  followPrinting();
  route();
  globalThis.supertopic = outside();
}

/* The topic that is shown first: the one with the largest effect. */
function strongestTopic() {
  const order = axisOrder(0);
  if (!app.data.effects) return order[0];
  return order.reduce(
    (best, k) => (Math.abs(effectOf(k, 0).value) > Math.abs(effectOf(best, 0).value) ? k : best),
    order[0],
  );
}

/* A response as the head of the page names it. */
function kindOf(response) {
  return response.startsWith("hinge") ? "max-margin" : response.replaceAll("_", " ");
}

function drawHead() {
  const { data } = app;
  const predicts = data.outcomes.map(
    ({ name, parts }) => `${cut(name, 40)}${parts.length ? ` (${kindOf(parts[0].response)})` : ""}`,
  );
  const sizes = { topics: nTopics(), documents: nDocuments(), words: data.words.length };
  const facts = [data.estimator, ...Object.entries(sizes).map(([name, n]) => `${whole(n)} ${name}`)];
  const more = { class: "quiet", id: "theme", "aria-label": "Change between light and dark" };
  const head = div("head", el("h1", { dir: "auto" }, data.title), searchBox(), press("◐", changeTheme, more));
  const what = predicts.length ? [" · predicts ", ...listed(predicts.slice(0, 4).map((text) => said(text)))] : [];
  const line = para("facts-line", facts.join(" · "), ...what);
  document.getElementById("top").replaceChildren(head, line, foundStrip(data.found));
  const made = `Made with supertopic ${data.version}. This file is complete: it loads nothing from the network.`;
  document.getElementById("foot").replaceChildren(para("note", made));
}

/* What the model found, in sentences that can be copied; amber where topics hardly predict anything. */
function foundStrip({ sentences, hardly }) {
  const text = el("p", { id: "strip-text" });
  for (const pieces of sentences) text.append(...pieces.map(([part, bold]) => (bold ? el("b", {}, part) : part)), " ");
  const copy = el("button", { type: "button", class: "quiet", onclick: () => copyText(text, copy) }, "Copy");
  return el("div", { id: "strip", class: hardly ? "hardly" : null }, text, copy);
}

/* By selecting it: a page that is opened from disk may not write to the clipboard by itself. */
function copyText(node, button) {
  getSelection().selectAllChildren(node);
  button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
}

function drawTabs() {
  const links = VIEWS.map(([id, title]) => el("a", { href: `#${id}`, "data-view": id }, title));
  document.getElementById("tabs").replaceChildren(...links);
  document.querySelector(".skip").addEventListener("click", (event) => {
    event.preventDefault();
    document.getElementById("main").focus();
  });
}

/* #documents/12 shows the view of documents with number 12 opened. */
function route(event) {
  const { view: asked, argument: n, changed } = readAddress();
  const view = sections.has(asked) ? asked : "topics";
  const given = n >= 0;
  const moved = app.view !== view;
  app.view = view;
  for (const [id, section] of sections) section.hidden = id !== view;
  for (const link of document.querySelectorAll("#tabs a")) {
    if (link.dataset.view !== view) link.removeAttribute("aria-current");
    else {
      link.setAttribute("aria-current", "page");
      const tabs = link.parentNode;
      tabs.scrollLeft = link.offsetLeft - (tabs.clientWidth - link.clientWidth) / 2;
    }
  }
  if (changed) {
    for (const id of sections.keys()) forgetView(id);
    drawTheme();
  }
  if (view === "documents" && given && n < nDocuments()) app.document = n;
  if (view === "topics" && given && n < nTopics()) app.topic = n;
  show(view);
  if (view === "documents" && given) {
    announce("document");
    revealDocument();
  }
  if (view === "topics" && given) announce("topic");
  if (moved && !(view === "documents" && given)) scrollTo(0, 0);
  if (view === "topics" && given && event) revealCard();
  writeAddress();
}

/* A view that is drawn anew when it is next shown. */
function forgetView(id) {
  const section = sections.get(id);
  dropListeners((own) => section.contains(own.place));
  section.replaceChildren();
}

/* On a phone the card of a topic stands below the axis. */
function revealCard() {
  if (isNarrow()) document.getElementById("card")?.scrollIntoView({ block: "start" });
}

function isNarrow() {
  return matchMedia("(max-width: 800px)").matches;
}

/* Draws a view when it is first shown, and what has changed since when it is shown again. */
function show(view) {
  const section = sections.get(view);
  if (!section.childNodes.length) VIEWS.find(([id]) => id === view)[2](section);
  else redrawStale();
}

function revealDocument() {
  const title = document.getElementById("document-title");
  if (!title) return;
  title.focus({ preventScroll: true });
  if (title.getBoundingClientRect().top < 0 || title.getBoundingClientRect().top > innerHeight - 200)
    title.scrollIntoView({ block: "start" });
}

function changeTheme() {
  app.theme = isDark() ? "light" : "dark";
  drawTheme();
  announce("theme");
  for (const own of listeners) if (own.kinds.includes("theme") && !isShown(own.place)) own.stale = true;
}

function drawTheme() {
  if (app.theme) document.documentElement.dataset.theme = app.theme;
  else delete document.documentElement.dataset.theme;
}

function followTheme() {
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => announce("theme"));
}

/* What tests and curious readers may use from the console. */
function outside() {
  const read = (text) => readTyped(text, typedCovariates());
  return {
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
    answerOf,
    topicColor,
    special: {
      normalCdf,
      normalQuantile,
      gammaP,
      logGamma,
      digamma,
      gammaQuantile,
      poissonQuantile,
      negativeBinomialQuantile,
      inverseGaussianQuantile,
    },
    relevance,
    frex,
    topWords,
    csvOf,
  };
}

start();
