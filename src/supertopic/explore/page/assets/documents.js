/* The document explorer: filters, a list, and one document beside it. */

const NO_FILTERS = { text: "", truth: "", decided: "", wrong: "", topic: "", least: 0.2, shown: 40 };
const filters = { ...NO_FILTERS, sort: "row" };
const SORTINGS = { row: "row number", error: "largest error", predicted: "prediction", topic: "share of the topic" };

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
  const searched = later((text) => change("text", text), 150);
  const choice = (title, name, options, more) =>
    pick(title, options, filters[name], (value) => change(name, value), more);
  return el(
    "form",
    { class: "filters", onsubmit: (event) => event.preventDefault() },
    entry("Text holds", "search", filters.text, searched),
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
    choice("Sort by", "sort", Object.entries(SORTINGS)),
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
  const hasTopic = (d) => topic < 0 || shareOf(d, topic) >= filters.least;
  const holds = (d) => !wanted || haystack(d).includes(wanted);
  const found = upTo(nDocuments()).filter((d) => hasTopic(d) && (place < 0 || passes(place, d)) && holds(d));
  return sorted(found, place, topic);
}

function haystack(d) {
  app.lower ??= [];
  app.lower[d] ??= `${documentName(d)} ${documentText(d) ?? snippet(d, 400)}`.toLowerCase();
  return app.lower[d];
}

function passes(place, d) {
  const { truth, decided, wrong } = filters;
  if (truth === "" && decided === "" && wrong === "") return true;
  const answer = answerOf(place, d);
  if (truth !== "" && answer.y !== Number(truth)) return false;
  if (decided !== "" && answer.decided !== Number(decided)) return false;
  if (wrong === "no" && Number.isNaN(answer.y)) return false;
  return wrong === "" || isWrong(place, d) === (wrong === "yes");
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
  const shown = found.slice(0, filters.shown);
  const cells = (d) => (outcome < 0 ? ["", ""] : answerCells(outcome, d));
  const rows = () => filtered().map((d) => [d, documentName(d), ...cells(d), documentText(d) ?? ""]);
  const save = saveButtons("documents", "documents", null, ["row", "name", "true", "predicted", "text"], rows);
  const showMore = () => {
    filters.shown += 100;
    drawList(place);
  };
  const n = `Showing ${whole(shown.length)} of ${whole(found.length)} that match, ${whole(nDocuments())} in all. `;
  put(
    place,
    el("p", { class: "count", role: "status" }, n, save),
    documentList(shown, (d) => (outcome < 0 ? "" : answerSentence(outcome, d))),
    found.length > filters.shown && press("Show more", showMore),
  );
  markCurrent(place);
}

function markCurrent(place) {
  for (const link of place.querySelectorAll("a.document-link")) {
    if (link.getAttribute("href") === `#documents/${app.document}`) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}

function drawDocument(place) {
  const d = app.document;
  if (!isPlace(d, nDocuments()))
    return put(place, para("note", "Choose a document to see its words and the reasons for its prediction."));
  markCurrent(place.parentNode.querySelector(".list"));
  place.parentNode.classList.add("chosen");
  const outcome = currentOutcome();
  const title = app.data.documents.names ? `${documentName(d)} (row ${d})` : `Document ${d}`;
  const answer = outcome < 0 ? null : answerParts(outcome, answerOf(outcome, d));
  const heading = el("h2", { tabindex: -1, id: "document-title" }, said(title));
  return put(place, heading, answer, explainChooser(), explainDocument(readDocument(d)), metadataTable(d));
}

function metadataTable(d) {
  const rows = app.data.metadata.map(({ name }, place) => [said(cut(name, 60)), metadataValue(place, d)]);
  return rows.length > 0 && factTable("Metadata", rows);
}

function metadataValue(place, d) {
  const column = app.data.metadata[place];
  const value = app.data.arrays[`metadata_${place}`].data[d];
  if (Number.isNaN(value)) return "–";
  if (column.kind === "category") return cut(column.categories[value], 80);
  return column.kind === "time" ? new Date(value).toISOString().slice(0, 10) : number(value, 5);
}
