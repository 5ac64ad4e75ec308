/* Topics by group: classes or tenths of the response, values of a metadata column, time. */

const groups = { by: "", first: 0, second: Infinity };

function drawGroups(root) {
  const options = groupings();
  if (!options.length) {
    root.replaceChildren(
      el("p", { class: "note" }, "There is nothing to group the documents by: give y or metadata to report()."),
    );
    return;
  }
  if (!options.some(([value]) => value === groups.by)) groups.by = options[0][0];
  const choose = field(
    "Group documents by",
    chooser(options, groups.by, (value) => {
      Object.assign(groups, { by: value, first: 0, second: Infinity });
      announce("groups");
    }),
  );
  const place = el("div", {});
  root.replaceChildren(el("div", { class: "tools" }, choose), place);
  panel(place, ["groups", "topic", "labels", "theme"], drawGrouped);
}

function groupings() {
  const found = app.data.outcomes.map((outcome, i) => [`y${i}`, `${cut(outcome.name, 50)} (true)`, `y_${i}`]);
  const known = found.filter(([, , array]) => app.data.arrays[array].data.some((value) => !Number.isNaN(value)));
  return [...known, ...app.data.metadata.map(({ name }, i) => [`m${i}`, cut(name, 60)])].map(([value, text]) => [
    value,
    text,
  ]);
}

/* {names, codes, inOrder}: the group of every document, NaN for none. */
function grouping(by) {
  const place = Number(by.slice(1));
  if (by[0] === "m") {
    const column = app.data.metadata[place];
    const values = app.data.arrays[`metadata_${place}`].data;
    if (column.kind === "category") return { names: column.categories, codes: values, inOrder: false };
    return binned(values, column.kind === "time" ? (v) => new Date(v).toISOString().slice(0, 10) : (v) => number(v));
  }
  const outcome = app.data.outcomes[place];
  const values = app.data.arrays[`y_${place}`].data;
  return outcome.kind === "number" ? binned(values, number) : { names: outcome.classes, codes: values, inOrder: false };
}

/* Ten groups of about the same number of documents; fewer where values are the same. */
function binned(values, form, n = 10) {
  const known = Array.from(values)
    .filter((value) => !Number.isNaN(value))
    .sort((a, b) => a - b);
  const edges = [
    ...new Set(Array.from({ length: n - 1 }, (_, i) => known[Math.floor(((i + 1) * known.length) / n)])),
  ].filter((edge) => edge > known[0]);
  const codes = Float64Array.from(values, (value) =>
    Number.isNaN(value) ? NaN : edges.filter((edge) => value >= edge).length,
  );
  const starts = [known[0], ...edges];
  const names = starts.map((start, i) =>
    i + 1 < starts.length ? `${form(start)} to ${form(starts[i + 1])}` : `from ${form(start)}`,
  );
  return { names, codes, inOrder: true };
}

/* {means (G × K), counts (G)}: the mean shares of each group. */
function groupMeans({ names, codes }) {
  const K = nTopics();
  const counts = new Float64Array(names.length);
  const means = names.map(() => new Float64Array(K));
  for (let d = 0; d < nDocuments(); d++) {
    const g = codes[d];
    if (Number.isNaN(g)) continue;
    counts[g] += 1;
    for (let k = 0; k < K; k++) means[g][k] += shareOf(d, k);
  }
  means.forEach((mean, g) => mean.forEach((_, k) => (mean[k] /= Math.max(counts[g], 1))));
  return { means, counts };
}

function drawGrouped(place) {
  const grouped = grouping(groups.by);
  const { means, counts } = groupMeans(grouped);
  place.replaceChildren(
    groupHeatmap(grouped, means, counts),
    el("div", { class: "two even" }, topicByGroup(grouped, means, counts), contrastFigure(grouped, means)),
  );
}

function groupHeatmap({ names }, means, counts) {
  const order = axisOrder(app.column);
  const draw = (width) => {
    const left = Math.round(Math.min(width * 0.36, 230));
    const cell = Math.min(Math.max((width - left - 10) / names.length, 4), 90);
    const height = 22;
    const head = 74;
    const parts = names.map((name, g) => {
      const x = left + 8 + (g + 0.5) * cell;
      return label(x, head - 8, fitText(name, 90, 11), {
        "font-size": 11,
        fill: paint("muted"),
        transform: `rotate(-38 ${x} ${head - 8})`,
      });
    });
    order.forEach((k, i) => {
      const y = head + i * height;
      const most = Math.max(...means.map((mean) => mean[k]), 1e-9);
      parts.push(
        svg(
          "g",
          {
            class: "row",
            role: "button",
            tabindex: 0,
            "aria-label": `${topicTitle(k)}, ${topicName(k)}`,
            "data-topic": k,
            onclick: () => chooseTopic(k),
            onkeydown: (event) => event.key === "Enter" && chooseTopic(k),
          },
          box(0, y, width, height, "transparent", { class: "hit" }),
          label(left, y + 15, fitText(`${k}  ${topicName(k)}`, left - 4), {
            "text-anchor": "end",
            "font-weight": app.topic === k ? 700 : 400,
          }),
          ...means.map((mean, g) => {
            const cell0 = box(
              left + 8 + g * cell,
              y + 1,
              Math.max(cell - 2, 2),
              height - 2,
              sequential(0.9 * (mean[k] / most)),
            );
            cell0.append(svg("title", {}, `${names[g]}: ${percent(mean[k])} (${whole(counts[g])} documents)`));
            return cell0;
          }),
        ),
      );
    });
    return { parts, height: head + order.length * height + 6 };
  };
  const rows = () => [
    ["topic", "label", ...names],
    ["", "documents", ...counts],
    ...order.map((k) => [k, topicName(k), ...means.map((mean) => mean[k])]),
  ];
  return figure(
    "groups",
    "Mean share of each topic by group",
    "Each row is shaded from nothing to its own largest value. Choose a topic to see its shares below.",
    draw,
    rows,
    { role: "group" },
  );
}

/* The share of the chosen topic by group: a line where groups have an order, bars otherwise. */
function topicByGroup({ names, inOrder }, means, counts) {
  const k = app.topic;
  const values = means.map((mean) => mean[k]);
  const title = `Share of ${cut(topicName(k), 50)}`;
  const rows = () => [["group", "documents", "share"], ...names.map((name, g) => [name, counts[g], values[g]])];
  if (!inOrder)
    return figure(
      "topic_by_group",
      title,
      "",
      (width) =>
        bars(
          width,
          names.map((name, g) => ({ name, value: values[g], color: topicColor(k) })),
          { form: percent, low: 0 },
        ),
      rows,
    );
  const draw = (width) => {
    const x = scale(0, Math.max(names.length - 1, 1), 50, width - 20);
    const y = scale(0, Math.max(...values, 1e-9), 190, 14);
    const path = values.map((value, g) => `${g ? "L" : "M"}${x(g)} ${y(value)}`).join("");
    const marks = names.map((name, g) =>
      label(x(g), 206, fitText(name.replace(/^from /, "").replace(/ to .*$/, ""), (width - 60) / names.length, 10), {
        "font-size": 10,
        "text-anchor": "middle",
        fill: paint("muted"),
      }),
    );
    return {
      parts: [
        leftAxis(y, 50, width - 70, percent),
        svg("path", { d: path, fill: "none", stroke: topicColor(k), "stroke-width": 2 }),
        ...values.map((value, g) => circle(x(g), y(value), 4, { fill: topicColor(k) })),
        ...marks,
      ],
      height: 216,
    };
  };
  return figure("topic_by_group", title, "", draw, rows);
}

/* Two groups against each other. */
function contrastFigure({ names }, means) {
  const last = names.length - 1;
  const [a, b] = [Math.min(groups.first, last), Math.min(groups.second, last)];
  const choice = (name, value) =>
    chooser(
      names.map((text, g) => [g, cut(text, 40)]),
      value,
      (g) => {
        groups[name] = Number(g);
        announce("groups");
      },
    );
  const items = means[a].length
    ? Array.from(means[a], (_, k) => ({ k, name: `${k}  ${topicName(k)}`, value: means[b][k] - means[a][k] }))
    : [];
  items.sort((p, q) => Math.abs(q.value) - Math.abs(p.value));
  const shown = items
    .slice(0, 12)
    .sort((p, q) => q.value - p.value)
    .map((item) => ({ ...item, color: paint(item.value < 0 ? "down" : "up") }));
  const made = figure(
    "contrast",
    "Two groups compared",
    "Blue: more in the second group. Orange: more in the first.",
    (width) => bars(width, shown, { form: (v) => signed(100 * v, 2) + " pp" }),
    () => [["topic", "label", "difference"], ...items.map(({ k, value }) => [k, topicName(k), value])],
  );
  return el(
    "div",
    {},
    el("div", { class: "tools" }, field("First group", choice("first", a)), field("Second group", choice("second", b))),
    made,
  );
}
