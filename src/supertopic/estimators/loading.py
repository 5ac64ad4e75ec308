"""`load`: a fitted estimator from its file."""

from __future__ import annotations

from typing import TypeVar, overload

from supertopic.estimators.shared.base import TopicEstimator
from supertopic.fitted.files import restore
from supertopic.persistence import Place, name_of

Kind = TypeVar("Kind", bound=TopicEstimator)


@overload
def load(path: Place) -> TopicEstimator: ...
@overload
def load(path: Place, kind: type[Kind]) -> Kind: ...


def load(path: Place, kind: type[TopicEstimator] = TopicEstimator) -> TopicEstimator:
    """A fitted model from a file that `save` wrote: its path, or something open, such as a BytesIO.

    A file is data: nothing in it is run or imported, and everything in it is checked before it is used. What does not
    fit is refused by a ValueError.

    Parameters
    ----------
    path : path, or open file
        What `save` wrote.
    kind : class, optional
        The class that is expected; a file of another one is refused, and type checkers know what is returned.

    Returns
    -------
    estimator
        Of the class that was saved.

    Examples
    --------
    >>> from supertopic import LDA, load
    >>> texts = ["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10
    >>> LDA(2).fit(texts).save("pets.supertopic")
    >>> load("pets.supertopic", LDA).n_topics
    2
    """
    found: TopicEstimator = restore(path)
    if not isinstance(found, kind):
        raise ValueError(f"{name_of(path)}: holds a {type(found).__name__}, expected a {kind.__name__}")
    return found
