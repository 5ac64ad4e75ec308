/* One search over topics, words and documents, in the head of every view. */

function searchBox() {
  const found = el("div", { class: "found", hidden: true, "aria-live": "polite" });
  const show = later((text) => {
    found.replaceChildren(...foundLines(text.trim().toLowerCase()));
    found.hidden = !found.childNodes.length;
  }, 150);
  const input = el("input", {
    type: "search",
    placeholder: "Search topics, words, texts",
    "aria-label": "Search topics, words and documents",
    oninput: (event) => show(event.target.value),
  });
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
  const words = foundWords(text).map((w) => line("Word", said(wordName(w)), " → ", topicLink(topicOfWord(w))));
  const documents = [];
  for (let d = 0; d < nDocuments(); d++) if (haystack(d).includes(text)) documents.push(d);
  const all = () => {
    Object.assign(filters, { ...NO_FILTERS, text });
    forgetView("documents");
    go("documents", documents[0]);
  };
  const lines = [
    ...topics.slice(0, 4).map((k) => line("Topic", topicLink(k))),
    ...words,
    ...documents
      .slice(0, 4)
      .map((d) => line("Text", el("a", { href: `#documents/${d}` }, said(documentName(d))), ` ${snippet(d, 60)}`)),
  ];
  if (documents.length > 4) lines.push(press(`All ${whole(documents.length)} documents`, all));
  return lines.length ? lines : [para("note", "Nothing of this name.")];
}

/* Words of the vocabulary that begin so, the most frequent first. */
function foundWords(text) {
  const mean = app.data.arrays.word_mean.data;
  const places = app.data.words.flatMap((word, w) => (word.toLowerCase().startsWith(text) ? [w] : []));
  return places.sort((a, b) => mean[b] - mean[a]).slice(0, 3);
}

/* The topic that most uses of a word belong to. */
function topicOfWord(w) {
  return largest(Array.from(meanShares(), (share, k) => share * wordProbability(w, k)));
}
