/* The quiz of intruders: a question at a time, by mouse, keys 1 to 9, arrows and Enter; answers are saved as JSON. */

const quiz = { questions: [], chosen: [], at: 0 };
const ASKED = {
  word: "Five of these words belong together. Which one does not belong?",
  topic: "Which of these lists of words has nothing to do with the text?",
};

async function startQuiz() {
  const { title, questions } = await readData(document.getElementById("data").textContent);
  Object.assign(quiz, { questions, chosen: questions.map(() => null) });
  document.getElementById("tabs").remove();
  const how = "Keys: a number chooses, Enter goes on, ← goes back. Nothing leaves this page.";
  document.getElementById("top").append(el("h1", {}, said(title)), para("note", how));
  document.addEventListener("keydown", onKey);
  showQuestion();
  globalThis.supertopic = { quiz };
}

function showQuestion() {
  const main = document.getElementById("main");
  const asked = quiz.questions[quiz.at];
  put(main, el("section", { class: "card quiz" }, asked ? questionParts(asked) : endParts()));
  (main.querySelector("input:checked") || main.querySelector("input, button"))?.focus();
}

function questionParts({ kind, text, options }) {
  const [at, n] = [quiz.at, quiz.questions.length];
  const choice = (option, place) => {
    const more = { value: String(place), checked: quiz.chosen[at] === place, onchange: () => choose(place) };
    const input = el("input", { type: "radio", name: "choice", ...more });
    return el("label", { class: "choice" }, input, el("kbd", {}, String(place + 1)), said(option));
  };
  return [
    el("p", { class: "note", "aria-live": "polite" }, `Question ${at + 1} of ${n}`),
    el("progress", { max: n, value: at, "aria-label": "Questions answered" }),
    text ? el("blockquote", {}, said(text)) : null,
    el("fieldset", {}, el("legend", {}, ASKED[kind]), options.map(choice)),
    el(
      "p",
      {},
      backButton(),
      " ",
      press("Next", () => go(1), { id: "next" }),
    ),
  ];
}

function endParts() {
  const answered = quiz.chosen.filter((place) => place !== null).length;
  return [
    el("h2", {}, "Thank you"),
    el("p", {}, `You have answered ${answered} of ${quiz.questions.length} questions.`),
    el("p", {}, press("Save the answers", saveAnswers, { id: "save" }), " ", backButton()),
  ];
}

const backButton = () => press("Back", () => go(-1), { class: "quiet", disabled: quiz.at === 0 });

function choose(place) {
  quiz.chosen[quiz.at] = place;
}

function go(steps) {
  quiz.at = Math.min(Math.max(quiz.at + steps, 0), quiz.questions.length);
  showQuestion();
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const asked = quiz.questions[quiz.at];
  const place = /^[1-9]$/.test(event.key) ? Number(event.key) - 1 : -1;
  if (asked && place >= 0 && place < asked.options.length) {
    choose(place);
    showQuestion();
  } else if (event.key === "Enter" && asked && event.target.tagName !== "BUTTON") {
    go(1);
  } else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    event.preventDefault();
    go(event.key === "ArrowLeft" ? -1 : 1);
  }
}

function saveAnswers() {
  const answers = quiz.questions
    .map(({ options, kind, about, intruder, shares }, at) => {
      return { kind, about, n_options: options.length, intruder, chosen: quiz.chosen[at], shares };
    })
    .filter(({ chosen }) => chosen !== null);
  download("answers.json", JSON.stringify({ answers }, null, 1), "application/json");
}

startQuiz();
