/* What is printed, on light ground: of the first view the summary, the axis, the cards of the topics with the largest
 * effects, and the fit; of another view what it shows. All of it is laid out and drawn before the browser prints.
 */

const N_CARDS = 6;

function followPrinting() {
  const root = document.documentElement;
  let before = null;
  const prepare = () => {
    if (before) return;
    before = { theme: root.dataset.theme, place: scrollY };
    root.dataset.theme = "light";
    root.classList.add("paper");
    announce("theme");
    if (app.view === "topics") document.getElementById("main").append(paperReport());
    for (const made of document.querySelectorAll("figure.figure")) made.redraw();
  };
  const restore = () => {
    if (!before) return;
    document.getElementById("paper")?.remove();
    root.classList.remove("paper");
    if (before.theme) root.dataset.theme = before.theme;
    else delete root.dataset.theme;
    announce("theme");
    scrollTo({ top: before.place, behavior: "instant" });
    before = null;
  };
  addEventListener("beforeprint", prepare);
  addEventListener("afterprint", restore);
}

function paperReport() {
  const part = (name, draw) => {
    const place = el("div", { class: name });
    draw(place);
    return place;
  };
  const cards = mostTelling(N_CARDS).map((k) => part("card", (place) => drawCard(place, k)));
  return el(
    "div",
    { id: "paper" },
    part("lead", drawLead),
    part("axis-place", drawAxisFigure),
    div("cards", cards),
    part("fit", drawFitted),
  );
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
