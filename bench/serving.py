"""A model that answers requests: the predictor beside scikit-learn's tf-idf pipeline, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import joblib
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from bench import clock
from bench.corpus import Documents
from bench.plan import Plan
from bench.report import Table, say
from supertopic import SLDAClassifier
from supertopic.datasets import docstrings

_SHORT = 200  # characters of a short text
_OURS = "from supertopic.predictor import load_predictor as load"
_THEIRS = "import sklearn.pipeline, sklearn.linear_model, sklearn.feature_extraction.text; from joblib import load"
_ASK = """
import json, re, sys, threading, time
start = {clock}()
{imports}
imported = {clock}()
model = load(sys.argv[1])
loaded = {clock}()
texts = json.load(open(sys.argv[2], encoding="utf-8"))
model.predict(texts[:5])

def ask(some, seconds):
    for text in some:
        before = {clock}()
        model.predict([text])
        seconds.append({clock}() - before)

def at(seconds, share):
    return 1e3 * sorted(seconds)[int(share * (len(seconds) - 1))]

alone, crowd = [], [[] for _ in range(8)]
ask(texts[:1000], alone)
threads = [threading.Thread(target=ask, args=(texts[place::8][:200], seconds)) for place, seconds in enumerate(crowd)]
for thread in threads: thread.start()
for thread in threads: thread.join()
best = 0.0
for _ in range(3):
    before = {clock}()
    model.predict(texts)
    best = max(best, len(texts) / ({clock}() - before))
memory = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024  # of Linux
together = [one for seconds in crowd for one in seconds]
print(json.dumps([imported - start, 1e3 * (loaded - imported), at(alone, 0.5), at(alone, 0.99), at(together, 0.99),
                  best, memory]))
"""
_COLUMNS = ["what", "import s", "load ms", "p50 ms", "p99 ms", "p99 ms of 8 threads", "texts/s", "memory MB"]


def table(documents: Documents, plan: Plan) -> Table:
    """documents : those of other tables, which are counts; a request is a text."""
    data = docstrings()
    texts, labels = list(data.text), list(data.package)
    found = Table(
        "13. Serving",
        _COLUMNS,
        f"{len(texts):,} docstrings by package, 20 topics; requests of at most {_SHORT} characters, one text each, and "
        "all in one call (texts/s, one thread). Each model in a process of its own, one after the other.",
    )
    say("serving: fits")
    ours = SLDAClassifier(20, cross_fit=0, random_state=0, max_iter=2 if plan.quick else None).fit(texts, labels)
    theirs = make_pipeline(TfidfVectorizer(), LogisticRegression()).fit(texts, labels)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "texts.json").write_text(json.dumps([text[:_SHORT] for text in texts]), encoding="utf-8")
        ours.predictor().save(place / "ours")
        joblib.dump(theirs, place / "theirs")
        for name, imports in (("ours", _OURS), ("theirs", _THEIRS)):
            say(f"serving: {name}")
            about = "supertopic's predictor" if name == "ours" else "scikit-learn, tf-idf"
            found.add(about, *_asked(imports, place / name, place / "texts.json"))
    return found


def _asked(imports: str, model: Path, texts: Path) -> list[str]:
    """The figures of a process that imports, loads and answers."""
    code = _ASK.format(imports=imports, clock=clock.name())
    command = [sys.executable, "-c", code, str(model), str(texts)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, load, *numbers, speed, memory = json.loads(done.stdout)
    return [f"{seconds:.2f}", f"{load:.0f}", *(f"{one:.2f}" for one in numbers), f"{speed:,.0f}", f"{memory:.0f}"]
