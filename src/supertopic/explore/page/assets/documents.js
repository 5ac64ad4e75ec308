/* The document explorer: filters, a list, and one document beside it. */

const NO_FILTERS = { text: "", truth: "", decided: "", wrong: "", topic: "", least: 0.2, shown: 40 };
const filters = { ...NO_FILTERS, sort: "row" };

function drawDocuments(root) {
  const list = div("list");
  const one = el("div", { class: "one", id: "document" });
  if (app.document < 0 && !isNarrow()) app.document = filtered()[0] ?? -1;
  root.replaceChildren(div("two documents", div(null, filterForm(), list), one));
  panel(list, ["filters", "column", "labels"], drawList);
  panel(one, ["document", "column", "labels", "theme"], drawDocument);
}

function change(name, value) {
  filters[name] = value;
  filters.shown = 40;
  announce("filters");
}

function filterForm() {
  const place = currentOutcome();
  const topics = axisOrder(app.column).map((k) => [k, `${k} ${cut(topicName(k), 40)}`]);
  const least = (value) => change("least", Number(value) || 0);
  const choice = (title, name, options, more) =>
    pick(title, options, filters[name], (value) => change(name, value), more);
  return el(
    "form",
    { class: "filters", onsubmit: (event) => event.preventDefault() },
    entry(
      "Text holds",
      "search",
      filters.text,
      later((text) => change("text", text), 150),
    ),
    choice("Topic", "topic", [["", "any"], ...topics]),
    entry("with a share from", "number", filters.least, least, { min: 0, max: 1, step: 0.05 }),
    place < 0 ? null : outcomeFilters(app.data.outcomes[place], choice),
  );
}

function outcomeFilters({ kind, classes }, choice) {
  const any = ["", "any"];
  const names = [any, ...classes.map((name, code) => [code, cut(name, 40)])];
  const wrong = [any, ["yes", kind === "number" ? "outside the interval" : "wrong class"], ["no", "right"]];
  return [
    kind !== "number" && choice("True class", "truth", names, { id: "filter-truth" }),
    kind !== "number" && choice("Predicted class", "decided", names, { id: "filter-decided" }),
    choice("Prediction", "wrong", wrong),
    choice("Sort by", "sort", sortings()),
  ];
}

function sortings() {
  return [
    ["row", "row number"],
    ["error", "largest error"],
    ["predicted", "prediction"],
    ["topic", "share of the topic"],
  ];
}

/* The documents that pass the filters, in order. */
function filtered() {
  const asked = JSON.stringify([filters, currentOutcome(), app.topic]);
  if (app.filtered?.asked !== asked) app.filtered = { asked, found: filter() };
  return app.filtered.found;
}

function filter() {
  const place = currentOutcome();
  const wanted = filters.text.toLowerCase();
  const topic = filters.topic === "" ? -1 : Number(filters.topic);
  const found = [];
  for (let d = 0; d < nDocuments(); d++) {
    if (topic >= 0 && shareOf(d, topic) < filters.least) continue;
    if (place >= 0 && !passes(place, d)) continue;
    if (wanted && !haystack(d).includes(wanted)) continue;
    found.push(d);
  }
  return sorted(found, place, topic);
}

function haystack(d) {
  app.lower ??= [];
  app.lower[d] ??= `${documentName(d)} ${documentText(d) ?? snippet(d, 400)}`.toLowerCase();
  return app.lower[d];
}

function passes(place, d) {
  if (filters.truth === "" && filters.decided === "" && filters.wrong === "") return true;
  const answer = answerOf(place, d);
  if (filters.truth !== "" && answer.y !== Number(filters.truth)) return false;
  if (filters.decided !== "" && answer.decided !== Number(filters.decided)) return false;
  if (filters.wrong === "yes" && !isWrong(place, d)) return false;
  if (filters.wrong === "no" && (isWrong(place, d) || Number.isNaN(answer.y))) return false;
  return true;
}

function sorted(found, place, topic) {
  const keys = {
    error: (d) => Math.abs(errorOf(place, d)) || 0,
    predicted: (d) => answerOf(place, d).mean ?? Math.max(...answerOf(place, d).chances),
    topic: (d) => shareOf(d, topic < 0 ? app.topic : topic),
  };
  if (filters.sort === "row" || (place < 0 && filters.sort !== "topic")) return found;
  const values = new Float64Array(nDocuments());
  for (const d of found) values[d] = keys[filters.sort](d);
  return found.sort((a, b) => values[b] - values[a]);
}

function drawList(place) {
  const outcome = currentOutcome();
  const found = filtered();
  const rows = () => [
    ["row", "name", "true", "predicted", "text"],
    ...filtered().map((d) => [
      d,
      documentName(d),
      ...(outcome < 0 ? ["", ""] : answerCells(outcome, d)),
      documentText(d) ?? "",
    ]),
  ];
  const items = found
    .slice(0, filters.shown)
    .map((d) => el("li", {}, documentLink(d, outcome < 0 ? "" : answerSentence(outcome, d))));
  const showMore = () => {
    filters.shown += 100;
    drawList(place);
  };
  const more = found.length > filters.shown ? press("Show more", showMore) : "";
  place.replaceChildren(
    el(
      "p",
      { class: "count", role: "status" },
      `Showing ${whole(Math.min(found.length, filters.shown))} of ${whole(found.length)} that match, `,
      `${whole(nDocuments())} in all. `,
      saveButtons("documents", "documents", null, rows),
    ),
    el("ol", { class: "plain" }, items),
    more,
  );
  markCurrent(place);
}

function markCurrent(place) {
  for (const link of place.querySelectorAll("a.document-link")) {
    const here = link.getAttribute("href") === `#documents/${app.document}`;
    if (here) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

function drawDocument(place) {
  const d = app.document;
  if (d < 0 || d >= nDocuments()) {
    place.replaceChildren(para("note", "Choose a document to see its words and the reasons for its prediction."));
    return;
  }
  const list = place.parentNode.querySelector(".list");
  markCurrent(list);
  place.parentNode.classList.add("chosen");
  const document = readDocument(d);
  const outcome = currentOutcome();
  const title = app.data.documents.names ? `${documentName(d)} (row ${d})` : `Document ${d}`;
  const answer = outcome < 0 ? [] : answerParts(outcome, answerOf(outcome, d));
  place.replaceChildren(
    el("h2", { tabindex: -1, id: "document-title" }, said(title)),
    ...[...answer, explainChooser(), ...explainDocument(document), metadataTable(d)].filter(Boolean),
  );
}

function metadataTable(d) {
  if (!app.data.metadata.length) return null;
  const rows = app.data.metadata.map((column, place) =>
    el("tr", {}, el("th", { scope: "row" }, said(cut(column.name, 60))), el("td", {}, said(metadataValue(place, d)))),
  );
  return el("table", { class: "facts" }, el("caption", {}, "Metadata"), el("tbody", {}, rows));
}

function metadataValue(place, d) {
  const column = app.data.metadata[place];
  const value = app.data.arrays[`metadata_${place}`].data[d];
  if (Number.isNaN(value)) return "–";
  if (column.kind === "category") return cut(column.categories[value], 80);
  return column.kind === "time" ? new Date(value).toISOString().slice(0, 10) : number(value, 5);
}
