/* Elements. Text always goes in as text: nothing of the data is ever read as HTML. */

const SVG = "http://www.w3.org/2000/svg";

/* el("p", {class: "note", onclick: f}, "text", child, …); children may be lists, and null or false: nothing. */
const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => (child ?? false) !== false));
  return node;
}

/* Other children in place of those of a node. */
function put(node, ...children) {
  node.replaceChildren();
  return fill(node, {}, children);
}

const para = (kind, ...children) => el("p", { class: kind }, ...children);
const div = (kind, ...children) => el("div", { class: kind }, ...children);
const span = (...children) => el("span", {}, ...children);
const press = (text, onclick, more = {}) => el("button", { type: "button", onclick, ...more }, text);

/* Words of the data in a sentence: their direction does not disturb what stands around them. */
const said = (text) => el("bdi", {}, text);
const stressed = (text, length = 60) => el("em", {}, said(cut(text, length)));

/* A part of a view with a title. */
const titled = (title, ...children) => el("section", {}, el("h3", {}, title), ...children);

/* Names and what they are, as a table. */
function factTable(title, rows) {
  const line = ([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, said(value)));
  return el("table", { class: "facts" }, el("caption", {}, title), el("tbody", {}, rows.map(line)));
}

function cut(text, length) {
  const signs = [...text.slice(0, 2 * length + 2)];
  return signs.length > length ? signs.slice(0, length - 1).join("") + "…" : text;
}

function number(value, digits = 3) {
  if (value === null || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  let text = String(Number(value.toPrecision(digits)));
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) text = value.toExponential(digits - 1);
  else if (size >= 1000) text = whole(value);
  return text.replace("-", "−");
}

const signed = (value, digits = 3) => (value > 0 ? "+" : "") + number(value, digits);

function oneDecimal(value) {
  if (!Number.isFinite(value)) return "–";
  const text = value.toFixed(1).replace(/^-0\.0$/, "0.0");
  return (value >= 0.05 ? "+" : "") + text.replace("-", "−");
}

function percent(share) {
  if (share > 0 && share < 0.001) return "<0.1 %";
  return `${number(100 * share, share < 0.1 ? 2 : 3)} %`;
}

/* 1234567 as 1,234,567. */
const whole = (n) => String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");

/* "a, b and c" as nodes. */
function listed(nodes) {
  return nodes.flatMap((node, i) => (i === 0 ? [node] : [i === nodes.length - 1 ? " and " : ", ", node]));
}

const field = (label, control) => el("label", { class: "field" }, span(label), control);

/* A select whose options are [value, text]. */
function pick(title, options, chosen, change, attributes = {}) {
  const items = options.map(([value, text]) => el("option", { value: String(value) }, text));
  const select = el("select", { ...attributes, onchange: (event) => change(event.target.value) }, items);
  select.value = String(chosen);
  return field(title, select);
}

/* A field for a text or a number. */
function entry(title, type, value, change, more = {}) {
  return field(title, el("input", { type, ...more, value, oninput: (event) => change(event.target.value) }));
}

/* Buttons of which one is pressed. */
function switcher(label, options, chosen, change) {
  const buttons = options.map(([value, text]) => {
    const act = ({ target }) => {
      for (const other of target.parentNode.children) other.setAttribute("aria-pressed", String(other === target));
      change(value);
    };
    return press(text, act, { "aria-pressed": String(value === chosen) });
  });
  return el("div", { class: "switch", role: "group", "aria-label": label }, buttons);
}

/* Waits until nothing has happened for a while. */
function later(action, wait) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), wait);
  };
}
