"""`python -m bench.parity [NAME ...] [--write]`: the same problem by supertopic and by other libraries.

Each row is one number by both. Where both solve one convex problem, they differ by what solvers leave over; where both
sample or climb from another start, the row says how far apart they may be. The command fails if a row is further apart.
The documents are simulated, so that it runs anywhere, in about a minute.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.special import digamma
from threadpoolctl import threadpool_limits

from bench.corpus import ALPHA, BETA, Documents
from bench.ours import batch_of, spec_of
from bench.peers import version
from bench.report import Table, machine, say, write
from supertopic import LDA, DiscLDAClassifier, SLDAClassifier, SLDARegressor, metrics
from supertopic.backends.threads import Threads
from supertopic.datasets import simulate
from supertopic.fitted.spec import Spec
from supertopic.inference.batches import gather
from supertopic.inference.variational.local import LocalLimits
from supertopic.inference.variational.step import global_evidence, take_step
from supertopic.margin import solve_binary, solve_classes, solve_regression
from supertopic.model import State

_NOTE = (
    'Simulated documents. "Apart": the difference, relative to the peer\'s number; of vectors, the largest difference '
    'over the largest number. "Allowed": what the command accepts. GLM, SVM and ℓ1: one topic and five covariates '
    "(`coef_prior`: flat, Laplace), or topic shares as features (SVM). Standard errors differ by what they take: ours "
    "have the dispersion of the highest likelihood, statsmodels that of the residuals (Gaussian, gamma and inverse "
    "Gaussian y); ours have the observed information of a probit, statsmodels the expected one; and ours take the "
    "cut-points of ordered classes as given."
)
_COLUMNS = ["what", "peer", "ours", "peer's", "apart", "allowed"]
_PACKAGES = ("statsmodels", "glum", "skglm", "topica")  # beside those that every table names


class Row(NamedTuple):
    """A number or a vector by both."""

    what: str
    peer: str
    ours: Any
    theirs: Any
    allowed: float

    @property
    def apart(self) -> float:
        ours, theirs = np.asarray(self.ours, dtype=np.float64), np.asarray(self.theirs, dtype=np.float64)
        return float(np.abs(ours - theirs).max() / np.abs(theirs).max())

    def cells(self) -> list[str]:
        def shown(value: Any) -> str:
            return f"{value:.6g}" if np.ndim(value) == 0 else f"{np.size(value)} numbers"

        return [self.what, self.peer, shown(self.ours), shown(self.theirs), f"{self.apart:.1e}", f"{self.allowed:.0e}"]


# --- topics -----------------------------------------------------------------------------------------------------------


def tokens(counts: sp.csr_matrix) -> list[list[str]]:
    """Documents as lists of words."""
    return [
        [f"w{word}" for word in np.repeat(row.indices, row.data.astype(int))]
        for row in (counts[d] for d in range(counts.shape[0]))
    ]


def lda() -> Iterator[Row]:
    """The bound at given topics and shares; EM steps from the same start; topics of two Gibbs samplers."""
    from sklearn.decomposition import LatentDirichletAllocation

    data = simulate(600, 5, n_words=200, mean_length=80, seed=1).counts.counts
    documents = Documents("simulated", data[:400], data[400:])
    train, n_tokens = documents.train, documents.train.sum()
    prior = {"doc_topic_prior": 0.5, "topic_word_prior": BETA}
    theirs = LatentDirichletAllocation(
        5, learning_method="batch", max_iter=1, max_doc_update_iter=1000, mean_change_tol=1e-6, evaluate_every=-1,
        random_state=0, **prior,
    ).fit(train)  # fmt: skip
    bound, shares, topics = climb(spec_of(LDA(5, **prior)), train, theirs.components_.T, 30)
    for _ in range(30):
        theirs._em_step(train, train.shape[0], batch_update=True)
    climbed = -np.log(theirs.perplexity(train))
    scored = [np.exp(documents.score(found)) for found in (topics, theirs.components_.T)]
    theirs.components_ = topics.T.astype(np.float64)
    theirs.exp_dirichlet_component_ = np.exp(digamma(topics) - digamma(topics.sum(axis=0))).T
    same = theirs._approx_bound(train, shares.astype(np.float64), False) / n_tokens
    yield Row("LDA: bound per token, same topics and shares", "scikit-learn", bound, same, 1e-5)
    yield Row("LDA: bound after 30 EM steps, same start", "scikit-learn", bound, climbed, 1e-5)
    yield Row("LDA: held-out perplexity of these topics", "scikit-learn", *scored, 1e-5)
    if version("topica"):
        import topica

        peer = topica.LDA(5, alpha_sum=5 * ALPHA, beta=BETA, optimize_interval=0, seed=1)
        peer.fit(tokens(train), iters=300)
        gibbs = LDA(5, inference="gibbs", doc_topic_prior=ALPHA, topic_word_prior=BETA, max_iter=300).fit(train)
        scored = [np.exp(documents.score(topics.T)) for topics in (gibbs.components_, of_topica(peer, 200))]
        yield Row("LDA, Gibbs: held-out perplexity", "topica", *scored, 2e-2)


def climb(spec: Spec, train: sp.csr_matrix, topics: np.ndarray, n_steps: int) -> tuple[float, np.ndarray, np.ndarray]:
    """(bound per token, Dirichlet parameters of the shares (D, K), those of the topics (V, K)) after some EM steps."""
    model, batch = spec.model, batch_of(spec, train)
    state, limits = State.first(model, topics.astype(np.float32)), LocalLimits(max_passes=1000, tol=1e-6)
    with Threads(1) as backend:
        for _ in range(n_steps):
            state = take_step(model, state, batch, backend, limits).state
        before = state.copy()
        step = take_step(model, state, batch, backend, limits)
        bound = step.document_bound + global_evidence(model, before, backend)
        return float(bound / train.sum()), gather(step.spread), before.word_topic


def of_topica(model: Any, n_words: int) -> np.ndarray:
    """(K, V) topics in the order of our columns; words that it has not seen get next to nothing."""
    found = np.full((len(model.topic_word), n_words), 1e-12)
    found[:, [int(word[1:]) for word in model.vocabulary]] = model.topic_word
    return found


def slda() -> Iterator[Row]:
    """Coefficients and held-out R² of two collapsed Gibbs samplers."""
    import tomotopy

    data = simulate(1500, 4, n_words=150, mean_length=60, response="gaussian", seed=3)
    counts, y = data.counts.counts, data.y
    train, test = slice(0, 1000), slice(1000, None)
    spread = float(y[train].var())
    ours = SLDARegressor(
        4, response="gaussian", inference="gibbs", doc_topic_prior=0.2, topic_word_prior=0.05, max_iter=200, cross_fit=0
    ).fit(counts[train], y[train])
    noise = float(ours.dispersion_)
    peer = tomotopy.SLDAModel(
        k=4, vars="l", alpha=0.2, eta=0.05, mu=float(y[train].mean()), nu_sq=100 * spread, glm_param=noise, seed=1
    )
    words, values = tokens(counts), y.tolist()
    for document, value in zip(words[train], values[train], strict=True):
        peer.add_doc(document, [value])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer.train(200, workers=1)
        held = [peer.make_doc(document) for document in words[test]]
        peer.infer(held, workers=1)
    found = np.array(peer.get_regression_coef(0))
    topics = np.zeros((4, counts.shape[1]))
    topics[:, [int(word[1:]) for word in peer.used_vocabs]] = [peer.get_topic_word_dist(k) for k in range(4)]
    order = metrics.align_topics(ours.components_, topics)[0]
    yield Row("sLDA, Gaussian: η of the topics", "tomotopy", ours.intercept_ + ours.coef_, found[order], 5e-2)
    scored = [
        metrics.predictive_r2(y[test], predicted)
        for predicted in (ours.predict(counts[test]), np.array(peer.estimate(held))[:, 0])
    ]
    yield Row("sLDA, Gaussian: held-out R²", "tomotopy", *scored, 2e-2)


def disclda() -> Iterator[Row]:
    """Held-out accuracy where three classes have two topics each and share two."""
    import topica

    rng = np.random.default_rng(5)
    topics, y = rng.dirichlet(np.full(90, 0.08), size=8), rng.integers(3, size=1600)
    alpha = np.array([0.3, 0.3, 0.7, 0.7])
    own = np.array([topics[[2 * label, 2 * label + 1, 6, 7]] for label in range(3)])
    words = [rng.multinomial(40, rng.dirichlet(alpha) @ own[label]) for label in y]
    counts, train, test = sp.csr_matrix(np.array(words)), slice(0, 1000), slice(1000, None)
    ours = DiscLDAClassifier(2, n_shared_topics=2, doc_topic_prior=0.5, cross_fit=0).fit(counts[train], y[train])
    written = tokens(counts)
    peer = topica.DiscLDA(2, 2, alpha=0.5, beta=0.01, iters=500, seed=1)
    peer.fit(written[train], [str(label) for label in y[train]])
    theirs = np.array([str(label) for label in peer.predict(written[test])])
    scored = [ours.score(counts[test], y[test]), float(np.mean(theirs == y[test].astype(str)))]
    yield Row("DiscLDA: held-out accuracy", "topica", *scored, 5e-2)


# --- limits that are convex problems ---------------------------------------------------------------------------------


def regression(response: str, n: int = 400) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
    """(words of one topic, covariates (n, 5), y)."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(n, 5)) * [1.0, 2.0, 0.5, 1.0, 3.0] + [0.0, 1.0, 0.0, -2.0, 0.0]
    s = 0.3 + x @ np.array([0.4, -0.2, 0.6, 0.0, 0.05])
    draws: dict[str, Callable[[], np.ndarray]] = {
        "gaussian": lambda: s + 0.7 * rng.normal(size=n),
        "poisson": lambda: rng.poisson(np.exp(s)).astype(float),
        "negative_binomial": lambda: rng.poisson(np.exp(s) * rng.gamma(2.0, size=n) / 2.0).astype(float),
        "gamma": lambda: np.exp(s) * rng.gamma(3.0, size=n) / 3.0,
        "inverse_gaussian": lambda: rng.wald(np.exp(s), 2.0),
        "logit": lambda: (rng.random(n) < 1 / (1 + np.exp(-s))).astype(float),
        "probit": lambda: (s + rng.normal(size=n) > 0).astype(float),
        "ordinal": lambda: np.digitize(s + rng.normal(size=n), [-0.5, 0.6]).astype(float),
        "softmax": lambda: np.argmax(np.outer(s, [0.0, 0.5, 1.0]) + rng.gumbel(size=(n, 3)), axis=1).astype(float),
    }
    words = sp.csr_matrix(rng.multinomial(20, np.full(6, 1 / 6), size=n))
    return words, x, draws[response]()


def one_topic(response: str, words: sp.csr_matrix, x: np.ndarray, y: np.ndarray, **prior: Any) -> Any:
    """Our model of one topic, whose share is one: a generalised linear model of the covariates."""
    kind = SLDAClassifier if response in ("logit", "probit", "ordinal", "softmax") else SLDARegressor
    return kind(1, response=response, inference="vb", cross_fit=0, **prior).fit(words, y, covariates=x)


def glm() -> Iterator[Row]:
    """Coefficients and standard errors of generalised linear models."""
    import statsmodels.api as sm
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    log = sm.families.links.Log()
    families = {
        "gaussian": sm.families.Gaussian(),
        "poisson": sm.families.Poisson(),
        "gamma": sm.families.Gamma(log),
        "inverse_gaussian": sm.families.InverseGaussian(log),
        "logit": sm.families.Binomial(),
        "probit": sm.families.Binomial(sm.families.links.Probit()),
    }
    for response in (*families, "negative_binomial", "ordinal", "softmax"):
        words, x, y = regression(response)
        ours = one_topic(response, words, x, y, coef_prior="flat")
        coef, error = np.asarray(ours.covariate_coef_), np.asarray(ours.covariate_std_)
        design = sm.add_constant(x)
        if response in families:
            peer = sm.GLM(y, design, family=families[response]).fit(tol=1e-12)
            theirs, deviation = peer.params[1:], peer.bse[1:]
        elif response == "negative_binomial":
            peer = sm.NegativeBinomial(y, design).fit(method="newton", disp=0, maxiter=200)
            theirs, deviation = peer.params[1:-1], peer.bse[1:-1]
        elif response == "ordinal":
            peer = OrderedModel(y, x, distr="probit").fit(method="bfgs", disp=0, gtol=1e-9, maxiter=500)
            theirs, deviation = peer.params[:5], peer.bse[:5]
        else:
            peer = sm.MNLogit(y, design).fit(disp=0, gtol=1e-10, maxiter=500)
            apart = np.column_stack([np.zeros(6), np.asarray(peer.params)])[1:].T
            theirs, deviation = apart - apart.mean(axis=0), None
        yield Row(f"GLM, {response}: coefficients", "statsmodels", coef.ravel(), np.ravel(theirs), 5e-4)
        if deviation is not None:
            yield Row(f"GLM, {response}: standard errors", "statsmodels", error.ravel(), deviation, 3e-2)
    if version("glum"):
        from glum import GeneralizedLinearRegressor

        for response in ("gaussian", "poisson", "gamma"):
            words, x, y = regression(response)
            link = "identity" if response == "gaussian" else "log"
            family = "normal" if response == "gaussian" else response
            peer = GeneralizedLinearRegressor(family=family, link=link, alpha=0, gradient_tol=1e-10).fit(x, y)
            ours = one_topic(response, words, x, y, coef_prior="flat")
            coef = np.asarray(ours.covariate_coef_).ravel()
            yield Row(f"GLM, {response}: coefficients", "glum", coef, peer.coef_, 1e-5)


def svm() -> Iterator[Row]:
    """The max-margin step on given topic shares, and liblinear on the same features."""
    from sklearn.svm import LinearSVC, LinearSVR

    rng = np.random.default_rng(2)
    x = rng.dirichlet(np.full(6, 0.3), size=500)
    s = x @ rng.normal(size=(6, 3)) * 3
    exact: dict[str, Any] = {"tol": 1e-9, "max_iter": 2_000_000, "fit_intercept": False, "random_state": 0}
    y = (s[:, 0] + rng.logistic(size=500) > 0).astype(float)
    peer = LinearSVC(loss="hinge", C=2.0, **exact).fit(x, y)
    yield Row("SVM, two classes: η", "liblinear", solve_binary(x, y, 2.0, 1.0, tol=1e-9).coef, peer.coef_[0], 1e-6)
    y = np.argmax(s + rng.gumbel(size=s.shape), axis=1).astype(float)
    peer = LinearSVC(multi_class="crammer_singer", C=2.0, **exact).fit(x, y)
    yield Row("SVM, three classes: η", "liblinear", solve_classes(x, y, 3, 2.0, 1.0, tol=1e-9).coef, peer.coef_, 1e-6)
    y = s[:, 1] + 0.5 * rng.normal(size=500)
    peer = LinearSVR(loss="epsilon_insensitive", C=2.0, epsilon=0.1, **exact).fit(x, y)
    yield Row("SVM, numbers: η", "liblinear", solve_regression(x, y, 2.0, 0.1, tol=1e-9).coef, peer.coef_, 1e-6)


def sparse() -> Iterator[Row]:
    """Coefficients under a Laplace prior, and ℓ1 penalties; covariates of both have unit variance."""
    from sklearn.linear_model import Lasso, LogisticRegression

    words, x, y = regression("gaussian")
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    scale = 0.02
    ours = one_topic("gaussian", words, x, y, coef_prior="laplace", coef_scale=scale)
    coef = np.asarray(ours.covariate_coef_).ravel()
    variance = float(ours.dispersion_) / y.var()  # of y standardised, as both are told
    solvers = {"scikit-learn": Lasso}
    if version("skglm"):
        import skglm

        solvers["skglm"] = skglm.Lasso
    for name, solver in solvers.items():
        peer = solver(alpha=variance / (scale * len(y)), tol=1e-10).fit(x, (y - y.mean()) / y.std())
        yield Row("ℓ1, Gaussian: coefficients", name, coef, peer.coef_ * y.std(), 1e-4)
        yield Row("ℓ1, Gaussian: how many are not zero", name, (coef != 0).sum(), (peer.coef_ != 0).sum(), 0.0)
    words, x, y = regression("logit")
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    scale = 0.1
    coef = np.asarray(one_topic("logit", words, x, y, coef_prior="laplace", coef_scale=scale).covariate_coef_).ravel()
    peer = LogisticRegression(l1_ratio=1.0, C=scale, solver="saga", tol=1e-10, max_iter=100_000).fit(x, y)
    yield Row("ℓ1, logit: coefficients", "scikit-learn", coef, peer.coef_[0], 1e-4)
    yield Row("ℓ1, logit: how many are not zero", "scikit-learn", (coef != 0).sum(), (peer.coef_ != 0).sum(), 0.0)


PARTS: dict[str, tuple[Callable[[], Iterator[Row]], str]] = {
    "lda": (lda, "scikit-learn"),
    "slda": (slda, "tomotopy"),
    "disclda": (disclda, "topica"),
    "glm": (glm, "statsmodels"),
    "svm": (svm, "scikit-learn"),
    "sparse": (sparse, "scikit-learn"),
}


def rows_of(names: list[str]) -> list[Row]:
    """The rows of these parts; a part whose peer is not installed is left out, and said to be."""
    found: list[Row] = []
    for name in names:
        part, peer = PARTS[name]
        if version(peer) is None:
            say(f"{name} is left out: {peer} is not installed (pip install 'supertopic[bench]')")
            continue
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of peers' old names
            for row in part():
                say(" | ".join(row.cells()))
                found.append(row)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.parity", description="The same numbers as other libraries.")
    parser.add_argument("parts", nargs="*", metavar="NAME", help=f"of {', '.join(PARTS)}; all by default")
    parser.add_argument("--write", action="store_true", help="put the table into bench/RESULTS.md")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no part {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    rows = rows_of(options.parts or list(PARTS))
    table = Table(
        "A. Parity: the same problem by others", ["what", "peer", "ours", "peer's", "apart", "allowed"], _NOTE
    )
    for row in rows:
        table.add(*row.cells())
    table.show()
    if options.write:
        peers = ", ".join(f"{name} {version(name)}" for name in _PACKAGES if version(name))
        write([table], f"`python -m bench.parity`. {machine()}; {peers}", Path(__file__).parent / "RESULTS.md")
    wrong = [row.what for row in rows if not row.apart <= row.allowed]
    for what in wrong:
        print(f"further apart than allowed: {what}", file=sys.stderr)
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
