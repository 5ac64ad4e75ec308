/* Figures: a drawing (SVG) that follows the width of its place, a caption, and buttons to save it. */

const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif";
const measurer = document.createElement("canvas").getContext("2d");

function textWidth(text, size = 12) {
  measurer.font = `${size}px ${FONT}`;
  return measurer.measureText(text).width;
}

/* The text, cut so that it is at most `width` wide: its beginning, or both of its ends. */
function fitText(text, width, size = 12, ends = false) {
  const shown = cut(text, 80);
  if (textWidth(shown, size) <= width) return shown;
  const signs = [...shown];
  const behind = (n) => (ends ? n >> 1 : 0);
  const short = (n) => [...signs.slice(0, n - behind(n)), "…", ...signs.slice(signs.length - behind(n))].join("");
  let n = signs.length - 1;
  while (n > 0 && textWidth(short(n), size) > width) n -= 1;
  return n > 0 ? short(n) : "";
}

function label(x, y, text, attributes = {}) {
  const size = attributes["font-size"] || 12;
  return svg("text", { x, y, fill: paint("ink"), "font-family": FONT, "font-size": size, ...attributes }, text);
}

/* How a text stands at its place: it begins, ends or has its middle there. */
const anchored = (anchor, size = 11, more = {}) => ({ "text-anchor": anchor, "font-size": size, ...more });

/* How numbers beside marks and axes are written. */
const small = (anchor = "start") => anchored(anchor, 11, { fill: paint("muted") });

/* A name left of what is drawn. */
const nameBeside = (left, y, name) => label(left, y, fitText(name, left - 4), anchored("end", 12));
const sideWidth = (width, share, most) => Math.round(Math.min(width * share, most));

const group = (...children) => svg("g", {}, ...children);
const segment = (x1, y1, x2, y2, stroke, more = {}) => svg("line", { x1, y1, x2, y2, stroke, ...more });
const box = (x, y, width, height, fill, more = {}) => svg("rect", { x, y, width, height, fill, ...more });
const circle = (cx, cy, r, more = {}, ...children) => svg("circle", { cx, cy, r, ...more }, children);
const tip = (text) => svg("title", {}, text);
const dashes = (pattern) => ({ "stroke-dasharray": pattern });

/* A line through points [x, y]. */
function curve(points, stroke, more = {}) {
  const d = points.map(([x, y], i) => `${i ? "L" : "M"}${x} ${y}`).join("");
  return svg("path", { d, fill: "none", stroke, "stroke-width": 2, ...more });
}

/* A part of a drawing that does something when it is pressed. */
function pressable(spoken, action, more, ...children) {
  const onkeydown = (event) => event.key === "Enter" && action(event);
  const always = { class: "row", role: "button", tabindex: 0, "aria-label": spoken };
  return svg("g", { ...always, onclick: action, onkeydown, ...more }, ...children);
}

const turned = (angle, x, y) => ({ transform: `rotate(${angle} ${x} ${y})` });

/* What stands beside an axis: along the bottom, or turned up the left side. */
function axisTitle(x, y, text, angle = 0) {
  return label(x, y, text, anchored("middle", 12, { fill: paint("muted"), ...(angle ? turned(angle, x, y) : {}) }));
}

/* Round numbers for an axis. */
function ticks(low, high, wanted = 5) {
  if (!(high > low)) return [low];
  const rough = (high - low) / wanted;
  const power = Math.pow(10, Math.floor(Math.log10(rough)));
  const step = [1, 2, 5, 10].map((n) => n * power).find((n) => n >= rough);
  const found = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) found.push(i * step || 0);
  return found.length < 3 && wanted < 12 ? ticks(low, high, wanted + 2) : found;
}

/* A function from values to places; `low` and `high` are its ends. */
function scale(low, high, from, to) {
  const width = high - low || 1;
  const place = (value) => from + ((value - low) / width) * (to - from);
  return Object.assign(place, { low, high, from, to });
}

/* The same by a logarithm, with round numbers of its own. */
function logScale(log, low, high, from, to) {
  const place = scale(log(low), log(high), from, to);
  const powers = Array.from({ length: 24 }, (_, i) => 10 ** (i - 8));
  const round = [0, ...powers.flatMap((n) => [n, 3 * n])].filter((n) => n >= low && n <= high);
  const wanted = round.length > 7 ? round.filter((n) => n === 0 || powers.includes(n)) : round;
  return Object.assign((value) => place(log(value)), { low, high, from, to, ticks: wanted });
}

function bottomAxis(x, y, height, form = number) {
  const wanted = clamp(Math.floor(Math.abs(x.to - x.from) / 70), 2, 7);
  const marks = (value) => [
    segment(x(value), y - height, x(value), y, paint("line")),
    label(x(value), y + 16, form(value), small("middle")),
  ];
  return group((x.ticks ?? ticks(x.low, x.high, wanted)).flatMap(marks));
}

function leftAxis(y, x, width, form = number) {
  const marks = (value) => [
    segment(x, y(value), x + width, y(value), paint("line")),
    label(x - 6, y(value) + 4, form(value), small("end")),
  ];
  return group((y.ticks ?? ticks(y.low, y.high, 5)).flatMap(marks));
}

function range(values) {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value === null || !Number.isFinite(value)) continue;
    if (value < low) low = value;
    if (value > high) high = value;
  }
  return low <= high ? [low, high] : [0, 1];
}

/* A figure: draw(width) gives {drawing parts, height}; head and rows() are the table behind it (or rows() alone). */
function figure(name, title, note, draw, head, rows) {
  const place = div("drawing");
  const save = saveButtons(name, title, () => place.querySelector("svg"), head, rows);
  const caption = el("figcaption", {}, div("caption", el("h3", {}, title), save), note ? para("note", note) : null);
  const made = el("figure", { class: "figure", "data-figure": name }, caption, place);
  let drawn = 0;
  made.redraw = () => {
    drawn = Math.max(260, Math.floor(place.clientWidth || made.clientWidth || 600));
    const { parts, height } = draw(drawn);
    const shape = { viewBox: `0 0 ${drawn} ${height}`, width: drawn, height, "aria-label": title };
    const drawing = svg("svg", shape, parts);
    drawing.setAttribute("role", drawing.querySelector("[role=button]") ? "group" : "img");
    place.replaceChildren(drawing);
  };
  new ResizeObserver(() => {
    if (place.clientWidth && Math.abs(place.clientWidth - drawn) > 1) shortly(made.redraw);
  }).observe(place);
  return made;
}

let busySince = 0;

/* Now, unless other drawings have taken long in this task: then in one of its own. */
function shortly(redraw) {
  busySince ||= performance.now();
  setTimeout(() => (busySince = 0));
  if (performance.now() - busySince < 50) redraw();
  else setTimeout(redraw);
}

/* Buttons that save a view; `drawing` is null for a view that is a table. */
function saveButtons(name, title, drawing, head, rows) {
  const button = (text, kind, content) => {
    const save = async () => download(`${name}.${text.toLowerCase()}`, await content(), kind);
    return press(text, save, { class: "quiet", "aria-label": `Save as ${text}: ${title}` });
  };
  return el(
    "span",
    { class: "save" },
    button("CSV", "text/csv", () => csvOf([...(head ? [head] : []), ...rows()])),
    drawing && button("SVG", "image/svg+xml", () => svgText(drawing())),
    drawing && button("PNG", "image/png", () => pngOf(drawing())),
  );
}

/* Horizontal bars around zero or from zero: items {name, value, color, usual}, the last a thin bar below. */
function bars(width, items, { low, high, form = number } = {}) {
  const height = 22;
  const left = sideWidth(width, 0.36, 220);
  const [least, most] = range(items.flatMap(({ value, usual }) => [value, usual ?? null]));
  const x = scale(low ?? Math.min(least, 0), high ?? Math.max(most, 0), left + 8, width - 54);
  const zero = x(0);
  const rows = items.map(({ name, value, color, usual }, i) => {
    const y = i * height;
    const end = x(value);
    return group(
      nameBeside(left, y + 15, name),
      box(Math.min(zero, end), y + 3, Math.max(Math.abs(end - zero), 0.5), height - 6, color, { rx: 2 }),
      usual ? box(zero, y + height - 6, x(usual) - zero, 4, paint("zero"), { class: "usual" }) : null,
      label(Math.max(zero, end, usual ? x(usual) : 0) + 5, y + 15, form(value), small()),
    );
  });
  const level = segment(zero, 0, zero, items.length * height, paint("muted"));
  return { parts: [...rows, level], height: Math.max(items.length * height, 10) };
}

/* Dots with intervals: items {name, value, low, high, color}; the axis holds `low` and `high` too. */
function intervals(width, items, { low = Infinity, high = -Infinity, form = number, ticks = form, mark = null } = {}) {
  const [height, right] = [22, 66];
  const left = sideWidth(width, 0.36, 220);
  const ends = range([low, high, mark, ...items.flatMap((item) => [item.value, item.low, item.high])]);
  const x = scale(...ends, left + 12, width - right);
  const bottom = items.length * height + 4;
  const rows = items.map(({ name, value, low: from, high: to, color }, i) => {
    const y = (i + 0.5) * height;
    return group(
      nameBeside(left, y + 4, name),
      to >= from ? segment(x(from), y, x(to), y, color, { "stroke-width": 2 }) : null,
      circle(x(value), y, 4.5, { fill: color }),
      label(width - right + 8, y + 4, form(value), small()),
    );
  });
  const at = mark ?? 0;
  const level = at >= x.low && at <= x.high && segment(x(at), 0, x(at), bottom, paint("muted"), dashes("4 3"));
  return { parts: [bottomAxis(x, bottom, bottom, ticks), level, ...rows], height: bottom + 24 };
}
