/* Text to terms, as supertopic.Vectorizer does it. */

function makeTokenizer(rules, words) {
  return {
    rules,
    places: new Map(words.map((word, place) => [word, place])),
    stop: new Set(rules.stop_words),
    phrases: new Set(rules.phrases),
    pattern: new RegExp(rules.pattern, "gv"),
    address: rules.address ? new RegExp(rules.address, "g") : null,
  };
}

/* Marks above and below letters, and other signs. */
const [acute, grave, circ, uml, tilde, cedil, ring] = "\u0301\u0300\u0302\u0308\u0303\u0327\u030a";
const MARKS = { acute, grave, circ, uml, tilde, cedil, ring };
const SIGNS = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", rsquo: "\u2019", ndash: "–", szlig: "ß" };

/* The text with what its entities of HTML stand for: numbers, letters with a mark; a blank for other signs. */
function withoutEntities(text) {
  return text.replace(
    /&(?:#([0-9]+)|#[xX]([0-9a-fA-F]+)|([a-zA-Z])(acute|grave|circ|uml|tilde|cedil|ring)|([a-zA-Z][a-zA-Z0-9]+));/g,
    (all, decimal, hex, letter, mark, name) => {
      const code = decimal ? parseInt(decimal, 10) : hex ? parseInt(hex, 16) : 0;
      if (code) return code < 0x110000 ? String.fromCodePoint(code) : " ";
      return letter ? (letter + MARKS[mark]).normalize("NFC") : SIGNS[name] || " ";
    },
  );
}

/* The words of a text and their places in `text`; a word `follows` the last one unless a stop word stands between. */
function findWords(tokenizer, raw) {
  const given = withoutEntities(raw);
  const plain = given.replaceAll("\u2019", "'");
  const lower = tokenizer.rules.lowercase ? plain.toLowerCase() : plain;
  const text = lower.length === given.length ? given : lower;
  const seen = tokenizer.address ? lower.replace(tokenizer.address, (one) => " ".repeat(one.length)) : lower;
  const found = [];
  let follows = false;
  for (const match of seen.matchAll(tokenizer.pattern)) {
    const places = match[1] ? pairs(match[1]) : [[0, match[0].length]];
    for (const [from, to] of places) {
      const word = match[0].slice(from, to);
      const isStop = tokenizer.stop.has(word);
      if (word && !isStop) found.push({ word, start: match.index + from, end: match.index + to, follows });
      if (word) follows = !isStop;
    }
  }
  return { text, found };
}

/* Where every two neighbouring characters stand in text without spaces; a single one stands alone. */
function pairs(run) {
  const starts = [...run.matchAll(/\P{M}\p{M}*/gu)].map((match) => match.index);
  const ends = [...starts.slice(2), run.length];
  return ends.map((end, place) => [starts[place], end]);
}

/* Every term of a text: {id (-1 if unknown), first, last}, where first and last are places among its words. */
function findTerms(tokenizer, found) {
  if (tokenizer.phrases.size) return findPhrases(tokenizer, found);
  const [low, high] = tokenizer.rules.ngrams;
  const terms = [];
  for (let n = low; n <= high; n++)
    for (let i = 0; i + n <= found.length; i++) terms.push(termAt(tokenizer, found, i, i + n - 1));
  return terms;
}

function termAt(tokenizer, found, first, last) {
  const words = found.slice(first, last + 1).map(({ word }) => word);
  return { id: tokenizer.places.get(words.join(" ")) ?? -1, first, last };
}

/* Words and phrases, from left to right. */
function findPhrases(tokenizer, found) {
  const terms = [];
  for (let i = 0; i < found.length; i++) {
    const next = found[i + 1];
    const joined = next?.follows && tokenizer.phrases.has(`${found[i].word} ${next.word}`);
    terms.push(termAt(tokenizer, found, i, joined ? i + 1 : i));
    if (joined) i += 1;
  }
  return terms;
}

/* {ids, counts} of the known terms in the order of the vocabulary, and how many terms are unknown. */
function countTerms(terms) {
  const totals = new Map();
  let unknown = 0;
  for (const { id } of terms) {
    if (id < 0) unknown += 1;
    else totals.set(id, (totals.get(id) || 0) + 1);
  }
  const ids = [...totals.keys()].sort((a, b) => a - b);
  return { ids, counts: ids.map((id) => totals.get(id)), unknown };
}

const countText = (tokenizer, text) => countTerms(findTerms(tokenizer, findWords(tokenizer, text).found));
