"""`help` of every estimator reads like a page: all parameters in words, the signature in lines, examples that run."""

import doctest
import inspect
import pydoc

import pytest
from sklearn.base import clone

import supertopic
from supertopic.estimators.shared.results.pages import parameters_told

ESTIMATORS = [
    getattr(supertopic, name)
    for name in supertopic.__all__
    if isinstance(getattr(supertopic, name), type) and hasattr(getattr(supertopic, name), "get_params")
]
TOPICS = [cls for cls in ESTIMATORS if hasattr(cls, "engines")]


@pytest.mark.parametrize("cls", TOPICS, ids=lambda cls: cls.__name__)
def test_every_parameter_is_told_in_words(cls):
    page = inspect.getdoc(cls)
    assert "As in `" not in page and "..." not in page.split("Attributes")[0].split("Parameters")[1]
    assert set(cls().get_params(deep=False)) <= parameters_told(cls)
    lines = page.splitlines()
    assert max(map(len, lines)) <= 120
    assert len([line for line in lines if line.startswith("max_iter :")]) <= 1


def test_help_shows_the_signature_in_lines():
    page = pydoc.plain(pydoc.render_doc(supertopic.SLDARegressor))
    assert " |      n_topics=20,\n" in page and " |      coef_prior='normal',\n" in page
    shown = page.split("Method resolution order")[0]
    assert max(map(len, shown.splitlines())) <= 130
    assert "Threads; the result does not depend on it." in page  # which is told of LDA


@pytest.mark.parametrize("cls", ESTIMATORS, ids=lambda cls: cls.__name__)
def test_signatures_are_still_those_that_scikit_learn_reads(cls):
    assert list(inspect.signature(cls).parameters) == list(inspect.signature(cls.__init__).parameters)[1:]
    assert sorted(cls().get_params(deep=False)) == sorted(inspect.signature(cls).parameters)
    clone(cls())


@pytest.mark.parametrize("cls", [supertopic.LDA, supertopic.SLDARegressor, supertopic.SLDAClassifier])
def test_examples_run(cls):
    found = doctest.DocTestFinder(recurse=False).find(cls, cls.__name__)
    assert found and found[0].examples
    assert doctest.DocTestRunner().run(found[0]).failed == 0
