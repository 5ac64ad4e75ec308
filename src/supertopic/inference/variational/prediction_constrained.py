"""Topics trained for the prediction that will be made (prediction-constrained training, Hughes et al. 2018).

A document's topic shares theta are always inferred without y, at the mode of their posterior. The topics b follow the
gradient of the responses' log-likelihood *through* that inference:

    maximise over b, coef   (1/T) sum_d log p(w_d, theta_d | b)  +  (1/D) sum_d weight_d log p(y_d | s_d)  +  log priors
                            s_d = coef·(theta_d, x_d),   theta_d = argmax log p(w_d, theta | b)

T counts tokens and D documents with a label; the weight is the supervision times the document's own. At supervision 1,
the mean log-likelihood of a label weighs as much as that of a word. Every response takes part through its slope and
curvature: d log p/ds = slope - curvature·s in a quadratic column, slope - curvature·exp s in a product column. The
first term's gradient is EM's, since theta is at its maximum; `supertopic.kernels.map_shares` has that of the second.

The local step (`prediction_local`) turns documents into statistics that add. The engine climbs along them in
mini-batches, by Adam on log b, and solves for the coefficients after every epoch. Some labelled documents are held out
whole: the epoch whose topics predict their labels best is the result, and the dispersion is that of their labels, which
the topics cannot have learned by heart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from operator import add
from typing import Any, NamedTuple

import numpy as np

from supertopic.backends.base import Spread, total
from supertopic.emissions.dirichlet import DirichletTopics
from supertopic.inference.after.refit import with_known_shares
from supertopic.inference.batches import Batch, continue_from, gather
from supertopic.inference.first_topics import first_state
from supertopic.inference.regression import Total, dispersion_summary, information, log_likelihood, regress
from supertopic.inference.task import Fit, Task, Watch
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.local import local_step
from supertopic.inference.variational.m_step_glm import GLMStep
from supertopic.inference.variational.prediction_local import Scales, of_shares, prediction_step, settle_step
from supertopic.inference.variational.step import global_step
from supertopic.model import DocumentTerms, Model, NoCoefStep, State, restore_state
from supertopic.responses.base import NoResponse, Response
from supertopic.responses.several import parts_of


class Climbing(NamedTuple):
    """How the topics are trained; tried on movie, hotel and restaurant reviews and on talks."""

    start_steps: int = 10  # of EM without y, from which the topics start
    rate: float = 0.05  # of Adam in the first step; it falls linearly to zero
    momentum: float = 0.9
    memory: float = 0.99  # of Adam's squares
    dropped: float = 0.4  # part of a document's distinct words that a step leaves out at random, against overfitting
    patience: int = 10  # epochs without a gain before training stops
    batches: int = 16  # of an epoch at least, unless they would have fewer than 16 documents
    batch_size: int = 256  # documents of a batch at most


SETTINGS = Climbing()
_START = LocalLimits(30, 1e-2)
_SHARES = LocalLimits(20, 1e-3)  # in a step; documents start from where the epoch before left them
_SETTLED = LocalLimits(200, 1e-4)  # of documents held out, as at prediction
_ADJOINT = LocalLimits(12, 3e-2)
_COEF_TURNS, _COEF_TOL = 50, 1e-6


class PredictionStep(GLMStep):
    """The coefficients once more on all documents; the dispersion stays that of the documents held out."""

    def refit(self, model: Model, state: State, terms: DocumentTerms, documents: Total) -> tuple[State, DocumentTerms]:
        response = model.response
        coef, _, found = regress(response, model.coef_prior, documents, state.coef, state.dispersion)
        dispersion = _of_numbers(response, state.dispersion, found)
        learned = {"information": documents(information, response, coef, dispersion), "dispersion": dispersion}
        return replace(state, coef=coef.astype(np.float32), **learned), terms


def _of_numbers(response: Response, own: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The dispersion `own` of responses that are numbers, and `others` elsewhere: cut-points are no noise."""
    dispersion = others.copy()
    for part in parts_of(response):
        if part.response.kind == "number":
            dispersion[part.numbers] = own[part.numbers]
    return dispersion


@dataclass
class Climb:
    """Where the topics are: logarithms, up to a constant of each topic, and Adam's moments of the gradient, (V, K)."""

    logits: np.ndarray
    mean: np.ndarray
    square: np.ndarray
    steps: int = 0

    @classmethod
    def of(cls, topics: np.ndarray) -> Climb:
        logits = np.log(topics + np.float32(1e-12))
        return cls(logits, np.zeros_like(logits), np.zeros_like(logits))

    def topics(self) -> np.ndarray:
        """b (V, K), columns sum to one."""
        found = np.exp(self.logits - self.logits.max(axis=0))
        return found / found.sum(axis=0, dtype=np.float64).astype(np.float32)

    def step(self, topics: np.ndarray, gradient: np.ndarray, prior: float, rate: float) -> None:
        """One step of Adam; gradient and prior as for `logit_gradient`."""
        gradient = logit_gradient(topics, gradient, prior)
        self.steps += 1
        self.mean += np.float32(1.0 - SETTINGS.momentum) * (gradient - self.mean)
        self.square += np.float32(1.0 - SETTINGS.memory) * (gradient * gradient - self.square)
        first, second = (1.0 - keep**self.steps for keep in (SETTINGS.momentum, SETTINGS.memory))
        np.sqrt(np.divide(self.square, np.float32(second), out=gradient), out=gradient)
        gradient += np.float32(1e-8)
        self.logits += np.float32(rate / first) * self.mean / gradient


def logit_gradient(topics: np.ndarray, gradient: np.ndarray, prior: float) -> np.ndarray:
    """The gradient of an objective + prior·sum log b with respect to log b, columns of b kept normalised.

    gradient : (V, K) that of the objective with respect to b; it is overwritten
    """
    gradient *= topics
    gradient += np.float32(prior)
    gradient -= topics * gradient.sum(axis=0, dtype=np.float64).astype(np.float32)
    return gradient


@dataclass
class Trainer:
    """A fit under way: documents to train on and documents held out, each with their shares."""

    task: Task
    train: Batch
    held: Batch
    state: State
    climb: Climb

    def __post_init__(self) -> None:
        task, labels = self.task, _labelled(self.train)
        self.spread, self.held_spread = (task.backend.spread(part) for part in (self.train, self.held))
        self.n_tokens = max(float(self.train.counts.data.sum(dtype=np.float64)), 1.0)
        self.n_labels = max(int(labels.sum()), 1)
        most = int(np.clip(len(self.train) // SETTINGS.batches, 16, SETTINGS.batch_size))
        self.size = task.settings.batch_size or most

    def solve(self, topics: np.ndarray, first: bool = False) -> State:
        """Settle all training documents; return the State with the coefficients that fit them best."""
        limits = _SETTLED if first else _SHARES
        self.spread.map(settle_step, self.state.alpha, topics, limits)
        return self._regress(partial(_over_shares, self.spread), self.state)

    def _regress(self, documents: Total, state: State) -> State:
        model = self.task.model
        given = (model.response, model.coef_prior, documents, state.coef, state.dispersion)
        coef, found, dispersion = regress(*given, max_iter=_COEF_TURNS, tol=_COEF_TOL)
        return replace(state, coef=coef.astype(np.float32), information=found, dispersion=dispersion)

    def epoch(self, number: int, topics: np.ndarray) -> float:
        """One step per mini-batch; returns the objective, as the batches saw it.

        The next epoch's coefficients are those of the documents as the steps see them, with words dropped. Those of
        whole documents are larger; topics would move closer together to make up for that, the coefficients grow, and
        so on.
        """
        task, settings, values = self.task, self.task.settings, 0.0
        shares = gather(self.spread)
        seen = np.empty_like(shares)
        n_steps = settings.max_iter * -(-len(self.train) // self.size)
        for rows, batch in _mini_batches(self.train, self.size, task.seed, number):
            scale = len(self.train) / len(batch)
            spread = task.backend.spread(batch)
            spread.map(continue_from, shares[rows], 0)
            scales = Scales(scale / self.n_tokens, scale / self.n_labels, _SHARES, _ADJOINT)
            stats = total(spread.map(prediction_step, task.model, self.state, topics, scales))
            seen[rows] = gather(spread)
            rate = SETTINGS.rate * (1.0 - self.climb.steps / n_steps)
            self.climb.step(topics, stats.topics, _prior(task.model) / self.n_tokens, rate)
            topics = self.climb.topics()
            values += stats.words / self.n_tokens + stats.labels / self.n_labels
        train = self.train
        known = with_known_shares(seen.astype(np.float64), train.extra, train.y, train.weight)
        self.state = self._regress(known.total, self.state)
        return values

    def judge(self, topics: np.ndarray, state: State) -> tuple[float, State]:
        """The mean log-likelihood of the labels held out, at their own dispersion, and the State with the latter."""
        model = self.task.model
        self.held_spread.map(settle_step, state.alpha, topics, _SETTLED)
        over, coef = partial(_over_shares, self.held_spread), state.coef.astype(np.float64)
        found = state.dispersion
        for _ in range(5):  # some responses search for theirs step by step
            found = model.response.update(over(dispersion_summary, model.response, coef, found), found, 1.0)
        state = replace(state, dispersion=_of_numbers(model.response, found, state.dispersion))
        self.state = replace(self.state, dispersion=state.dispersion)
        weight = float(self.held.weight.sum())
        return float(over(log_likelihood, model.response, coef, state.dispersion)) / weight, state

    def result(self, topics: np.ndarray, state: State) -> State:
        """The State with these topics as pseudo-counts: each topic has as many as the training documents give it."""
        lengths = np.where(np.isfinite(self.train.lengths), self.train.lengths, 0.0)
        size = np.maximum(lengths @ gather(self.spread), 1.0).astype(np.float32)
        return replace(state, word_topic=topics * size)

    def arrays(self, best: State) -> dict[str, np.ndarray]:
        """What it takes to continue."""
        kept = {f"best_{name}": value for name, value in best.arrays().items()}
        climb = {"logits": self.climb.logits, "mean": self.climb.mean, "square": self.climb.square}
        held = gather(self.held_spread) if len(self.held) else np.zeros((0, self.task.model.n_topics), np.float32)
        shares = {"shares": gather(self.spread), "held_shares": held}
        return {**self.state.arrays(), **kept, **climb, **shares}


def fit_prediction(task: Task, watch: Watch) -> Fit:
    """Epochs until several in a row predict the labels held out no better; `trace` has what they predicted.

    Without documents held out, the last epoch is the result, and the trace has the objective.
    """
    _check(task)
    trainer, best, first, best_at = _start(task, watch)
    for done in range(first, task.settings.max_iter):
        if len(trainer.held) and done - best_at >= SETTINGS.patience:
            break  # first, since a fit may be killed right after its last step
        value = trainer.epoch(done, trainer.climb.topics())
        topics = trainer.climb.topics()
        state = trainer.solve(topics)
        if len(trainer.held):
            value, state = trainer.judge(topics, state)
        watch.trace.append(value)
        if not len(trainer.held) or best is None or watch.trace[-1] > max(watch.trace[:-1], default=-np.inf):
            best, best_at = trainer.result(topics, state), done + 1
        watch.step(done + 1, partial(trainer.arrays, best), best_at=best_at, steps=trainer.climb.steps)
    assert best is not None
    return Fit(best, watch.trace[:best_at], best_at)


def _check(task: Task) -> None:
    """Refuse what this engine cannot train."""
    model = task.model
    if type(model.emission) is not DirichletTopics:
        raise ValueError(
            f"inference: got 'pc', which needs Dirichlet topics, but the emission is {model.emission.name!r}"
        )
    if model.doc_topic_prior.learned != "nothing":
        raise ValueError("doc_topic_prior: inference='pc' does not learn it; expected a number, or one per topic")
    if model.per_token:
        raise ValueError("per_token: got True, but inference='pc' infers topics without y; expected False")


def _start(task: Task, watch: Watch) -> tuple[Trainer, State | None, int, int]:
    """(Trainer, best State so far, epochs done, the best of them), of a killed fit or of a new one."""
    train, held = _split(task)
    resumed = watch.resume()
    if resumed is None:
        topics, state = _first_topics(task, train), _first_state(task)
        trainer = Trainer(task, train, held, state, Climb.of(topics))
        trainer.state = trainer.solve(trainer.climb.topics(), first=True)
        return trainer, None, 0, 0
    about, arrays = resumed
    shares, held_shares = arrays.pop("shares"), arrays.pop("held_shares")
    climb = Climb(arrays.pop("logits"), arrays.pop("mean"), arrays.pop("square"), about["steps"])
    kept = {name.removeprefix("best_"): arrays.pop(name) for name in list(arrays) if name.startswith("best_")}
    trainer = Trainer(task, train, held, restore_state(arrays), climb)
    trainer.spread.map(continue_from, shares, 0)
    trainer.held_spread.map(continue_from, held_shares, 0)
    return trainer, restore_state(kept), about["done"], about["best_at"]


def _split(task: Task) -> tuple[Batch, Batch]:
    """Documents to train on, and labelled documents held out whole."""
    known = np.flatnonzero(_labelled(task.batch))
    n_held = round(task.settings.validation_fraction * len(known))
    held = np.zeros(len(task.batch), dtype=bool)
    held[np.random.default_rng([task.seed, 6]).permutation(known)[:n_held]] = True
    return task.batch.rows(np.flatnonzero(~held)), task.batch.rows(np.flatnonzero(held))


def _labelled(batch: Batch) -> np.ndarray:
    """(D,) which documents have a label that counts."""
    return (batch.weight > 0) & ~np.isnan(batch.y.reshape(len(batch), -1)).all(axis=1)


def _first_topics(task: Task, train: Batch) -> np.ndarray:
    """b (V, K): LDA's topics after a few steps of EM, or those of an earlier fit."""
    if task.start is not None:
        return task.model.emission.probabilities(task.start.word_topic, by_word=True)
    model = replace(task.model, response=NoResponse(), coef_step=NoCoefStep(), n_covariates=0)
    batch = Batch(train.counts, np.full(len(train), np.nan), np.zeros(len(train)), model.n_topics)
    state = first_state(replace(task, model=model, batch=batch, labels=None))
    spread, terms = task.backend.spread(batch), DocumentTerms()
    for step in range(SETTINGS.start_steps):
        weights = model.emission.expect(state.word_topic, task.backend)
        stats = total(spread.map(local_step, model, state, weights, _START, terms, step == 0))
        state, _ = global_step(model, state, stats, spread, terms, task.backend)
    return model.emission.probabilities(state.word_topic, by_word=True)


def _first_state(task: Task) -> State:
    """Coefficients and dispersion before the first solve; the State's topics stay empty until the result."""
    model, response = task.model, task.model.response
    labels = response.describe(task.y, task.weight)
    dispersion = response.start(labels)
    state = State.first(model, np.zeros((0, model.n_topics), dtype=np.float32), dispersion=dispersion)
    state.coef[:, : model.n_topics] = response.start_coef(labels, dispersion)[:, None]
    return state


def _mini_batches(batch: Batch, size: int, seed: int, epoch: int) -> Iterator[tuple[np.ndarray, Batch]]:
    """(rows, documents) of one epoch's batches; some of their words are dropped. Seed and epoch decide both."""
    rng = np.random.default_rng([seed, 7, epoch])
    order = rng.permutation(len(batch))
    for first in range(0, len(order), size):
        rows = np.sort(order[first : first + size])
        some = batch.rows(rows)
        kept = rng.random(some.counts.nnz, dtype=np.float32) >= np.float32(SETTINGS.dropped)
        some.counts.data = some.counts.data * kept
        yield rows, some


def _prior(model: Model) -> float:
    """The exponent of b in the topics' prior, as in collapsed inference: the mode under Dirichlet(prior + 1)."""
    assert isinstance(model.emission, DirichletTopics)
    return model.emission.prior


def _over_shares(
    spread: Spread, function: Callable[..., Any], *arguments: Any, combine: Callable[[Any, Any], Any] = add
) -> Any:
    """The `Total` of documents in partitions, at the shares that the last local step found."""
    return total(spread.map(of_shares, function, *arguments), combine)
