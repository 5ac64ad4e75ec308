/* The waterfall: from an average document to this one, topic by topic. */

/* Bars {name, value} in order of size; small ones are put together. */
function waterfallBars(found, most = 9) {
  const topics = found.topics.map((one) => ({ ...one, name: numbered(one.topic) }));
  topics.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const shown = topics.slice(0, most).filter(({ value }) => value !== 0);
  const others = sum(topics.slice(shown.length).map(({ value }) => value));
  const more = [
    ["all other topics", others, 1e-12],
    ["the words themselves", found.words, 1e-12],
    [restName(), found.rest, 1e-6],
  ].filter(([, value, least]) => Math.abs(value) > least);
  return [...shown, ...more.map(([name, value]) => ({ name, value }))];
}

function drawWaterfall(width, found) {
  const height = 24;
  const items = waterfallBars(found);
  const left = sideWidth(width, 0.4, 230);
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
  const line = (value, y) => segment(x(value), y, x(value), y + height + 6, paint("muted"), dashes("2 2"));
  const end = (name, value, i) => [
    label(left, i * height + 16, name, anchored("end", 12, { "font-weight": 600 })),
    circle(x(value), i * height + 12, 5, { fill: paint("ink") }),
    label(x(value) + 10, i * height + 16, number(value), { "font-weight": 600 }),
  ];
  const parts = steps.map(({ name, value, from, to }, i) => {
    const y = (i + 1) * height;
    const [first, last] = [x(Math.min(from, to)), x(Math.max(from, to))];
    return group(
      line(from, y - 9),
      nameBeside(left, y + 16, name),
      box(first, y + 4, Math.max(last - first, 1), height - 8, upDown(value), { rx: 2 }),
      label(last + 5, y + 16, signed(value), small()),
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
