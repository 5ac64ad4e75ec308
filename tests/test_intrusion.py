"""The quiz of intruders: its questions, its page by mouse and keys, and the score of answers."""

import json

import numpy as np
import pandas as pd
import pytest

from supertopic import LDA, MixtureOfCategoricals
from supertopic.explore.intrusion import score_answers, write_quiz
from tests.cli_tools import fails, misused, run

WORDS = [["cat", "dog", "bird", "fish"], ["bank", "fund", "stock", "bond"], ["goal", "match", "team", "coach"]]


@pytest.fixture(scope="module")
def quiz(tmp_path_factory):
    """(model, texts, the page)"""
    rng = np.random.default_rng(0)
    texts = [" ".join([*rng.choice(WORDS[i % 3], 20), *rng.choice(WORDS[i // 3 % 3], 4)]) for i in range(60)]
    texts[0] = "<script>alert(1)</script> " + texts[0]
    model = LDA(3, max_iter=30, random_state=0).fit(texts)
    folder = tmp_path_factory.mktemp("quiz")
    assert write_quiz(model, folder / "quiz.html", texts, n_documents=4) == 7
    model.save(folder / "m.supertopic")
    pd.DataFrame({"text": texts}).to_csv(folder / "data.csv", index=False)
    return model, texts, folder / "quiz.html"


def answered(page, path):
    """The answers that the page saves."""
    with page.expect_download() as waiting:
        page.click("#save")
    waiting.value.save_as(path)
    return json.loads(path.read_text())["answers"]


def test_intruders_are_of_other_topics(quiz, watched, tmp_path):
    model, texts, file = quiz
    page = watched.open(file)
    seen = []
    for _ in range(7):
        options = page.locator(".choice bdi").all_inner_texts()
        text = page.locator("blockquote").all_inner_texts()
        page.keyboard.press(str(1 + len(seen) % 2))
        assert page.locator("input:checked").count() == 1
        page.keyboard.press("Enter")
        seen.append((options, text))
    answers = answered(page, tmp_path / "answers.json")
    assert [one["chosen"] for one in answers] == [0, 1, 0, 1, 0, 1, 0]
    assert [one["kind"] for one in answers] == ["word"] * 3 + ["topic"] * 4
    top = [set(group) for group in model.top_words(4).groupby("topic").word.agg(list)]
    for k, (one, (options, text)) in enumerate(zip(answers[:3], seen, strict=False)):
        assert one["about"] == k and not text and len(options) == one["n_options"] == 6
        intruder = options[one["intruder"]]
        assert intruder not in top[k] and any(intruder in other for other in top)
        assert len(top[k] & set(options)) == 4
    shares = model.transform(texts)
    for one, (options, text) in zip(answers[3:], seen[3:], strict=True):
        own = shares[one["about"]]
        assert text == [texts[one["about"]]] and len(options) == one["n_options"] == 2
        assert one["shares"][one["intruder"]] == pytest.approx(min(one["shares"])) and max(
            one["shares"]
        ) == pytest.approx(own.max())


def test_the_keyboard_is_enough(quiz, watched, tmp_path):
    page = watched.open(quiz[2])
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("3")
    page.keyboard.press("9")  # no such choice
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert page.locator("input:checked").get_attribute("value") == "2"
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    assert "You have answered 1 of 7 questions" in page.inner_text("#main")
    assert page.evaluate("document.activeElement.id") == "save"
    with page.expect_download() as waiting:
        page.keyboard.press("Enter")
    waiting.value.save_as(tmp_path / "a.json")
    assert len(json.loads((tmp_path / "a.json").read_text())["answers"]) == 1


def answers(path, chosen, kind="word", intruder=0, **more):
    rows = [
        {"kind": kind, "about": k, "n_options": 6, "intruder": intruder, "chosen": c, **more}
        for k, c in enumerate(chosen)
    ]
    path.write_text(json.dumps({"answers": rows}))
    return path


def test_answers_are_scored_with_errors(tmp_path):
    one, two = answers(tmp_path / "1.json", [0, 0, 0, 3]), answers(tmp_path / "2.json", [0, 0, 1, 3])
    topics = answers(tmp_path / "3.json", [0, 1], "topic", shares=[0.01, 0.5, 0.1, 0.1, 0.1, 0.1])
    found = score_answers([one, two, topics])
    row = found.overall.set_index("kind").loc["word intrusion"]
    assert row[["questions", "answers", "right"]].tolist() == [4, 8, 0.625] and row.by_chance == pytest.approx(1 / 6)
    statsmodels = pytest.importorskip("statsmodels.stats.proportion")
    assert (row.lower, row.upper) == pytest.approx(statsmodels.proportion_confint(2.5, 4, 0.1, "wilson"), rel=1e-6)
    assert found.topics.right.tolist() == [1.0, 1.0, 0.5, 0.0]
    other = found.overall.set_index("kind").loc["topic intrusion"]
    assert other.right == 0.5 and other.log_odds == pytest.approx(np.log(0.01 / 0.5) / 2)


@pytest.mark.parametrize(
    "text",
    ["{", "[]", '{"answers": [1]}',
     '{"answers": [{"kind": "word", "about": 0, "n_options": 6, "intruder": 0, "chosen": 6}]}',
     '{"answers": [{"kind": "word", "about": true, "n_options": 6, "intruder": 0, "chosen": 1}]}'],
)  # fmt: skip
def test_what_holds_no_answers_is_refused(tmp_path, text):
    (tmp_path / "a.json").write_text(text)
    assert "holds no answers of a quiz" in fails("intrusion", "--score", tmp_path / "a.json")


def test_on_the_command_line(quiz, tmp_path):
    folder = quiz[2].parent
    made = run(
        "intrusion", folder / "m.supertopic", folder / "data.csv", "--out", tmp_path / "q.html", "--documents", 4
    )
    assert "7 questions" in made.stderr and (tmp_path / "q.html").read_bytes() == quiz[2].read_bytes()
    file = answers(tmp_path / "a.json", [0, 0, 2])
    assert "67%" in (shown := run("intrusion", "--score", file)).stdout and "missed: 2." in shown.stderr
    found = json.loads(run("intrusion", "--score", file, "--json").stdout)
    assert found["overall"][0]["right"] == pytest.approx(2 / 3) and found["overall"][0]["log_odds"] is None
    assert "give MODEL and DATA" in misused("intrusion")
    assert "without a model" in misused("intrusion", folder / "m.supertopic", "--score", file)


def test_one_topic_has_no_intruder(quiz, tmp_path):
    with pytest.raises(ValueError, match="expected two at least"):
        write_quiz(LDA(1, max_iter=2).fit(quiz[1]), tmp_path / "q.html", quiz[1])
    assert (
        write_quiz(MixtureOfCategoricals(3, max_iter=5).fit(quiz[1]), tmp_path / "q.html", quiz[1], n_documents=2) > 2
    )
