"""Helpers for the tests of the command line: a small corpus, and functions that run a command in this process."""

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from supertopic.cli import app

ANIMALS = "cat dog horse mouse bird fish animal zoo"
MONEY = "bank market stock money price growth trade profit"


def run(*args, stdin=None):
    return CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)


def fails(*args, stdin=None):
    """Run a command that must fail with exit code 1; return its one sentence."""
    done = run(*args, stdin=stdin)
    assert done.exit_code == 1, done.output
    assert "Traceback" not in done.output and done.stdout == ""
    *notes, sentence = done.stderr.splitlines()
    assert sentence.startswith("Error: ")
    assert not [
        line
        for line in notes
        if not line.startswith(("Warning: ", "Reading the ", "Fitting slda", "Column ", "The model "))
    ]
    return sentence


def misused(*args):
    """Run a command with a usage error; return the message without its box."""
    done = run(*args)
    assert done.exit_code == 2, done.output
    return " ".join(done.stderr.replace("│", " ").split())


def write_corpus(path):
    """A table with two obvious topics in the column body, and two documents (rows 10 and 11) without a word."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice((ANIMALS, MONEY)[i % 2].split(), 12)) for i in range(80)]
    texts[10], texts[11] = "", None
    frame = pd.DataFrame({"id": np.arange(80) + 100, "body": texts, "label": [("a", "b")[i % 2] for i in range(80)]})
    frame.to_csv(path, index=False)


def write_rated(path, n=120):
    """Documents about animals and money; every column of a response increases with the share of money.

    Rows 5 to 9 have no label in any column.
    """
    rng = np.random.default_rng(1)
    share = rng.uniform(0, 1, n)
    texts = [
        " ".join(rng.choice(MONEY.split() if rng.uniform() < p else ANIMALS.split()) for _ in range(30)) for p in share
    ]
    frame = pd.DataFrame(
        {
            "body": texts,
            "price": np.round(10 * share + 0.3 * rng.normal(size=n), 2),
            "label": np.where(share > 0.5, "dear", "cheap"),
            "id2": np.where(share > 0.5, 1, 0),
            "id3": (share * 3).astype(int),
            "stars": 1 + (share * 5).astype(int),
            "sold": rng.poisson(np.exp(1 + 3 * share)),
        }
    )
    frame.loc[5:9, ["price", "label", "id2", "id3", "stars", "sold"]] = None
    frame.to_csv(path, index=False)
    return frame
