/* The quiz of intruders: a question at a time, by mouse, keys 1 to 9, arrows and Enter; answers are saved as JSON. */

const quiz = { questions: [], chosen: [], at: 0 };
const ASKED = {
  word: "Five of these words belong together. Which one does not belong?",
  topic: "Which of these lists of words has nothing to do with the text?",
};

async function startQuiz() {
  const facts = await readData(document.getElementById("data").textContent);
  quiz.questions = facts.questions;
  quiz.chosen = facts.questions.map(() => null);
  document.getElementById("tabs").remove();
  document
    .getElementById("top")
    .append(
      el("h1", {}, said(facts.title)),
      para("note", "Keys: a number chooses, Enter goes on, ← goes back. Nothing leaves this page."),
    );
  document.addEventListener("keydown", onKey);
  showQuestion();
  globalThis.supertopic = { quiz };
}

function showQuestion() {
  const main = document.getElementById("main");
  main.replaceChildren(quiz.at < quiz.questions.length ? questionCard() : endCard());
  const focused = main.querySelector("input:checked") || main.querySelector("input, button");
  if (focused) focused.focus();
}

function questionCard() {
  const asked = quiz.questions[quiz.at];
  const options = asked.options.map((option, place) =>
    el(
      "label",
      { class: "choice" },
      el("input", {
        type: "radio",
        name: "choice",
        value: String(place),
        checked: quiz.chosen[quiz.at] === place,
        onchange: () => choose(place),
      }),
      el("kbd", {}, String(place + 1)),
      said(option),
    ),
  );
  return el(
    "section",
    { class: "card quiz" },
    el("p", { class: "note", "aria-live": "polite" }, `Question ${quiz.at + 1} of ${quiz.questions.length}`),
    el("progress", { max: quiz.questions.length, value: quiz.at, "aria-label": "Questions answered" }),
    asked.text ? el("blockquote", {}, said(asked.text)) : null,
    el("fieldset", {}, el("legend", {}, ASKED[asked.kind]), options),
    el(
      "p",
      {},
      el("button", { type: "button", class: "quiet", onclick: () => go(-1), disabled: quiz.at === 0 }, "Back"),
      " ",
      el("button", { type: "button", id: "next", onclick: () => go(1) }, "Next"),
    ),
  );
}

function endCard() {
  const answered = quiz.chosen.filter((place) => place !== null).length;
  return el(
    "section",
    { class: "card quiz" },
    el("h2", {}, "Thank you"),
    el("p", {}, `You have answered ${answered} of ${quiz.questions.length} questions.`),
    el(
      "p",
      {},
      el("button", { type: "button", id: "save", onclick: saveAnswers }, "Save the answers"),
      " ",
      el("button", { type: "button", class: "quiet", onclick: () => go(-1) }, "Back"),
    ),
  );
}

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
    .map(({ kind, about, options, intruder, shares }, at) => ({
      kind,
      about,
      n_options: options.length,
      intruder,
      chosen: quiz.chosen[at],
      shares,
    }))
    .filter((answer) => answer.chosen !== null);
  download("answers.json", JSON.stringify({ answers }, null, 1), "application/json");
}

startQuiz();
