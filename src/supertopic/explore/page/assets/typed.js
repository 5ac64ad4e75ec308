/* A text typed or pasted by the reader: inferred and predicted here, in the page. */

const typed = { text: "", probability: 0.9, covariates: [] };

function drawTyped(root) {
  const { inference } = app.data;
  if (!inference.possible) return put(root, para("flag", inference.why));
  typed.text ||= exampleText();
  const result = el("div", { class: "result", "aria-live": "polite" });
  const again = later(() => announce("typed"), 120);
  const oninput = (event) => {
    typed.text = event.target.value;
    again();
  };
  const look = { id: "typed", rows: 7, dir: "auto", spellcheck: false, placeholder: "Type or paste a text here." };
  const area = el("textarea", { ...look, value: typed.text, oninput });
  const counts = inference.tokens.is_default;
  const note = para(
    "note",
    "Nothing leaves this page: topics and prediction are computed here, as Python computes them.",
    counts && " The model was fitted to counts; the page splits text by the default rules.",
  );
  const tools = div("tools", probabilityChooser(), explainChooser(), exampleButton(area));
  const asked = div(null, field("Your text", area), tools, covariateFields(again), note);
  return put(root, div("two typed", asked, panel(result, ["typed", "column", "labels", "theme"], drawResult)));
}

function probabilityChooser() {
  if (!app.data.outcomes.some(({ kind }) => kind === "number")) return null;
  const options = [0.5, 0.8, 0.9, 0.95].map((p) => [p, percent(p)]);
  return pick("Interval", options, typed.probability, (value) => {
    typed.probability = Number(value);
    announce("typed");
  });
}

/* What stands there at first: how a document begins, or words of the topic that is shown. */
function exampleText() {
  const text = app.data.documents.texts && documentText(Math.max(app.document, 0));
  return text ? text.slice(0, 1500) : topWords(app.topic, 8).map(wordName).join(" ");
}

function exampleButton(area) {
  if (!app.data.documents.texts) return null;
  const use = () => {
    const d = Math.floor(Math.random() * nDocuments());
    typed.text = area.value = documentText(d).slice(0, 3000);
    announce("typed");
  };
  return press("Take a document as an example", use);
}

/* Numbers of the covariates, which start at their mean. */
function covariateFields(again) {
  typed.covariates = covariates().map(({ mean: usual }) => usual);
  return covariates().map(({ name, mean: usual }, p) => {
    const changed = (value) => {
      typed.covariates[p] = value === "" ? usual : Number(value);
      again();
    };
    return entry(cut(name, 40), "number", Number(usual.toPrecision(6)), changed, { step: "any" });
  });
}

const covariates = () => app.data.effects?.covariates ?? [];
const typedCovariates = () =>
  covariates().map(({ inner, mean: usual }, p) => ({ inner, difference: typed.covariates[p] - usual }));

function drawResult(place) {
  if (!typed.text.trim()) return put(place, para("note", "The prediction and the reasons for it will appear here."));
  const document = readTyped(typed.text, typedCovariates());
  const known = document.ids.length
    ? `Words that the model knows: ${whole(document.found.nTokens)}. Others: ${whole(document.unknown)}.`
    : "The model knows none of these words: what follows is what it says without any text.";
  const answers = app.data.outcomes.map((outcome, i) => {
    const answer = predictOutcome(outcome, document.found, typed.probability);
    return answer ? answerParts(i, answer, typed.probability) : para("note", "The page does not know this response.");
  });
  return put(place, answers, para("note", known), explainDocument(document));
}
