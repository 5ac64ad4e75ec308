"""The documentation stays short enough to be read; sentences that a review found unreadable do not come back."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NAMES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")
PAGES = [*(ROOT / name for name in NAMES), *ROOT.glob("docs/*.md")]
TABLES = [ROOT / "experiments" / "RESULTS.md", ROOT / "bench" / "RESULTS.md"]
UNREADABLE = (
    "because they predict a",
    "the topics follow the gradient through that inference",
    "Certainty that holds",
    "whatever the response's law says",
    "where the law expects no such labels",
    "come as far as the whole one",
    "With noise for labels the slope is zero",
    "errors are those of a textbook",
    "that differs from the others",
    "passed over until its topic shares stand",
    "settle among themselves",
    "shares leap",
    "The host decides them",
    "survived the test named first",
    "Thousandths of a nat",
    "follows means instead of labels",
)


def words(path, tables=True):
    """The words of a page; of results, without rows of tables and pictures."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if tables or line[:2] not in ("| ", "![")]
    return [word for line in lines for word in line.split() if re.search(r"\w", word)]


def test_at_most_25000_words():
    assert sum(len(words(path)) for path in PAGES) + sum(len(words(path, tables=False)) for path in TABLES) <= 25_000


def test_at_most_28_pages():
    assert len(list(ROOT.glob("docs/*.md"))) <= 28


def test_unreadable_sentences_are_gone():
    said = {path.name: path.read_text(encoding="utf-8") for path in PAGES + TABLES}
    found = {name: [text for text in UNREADABLE if text in page] for name, page in said.items()}
    assert not {name: texts for name, texts in found.items() if texts}


def test_links_between_pages_lead_somewhere():
    """Those of the pages in docs/ are checked by `make docs`, too."""
    missing = []
    for path in [*PAGES, ROOT / "paper" / "paper.md"]:
        for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8")):
            if target.startswith(("http://", "https://")):
                missing += [] if re.fullmatch(r"https?://[\w.-]+(/[^\s]*)?", target) else [target]
            elif not target.startswith("#") and not (path.parent / target.split("#")[0]).exists():
                missing.append(f"{path.name}: {target}")
    assert not missing


def test_what_people_look_for_is_two_clicks_from_home():
    pages, reached = {path.name: path.read_text(encoding="utf-8") for path in ROOT.glob("docs/*.md")}, {"index.md"}
    for _ in range(2):
        reached |= {name for page in reached for name in re.findall(r"\]\((\w+\.md)[)#]", pages[page])}
    found = "\n".join(pages[name] for name in sorted(reached))
    for sought in ("model.check(", ".compare(", "PC(focus=", "model.predictor()", "estimate_effect(", "model.effects("):
        assert sought in found, sought
