"""The MedLDA paper's times: training by K, the share of the E-step in it, testing by K."""

from __future__ import annotations

from typing import Any

from experiments.book import Outcome, reproduces
from experiments.medlda import NEWS, Fitted, curves, fit, fitted, lda_svm, medlda, slda, twenty
from experiments.newsgroups import PAIR, newsgroups

CLOCK = (
    "CPU seconds of the process, one thread, on a machine that others used at the same time: figures of one table "
    "were taken in one run, and their ratios are what to read"
)


def _sizes(quick: bool) -> tuple[int, ...]:
    return (10,) if quick else (20, 40, 70)


def _classes(quick: bool) -> dict[str, dict[int, Fitted]]:
    """Fits with 20 classes by model and K."""
    names = ["LDA + SVM", "MedLDA, one-slack", "MedLDA, n-slack", "sLDA"]
    if not quick:
        names += ["MedLDA, Gibbs", "DiscLDA"]
        fitted("MedLDA, one-slack", 5, True), fitted("sLDA", 5, True)  # compiles before the timing starts
    few = {"sLDA": _sizes(quick)[:1], "MedLDA, Gibbs": _sizes(quick)[:1]}
    return {name: {k: fitted(name, k, quick) for k in few.get(name, _sizes(quick))} for name in names}


@reproduces("medlda", "figure 10: training time against K, two classes and 20 classes")
def figure10(quick: bool) -> Outcome:
    data, pair_sizes = newsgroups(PAIR), (10,) if quick else (5, 20)
    makes = {"LDA + SVM": lda_svm, "MedLDA": medlda}
    if not quick:
        makes["sLDA"] = lambda k, seed: slda(k, seed, supervision=100.0)
    for make in makes.values():
        fit(make(3, 0), data)  # compiles before the timing starts
    seeds = range(1 if quick else 2)
    two = {
        name: {k: [fit(make(k, seed), data).seconds for seed in seeds] for k in pair_sizes}
        for name, make in makes.items()
    }
    many = _classes(quick)
    rows: list[list[Any]] = [
        ["two classes", name, *_cells(values, pair_sizes, lambda v: sum(v) / len(v))] for name, values in two.items()
    ]
    rows += [["20 classes", name, *_cells(values, _sizes(quick), lambda v: v.seconds)] for name, values in many.items()]
    ratios = [many["MedLDA, one-slack"][k].seconds / many["LDA + SVM"][k].seconds for k in _sizes(quick)]
    rows.append(
        ["20 classes", "one-slack / (LDA + SVM)", *_cells(dict(zip(_sizes(quick), ratios, strict=True)), _sizes(quick))]
    )
    slda_ratio = min(many["sLDA"][k].seconds / many["MedLDA, one-slack"][k].seconds for k in many["sLDA"])
    claims = {}
    if not quick:  # times of the small versions are not compared
        claims["sLDA takes longer than MedLDA (one-slack) at every K, 20 classes"] = slda_ratio > 1
        claims["one-slack takes at most 1.5 times LDA + SVM at K = 40 and 70"] = max(ratios[1:]) <= 1.5
        claims["and at K = 20, one topic a class"] = ratios[0] <= 1.5
        quick_enough = [one for one in many["MedLDA, n-slack"].values() if one.accuracy >= 0.79]
        claims["20 classes to 0.79 within a minute"] = bool(quick_enough) and min(o.seconds for o in quick_enough) < 60
    note = (
        f"{NEWS}; {CLOCK}. Columns: K = {', '.join(map(str, pair_sizes))} with two classes (mean of {len(seeds)} "
        f"seeds), K = {', '.join(map(str, _sizes(quick)))} with 20. The paper: one-slack comparable to LDA + SVM, "
        "n-slack about three times slower, sLDA about ten times; our n-slack solver is a coordinate descent that "
        "goes on from step to step, and is as fast. LDA runs to its own convergence, sLDA 20 steps, the sampler 40 "
        "sweeps."
    )
    width = max(len(pair_sizes), len(_sizes(quick)))
    heads = ["", "CPU seconds", *(f"K no. {place + 1}" for place in range(width))]
    rows = [[*row, *(len(heads) - len(row)) * [None]] for row in rows]
    shown = {name: {k: [one.seconds] for k, one in values.items()} for name, values in many.items()}
    figure = curves(_sizes(quick), shown, {}, "training, CPU seconds (20 classes)", log=True)
    return Outcome(heads, rows, note, figure, claims)


def _cells(values: dict[int, Any], sizes: Any, read: Any = lambda value: value) -> list[Any]:
    return [float(read(values[k])) if k in values else None for k in sizes]


@reproduces("medlda", "figure 11: share of inference in training, and testing time against K, 20 classes")
def figure11(quick: bool) -> Outcome:
    many, sizes = _classes(quick), _sizes(quick)
    middle = sizes[len(sizes) // 2]
    rows = []
    for name, values in many.items():
        one = values.get(middle, values[sizes[0]])
        share = f"{one.inference / one.seconds:.0%}" if one.inference else None
        at = middle if middle in values else sizes[0]
        rows.append(
            [
                name if at == middle else f"{name} (K = {at})",
                one.seconds,
                share,
                *_cells(values, sizes, lambda v: v.testing),
            ]
        )
    slow = max(many["MedLDA, n-slack"][k].testing / many["LDA + SVM"][k].testing for k in sizes)
    claims = {}
    if not quick:
        claims["MedLDA predicts about as fast as LDA + SVM (at most twice its time)"] = slow <= 2
    if not quick and "DiscLDA" in many:
        claims["DiscLDA predicts more slowly than MedLDA"] = all(
            many["DiscLDA"][k].testing > many["MedLDA, n-slack"][k].testing for k in sizes
        )
    note = (
        f"{NEWS}; {CLOCK}. Training and the share of E-steps in it at K = {middle}; testing: all "
        f"{len(twenty(quick).truth):,} test documents. A sampler has no E-steps. The paper: more than 95 % inference "
        "for LDA + SVM and sLDA; testing alike for all but DiscLDA, which infers once for every class."
    )
    shown = {name: {k: [one.testing] for k, one in values.items()} for name, values in many.items()}
    figure = curves(sizes, shown, {}, "testing, CPU seconds", log=True)
    heads = ["", f"training, K = {middle}", "inference", *(f"testing, K = {k}" for k in sizes)]
    return Outcome(heads, rows, note, figure, claims)
