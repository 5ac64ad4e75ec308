/* What is printed, on light ground: of the first view the summary, the axis, the cards of the topics with the largest
 * effects, and the fit; of another view what it shows. All of it is drawn before the browser prints. */

const N_CARDS = 6;

function followPrinting() {
  const root = document.documentElement;
  let before = null;
  const prepare = () => {
    if (before) return;
    before = { theme: root.dataset.theme, place: scrollY };
    drawTheme("light");
    root.classList.add("paper");
    announce("theme");
    if (app.view === "topics") byId("main").append(paperReport());
    for (const made of document.querySelectorAll("figure.figure")) made.redraw();
  };
  const restore = () => {
    if (!before) return;
    byId("paper")?.remove();
    root.classList.remove("paper");
    drawTheme(before.theme ?? "");
    announce("theme");
    scrollTo({ top: before.place, behavior: "instant" });
    before = null;
  };
  addEventListener("beforeprint", prepare);
  addEventListener("afterprint", restore);
}

function paperReport() {
  const part = (name, draw) => {
    const place = div(name);
    draw(place);
    return place;
  };
  const [lead, axis] = [part("lead", drawLead), part("axis-place", drawAxisFigure)];
  const cards = mostTelling(N_CARDS).map((k) => part("card", (place) => drawCard(place, k)));
  return el("div", { id: "paper" }, lead, axis, div("cards", cards), part("fit", drawFit));
}

/* Topics with the largest effects, clear ones first, or the largest shares; in the order of the axis. */
function mostTelling(n) {
  const order = axisOrder(app.column);
  if (!app.data.effects) return order.slice(0, n);
  const size = (k) => Math.abs(effectOf(k, app.column).value);
  const clear = (k) => Number(isClear(effectOf(k, app.column)));
  const chosen = new Set([...order].sort((a, b) => clear(b) - clear(a) || size(b) - size(a)).slice(0, n));
  return order.filter((k) => chosen.has(k));
}
