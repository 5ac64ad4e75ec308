/* Elements. Text always goes in as text: nothing of the data is ever read as HTML. */

const SVG = "http://www.w3.org/2000/svg";

/* el("p", {class: "note", onclick: f}, "text", child, …) */
function el(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked") node[name] = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

function para(kind, ...children) {
  return el("p", { class: kind }, ...children);
}

function div(kind, ...children) {
  return el("div", { class: kind }, ...children);
}

/* Words of the data in a sentence: their direction does not disturb what stands around them. */
function said(text) {
  return el("bdi", {}, text);
}

function cut(text, length) {
  const signs = [...text.slice(0, 2 * length + 2)];
  return signs.length > length ? signs.slice(0, length - 1).join("") + "…" : text;
}

function number(value, digits = 3) {
  if (value === null || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  const size = Math.abs(value);
  let text;
  if (size !== 0 && (size >= 1e6 || size < 1e-4)) text = value.toExponential(digits - 1);
  else if (size >= 1000) text = whole(value);
  else text = String(Number(value.toPrecision(digits)));
  return text.replace("-", "−");
}

function signed(value, digits = 3) {
  return (value > 0 ? "+" : "") + number(value, digits);
}

function oneDecimal(value) {
  if (!Number.isFinite(value)) return "–";
  return (
    (value >= 0.05 ? "+" : "") +
    value
      .toFixed(1)
      .replace(/^-0\.0$/, "0.0")
      .replace("-", "−")
  );
}

function percent(share) {
  if (share > 0 && share < 0.001) return "<0.1 %";
  return `${number(100 * share, share < 0.1 ? 2 : 3)} %`;
}

/* 1234567 as 1,234,567. */
function whole(n) {
  return String(Math.round(n)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/* "a, b and c" as nodes. */
function listed(nodes) {
  return nodes.flatMap((node, i) => (i === 0 ? [node] : [i === nodes.length - 1 ? " and " : ", ", node]));
}

function press(text, onclick, more = {}) {
  return el("button", { type: "button", onclick, ...more }, text);
}

/* A part of a view with a title. */
function titled(title, ...children) {
  return el("section", {}, el("h3", {}, title), ...children);
}

function field(label, control) {
  return el("label", { class: "field" }, el("span", {}, label), control);
}

/* A select whose options are [value, text]. */
function chooser(options, chosen, change, attributes = {}) {
  const list = options.map(([value, text]) => el("option", { value: String(value) }, text));
  const select = el("select", { ...attributes, onchange: (event) => change(event.target.value) }, list);
  select.value = String(chosen);
  return select;
}

function pick(title, ...given) {
  return field(title, chooser(...given));
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
