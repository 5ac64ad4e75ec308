/* Files out of the page: CSV, SVG, PNG, JSON. */

function download(name, content, kind) {
  const url = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type: kind }));
  const link = el("a", { href: url, download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

function csvCell(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "";
  const text = String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const csvOf = (rows) => rows.map((cells) => cells.map(csvCell).join(",")).join("\r\n") + "\r\n";

/* The drawing as a file of its own: characters that XML does not allow are replaced. */
function svgText(drawing) {
  const copy = drawing.cloneNode(true);
  const { width, height } = drawing.viewBox.baseVal;
  fill(copy, { xmlns: SVG, width, height }, []);
  copy.prepend(svg("rect", { width, height, fill: paint("surface") }));
  const walker = document.createTreeWalker(copy, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) node.data = plainXml(node.data);
  for (const node of copy.querySelectorAll("[aria-label]"))
    node.setAttribute("aria-label", plainXml(node.getAttribute("aria-label")));
  return new XMLSerializer().serializeToString(copy);
}

function plainXml(text) {
  return text.toWellFormed().replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd");
}

async function pngOf(drawing) {
  const { width, height } = drawing.viewBox.baseVal;
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svgText(drawing));
  await image.decode();
  const canvas = el("canvas", { width: Math.round(2 * width), height: Math.round(2 * height) });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
