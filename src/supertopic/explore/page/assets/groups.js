/* Topics by group: classes or tenths of the response, values of a metadata column, time. */

const groups = { by: "", first: -1, second: Infinity };
const MOST_ROWS = 30;
const FEW_VALUES = 12;
const FEW_DOCUMENTS = 5; // of a group: its colours are not to pale all others

function drawGroups(root) {
  const options = groupings();
  if (!options.length) {
    const nothing = para("note", "There is nothing to group the documents by: give y or metadata to report().");
    return put(root, app.data.prevalence ? prevalenceFigures() : nothing);
  }
  if (!options.some(([value]) => value === groups.by)) groups.by = options[0][0];
  const chosen = pick("Group documents by", options, groups.by, (value) => {
    Object.assign(groups, { by: value, first: -1, second: Infinity });
    announce("groups");
  });
  const place = panel(div(null), ["groups", "topic", "labels", "theme"], drawGrouped);
  return put(root, div("tools", chosen), place, prevalenceFigures());
}

/* What documents can be grouped by: [value, text]. Numbers of rows and names of documents are left out. */
function groupings() {
  const { outcomes, metadata, arrays } = app.data;
  const known = outcomes.map(({ name }, i) => [`y${i}`, `${cut(name, 50)} (true)`, arrays[`y_${i}`].data]);
  const columns = metadata.map(({ name }, i) => [`m${i}`, cut(name, 60), arrays[`metadata_${i}`].data, metadata[i]]);
  return [...known, ...columns].filter(([, , ...column]) => isTelling(...column)).map(([by, text]) => [by, text]);
}

function isTelling(values, column) {
  const known = values.filter(isKnown);
  if (!known.length || !column || column.kind === "time") return known.length > 0;
  const rest = column.categories.indexOf("(other)");
  if (rest >= 0) return 2 * known.filter((value) => value === rest).length <= known.length;
  const apart = known.length > FEW_VALUES && known.every(Number.isInteger);
  return column.kind !== "number" || !apart || new Set(known).size < known.length;
}

/* {names, codes, at, time}: the group of every document (NaN: none), and where groups lie that have an order. */
function grouping(by) {
  const place = Number(by.slice(1));
  const isColumn = by[0] === "m";
  const values = app.data.arrays[`${isColumn ? "metadata" : "y"}_${place}`].data;
  const names = isColumn ? app.data.metadata[place].categories : app.data.outcomes[place].classes;
  if (isColumn && app.data.metadata[place].kind === "time") return byTime(values);
  if (!names.length) return binned(values);
  const at = names.map(Number);
  return { names, codes: values, at: at.every(Number.isFinite) ? at : null };
}

/* Years, months or days: the finest of which there are not too many. */
function byTime(values) {
  const slice = (n) => Array.from(values, (v) => (Number.isNaN(v) ? "" : new Date(v).toISOString().slice(0, n)));
  const each = [10, 7, 4, 3].map(slice).find((found) => new Set(found).size <= 25) ?? slice(3);
  const names = [...new Set(each)].filter(Boolean).sort();
  const codes = Float64Array.from(each, (name) => (name ? names.indexOf(name) : NaN));
  const at = names.map((name) => Date.parse(name.length === 3 ? `${name}0` : name));
  return { names: names.map((name) => (name.length === 3 ? `${name}0s` : name)), codes, at, time: true };
}

/* Few values as they are; of more, ten groups of about the same number of documents. */
function binned(values) {
  const known = values.filter(isKnown).sort((a, b) => a - b);
  const distinct = [...new Set(known)];
  const few = distinct.length <= FEW_VALUES;
  const tenth = (i) => known[Math.floor((i * known.length) / 10)];
  const starts = few ? distinct : [...new Set(upTo(10).map(tenth))];
  const codeOf = (value) => (isKnown(value) ? starts.findLastIndex((start) => value >= start) : NaN);
  const codes = Float64Array.from(values, codeOf);
  if (few) return { names: starts.map((start) => number(start)), codes, at: starts };
  const names = starts.map((start, g) => `${number(start)} to ${number(starts[g + 1] ?? known.at(-1))}`);
  const at = starts.map((_, g) => mean(known.filter((value) => codeOf(value) === g)));
  return { names, codes, at };
}

/* {counts (G), means (G × K), errors (G × K), overall (K), differs}: mean shares, and how sure they are. */
function groupMeans({ names, codes }) {
  const counts = new Float64Array(names.length);
  const sums = names.map(() => new Float64Array(nTopics()));
  codes.forEach((g, d) => {
    if (Number.isNaN(g)) return;
    counts[g] += 1;
    row(app.data.arrays.shares, d).forEach((share, k) => (sums[g][k] += share / 65535));
  });
  const overall = sums[0].map((_, k) => sum(sums.map((own) => own[k])) / sum(counts));
  const means = sums.map((own, g) => own.map((value) => (counts[g] ? value / counts[g] : NaN)));
  const sure = (...signs) => errorsOfMeans(codes, { counts, means }, new Map(signs));
  const errors = names.map((_, g) => sure([g, 1]));
  const differs = (a, b) => (a === b ? sure() : sure([a, -1], [b, 1]));
  return { counts, means, errors, overall, differs };
}

/* What intervals take for independent. */
function whoseErrors() {
  const { together, n_together: n } = app.data.documents;
  if (together) return `They count the documents of each of the ${whole(n)} groups of the fit as one.`;
  return n ? `They take documents as independent, though the fit knew ${whole(n)} groups: they promise too much.` : "";
}

/* Rows of documents, those that belong together side by side, and whom each belongs to: to itself where nobody said. */
function togetherness() {
  const whose = app.data.arrays.together?.data ?? Uint32Array.from(upTo(nDocuments()));
  app.together ??= { rows: Uint32Array.from(whose.keys()).sort((a, b) => whose[a] - whose[b]), whose };
  return app.together;
}

/* The errors (K) of the sum of signs (by group) times means; documents that belong together count as one (CR1). */
function errorsOfMeans(codes, { counts, means }, signs) {
  const { data } = app.data.arrays.shares;
  const K = nTopics();
  const { rows, whose } = togetherness();
  const own = rows.filter((d) => signs.has(codes[d]));
  const weight = new Map();
  for (const [g, sign] of signs) {
    const n = new Set(own.filter((d) => codes[d] === g).map((d) => whose[d])).size;
    weight.set(g, n > 1 ? (sign / counts[g]) * Math.sqrt(n / (n - 1)) : NaN);
  }
  const [total, squares] = [new Float64Array(K), new Float64Array(K)];
  own.forEach((d, place) => {
    const [w, centre] = [weight.get(codes[d]), means[codes[d]]];
    for (let k = 0; k < K; k++) total[k] += w * (data[d * K + k] / 65535 - centre[k]);
    if (place + 1 < own.length && whose[own[place + 1]] === whose[d]) return;
    for (let k = 0; k < K; k++) squares[k] += total[k] * total[k];
    total.fill(0);
  });
  return squares.map(Math.sqrt);
}

function drawGrouped(place) {
  const grouped = grouping(groups.by);
  const found = groupMeans(grouped);
  const pictures = div("two even", topicByGroup(grouped, found), contrastFigure(grouped, found));
  put(place, groupHeatmap(grouped, found), pictures);
}

/* Percentage points. */
const points = (share) => `${oneDecimal(100 * share)} pp`;

/* By how much the mean share of each topic in each group is above or below that in all, and a line for each topic. */
function groupHeatmap({ names, at }, { counts, means, errors, overall }) {
  const large = means.filter((_, g) => counts[g] >= FEW_DOCUMENTS);
  const gaps = (k) => (large.length ? large : means).map((own) => Math.abs(own[k] - overall[k]) || 0);
  const reaches = overall.map((_, k) => Math.max(...gaps(k)));
  const chosen = bestPlaces(reaches, MOST_ROWS);
  const order = axisOrder(app.column).filter((k) => chosen.includes(k));
  const most = Math.max(...order.map((k) => reaches[k]), 1e-9);
  const draw = (width) => {
    const left = sideWidth(width, 0.3, 220);
    const aside = at && width > 560 ? 130 : 0;
    const cell = clamp((width - left - (aside || 44) - 16) / names.length, 3, 90);
    const [height, head] = [24, 92];
    const parts = names.map((name, g) => {
      const x = left + 8 + (g + 0.5) * cell;
      const style = { ...small(), ...turned(-38, x, head - 8) };
      const text = fitText(`${name} (${whole(counts[g])})`, Math.min(110, (width - x) / 0.79), 11);
      return cell < 9 && g % 3 ? null : label(x, head - 8, text, style);
    });
    order.forEach((k, i) => {
      const y = head + i * height;
      const cells = means.map((own, g) => {
        const gap = own[k] - overall[k];
        const x = left + 8 + g * cell;
        const strength = Number.isNaN(gap) ? 0 : 0.75 * clamp(gap / most, -1, 1);
        const shown = cell > 34 && label(x + cell / 2 - 1, y + 16, oneDecimal(100 * gap), anchored("middle", 10));
        return [box(x, y + 1, Math.max(cell - 2, 2), height - 2, diverging(strength)), shown];
      });
      const weight = { "font-weight": app.topic === k ? 700 : 400 };
      const name = label(left, y + 16, fitText(numbered(k), left - 4), anchored("end", 12, weight));
      const hit = box(0, y, width, height, "transparent", { class: "hit" });
      const frame = [left + 16 + names.length * cell, y, aside - 8, height];
      const line = aside ? smallLine(k, at, means, errors, ...frame) : null;
      parts.push(pressable(topicSpoken(k), () => chooseTopic(k), { "data-topic": k }, hit, name, cells, line));
    });
    const bottom = head + order.length * height + 12;
    const key = colorBar(left + 8, bottom, Math.min(60, (width - left - 12) / 5), most);
    return { parts: [...parts, key], height: bottom + 34 };
  };
  const rows = () => [
    ["", "documents", sum(counts), ...counts],
    ...Array.from(overall, (share, k) => [k, topicName(k), share, ...means.map((own) => own[k])]),
  ];
  const fewer = order.length < nTopics() ? ` The ${order.length} topics that differ most of ${nTopics()}.` : "";
  return figure(
    "groups",
    "Groups against all documents: mean share of each topic",
    "Percentage points above (blue) or below (orange) the mean of all documents; in brackets the number of documents." +
      fewer +
      (at ? " Lines: the mean share, with a 90 % interval." : "") +
      " Choose a topic to see its shares below.",
    draw,
    ["topic", "label", "all", ...names],
    rows,
  );
}

function colorBar(x, y, width, most) {
  const part = (strength, i) => [
    box(x + i * width, y, width, 10, diverging(0.75 * strength)),
    label(x + (i + 0.5) * width, y + 24, oneDecimal(100 * strength * most), anchored("middle", 10)),
  ];
  return group([-1, -0.5, 0, 0.5, 1].flatMap(part));
}

/* Means of a topic by group with a ribbon, from zero to the largest, in a box. */
function smallLine(k, at, means, errors, left, top, width, height) {
  const there = meansOfTopic(k, at, means, errors);
  const x = scale(Math.min(...at), Math.max(...at), left, left + width);
  const most = Math.max(...there.map(([, value, error]) => value + Z90 * (error || 0)), 1e-9);
  return ribbon(x, scale(0, most, top + height - 3, top + 3), there, topicColor(k), 1.5);
}

/* [place, mean, error] of the groups that hold documents. */
function meansOfTopic(k, at, means, errors) {
  return at.map((place, g) => [place, means[g][k], errors[g][k]]).filter(([, value]) => !Number.isNaN(value));
}

/* A line through [place, mean, error], with its 90 % intervals as a band. */
function ribbon(x, y, found, color, thick = 2) {
  const edge = (times) => found.map(([at, value, error]) => [x(at), y(Math.max(value + times * (error || 0), 0))]);
  const band = curve([...edge(Z90), ...edge(-Z90).reverse()], "none", { fill: color, "fill-opacity": 0.2 });
  return group(band, curve(edge(0), color, { "stroke-width": thick }));
}

/* The share of the chosen topic by group, with 90 % intervals: a line where groups have an order. */
function topicByGroup({ names, at, time }, { counts, means, errors }) {
  const k = app.topic;
  const found = names.map((name, g) => ({
    name: `${name} (${whole(counts[g])})`,
    ...interval(means[g][k], errors[g][k], 0),
  }));
  const head = ["group", "documents", "share", "low_90", "high_90"];
  const rows = () => names.map((name, g) => [name, counts[g], found[g].value, found[g].low, found[g].high]);
  const title = `Share of ${cut(topicName(k), 50)}`;
  const note = `Mean share of the documents of each group, with a 90 % interval. ${whoseErrors()}`;
  const draw = (width) => {
    const color = topicColor(k);
    const dots = found.map((one) => ({ ...one, color }));
    if (!at) return intervals(width, dots, { form: percent, low: 0 });
    const x = scale(Math.min(...at), Math.max(...at), 50, width - 30);
    const y = scale(0, Math.max(...found.map(({ value, high }) => high || value || 0), 1e-9), 190, 14);
    const there = meansOfTopic(k, at, means, errors);
    const every = Math.ceil(names.length / Math.max(Math.floor(width / 90), 1));
    const dates = names.map((name, g) => (g % every ? null : label(x(at[g]), 206, name, small("middle"))));
    const marks = there.map(([place, share]) => circle(x(place), y(share), 4, { fill: color }));
    const axes = [leftAxis(y, 50, width - 70, percent), time ? dates : bottomAxis(x, 190, 0)];
    return { parts: [axes, ribbon(x, y, there, color), marks], height: 216 };
  };
  return figure("topic_by_group", title, note, draw, head, rows);
}

function interval(value, error, lowest = -Infinity) {
  return { value, low: Math.max(value - Z90 * error, lowest), high: value + Z90 * error };
}

/* Two groups against each other: dots with intervals, grey where zero is inside. */
function contrastFigure({ names }, { counts, means, differs }) {
  const large = upTo(names.length).filter((g) => counts[g] >= FEW_DOCUMENTS);
  const there = (g) => (g < names.length ? g : (large.at(-1) ?? names.length - 1));
  const [a, b] = [groups.first < 0 ? (large[0] ?? 0) : groups.first, groups.second].map(there);
  const options = names.map((text, g) => [g, cut(text, 40)]);
  const choice = (title, name, value) =>
    pick(title, options, value, (g) => {
      groups[name] = Number(g);
      announce("groups");
    });
  const errors = differs(a, b);
  const items = Array.from(means[a], (share, k) => {
    const found = interval(means[b][k] - share, errors[k]);
    const color = paint(found.low > 0 ? "up" : found.high < 0 ? "down" : "zero");
    return { k, name: numbered(k), ...found, color };
  }).filter(({ value }) => !Number.isNaN(value));
  const widest = items.toSorted((p, q) => Math.abs(q.value) - Math.abs(p.value)).slice(0, 15);
  const shown = widest.sort((p, q) => q.value - p.value);
  const made = figure(
    "contrast",
    "Two groups compared",
    "Differences of mean shares, 90 % intervals. Blue: more in the second group; orange: the first; grey: unclear. " +
      whoseErrors(),
    (width) => intervals(width, shown, { form: points, ticks: (v) => oneDecimal(100 * v), high: 0, low: 0 }),
    ["topic", "label", "difference", "low_90", "high_90"],
    () => items.map(({ k, value, low, high }) => [k, topicName(k), value, low, high]),
  );
  const tools = [choice("First group", "first", a), choice("Second group", "second", b)];
  return div(null, div("tools", tools), made);
}
