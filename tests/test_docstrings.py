"""Docstrings of public names have numpydoc's form: parameters with types, what is returned, an example that runs."""

import doctest
import inspect
import re
from dataclasses import is_dataclass

import pytest

import supertopic
from supertopic.estimators.shared.results.method_pages import NOTHING, RETURNS, completed, methods_of

validate = pytest.importorskip("numpydoc.validate").validate

# GL08: a docstring; SS03: a summary that ends with a period; PR01 to PR05, PR07: every parameter, in order, with a type
# and a description; RT01, RT03: what is returned, with a description. A summary may begin with the model's formula.
CHECKS = {"GL08", "SS03", "PR01", "PR02", "PR03", "PR04", "PR05", "PR07", "RT01", "RT03"}
THINGS = {name: getattr(supertopic, name) for name in supertopic.__all__}
MODULES = {name: one for name, one in THINGS.items() if inspect.ismodule(one)}
CLASSES = sorted(name for name, one in THINGS.items() if inspect.isclass(one))
FUNCTIONS = sorted(
    [name for name, one in THINGS.items() if inspect.isfunction(one)]
    + [
        f"{name}.{part}"
        for name, one in MODULES.items()
        for part in one.__all__
        if inspect.isfunction(getattr(one, part))
    ]
)
METHODS = sorted(
    f"{name}.{part}" for name in CLASSES if name not in ("Checkpoint", "Prevalence") for part in (*RETURNS, *NOTHING)
    if inspect.isfunction(getattr(THINGS[name], part, None)) and "sklearn" not in getattr(THINGS[name], part).__module__
)  # fmt: skip
EXAMPLES = [*CLASSES, *FUNCTIONS]


@pytest.mark.parametrize("name", [*CLASSES, *FUNCTIONS, *METHODS])
def test_docstrings_have_their_form(name):
    found = validate(f"supertopic.{name}")["errors"]
    assert [error for error in found if error[0] in CHECKS] == []


def thing(name):
    found = supertopic
    for part in name.split("."):
        found = getattr(found, part)
    return found


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (test,) = doctest.DocTestFinder(recurse=False).find(thing(name), name) or [None]
    assert test is not None and test.examples, f"{name} has no example"
    assert doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(test).failed == 0


def test_completion_keeps_what_is_told():
    def fit(self, X, by="a", *, covariates=None, **options):
        """Do it.

        by : which order, words first or documents
        """

    page = completed(fit)
    assert page.index("X : documents") < page.index("by : str") < page.index("covariates :") < page.index("**options :")
    assert "    Which order, words first or documents." in page and page.rstrip().endswith("The fitted model.")
    fit.__doc__ = page
    assert completed(fit) == page


def test_every_method_of_users_is_completed():
    from supertopic.fitted.files import ESTIMATORS

    found = {function.__name__ for function in methods_of(ESTIMATORS.values())}
    assert {"fit", "predict", "transform", "explain", "summary", "estimate_effect", "partial_fit"} <= found


def kinds():
    found = (getattr(supertopic, name) for name in supertopic.__all__)
    return [kind for kind in found if inspect.isclass(kind) and hasattr(kind, "get_params") and is_dataclass(kind)]


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_types_name_the_words_that_docstrings_name(kind):
    told = dict(re.findall(r"^    (\w+) : (.*)$", inspect.getdoc(kind).replace("\n", "\n    "), flags=re.MULTILINE))
    wrong = {}
    for name, field in kind.__dataclass_fields__.items():
        listed = re.search(r"Literal\[(.*?)\]", str(field.type))
        typed, words = (
            set(re.findall(r"""["'](\w+)["']""", one)) for one in (listed[1] if listed else "", told.get(name, ""))
        )
        if words and typed != words and name not in ("response", "backend"):
            wrong[name] = (typed, words)
    assert not wrong


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: kind.__name__)
def test_types_of_answers_are_known(kind):
    names = ("predict", "predict_proba", "transform", "score", "decision_function", "fit")
    functions = {name: getattr(kind, name, None) for name in names}
    found = {name: one.__annotations__["return"] for name, one in functions.items() if inspect.isfunction(one)}
    assert not [name for name, answer in found.items() if "Any" in str(answer)]


def test_load_says_which_class_it_gives(tmp_path):
    path = tmp_path / "m"
    supertopic.LDA(2, max_iter=2).fit([[1, 2, 0], [0, 1, 3]] * 2).save(path)
    assert isinstance(supertopic.load(path, supertopic.LDA), supertopic.LDA)
    with pytest.raises(ValueError, match="holds a LDA, expected a SLDARegressor"):
        supertopic.load(path, supertopic.SLDARegressor)
