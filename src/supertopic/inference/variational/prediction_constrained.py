"""Topics trained for the prediction that will be made (prediction-constrained training, Hughes et al. 2018).

A document's topic shares theta are always inferred without y, at the mode of their posterior. The topics b follow the
gradient of the responses' log-likelihood *through* that inference:

    maximise over b, coef   (1/T) sum_d log p(w_d, theta_d | b)  +  (1/D) sum_d weight_d log p(y_d | s_d)  +  log priors
                            s_d = coef·(theta_d, x_d),   theta_d = argmax log p(w_d, theta | b)

T counts tokens and D documents with a label; the weight is the supervision times the document's own. At supervision 1,
the mean log-likelihood of a label weighs as much as that of a word. Every response takes part through its slope and
curvature: d log p/ds = slope - curvature·s in a quadratic column, slope - curvature·exp s in a product column. The
first term's gradient is EM's, since theta is at its maximum; `supertopic.kernels.map_shares` has that of the second.
Gaussian and logit responses follow estimates of the mean in place of y (`prediction_guide`). Ordered classes, counts
and positive numbers are followed as if they were Gaussian (`Response.trained_as`). What is reported, coefficients and
noise, comes from y itself, under its own law.

The local step (`prediction_local`) turns documents into statistics that add. The engine climbs along them in
mini-batches, by Adam on log b, and solves for the coefficients after every epoch. Topics are averages of log b over the
last steps, which predict better than where single steps end. Some labelled documents are held out whole. They choose
the epoch whose topics predict their labels best, and give the dispersion, since the topics cannot have learned their
labels by heart. From that epoch's topics, a few last epochs go over all documents, those held out too.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from operator import add
from typing import Any, cast

import numpy as np

from supertopic.backends.base import Backend, Combine, Spread, total
from supertopic.emissions.dirichlet import DirichletTopics, seeds_of
from supertopic.inference.after.calibration import as_well, told_apart
from supertopic.inference.after.refit import with_known_shares
from supertopic.inference.batches import Batch, continue_from, gather, labelled
from supertopic.inference.loop import Engine
from supertopic.inference.regression import Total, dispersion_at_mean, fetched, follow, regress, scores
from supertopic.inference.task import Fit, Task
from supertopic.inference.variational.climb import PULLS, SETTINGS, Climb
from supertopic.inference.variational.e_step_response import LocalLimits
from supertopic.inference.variational.m_step_glm import GLMStep
from supertopic.inference.variational.prediction_guide import followed_columns, guided
from supertopic.inference.variational.prediction_local import (
    EpochShares,
    Scales,
    of_shares,
    prediction_step,
    settle_step,
    topic_sizes,
)
from supertopic.inference.variational.prediction_start import (
    Searched,
    first_alpha,
    first_prediction_state,
    first_topics,
)
from supertopic.model import Model, State, restore_state
from supertopic.responses.base import Response
from supertopic.responses.classes import Softmax
from supertopic.responses.several import parts_of

_SHARES = LocalLimits(20, 1e-3)  # in a step; documents start from where the epoch before left them
_SETTLED = LocalLimits(200, 1e-4)  # of documents held out, as at prediction
ADJOINT = LocalLimits(12, 3e-2)
_COEF_TURNS, _COEF_TOL = 50, 1e-6


class PredictionStep(GLMStep):
    """The coefficients once more on all documents; the dispersion stays that of the documents held out."""

    def refitted_dispersion(self, response: Response, before: np.ndarray, found: np.ndarray) -> np.ndarray:
        return _of_numbers(response, before, found)


def _of_numbers(response: Response, own: np.ndarray, others: np.ndarray) -> np.ndarray:
    """The dispersion `own` of responses that are numbers, and `others` elsewhere: cut-points are no noise."""
    dispersion = others.copy()
    for part in parts_of(response):
        if part.response.kind == "number":
            dispersion[part.numbers] = own[part.numbers]
    return dispersion


@dataclass
class Trainer:
    """A fit under way: documents to train on and documents held out, each with their shares."""

    task: Task
    train: Batch
    held: Batch
    state: State
    climb: Climb
    rate: float  # of Adam in the first step; it falls to zero …
    n_epochs: float  # … in so many epochs
    penalties: dict[int, int] = field(default_factory=dict, kw_only=True)  # places, as in `guided`

    def __post_init__(self) -> None:
        task, labels = self.task, labelled(self.train)
        self.spread, self.held_spread = (task.backend.spread(part) for part in (self.train, self.held))
        self.n_tokens = max(self.train.n_tokens, 1.0)
        self.n_labels = max(int(labels.sum()), 1)
        self.size = task.settings.batch_size or SETTINGS.size(len(self.train))

    def topics(self) -> np.ndarray:
        """b (V, K) where the last step ended."""
        return self.climb.topics(self.task.backend.ops)

    def averaged(self) -> np.ndarray:
        """b (V, K) of the average over the last steps."""
        return self.climb.averaged(self.task.backend.ops)

    def solve(self, topics: np.ndarray, first: bool = False) -> State:
        """Settle all training documents; return the State with the coefficients that fit them best."""
        limits = _SETTLED if first else _SHARES
        self.spread.map(settle_step, self.task.model, self.state, topics, limits)
        return self._regress(self._over(self.spread, len(self.train)), self.state)

    def _over(self, spread: Spread, n_documents: int) -> Total:
        """Statistics of documents at the shares that the last step found."""
        over: Total = partial(over_shares, spread)
        return fetched(over, n_documents * self.task.model.n_topics) if self.task.backend.remote else over

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
        task, values = self.task, 0.0
        shares = EpochShares(self.spread, task.backend.ops)
        n_steps = self.n_epochs * -(-len(self.train) // self.size)
        for rows, batch in mini_batches(self.train, self.size, [task.seed, 7, number], task.backend):
            scale = len(self.train) / len(batch)
            spread = task.backend.spread(batch)
            shares.begin(rows, batch.counts, spread)
            scales = Scales(scale / self.n_tokens, scale / self.n_labels, _SHARES, ADJOINT)
            stats = total(spread.map(prediction_step, task.model, self.state, topics, scales))
            shares.end(rows, batch.counts, spread)
            rate = self.rate * (1.0 - self.climb.steps / n_steps)
            prior = topic_prior(task.model) / self.n_tokens
            pull_to_seeds(task.model, stats.topics, topics, 1.0 / self.n_tokens)
            topics = self.climb.step(topics, stats.topics, prior, rate, task.backend.ops)
            values += stats.words / self.n_tokens + stats.labels / self.n_labels
        train = self.train
        known = task.backend.form(with_known_shares)(shares.after, train.extra, train.y, train.weight)
        self.state = self._regress(partial(known.total_by, task.backend.all), self.state)
        return values

    def judge(self, topics: np.ndarray, state: State) -> tuple[np.ndarray, State]:
        """How well labels held out are told (`told_apart`), and the State with the dispersion of their noise."""
        model = self.task.model
        self.held_spread.map(settle_step, model, state, topics, _SETTLED)
        over, own = self._over(self.held_spread, len(self.held)), state
        for _ in range(5):  # some responses search for theirs step by step
            summary = over(dispersion_at_mean, model.response, own.coef.astype(np.float64), own.dispersion)
            own = self._at(own, model.response.update(summary, own.dispersion, 1.0))
        state, self.state = self.keep_dispersion(state, own), self.keep_dispersion(self.state, own)
        score = np.concatenate(over(scores, state.coef.astype(np.float64)))
        return told_apart(model.response, self.held.y, self.held.weight, score, state.dispersion), state

    def keep_dispersion(self, state: State, own: State) -> State:
        """The State with the dispersion of `own`, where that is the noise of a number."""
        return self._at(state, _of_numbers(self.task.model.response, own.dispersion, state.dispersion))

    def _at(self, state: State, dispersion: np.ndarray) -> State:
        """The State with this dispersion, and the same predicted means."""
        given = (self.task.model.response, self.task.model.n_topics, state.coef, state.dispersion, dispersion)
        return replace(state, coef=follow(*given), dispersion=dispersion)

    def result(self, topics: np.ndarray, state: State) -> State:
        """The State with these topics as pseudo-counts: each topic has as many as the training documents give it."""
        size = np.maximum(total(self.spread.map(topic_sizes)), np.float32(1.0))
        return replace(state, word_topic=np.asarray(topics) * size)

    def over_all(self, state: State, climb: Climb, rate: float, n_epochs: int) -> Trainer:
        """A Trainer of all documents, none of them held out."""
        return Trainer(self.task, *self._followed_by_all(), state, climb, rate, n_epochs)

    def _followed_by_all(self) -> tuple[Batch, Batch]:
        """(all documents with what training follows, none held out); folds take what they have followed already."""
        if not len(self.held):
            return self.train, self.held
        everything, nobody = _all_of(self.task)
        if not self.task.settings.of_fold:
            return _followed(self.task, everything, nobody, self.penalties)
        y = everything.y.copy()
        for rows, part in zip(_split(self.task), (self.train, self.held), strict=True):
            y[rows] = part.y
        return replace(everything, y=y), nobody

    def arrays(self, best: State) -> dict[str, np.ndarray]:
        """What it takes to continue."""
        kept = {f"best_{name}": value for name, value in best.arrays().items()}
        held = gather(self.held_spread) if len(self.held) else np.zeros((0, self.task.model.n_topics), np.float32)
        shares = {"shares": gather(self.spread), "held_shares": held}
        return {**self.state.arrays(), **kept, **self.climb.arrays(), **shares}


def check_task(task: Task) -> None:
    """Refuse what this engine cannot train."""
    model = task.model
    if type(model.emission) is not DirichletTopics:
        raise ValueError(
            f"inference: got 'pc', which needs Dirichlet topics, but the emission is {model.emission.name!r}"
        )
    if model.doc_topic_prior.learns and not model.doc_topic_prior.columns:
        raise ValueError("doc_topic_prior: inference='pc' does not learn it; expected a number, or one per topic")
    if task.settings.focus != "balance" and isinstance(model.response, Softmax):
        raise ValueError(f"focus: got {task.settings.focus!r}, which topics of three classes or more do not have")


class Course(Engine):
    """Epochs until several in a row predict the labels held out no better, and a few last ones over all documents.

    The trace has what the former predicted. If none of them predicts better than the topics that they start from, these
    are the result, and the trace has their value. Without documents held out, the last epoch is, and the trace has the
    objective.
    """

    requires = (check_task,)
    unit = "per_label"
    trainer: Trainer
    train: Batch  # which the topics start from
    best: State  # of the epochs so far; before the first, the start
    values = np.zeros(0)  # how well the best epoch predicts each label held out
    best_at = 0  # epochs done at the one that is kept: the best, or a later one as good
    follows = False  # whether training follows means, of all labels
    last = 0  # of the epochs over all documents; 0 while some are held out

    @abstractmethod
    def make(self, state: State, climb: Climb) -> Trainer: ...

    def start(self) -> None:
        topics, state = first_topics(self.task, self.train, self._documents()), first_prediction_state(self.task)
        state.alpha = first_alpha(self.task, self.train, topics)
        anchor = None if isinstance(self.task.model.response, Softmax) else topics
        trainer = self.trainer = self.make(state, Climb.of(topics, anchor, self._pull).on(self.task.backend.ops))
        topics = trainer.topics()
        first = state = trainer.solve(topics, first=True)
        if len(trainer.held):  # the topics that it starts from may already be the best
            self.values, state = trainer.judge(topics, state)
        trainer.state = first
        self.best = trainer.result(topics, state)

    def _documents(self) -> Batch:
        """Whose words the first topics are found in."""
        return self.task.batch

    @property
    def _pull(self) -> float:
        return PULLS[self.task.settings.focus]

    @property
    def _asks(self) -> bool:
        """Whether epochs are judged by documents held out; not where another fit has found the best epoch."""
        return len(self.trainer.held) > 0 and self.task.settings.best_epoch is None

    @property
    def _longest(self) -> int:
        """Epochs of the search at most."""
        known = self.task.settings.best_epoch
        return self.task.settings.max_iter if known is None else known

    def _has_searched(self) -> bool:
        return self.done >= self._longest or (self._asks and self.done - self.best_at >= SETTINGS.patience)

    def has_ended(self) -> bool:
        if self.last:
            return self.last > _n_last(self.best_at)
        return self._has_searched() and not (self.best_at and len(self.trainer.held))

    def step(self) -> float | None:
        if self.last or self._has_searched():
            self._train_on_all()
            return None
        trainer = self.trainer
        value = trainer.epoch(self.done, trainer.topics())
        self.done += 1
        if self._asks or self.done == self._longest:
            topics, values = trainer.averaged(), self.values
            state = trainer.solve(topics)
            if len(trainer.held):
                values, state = trainer.judge(topics, state)
                value = self._mean(values)
            if not self._asks or self._is_kept(values):
                self.best, self.best_at = trainer.result(topics, state), self.done
            if values.sum() > self.values.sum():
                self.values = values
        return value

    def _mean(self, values: np.ndarray) -> float:
        """Of the labels held out."""
        return float(values.sum() / max(self.trainer.held.weight.sum(), 1e-300))

    def _is_kept(self, values: np.ndarray) -> bool:
        """Whether an epoch is the best, or not told from it: means are hardly learned by heart, and labels have noise.

        Some epoch has to be better than the topics that training starts from.
        """
        if self.follows and self.best_at:
            belonging = self.trainer.held.belonging
            return as_well(values, self.values, None if belonging is None else belonging.together)
        return bool(values.sum() > self.values.sum())

    def _train_on_all(self) -> None:
        """One of the last epochs; the dispersion stays that of the documents that were held out."""
        if not self.last:
            self.trainer, self.last = self._over_all(), 1
        self.trainer.epoch(self.done, self.trainer.topics())
        self.trainer.state = self.trainer.keep_dispersion(self.trainer.state, self.best)
        self.done, self.last = self.done + 1, self.last + 1

    def _over_all(self) -> Trainer:
        """A Trainer of all documents that goes on from the best epoch."""
        best, rate = self.best, max(1.0 - self.best_at / self.trainer.n_epochs, SETTINGS.last_rate)
        climb = Climb.of(self._searched(), self.trainer.climb.anchor, self._pull).on(self.task.backend.ops)
        state = replace(best, word_topic=best.word_topic[:0])
        trainer = self.trainer.over_all(state, climb, self.trainer.rate * rate, _n_last(self.best_at))
        trainer.state = trainer.keep_dispersion(trainer.solve(trainer.topics(), first=True), best)
        return trainer

    def _searched(self) -> np.ndarray:
        """b (V, K) of the best epoch."""
        return self.task.model.emission.probabilities(self.best.word_topic, by_word=True)

    def result(self) -> Fit:
        trace = self.trace[: self.best_at] or [self._mean(self.values)]
        searched = Searched(self._searched(), self.best_at)
        state = self._trained_on_all() if self.last else self.best
        return Fit(state, trace, len(trace), terms=searched, stayed=self._stayed(state))

    def _stayed(self, state: State) -> np.ndarray | None:
        """(K,) the cosine of each topic and the most like of those that know no labels, where it started from them."""
        anchor = self.trainer.climb.anchor
        if anchor is None or self.task.start is not None:
            return None
        topics = self.task.model.emission.probabilities(state.word_topic, by_word=True)
        own, others = (b / np.linalg.norm(b, axis=0) for b in (np.asarray(topics), np.asarray(anchor)))
        return (own.T @ others).max(axis=1).astype(np.float64)

    def _trained_on_all(self) -> State:
        topics = self.trainer.averaged()
        return self.trainer.result(topics, self.trainer.keep_dispersion(self.trainer.solve(topics), self.best))

    def arrays(self) -> dict[str, np.ndarray]:
        return self.trainer.arrays(self.best) | {"values": self.values}

    def numbers(self) -> dict[str, Any]:
        steps = self.trainer.climb.steps
        return {"best_at": self.best_at, "last": self.last, "steps": steps}

    def restore(self, numbers: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        shares, held_shares, self.values = (arrays.pop(name) for name in ("shares", "held_shares", "values"))
        climb = Climb.restore(arrays, numbers["steps"], self._pull).on(self.task.backend.ops)
        kept = {name.removeprefix("best_"): arrays.pop(name) for name in list(arrays) if name.startswith("best_")}
        self.best = restore_state(kept)
        self.best_at, self.last = numbers["best_at"], numbers["last"]
        self.trainer = self.make(restore_state(arrays), climb)
        if self.last:
            state = self.trainer.state
            self.trainer = self._over_all()
            self.trainer.state, self.trainer.climb = state, climb
        self.trainer.spread.map(continue_from, shares, 0)
        self.trainer.held_spread.map(continue_from, held_shares, 0)


class PredictionConstrained(Course):
    """A fit of documents that are held whole."""

    def __init__(self, task: Task) -> None:
        own, rows = task.model.response, _split(task)
        response, y = own.trained_as(task.y, task.weight)
        super().__init__(replace(task, model=replace(task.model, response=response), batch=replace(task.batch, y=y)))
        self.given, self.penalties = task, dict(task.settings.penalties)
        self.train, self.held = (task.batch.rows(some) for some in rows)
        seen, unseen = (replace(part, y=y[some]) for part, some in zip((self.train, self.held), rows, strict=True))
        self.followed = _followed(self.task, seen, unseen, self.penalties)
        self.follows = bool(np.all(np.nansum(np.abs(self.followed[0].y - seen.y), axis=0) > 0))

    def make(self, state: State, climb: Climb) -> Trainer:
        task, stride = self.task, self.task.settings.stride
        rate, n_epochs = SETTINGS.rate * stride, task.settings.max_iter / stride
        return Trainer(task, *self.followed, state, climb, rate, n_epochs, penalties=self.penalties)

    def result(self) -> Fit:
        found, task, train, held = super().result(), self.given, self.train, self.held
        cast(Searched, found.terms).penalties = self.penalties
        if self.task.model.response is task.model.response and not followed_columns(task.model.response, task.batch):
            return found
        return replace(found, state=_of_labels(task, train, held, found))


fit_prediction = PredictionConstrained.fit


def _followed(task: Task, train: Batch, held: Batch, penalties: dict[int, int]) -> tuple[Batch, Batch]:
    """Both batches with the labels that training follows; penalties that are missing are looked for, and entered."""
    return guided(train, held, task.model.response, task.seed, penalties, task.backend.all)


def _all_of(task: Task) -> tuple[Batch, Batch]:
    """(all documents, none held out)."""
    return task.batch, task.batch.rows(np.zeros(0, dtype=np.int64))


def _of_labels(task: Task, train: Batch, held: Batch, found: Fit) -> State:
    """The State of a fit that may have followed other labels, with coefficients of the labels themselves.

    The noise of numbers is that of the documents held out, given the topics that have not seen them.
    """
    searched, last = (
        cast(Searched, found.terms).topics,
        task.model.emission.probabilities(found.state.word_topic, by_word=True),
    )
    state, climb = first_prediction_state(task), Climb.of(last).on(task.backend.ops)
    state.alpha = found.state.alpha
    documents, nobody = _all_of(task)
    whole = Trainer(task, documents, nobody, state, climb, 0.0, 1)
    solved = whole.solve(last, first=True)
    if len(held) and any(part.response.kind == "number" for part in parts_of(task.model.response)):
        unseen = Trainer(task, train, held, state, climb, 0.0, 1)
        solved = whole.keep_dispersion(solved, unseen.judge(searched, unseen.solve(searched, first=True))[1])
    return replace(solved, word_topic=found.state.word_topic)


def _n_last(best_at: int) -> int:
    return max(1, round(SETTINGS.last_epochs * best_at))


def _split(task: Task) -> tuple[np.ndarray, np.ndarray]:
    """Rows of the documents to train on, and of labelled documents held out whole."""
    known = np.flatnonzero(labelled(task.batch))
    share, generator = task.settings.validation_fraction, np.random.default_rng([task.seed, 6])
    if task.batch.belonging is not None:
        held = task.batch.belonging.apart(known, share, generator)
    else:
        held = np.zeros(len(task.batch), dtype=bool)
        held[generator.permutation(known)[: round(share * len(known))]] = True
    return np.flatnonzero(~held), np.flatnonzero(held)


def mini_batches(batch: Batch, size: int, seed: list[int], backend: Backend) -> Iterator[tuple[np.ndarray, Batch]]:
    """(rows, documents) of one epoch's batches, without the words that are dropped. The seed decides both."""
    order, key = draw_epoch(len(batch), size, seed)
    for rows, counts in zip(order, backend.ops.thinned(batch.counts, order, SETTINGS.dropped, key), strict=True):
        yield rows, batch.rows(rows, counts)


def draw_epoch(n_documents: int, size: int, seed: list[int]) -> tuple[list[np.ndarray], int]:
    """(the rows of each batch, the key that decides which words are dropped)."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_documents)
    rows = [np.sort(order[first : first + size]) for first in range(0, n_documents, size)]
    return rows, int(rng.integers(2**63))


def topic_prior(model: Model) -> float:
    """The exponent of b in the topics' prior, as in collapsed inference: the mode under Dirichlet(prior + 1)."""
    assert isinstance(model.emission, DirichletTopics)
    return model.emission.prior


def pull_to_seeds(model: Model, gradient: np.ndarray, topics: np.ndarray, scale: float) -> None:
    """Add the gradient of the log-density of seed words' pseudo-counts to that of the topics (V, K)."""
    seeds = seeds_of(model.emission)
    if len(seeds):
        pull = scale * seeds.counts / np.maximum(seeds.at(topics), 1e-12)
        np.add.at(gradient, (seeds.words, seeds.topics), pull.astype(np.float32))


def over_shares(spread: Spread, function: Callable[..., Any], *arguments: Any, combine: Combine = add) -> Any:
    """The `Total` of documents in partitions, at the shares that the last local step found."""
    return total(spread.map(of_shares, combine, function, *arguments), combine)
