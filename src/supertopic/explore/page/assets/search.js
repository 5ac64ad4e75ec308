/* One search over topics, words and documents, in the head of every view. */

function searchBox() {
  const found = el("div", { class: "found", hidden: true, "aria-live": "polite" });
  const show = later((text) => {
    put(found, foundLines(text.trim().toLowerCase()));
    found.hidden = !found.childNodes.length;
  }, 150);
  const names = { placeholder: "Search topics, words, texts", "aria-label": "Search topics, words and documents" };
  const input = el("input", { type: "search", ...names, oninput: (event) => show(event.target.value) });
  const close = () => {
    input.value = "";
    found.hidden = true;
  };
  found.addEventListener("click", (event) => event.target.closest("a, button") && close());
  const holder = div("search", input, found);
  holder.addEventListener("keydown", (event) => event.key === "Escape" && close());
  return holder;
}

function foundLines(text) {
  if (text.length < 2) return [];
  const line = (kind, ...content) => el("p", {}, el("span", { class: "note" }, `${kind} `), ...content);
  const topics = axisOrder(app.column).filter((k) => `${k} ${topicName(k, 6)}`.toLowerCase().includes(text));
  const documents = upTo(nDocuments()).filter((d) => haystack(d).includes(text));
  const link = (d) => el("a", { href: `#documents/${d}` }, said(documentName(d)));
  const lines = [
    ...topics.slice(0, 4).map((k) => line("Topic", topicLink(k))),
    ...foundWords(text).map((w) => line("Word", said(wordName(w)), " → ", topicLink(topicOfWord(w)))),
    ...documents.slice(0, 4).map((d) => line("Text", link(d), ` ${snippet(d, 60)}`)),
  ];
  const all = () => showFiltered({ text }, documents[0]);
  if (documents.length > 4) lines.push(press(`All ${whole(documents.length)} documents`, all));
  return lines.length ? lines : para("note", "Nothing of this name.");
}

/* The documents that pass some filters alone. */
function showFiltered(chosen, d) {
  Object.assign(filters, NO_FILTERS, chosen);
  forgetView("documents");
  go("documents", d);
}

/* Words of the vocabulary that begin so, the most frequent first. */
function foundWords(text) {
  const mean = app.data.arrays.word_mean.data;
  const places = app.data.words.flatMap((word, w) => (word.toLowerCase().startsWith(text) ? [w] : []));
  return places.sort((a, b) => mean[b] - mean[a]).slice(0, 3);
}

/* The topic that most uses of a word belong to. */
const topicOfWord = (w) => largest(meanShares().map((share, k) => share * wordProbability(app.model, w, k)));
