"""What serves one engine: the values that `inference=` takes beside the engines' names.

``inference="gibbs"`` is ``inference=Gibbs()``. Numbers that are None depend on the model. A grid search reaches them by
name, as in ``inference__n_chains``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from sklearn.base import BaseEstimator

from supertopic.plain_values import decode, encode


class Method(BaseEstimator):
    """Of an engine without parameters of its own. A subclass is a dataclass of them, with the engine's name."""

    name: ClassVar[str] = ""
    known: ClassVar[dict[str, type[Method]]] = {}  # by name; a subclass enters itself

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "name" in vars(cls):
            cls.known[cls.name] = cls

    @classmethod
    def named(cls, name: str) -> Method:
        """What an engine's name stands for."""
        return cls.known.get(name, Method)()

    @classmethod
    def with_parameter(cls, name: str) -> list[str]:
        """The engines that have a parameter."""
        return [other for other, kind in cls.known.items() if name in kind().get_params(deep=False)]

    def require(self, names: Iterable[str]) -> None:
        """Refuse parameters that the engine does not have."""
        for name in names:
            if name not in self.get_params(deep=False):
                others = " or ".join(map(repr, self.with_parameter(name)))
                which = f"with inference={self.name!r}; it is a parameter of {others or 'no engine'}"
                raise ValueError(f"{name}: got a value {which}")

    def to_plain(self) -> list[Any]:
        """As model files hold it."""
        return [self.name, {name: encode(value, name) for name, value in self.get_params(deep=False).items()}]

    @staticmethod
    def from_plain(plain: Any) -> Method:
        """What `to_plain` gave; refuses all else."""
        name, params = plain
        if name not in Method.known:
            raise ValueError(f"inference: holds {name!r:.40}, expected one of {', '.join(map(repr, Method.known))}")
        return Method.known[name](**{key: decode(value) for key, value in params.items()})


@dataclass(kw_only=True, repr=False)
class _Started(Method):
    """Of an engine that starts from topics it finds itself."""

    init: Literal["online", "uniform", "spectral"] = "online"
    n_init: int = 1


@dataclass(kw_only=True, repr=False)
class CVB0(_Started):
    """Variational EM with topics and shares integrated out, at the mean of their counts, `inference="cvb0"`.

    Parameters
    ----------
    max_doc_iter, doc_tol, init, n_init
        As in `VB`.

    Examples
    --------
    >>> from supertopic import LDA, CVB0
    >>> LDA(5, inference=CVB0(n_init=3)).inference
    CVB0(n_init=3)
    """

    name: ClassVar[str] = "cvb0"

    max_doc_iter: int = 100
    doc_tol: float | None = None


@dataclass(kw_only=True, repr=False)
class VB(CVB0):
    """Variational EM over the whole corpus, `inference="vb"`.

    Parameters
    ----------
    max_doc_iter, doc_tol : int, float
        Limits of a document's own inference in a step: passes, and the mean change of its topic counts (by default
        0.01; of `MedLDAClassifier` 0.05).
    init : {"online", "uniform", "spectral"}
        First topics: a few quick passes of LDA; near uniform ones with eta on a grid from -1 to 1, as in the paper of
        sLDA; or those of anchor words, as R's stm has them, by which two people get the same topics whatever the seed.
    n_init : int
        Fits from different first topics, of which the one with the highest bound is kept.
    per_token : bool
        Give every token its own term of the response in the E-step, as the paper of sLDA does, rather than one term for
        all tokens of a document. Exact and slower; the difference shrinks as one over a document's length.

    Examples
    --------
    >>> from supertopic import LDA, VB
    >>> LDA(5, inference=VB(max_doc_iter=50)).inference
    VB(max_doc_iter=50)
    """

    name: ClassVar[str] = "vb"

    per_token: bool = False


@dataclass(kw_only=True, repr=False)
class SVI(VB):
    """Stochastic variational inference in mini-batches, `inference="svi"`: of streams and `partial_fit`, too.

    Parameters
    ----------
    batch_size : int, optional
        Documents of a mini-batch; by default a fiftieth of all documents, but 16 at least and 1,024 at most.
    learning_delay, learning_decay : float
        Step t moves by (learning_delay + t)^-learning_decay.
    total_documents : int, optional
        For `partial_fit`: how many documents there are in all. The topics, and coefficients and their errors, are those
        of a corpus of this size, also where batches come more than once. Without it, the documents seen so far count,
        each as often as it came: give the number if you pass over the same documents again.
    max_doc_iter, doc_tol, init, n_init, per_token
        As in `VB`.

    Examples
    --------
    >>> from supertopic import LDA, SVI
    >>> LDA(5, inference=SVI(batch_size=500)).inference
    SVI(batch_size=500)
    """

    name: ClassVar[str] = "svi"

    batch_size: int | None = None
    learning_delay: float = 50.0
    learning_decay: float = 0.7
    total_documents: int | None = None


@dataclass(kw_only=True, repr=False)
class Gibbs(_Started):
    """Collapsed Gibbs sampling, `inference="gibbs"`.

    Parameters
    ----------
    n_chains : int
        Chains from different seeds, in parallel under `n_jobs`. Topics and `coef_` are those of the best (highest log
        joint); the others' topics are matched with its, and `draws_` holds all, the best chain's first. A warning says
        if they disagree (`r_hat_` above 1.1). Models with a response have them.
    burn_in : int, optional
        Sweeps before the first draw that is kept; by default half of them.
    thin : int, optional
        Every how many-th sweep after these is kept; by default every fifth, of `LDA` every tenth.
    sampler : {"collapsed", "partial"}, optional
        `LDA` only: topics integrated out, or drawn once per sweep (exact and parallel, mixes more slowly). By default
        "collapsed", but "partial" on a GPU or a cluster, where "collapsed" cannot run.
    init, n_init
        As in `VB`.

    Examples
    --------
    >>> from supertopic import LDA, Gibbs
    >>> LDA(5, inference=Gibbs(n_chains=4)).inference
    Gibbs(n_chains=4)
    """

    name: ClassVar[str] = "gibbs"

    n_chains: int = 1
    burn_in: int | None = None
    thin: int | None = None
    sampler: Literal["collapsed", "partial"] | None = None


@dataclass(kw_only=True, repr=False)
class PC(_Started):
    """Training for the prediction, `inference="pc"`.

    Parameters
    ----------
    validation_fraction : float
        The share of labelled documents that are held out whole. They say when to stop: at the best epoch or, of
        numbers, two classes and ordered ones, at the last that their labels do not tell from it. `dispersion_` is that
        of their labels. Then a few last epochs go over all documents. If no epoch predicts their labels better than the
        topics that training starts from, these stay. A fraction of 0 holds out none, and trains for `max_iter` epochs.
        Of a stream, 10,000 documents at most are held out, and of the batches of `partial_fit` none.
    focus : {"predict", "balance", "describe"}
        How near topics stay to those that know no labels, and, by the default of `doc_topic_prior`, of how few topics
        documents are. "describe" gives topics that come back in other samples of the documents, and documents with a
        main topic; "predict" gives neither, and may predict better. What each costs:
        `python -m experiments focus`. Three classes or more have "balance" alone.
    batch_size : int, optional
        Documents of a mini-batch; by default a sixteenth of all documents, but 16 at least and 256 at most.
    total_documents : int, optional
        As in `SVI`.
    init, n_init
        As in `VB`.

    Examples
    --------
    >>> from supertopic import PC, SLDARegressor
    >>> SLDARegressor(5, inference=PC(validation_fraction=0.2)).inference
    PC(validation_fraction=0.2)
    """

    name: ClassVar[str] = "pc"

    validation_fraction: float = 0.125
    focus: Literal["predict", "balance", "describe"] = "balance"
    batch_size: int | None = None
    total_documents: int | None = None
