/* What goes with topics: the effects of metadata that were given to report(effects=). */

function prevalenceFigures() {
  const found = app.data.prevalence;
  if (!found) return [];
  const figures = found.terms.map(({ name, rows }, place) => {
    const order = rows.toSorted((a, b) => b.estimate - a.estimate);
    const items = order.map(({ topic, label, estimate, lower, upper, again }) => ({
      name: `${typeof topic === "number" ? topicName(topic) : label}${again === null ? "" : ` (${percent(again)})`}`,
      value: estimate,
      low: lower,
      high: upper,
      color: paint(lower > 0 || upper < 0 ? "accent" : "muted"),
    }));
    const title = `What goes with ${name}`;
    return figure(
      `effects-${place}`,
      title,
      place ? null : found.notes.join(" "),
      (width) => intervals(width, items, { form: oneDecimal, low: 0, high: 0 }),
      () => [
        ["topic", "label", "estimate", "lower", "upper"],
        ...order.map((row) => [row.topic, row.label, row.estimate, row.lower, row.upper]),
      ],
    );
  });
  return [el("h2", {}, "What goes with topics"), ...figures];
}
