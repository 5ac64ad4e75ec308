/* Text to terms, as supertopic.Vectorizer does it. */

function makeTokenizer(rules, words) {
  const places = new Map(words.map((word, place) => [word, place]));
  const stop = new Set(rules.stop_words);
  const phrases = new Set(rules.phrases);
  const pattern = new RegExp(rules.pattern, "gv");
  const address = rules.address ? new RegExp(rules.address, "g") : null;
  return { rules, places, stop, phrases, pattern, address };
}

const MARKS = {
  acute: "\u0301",
  grave: "\u0300",
  circ: "\u0302",
  uml: "\u0308",
  tilde: "\u0303",
  cedil: "\u0327",
  ring: "\u030a",
};
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
  const [low, high] = tokenizer.rules.ngrams;
  const terms = [];
  if (tokenizer.phrases.size) return findPhrases(tokenizer, found);
  for (let n = low; n <= high; n++) {
    for (let i = 0; i + n <= found.length; i++) {
      let term = found[i].word;
      for (let j = i + 1; j < i + n; j++) term += " " + found[j].word;
      const id = tokenizer.places.get(term);
      terms.push({ id: id === undefined ? -1 : id, first: i, last: i + n - 1 });
    }
  }
  return terms;
}

/* Words and phrases, from left to right. */
function findPhrases(tokenizer, found) {
  const terms = [];
  for (let i = 0; i < found.length; i++) {
    const next = found[i + 1];
    const phrase = next && next.follows ? `${found[i].word} ${next.word}` : "";
    const [term, last] = tokenizer.phrases.has(phrase) ? [phrase, i + 1] : [found[i].word, i];
    const id = tokenizer.places.get(term);
    terms.push({ id: id === undefined ? -1 : id, first: i, last });
    i = last;
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

function countText(tokenizer, text) {
  return countTerms(findTerms(tokenizer, findWords(tokenizer, text).found));
}
