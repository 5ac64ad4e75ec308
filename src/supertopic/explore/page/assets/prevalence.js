/* What goes with topics: the effects of metadata that were given to report(effects=). */

function prevalenceFigures() {
  const found = app.data.prevalence;
  if (!found) return [];
  const figures = found.terms.map(({ name, rows }, place) => {
    const order = rows.toSorted((a, b) => b.estimate - a.estimate);
    const items = order.map(({ topic, label, estimate: value, lower: low, upper: high, again }) => {
      const share = again === null ? "" : ` (${percent(again)})`;
      const text = `${typeof topic === "number" ? topicName(topic) : label}${share}`;
      return { name: text, value, low, high, color: paint(low > 0 || high < 0 ? "accent" : "muted") };
    });
    const head = ["topic", "label", "estimate", "lower", "upper"];
    return figure(
      `effects-${place}`,
      `What goes with ${name}`,
      place ? null : found.notes.join(" "),
      (width) => intervals(width, items, { form: oneDecimal, low: 0, high: 0 }),
      head,
      () => order.map((one) => head.map((key) => one[key])),
    );
  });
  return [el("h2", {}, "What goes with topics"), ...figures];
}
