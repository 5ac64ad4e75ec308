/* The waterfall: from an average document to this one, topic by topic. */

/* Bars {name, value} in order of size; small ones are put together. */
function waterfallBars(found, most = 9) {
  const topics = found.topics.map(({ topic, share, value }) => ({
    topic,
    name: `${topic}  ${topicName(topic)}`,
    share,
    value,
  }));
  topics.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const shown = topics.slice(0, most).filter(({ value }) => value !== 0);
  const rest = topics.slice(shown.length).reduce((sum, { value }) => sum + value, 0);
  const items = [...shown];
  if (topics.length > shown.length && Math.abs(rest) > 1e-12) items.push({ name: "all other topics", value: rest });
  if (Math.abs(found.words) > 1e-12) items.push({ name: "the words themselves", value: found.words });
  if (Math.abs(found.rest) > 1e-6) items.push({ name: restName(), value: found.rest });
  return items;
}

function drawWaterfall(width, found) {
  const height = 24;
  const items = waterfallBars(found);
  const left = Math.round(Math.min(width * 0.4, 230));
  let at = found.start;
  const steps = items.map((item) => {
    const from = at;
    at += item.value;
    return { ...item, from, to: at };
  });
  const [low, high] = range([found.start, found.end, ...steps.flatMap(({ from, to }) => [from, to])]);
  const pad = (high - low || 1) * 0.04;
  const x = scale(low - pad, high + pad, left + 12, width - 60);
  const total = (steps.length + 2) * height;
  const line = (value, y) =>
    segment(x(value), y, x(value), y + height + 6, paint("muted"), { "stroke-dasharray": "2 2" });
  const end = (name, value, i) => [
    label(left, i * height + 16, name, { "text-anchor": "end", "font-weight": 600 }),
    circle(x(value), i * height + 12, 5, { fill: paint("ink") }),
    label(x(value) + 10, i * height + 16, number(value), { "font-weight": 600 }),
  ];
  const parts = steps.map(({ name, value, from, to }, i) => {
    const y = (i + 1) * height;
    return group(
      line(from, y - 9),
      label(left, y + 16, fitText(name, left - 4), { "text-anchor": "end" }),
      box(Math.min(x(from), x(to)), y + 4, Math.max(Math.abs(x(to) - x(from)), 1), height - 8, upDown(value), {
        rx: 2,
      }),
      label(Math.max(x(from), x(to)) + 5, y + 16, signed(value), small()),
    );
  });
  return {
    parts: [
      bottomAxis(x, total + 4, total + 4),
      ...end("average document", found.start, 0),
      ...parts,
      line(at, steps.length * height + 12),
      ...end("this document", found.end, steps.length + 1),
    ],
    height: total + 28,
  };
}

function waterfallRows(found) {
  return [
    ["part", "share", "value"],
    ["average document", "", found.start],
    ...found.topics.map(({ topic, share, value }) => [`topic ${topic}: ${topicName(topic)}`, share, value]),
    ["words", "", found.words],
    [restName(), "", found.rest],
    ["this document", "", found.end],
  ];
}

/* What the topics that are shown do not explain. */
function restName() {
  const columns = app.data.effects.covariates.length > 0;
  if (!app.model.others.length) return "other columns";
  return columns ? "other fits and columns" : "other fits of the ensemble";
}
