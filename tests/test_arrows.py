"""What the parts of the house may know of one another: no import circles, few reaches into private names, and nobody
asks which class an estimator is of.
"""

import ast
from collections import Counter
from pathlib import Path

import pytest

import supertopic

SOURCE = Path(__file__).resolve().parent.parent / "src"
TREES = {path.relative_to(SOURCE): ast.parse(path.read_text(encoding="utf-8")) for path in SOURCE.rglob("*.py")}
MOST_REACHES = 20  # to be lowered, never raised
MOST_ANY = 397  # parameters annotated `Any`: of estimators of scikit-learn, frames of any library, arrays on a GPU
OWN = {"self", "cls", "super()", "sys"}
# Models by name: the package's public names, what the command line offers, and the example that is compiled first.
MAY_NAME_MODELS = {"__init__.py", "estimators/__init__.py", "cli/models.py", "cli/warm_up.py"}


def module_of(path: Path) -> str:
    return ".".join(path.parent.parts if path.name == "__init__.py" else path.with_suffix("").parts)


def for_types_only(tree: ast.AST) -> set[ast.AST]:
    """Parts that only a type checker reads."""
    blocks = [node for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)]
    return {part for block in blocks for line in block.body for part in ast.walk(line)}


def imported(path: Path, tree: ast.AST, known: set[str]) -> set[str]:
    """Modules of ours that a file imports anywhere: at its top, in a function, or by `import_module`."""
    package, found, skipped = path.parent.parts, [], for_types_only(tree)
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            home = ".".join([*above, *filter(None, [node.module])])
            whole = [f"{home}.{name.name}" for name in node.names]
            found += [name if name in known else home for name in whole]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            found += [value.value for value in node.args if isinstance(value, ast.Constant)]
    return known.intersection(found) - {module_of(path), "supertopic"}  # the package itself is imported before all


def circles(graph: dict[str, set[str]]) -> list[set[str]]:
    """Groups of modules each of which leads to all others of its group."""

    def reached(start):
        found, next_ones = set(), {start}
        while next_ones:
            next_ones = set().union(*(graph[name] for name in next_ones)) - found
            found |= next_ones
        return found

    to = {name: reached(name) for name in graph}
    groups = {frozenset(other for other in to[name] if name in to[other]) for name in graph}
    return sorted((set(group) for group in groups if group), key=sorted)


def reaches(tree: ast.AST) -> list[str]:
    """Uses of a private name of an object that is not the own one."""
    private = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
    ]
    return sorted(ast.unparse(node) for node in private if ast.unparse(node.value) not in OWN)


def asks_for_class(tree: ast.AST, models: frozenset[str]) -> list[str]:
    """Where a file decides by the name of a class, or tells the models apart by their names or classes."""
    return [ast.unparse(node) for node in ast.walk(tree) if is_question(node, models)]


def is_question(node: ast.AST, models: frozenset[str]) -> bool:
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
        return any(isinstance(part, ast.Name) and part.id in models for part in ast.walk(node.args[1]))
    if isinstance(node, ast.Dict):
        return any(isinstance(key, ast.Constant) and key.value in models for key in node.keys)
    if isinstance(node, ast.Compare):
        asked = [node.left, *node.comparators]
    elif isinstance(node, ast.Subscript):
        asked = [node.slice]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        asked = node.args[:1]
    else:
        return False
    words = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
    if any(word in models for word in words):
        return True
    return any(map(is_name_of_class, asked)) and not words  # words that name no model ask for classes of others


def is_name_of_class(node: ast.AST) -> bool:
    """Whether this is `type(x).__name__` or `x.__class__.__name__`."""
    if not (isinstance(node, ast.Attribute) and node.attr == "__name__"):
        return False
    of = node.value
    return (isinstance(of, ast.Call) and ast.unparse(of.func) == "type") or ast.unparse(of).endswith(".__class__")


# --- the rules --------------------------------------------------------------------------------------------------------


def test_no_imports_in_circles():
    known = {module_of(path) for path in TREES}
    found = circles({module_of(path): imported(path, tree, known) for path, tree in TREES.items()})
    assert [sorted(circle) for circle in found] == []


def test_few_reaches_into_private_names_of_others():
    found = Counter({str(path): len(reaches(tree)) for path, tree in TREES.items()})
    assert found.total() <= MOST_REACHES, found.most_common(20)


def test_few_parameters_may_be_anything():
    """What a user gives is an `object` until it is read; what is only handed on is one as well."""
    found = Counter()
    for path, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                given = (one.annotation for one in [*node.args.args, *node.args.kwonlyargs])
                found[str(path)] += sum(kind is not None and ast.unparse(kind) == "Any" for kind in given)
    assert found.total() <= MOST_ANY, found.most_common(20)


def test_no_file_asks_which_class_an_estimator_is_of():
    estimators = {name for name in supertopic.__all__ if hasattr(getattr(supertopic, name), "get_params")}
    models = frozenset(estimators - {"Vectorizer"})
    assert {"LDA", "HTMM", "SLDARegressor"} <= models
    found = {
        str(path): asks_for_class(tree, models)
        for path, tree in TREES.items()
        if path.relative_to("supertopic").as_posix() not in MAY_NAME_MODELS
    }
    assert {path: places for path, places in found.items() if places} == {}


# --- and what they count --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "import supertopic.b",
        "from supertopic import b",
        "from supertopic.b import name",
        "from . import b",
        "from .b import name",
        "def f():\n    from .b import name",
        "def f():\n    return import_module('supertopic.b').name",
        "def f():\n    return importlib.import_module('supertopic.b')",
    ],
)
def test_imports_of_every_form_close_a_circle(text):
    known = {"supertopic", "supertopic.a", "supertopic.b", "supertopic.c"}
    path = Path("supertopic/a.py")
    graph = {name: set() for name in known} | {"supertopic.b": {"supertopic.c"}, "supertopic.c": {"supertopic.a"}}
    assert circles(graph) == []
    graph["supertopic.a"] = imported(path, ast.parse(text), known)
    assert circles(graph) == [{"supertopic.a", "supertopic.b", "supertopic.c"}]


def test_imports_for_types_close_none():
    text = "if TYPE_CHECKING:\n    from .b import B\nelse:\n    from .c import C\n"
    assert imported(Path("supertopic/a.py"), ast.parse(text), {"supertopic.b", "supertopic.c"}) == {"supertopic.c"}


def test_reaches_are_counted():
    text = "self._a + cls._b + super()._c + other._d + self.other._e + other.__dict__ + f()._g"
    assert reaches(ast.parse(text)) == ["f()._g", "other._d", "self.other._e"]


@pytest.mark.parametrize(
    "text",
    [
        "type(x).__name__ == 'LDA'",
        "x.__class__.__name__ in NAMES",
        "TABLE[type(x).__name__]",
        "TABLE.get(type(x).__name__)",
        "name == 'LDA'",
        "{'LDA': 1}",
        "isinstance(x, LDA)",
        "issubclass(x, (A, LDA))",
    ],
)
def test_questions_for_a_class_are_found(text):
    assert asks_for_class(ast.parse(text), frozenset({"LDA"})) != []


def test_names_of_classes_may_be_shown():
    text = "f'got {type(x).__name__}'; find(type(x).__name__); isinstance(x, Stream); {'other': LDA}"
    text += "; type(x).__name__ == 'LazyFrame'"
    assert asks_for_class(ast.parse(text), frozenset({"LDA"})) == []
