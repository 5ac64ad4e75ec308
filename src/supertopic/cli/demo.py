"""supertopic demo: fits topics to the docstrings of installed packages."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from supertopic.cli.documents import Force, Jobs, check_writable
from supertopic.cli.evaluate import Trial
from supertopic.cli.explain import show_explanation
from supertopic.cli.show import say, say_next, show, topics_table
from supertopic.cli.summary import fit_figures, say_fit, tallying_vectorizer

# words that occur in docstrings on any subject
DOCSTRING_WORDS = """
    accept accepts achieved allowed api applied apply arg argmax args argument arguments array array_like
    arrayapi arrays attribute attributes auto available axes axis backend backends behavior bool broadcast
    broadcastable callable capabilities capability case cases casting class classes code combinations
    compatible computation compute computed computes computing condition contain containing contains
    convenience convert copy corresponding cpu created cupy current dask data default defaults deprecated
    details determine dev device dict dimension dimensional dimensions discussion documentation doi dtype
    dtypes element elements ensure environment equal equivalent estimator estimators example examples
    expected experimental false features fit fits flag float float32 float64 following form func function
    functions future general given gpu guide handling http https implementation implemented implements
    include included including indicates info information input inputs instance instead int int64 integer
    integers iterable jax jit just keyword kwargs large length like list locations main math means
    metadata method methods mode module modulename multiple n_features n_samples named names nan ndarray
    need needed new non nonlinear note notes np num number numbers numpy object objects obtained option
    optional options org original otherwise output outputs pandas parameter parameters params pass passed
    performed performs possible pp provide provided provides python pytorch raise raised raises read ref
    reference references representing represents request requested required respectively result results
    return returned returning returns routing row rows same same_kind sample_weight scalar scikit scipy
    scipy_array_api second section self sequence set sets setting shape shaped signature similar simple
    single size sklearn specific specified specifies specify standard step stored str string subclass
    subok supplied support supported supports taken takes term testing times torch true tuple type types
    typically ufunc unchanged unicode uninitialized updated use used useful user user_guide uses using
    valid value values variable version versionadded versionchanged vol want warning way weights wide wise
    work works www x0 x1 x2 xp zero zeros
"""


def demo(
    topics: Annotated[int, typer.Option("--topics", "-k", min=1, help="How many topics.")] = 20,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same topics.")] = 0,
    out: Annotated[
        str | None, typer.Option("--out", "-o", metavar="FILE", help="Save the model.", show_default=False)
    ] = None,
    jobs: Jobs = None,
    force: Force = False,
    packages: Annotated[str, typer.Option(hidden=True)] = "numpy,scipy,sklearn",
) -> None:
    """Try it out: topics of the docstrings of numpy, scipy and scikit-learn, in less than a minute."""
    if out is not None:
        check_writable(out, force=force, model=True)
    start = time.perf_counter()
    import numpy as np

    from supertopic import LDA, datasets

    names = packages.split(",")
    corpus = datasets.docstrings(names)
    if len(corpus.text) < 20:
        raise ValueError(f"there are only {len(corpus.text)} docstrings in {packages}, too few for topics")
    order = np.random.default_rng(seed).permutation(len(corpus.text))
    n_held_out = len(order) // 10
    held_out, train = order[:n_held_out], order[n_held_out:]
    say(
        f"{len(order):,} docstrings of {', '.join(names)}, read in {time.perf_counter() - start:.1f} s;"
        f" {n_held_out:,} of them are held out.\n"
    )
    documents = [corpus.text[i] for i in train]
    start = time.perf_counter()
    model = LDA(
        topics, inference="gibbs", max_iter=300, vectorizer=_vectorizer(), random_state=seed, n_jobs=jobs, verbose=1
    ).fit(documents)
    say_fit(fit_figures(model, time.perf_counter() - start), model)
    say("\nThe topics, and their share of the documents:\n")
    show(topics_table(model, 8))
    _say_held_out(model, LDA(1, vectorizer=_vectorizer(), max_iter=5).fit(documents), corpus, held_out)
    if out is not None:
        model.save(out)
        say(f"\nSaved to {out}.")
    file = out or "demo.supertopic"
    say_next([
        ["topics", file, "--words", "15"] if out else ["demo", "--out", file],
        ["explain", file, "eigenvalues of a sparse matrix"],
        ["fit", "your.csv", "--text", "your_column", "--out", "model.supertopic"],
    ])  # fmt: skip


def _vectorizer() -> Any:
    from supertopic.vectorizer import Vectorizer

    english = Vectorizer(stop_words="english").fit(["a word"]).stop_words_
    return tallying_vectorizer(stop_words=sorted(english.union(DOCSTRING_WORDS.split())))


def _say_held_out(model: Any, one_topic: Any, corpus: Any, held_out: Any) -> None:
    """Print the held-out likelihood against that of word frequencies alone, and explain one docstring."""
    import numpy as np

    documents = [corpus.text[i] for i in held_out]
    mine, plain = (Trial(fitted, documents).perplexity for fitted in (model, one_topic))
    say(
        f"\nOn the {len(documents):,} held-out docstrings, half of each given, a word of the other half is as hard"
        f"\nto guess as among {mine:,.0f} equally likely ones (perplexity); from word frequencies alone, {plain:,.0f}."
    )
    short = [i for i, text in enumerate(documents) if 400 <= len(text) <= 800] or [0]
    words = model._as_corpus([documents[i] for i in short])
    for_second_topic = np.sort(model.transform(words), axis=1)[:, -2:].min(axis=1) * words.lengths
    chosen = short[int(for_second_topic.argmax())]  # a short docstring about two topics
    say(f"\nOne of them, {corpus.name[held_out[chosen]]}, explained:\n")
    show_explanation(model, documents[chosen])
