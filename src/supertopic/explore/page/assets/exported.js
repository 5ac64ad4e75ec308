/* A model alone, for programs in JavaScript: what `model.export` writes beside the functions that it calls. */

/* {predict, topics, count} of packed data. */
// oxlint-disable-next-line no-unused-vars -- the written file calls it
async function openModel(base64) {
  const data = await readData(base64);
  const model = makeModel(data);
  const tokenizer = makeTokenizer(data.inference.tokens, data.words);

  const scored = (text, given = {}) => {
    const { ids, counts } = countText(tokenizer, text);
    const wrong = Object.keys(given).find((name) => !data.covariates.some((one) => one.name === name));
    if (wrong !== undefined) throw new Error(`covariates: got "${wrong}", which the model does not know`);
    const difference = ({ name, mean: usual }) => (given[name] ?? usual) - usual;
    const beside = data.covariates.map((one) => ({ inner: one.inner, difference: difference(one) }));
    return scoreDocument(model, ids, counts, beside);
  };
  return Object.freeze({
    /* By the name of a response: {mean, ends} of a number, {class, probabilities} or {class, scores} of classes. */
    predict(text, { covariates = {}, probability = 0.9 } = {}) {
      const found = scored(text, covariates);
      return Object.fromEntries(
        data.outcomes.map((outcome) => [outcome.name, asAnswer(outcome, predictOutcome(outcome, found, probability))]),
      );
    },
    /* The shares of topics. */
    topics: (text) => Array.from(scored(text).shares),
    /* How many words of the text the model knows, and how many it does not. */
    count(text) {
      const { counts, unknown } = countText(tokenizer, text);
      return { known: sum(counts), unknown };
    },
  });
}

function asAnswer(outcome, answer) {
  if (outcome.kind === "number") return answer;
  const { chances, decided, probabilities } = answer;
  const margin = outcome.parts.some(({ response }) => response.startsWith("hinge"));
  const found = { class: outcome.classes[decided] };
  if (margin) found.scores = Array.from(chances);
  if (!margin || probabilities) found.probabilities = Array.from(probabilities || chances);
  return found;
}
