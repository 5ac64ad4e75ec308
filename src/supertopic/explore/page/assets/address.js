/* The address holds what is chosen: #documents/12?class=2&sort=error&theme=dark. Each choice changes it. */

/* [name, where it is, its key, what it may be]. */
const KEPT = [
  ["topic", app, "topic", (k) => isPlace(k, nTopics())],
  ["class", app, "column", (c) => isPlace(c, nColumns())],
  ["all", app, "whole", (text) => ["yes", "no"].includes(text)],
  ["explain", app, "explained", (c) => isPlace(c + 1, nColumns() + 1)],
  ["theme", app, "theme", (theme) => ["", "light", "dark"].includes(theme)],
  ["by", groups, "by", (by) => groupings().some(([value]) => value === by)],
  ["first", groups, "first", Number.isInteger],
  ["second", groups, "second", (g) => g >= 0],
  ["words", card, "order", (order) => wordOrders().some(([value]) => value === order)],
  ["lambda", card, "lambda", (lambda) => lambda >= 0 && lambda <= 1],
  ["colour", map, "color", (color) => mapColors().some(([value]) => value === color)],
  ...["text", "truth", "decided", "wrong"].map((name) => [name, filters, name, () => true]),
  ["has", filters, "topic", (k) => k === "" || isPlace(Number(k), nTopics())],
  ["least", filters, "least", (share) => share >= 0 && share <= 1],
  ["sort", filters, "sort", (sort) => Object.hasOwn(SORTINGS, sort)],
];
let starts = [];

const isPlace = (n, end) => Number.isInteger(n) && n >= 0 && n < end;
const nColumns = () => app.data.effects?.names.length ?? 1;

/* {view, argument}, and whether what is chosen beside them has changed. */
function readAddress() {
  const [path, query] = location.hash.slice(1).split("?");
  const [view, argument] = path.split("/");
  let changed = false;
  const given = new URLSearchParams(query);
  KEPT.forEach(([name, place, key, allowed], i) => {
    const text = given.get(name);
    let value = text === null ? starts[i] : typeof starts[i] === "number" ? Number(text) : text;
    if (query === undefined || (name === "topic" && text === null)) value = place[key];
    if (value === place[key] || !allowed(value)) return;
    place[key] = value;
    changed = true;
  });
  return { view, argument: isPlace(Number(argument || NaN), 2 ** 31) ? Number(argument) : -1, changed };
}

function writeAddress() {
  if (!starts.length) return;
  const own = { documents: app.document, topics: app.topic }[app.view] ?? -1;
  const query = new URLSearchParams();
  KEPT.forEach(([name, place, key], i) => {
    if (place[key] !== starts[i] && !(name === "topic" && app.view === "topics")) query.set(name, place[key]);
  });
  const hash = `#${app.view}${own < 0 ? "" : `/${own}`}${query.size ? `?${query}` : ""}`;
  if (hash !== location.hash) history.replaceState(null, "", hash);
}
