"""What the papers print, and which outcome of ours stands beside it."""

from __future__ import annotations

from collections.abc import Callable

from experiments.papers import (
    NO,
    PARTLY,
    SETTINGS,
    UNTESTED,
    YES,
    Outcomes,
    Row,
    above,
    always,
    cells,
    if_holds,
)

_KS = ["K = 5", "K = 10", "K = 20", "K = 30", "K = 50"]


def _films(kept: Outcomes) -> str:
    plain = max(kept.value("slda.peers", "sLDA, supervision 1", c) for c in ("K = 10", "K = 30"))
    best = max(kept.value("slda.figure2", "sLDA, R²", column) for column in _KS)
    return YES if plain >= 0.5 else SETTINGS if best >= 0.5 else NO


def _same_as(holds: Callable[[Outcomes], bool]) -> Callable[[Outcomes], str]:
    return lambda kept: YES if holds(kept) else NO


def _lengths(kept: Outcomes, setting: int, other: str) -> list[bool]:
    """Whether MedLDA is above another, for each length of documents."""
    both = [kept.text("medlda.figure9", f"{setting} | {row}", "accuracy") for row in ("MedLDA |", other)]
    ours, theirs = ([float(part.split(" ")[0]) for part in text.split(" / ")] for text in both)
    return [one > two for one, two in zip(ours, theirs, strict=True)]


def _setting1(kept: Outcomes) -> str:
    paper, free = _lengths(kept, 1, "SVM, C ≥ 1"), _lengths(kept, 1, "SVM, C free")
    return YES if all(paper) and all(free) else PARTLY if all(paper) else NO


def _peaks(kept: Outcomes) -> tuple[float, float]:
    inference = [kept.text("medlda.figure11", row, "inference") for row in ("LDA + SVM", "sLDA")]
    return float(inference[0].rstrip("%")), float(inference[1].rstrip("%"))


def _zeros(kept: Outcomes) -> bool:
    ends = [kept.value("sage.figure2", "zeros", column) for column in ("5%", "100%")]
    return abs(ends[0] - 0.98) < 0.01 and abs(ends[1] - 0.90) < 0.01


def _rare(kept: Outcomes) -> str:
    shares = [sum(kept.value("sage.figure4", row, str(d)) for d in range(1, 6)) for row in ("SAGE", "LDA")]
    return f"share of variation in the rarer half of the words {shares[0]:.3f}; LDA {shares[1]:.3f}"


def _gain(kept: Outcomes, row: str) -> float:
    dirichlet = kept.value("sage.figure2", "Dirichlet, precision", "5%")
    return 100 * (kept.value("sage.figure2", row, "5%") - dirichlet)


SAGE_BEST = "SAGE, exponential prior, log counts, background share 0.9"


def _sage_gain(kept: Outcomes) -> str:
    twin = _gain(kept, "Dirichlet, log counts, background share")
    return (
        f"{_gain(kept, 'SAGE (default'):+.1f} points; best {_gain(kept, SAGE_BEST):+.1f} (log counts, background share "
        f"0.9), of which a Dirichlet with both has {twin:+.1f}"
    )


ROWS = [
    Row(
        "sLDA", "fig. 2", "R², film ratings, best K", "0.500", "slda.figure2",
        lambda kept: cells("slda.figure2", "{sLDA, R²::K = 30} (K = 30, supervision 10)")(kept)
        + cells("slda.peers", "; at the paper's 1, half of the data: {sLDA, supervision 1::K = 30}")(kept),
        _films, "supervision 10 for 1; a ridge on tf-idf has 0.587",
    ),
    Row(
        "sLDA", "fig. 2", "held-out words as well as LDA", "yes", "slda.figure2",
        cells("slda.figure2", "{sLDA, nats::K = 5} at K = 5, LDA {LDA + ridge, nats::K = 5}; "
              "{sLDA, nats::K = 50} at 50, LDA {LDA + ridge, nats::K = 50}"),
        if_holds("slda.figure2", "sLDA's topics fit held-out words as well"), "supervision 10",
    ),
    Row(
        "sLDA", "§3", "lasso / sLDA, film ratings", "0.457 / 0.500", "slda.lasso",
        cells("slda.lasso", "{lasso, word::R²} / {sLDA::R²}; lasso on tf-idf {lasso, tf-idf::R²}"),
        if_holds("slda.lasso", "sLDA predicts better than the lasso on word frequencies"),
        "the order only; the lasso on tf-idf is better than both",
    ),
    Row("sLDA", "§3", "lasso / sLDA, Digg", "0.088 / 0.095", "", always("–"), always(UNTESTED), "nobody has this data"),
    Row(
        "sLDA", "fig. 1", "topics along their coefficients", "picture", "slda.figure1",
        lambda kept: f"coefficients from {min(_etas(kept)):.2f} to {max(_etas(kept)):.2f}",
        if_holds("slda.figure1", "the ends lie more than ten standard errors apart", but=PARTLY),
        "the same picture; errors hold those of the topics, and the ends lie three of them apart",
    ),
    Row(
        "MedLDA", "fig. 2, 3", "classes grouped, profiles sharper", "picture", "medlda.figure2",
        cells("medlda.figure2", "neighbours of the same class {MedLDA::neighbours alike}; LDA {LDA::neighbours alike}"),
        lambda kept: YES if kept.claim("medlda.figure2", "MedLDA groups documents")
        and kept.claim("medlda.figure3", "MedLDA's mean shares") else NO, "K = 70 for 110",
    ),
    Row(
        "MedLDA", "fig. 4", "smallest entropy of shares", "of all models", "medlda.figure4",
        cells("medlda.figure4", "{MedLDA::K = 40}; LDA {LDA::K = 40}, DiscLDA {DiscLDA::K = 40}"),
        _same_as(lambda kept: kept.value("medlda.figure4", "MedLDA", "K = 40")
                 < kept.value("medlda.figure4", "DiscLDA", "K = 40")), "below LDA and sLDA, not below DiscLDA",
    ),
    Row(
        "MedLDA", "fig. 5a", "accuracy, two classes", "about 0.84", "medlda.figure5a",
        cells("medlda.figure5a", "{MedLDA | best::K = 10}; collapsed {MedLDA, collapsed (::K = 10}; eight averaged "
              "{MedLDA, collapsed, eight::K = 10}"),
        lambda kept: YES if kept.claim("medlda.figure5a", "one fit of MedLDA reaches 0.84") else SETTINGS,
        "one fit misses it; an SVM on tf-idf has 0.842",
    ),
    Row(
        "MedLDA", "fig. 5b", "above the SVM, 20 classes", "+0.013", "medlda.figure5b",
        lambda kept: f"variational {_over_svm(kept, 'MedLDA, n-slack'):+.3f}, "
        f"collapsed {_over_svm(kept, 'MedLDA, collapsed'):+.3f}",
        lambda kept: YES if _over_svm(kept, "MedLDA, n-slack") >= 0.013
        else SETTINGS if _over_svm(kept, "MedLDA, collapsed") >= 0.013 else NO,
        "collapsed inference, the default here",
    ),
    Row(
        "MedLDA", "fig. 6a", "flat beyond cost 8", "yes", "medlda.figure6a",
        cells("medlda.figure6a", "{16::accuracy} at 16, {64::accuracy} at 64, {256::accuracy} at 256, "
              "{512::accuracy} at 512"),
        _same_as(lambda kept: abs(kept.value("medlda.figure6a", "16", "accuracy")
                                  - kept.value("medlda.figure6a", "512", "accuracy")) < 0.02), "flat from 256 on",
    ),
    Row(
        "MedLDA", "fig. 6b", "support documents, fewer than LDA + SVM", "about 4 times", "medlda.figure6b",
        lambda kept: f"{_fewer(kept, '256'):.1f} times at cost 256, {_fewer(kept, '512'):.1f} at 512",
        lambda kept: PARTLY if _fewer(kept, "256") >= 3.5 > _fewer(kept, "512") else YES, "depends on the cost",
    ),
    Row(
        "MedLDA", "fig. 7", "R² above sLDA, films, K ≤ 15", "slightly", "medlda.figure7",
        cells("medlda.figure7", "{R², MedLDA::K = 5}, {R², MedLDA::K = 10}, {R², MedLDA::K = 15}; sLDA "
              "{R², sLDA::K = 5}, {R², sLDA::K = 10}, {R², sLDA::K = 15}"),
        _same_as(above("medlda.figure7", "R², MedLDA", "R², sLDA", ["K = 5", "K = 10", "K = 15"])),
        "sLDA with supervision 10",
    ),
    Row(
        "MedLDA", "fig. 8", "R² above sLDA, hotels", "clearly", "medlda.figure8",
        cells("medlda.figure8", "K = 20: {MedLDA | best::K = 20}; sLDA {sLDA::K = 20}"),
        if_holds("medlda.figure8", "MedLDA is above sLDA at every K"), "sLDA with supervision 10",
    ),
    Row(
        "MedLDA", "fig. 8a", "HTMM + SVR below, and stabler than LDA + SVR", "yes", "medlda.htmm",
        cells("medlda.htmm", "{HTMM::K = 20}; LDA {LDA::K = 20}, sLDA {sLDA::K = 20}"),
        lambda kept: YES if kept.claim("medlda.htmm", "HTMM + SVR varies less")
        else PARTLY if kept.claim("medlda.htmm", "HTMM + SVR is below") else NO, "below, not stabler",
    ),
    Row(
        "MedLDA", "fig. 9, setting 1", "above the SVM at all lengths", "yes", "medlda.figure9",
        cells("medlda.figure9", "MedLDA {1 | MedLDA |::accuracy}; SVM, paper's C {1 | SVM, C ≥::accuracy}; C tuned "
              "{1 | SVM, C free::accuracy}"),
        _setting1, "α = 1/K; not above a tuned SVM at 25 and 50",
    ),
    Row(
        "MedLDA", "fig. 9, setting 2", "comparable with the SVM", "yes", "medlda.figure9",
        cells("medlda.figure9", "MedLDA {2 | MedLDA |::accuracy}; SVM {2 | SVM, C free::accuracy}"),
        if_holds("medlda.figure9", "setting 2: MedLDA is comparable"), "",
    ),
    Row(
        "MedLDA", "fig. 9, setting 3", "well above the SVM up to 250", "yes", "medlda.figure9",
        cells("medlda.figure9", "MedLDA {3 | MedLDA |::accuracy}; SVM {3 | SVM, C free::accuracy}"),
        lambda kept: YES if all(_lengths(kept, 3, "SVM, C free")[:2]) else NO, "",
    ),
    Row(
        "MedLDA", "fig. 10", "time: one-slack / (LDA + SVM)", "about 1", "medlda.figure10",
        cells("medlda.figure10", "{20 classes | one-slack::K no. 1}, {20 classes | one-slack::K no. 2}, "
              "{20 classes | one-slack::K no. 3}"),
        lambda kept: YES if kept.claim("medlda.figure10", "and at K = 20") else PARTLY,
        "n-slack 0.9 to 1.8 times one-slack (paper: 3); sLDA 10 times (paper: 10)",
    ),
    Row(
        "MedLDA", "fig. 11a", "inference, share of training", "> 95 %", "medlda.figure11",
        lambda kept: f"LDA + SVM {_peaks(kept)[0]:.0f} %, sLDA {_peaks(kept)[1]:.0f} %",
        lambda kept: YES if min(_peaks(kept)) > 95 else NO, "",
    ),
    Row(
        "MedLDA", "fig. 11b", "DiscLDA's testing time / LDA's", "about 20", "medlda.disclda",
        cells("medlda.disclda", "{testing time::K0 = 1}, {testing time::K0 = 2}, {testing time::K0 = 4}"),
        lambda kept: YES if kept.value("medlda.disclda", "testing time", "K0 = 2") >= 18 else NO, "slower, by less",
    ),
    Row(
        "SSTM", "table 1", "error, six of fifty topics", "0.03", "sstm.table1",
        lambda kept: kept.text("sstm.table1", "all |  | error of SSTM", "words").split(" (")[0]
        + cells("sstm.settings", "; at the paper's α and supervision {1 | 0.1::error} (folds)")(kept),
        lambda kept: SETTINGS if kept.claim("sstm.table1", "the mean error is at most the paper's") else NO,
        "α 0.005 for 0.1, supervision 10 for 1, best of four chains",
    ),
    Row(
        "SSTM", "fig. 2", "error below the pipeline", "at every K", "sstm.figure2",
        lambda kept: "K = 50, 10 %: " + _errors(kept, "sstm.figure2", "50 | 0.1"),
        if_holds("sstm.figure2", "SSTM's error is below the pipeline's at every K"),
        "as above; dense sLDA has 0.023 to 0.031",
    ),
    Row(
        "SSTM", "fig. 3", "error below the pipeline, by share of topics", "mostly", "sstm.figure3",
        lambda kept: "K = 50, 20 %: " + _errors(kept, "sstm.figure3", "50 | 0.2")
        + "; all topics: " + _errors(kept, "sstm.figure3", "50 | 1.0"),
        if_holds("sstm.figure3", "SSTM's error is below the pipeline's where a tenth"), "as above",
    ),
    Row(
        "SSTM", "fig. 4", "squared error of ratings below the pipeline", "at most K", "sstm.figure4",
        lambda kept: "K = 50, 10 %: " + _errors(kept, "sstm.figure4", "50 | 0.1"),
        if_holds("sstm.figure4", "SSTM's error is below the pipeline's for most K", "the dense model's"), "as above",
    ),
    Row("SAGE", "fig. 2", "gain over a Dirichlet, 5 % of the data", "> 10 points", "sage.figure2", _sage_gain,
        lambda kept: YES if _gain(kept, "SAGE (default") > 10 else NO, ""),
    Row("SAGE", "fig. 2", "zeros, 5 % … all of the data", "98 … 90 %", "sage.figure2",
        cells("sage.figure2", "{zeros::5%} … {zeros::100%}"), _same_as(_zeros), ""),
    Row(
        "SAGE", "fig. 3", "perplexity below LDA", "all pairs, K = 25, 50", "sage.figure3",
        cells("sage.figure3", "{pairs in which SAGE is below | Chib::K = 25}, "
              "{pairs in which SAGE is below | Chib::K = 50} (Chib)"),
        if_holds("sage.figure3", "SAGE below LDA in every pair at K = 25 and 50, Chib",
                 "SAGE below LDA in every pair at K = 25 and 50, left"), "and by two other estimators",
    ),
    Row(
        "SAGE", "fig. 3", "non-zeros, K = 10 … 50", "5 … 1 %", "sage.figure3",
        cells("sage.figure3", "{SAGE | non-zeros::K = 10} … {SAGE | non-zeros::K = 50}"),
        _same_as(lambda kept: kept.value("sage.figure3", "SAGE | non-zeros", "K = 50") < 0.02),
        "the default exponential prior is less sparse",
    ),
    Row("SAGE", "fig. 4", "rare words vary little", "picture", "sage.figure4", _rare,
        if_holds("sage.figure4", "SAGE varies less than LDA in the rarer half"), ""),
    Row(
        "SAGE", "fig. 6", "accuracy, ideology of unseen blogs", "0.696 (SVM 0.69)", "sage.figure6",
        lambda kept: cells("sage.figure6", "{mean::SAGE}, SVM {mean::linear SVM}, majority "
                           "{mean::majority of the posts left out}")(kept)
        + "; their words in the fit: "
        + kept.shown("sage.figure6_unlabelled", "mean", "SAGE, their words in the fit, three starts averaged"),
        lambda kept: YES if kept.claim("sage.figure6", "SAGE's median is 0.69") else NO,
        "a quarter of the posts; the transductive task is easier",
    ),
    Row("SAGE", "§5", "loss without interactions", "substantial", "sage.interactions",
        cells("sage.figure6", "{mean::no interactions} without, {mean::SAGE} with"),
        if_holds("sage.interactions", "accuracy falls without them everywhere"), ""),
    Row("SAGE", "§5", "zeros, by kind of component", "93 / 82 / 99.3 %", "", always("–"), always(UNTESTED),
        "not kept by the run"),
    Row(
        "SAGE", "table 1", "error in km, mean / median", "845 / 501", "sage.table1",
        cells("sage.table1", "{GeoSAGE::mean} / {GeoSAGE::median}"),
        lambda kept: YES if kept.value("sage.table1", "GeoSAGE", "mean") <= 845 else NO, "half of the training users",
    ),
]  # fmt: skip


def _etas(kept: Outcomes) -> list[float]:
    return [float(line[0]) for line in kept.table("slda.figure1")[1:]]


def _over_svm(kept: Outcomes, row: str) -> float:
    return kept.value("medlda.figure5b", row, "K = 40") - kept.value("medlda.figure5b", "SVM on term", "K = 40")


def _fewer(kept: Outcomes, cost: str) -> float:
    name, column = "medlda.figure6b", "support documents"
    return kept.value(name, "LDA + SVM", column) / kept.value(name, f"MedLDA, ℓ = {cost}", column)


def _errors(kept: Outcomes, name: str, where: str) -> str:
    column = kept.table(name)[0][-1]
    return f"{kept.shown(name, f'SSTM | {where}', column)}, pipeline {kept.shown(name, f'pipeline | {where}', column)}"
