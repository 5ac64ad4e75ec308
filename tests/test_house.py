"""Rules for the code: independent kernels, no pickle, no absolute paths, one version, no part missing in CI."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import supertopic

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "supertopic"
FILES = sorted(
    path for folder in ("src", "tests", "bench", "docs", "experiments") for path in (ROOT / folder).rglob("*.py")
)


def imports(path):
    """Yield the full names of all imports of a file, with relative imports resolved."""
    package = path.relative_to(SOURCE.parent).parent.parts if path.is_relative_to(SOURCE) else ()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module) if part)
            yield from (f"{module}.{name.name}" for name in node.names)


def test_there_are_files_to_check():
    assert SOURCE / "persistence.py" in FILES and Path(__file__).resolve() in FILES


def test_imports_are_found_in_every_form(tmp_path, monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "SOURCE", tmp_path / "supertopic")
    path = tmp_path / "supertopic" / "kernels" / "k.py"
    path.parent.mkdir(parents=True)
    path.write_text("import numpy as np\ndef f():\n    from . import draws\n    from ..model import State\n")
    assert list(imports(path)) == ["numpy", "supertopic.kernels.draws", "supertopic.model.State"]


def helpers_that_are_not_inlined(text):
    """Names of jitted functions that another jitted function of the file calls, and that are not inlined there."""
    functions = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    options = {
        name: {option.arg: ast.literal_eval(option.value) for option in found.keywords if option.arg != "fastmath"}
        for name, node in functions.items()
        for found in node.decorator_list
        if isinstance(found, ast.Call) and ast.unparse(found.func) == "njit"
    }
    called = {part.id for name in options for part in ast.walk(functions[name]) if isinstance(part, ast.Name)}
    inlined = {name for name, kept in options.items() if kept.get("forceinline") or kept.get("inline") == "always"}
    return sorted(called & options.keys() - inlined)


def test_what_kernels_call_is_inlined():
    """Otherwise a fit in the process that compiles a kernel runs other copies of its parts than one that loads it."""
    jitted = "@njit(cache=True{})\ndef {}(x):\n    return {}\n"
    caller = jitted.format("", "kernel", "part(x)")
    assert helpers_that_are_not_inlined(jitted.format("", "part", "x") + caller) == ["part"]
    assert helpers_that_are_not_inlined(jitted.format(", forceinline=True", "part", "x") + caller) == []
    kernels = sorted((SOURCE / "kernels").glob("*.py"))
    found = {path.name: helpers_that_are_not_inlined(path.read_text(encoding="utf-8")) for path in kernels}
    assert not {name: left for name, left in found.items() if left}


def test_kernels_import_nothing_of_ours():
    kernels = [path for path in FILES if path.parent == SOURCE / "kernels"]
    assert kernels
    found = {path.name: [name for name in imports(path) if name.split(".")[0] == "supertopic"] for path in kernels}
    assert not {name: ours for name, ours in found.items() if ours}


def test_nothing_is_pickled():
    forbidden = {
        "pickle",
        "cPickle",
        "cloudpickle",
        "dill",
        "shelve",
        "marshal",
        "joblib.dump",
        "joblib.load",
    }
    calls = re.compile(r"\bjoblib\.(dump|load)\(|allow_pickle\s*=\s*True|read_pickle|to_pickle")
    found = []
    for path in FILES:
        if path.is_relative_to(SOURCE):
            found += [f"{path.name}: {name}" for name in imports(path) if {name, name.split(".")[0]} & forbidden]
            found += [f"{path.name}: {hit.group()}" for hit in calls.finditer(path.read_text(encoding="utf-8"))]
    assert not found


def test_no_paths_of_one_machine():
    absolute = re.compile(r"""(?<![\w.}/~])/(work|tmp|home|root|Users|opt|mnt)/\w""")
    made = {"demo.html", "demo.supertopic", ".git"}  # by `make demo` and `git worktree`, on this machine
    texts = [
        *FILES,
        *(path for path in ROOT.glob("*.*") if path.name not in made),
        *ROOT.glob("docs/**/*.md"),
        ROOT / "Makefile",
        ROOT / ".ci" / "run",
    ]
    found = []
    for path in texts:
        if path.is_file():
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if absolute.search(line):
                    found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert not found


def test_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert supertopic.__version__ == project["version"]
    assert f"## {project['version']} - " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_what_contributing_names_is_there():
    """A file or folder is named from the root, or below `src/supertopic`; a file in the folder that the line names."""
    text, missing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), []
    for line in text.splitlines():
        folders = [ROOT, SOURCE]
        for name in re.findall(r"`([\w/.*]+(?:/|\.py|\.md|\.toml))`", line):
            if not any(list(folder.glob(name)) for folder in folders):
                missing.append(name)
            folders += [folder / (Path(name).parent if "." in name else name) for folder in (ROOT, SOURCE)]
    assert not missing


def test_every_public_name_exists():
    assert [name for name in supertopic.__all__ if not hasattr(supertopic, name)] == []


def run_pytest(folder, environment, require):
    """pytest in this folder; options that the user gave to the run around it are not for this one."""
    environment = {**environment, "SUPERTOPIC_REQUIRE": require, "PYTEST_ADDOPTS": ""}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # none is needed, and they take seconds to start
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)]
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=folder)


@pytest.mark.parametrize(
    ("require", "reason", "status"),
    [
        ("", "needs the moon", 0),
        ("data", "needs the moon", 1),
        ("data", "needs a GPU", 0),
        ("gpu", "needs a GPU", 1),
        ("data", "needs a browser", 0),
        ("data,browser", "needs a browser", 1),
    ],
)
def test_ci_fails_when_a_needed_part_is_missing(tmp_path, require, reason, status):
    """A run fails if a test was skipped because a required part is missing (see conftest.py)."""
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (tmp_path / "test_it.py").write_text(
        f"import pytest\n@pytest.mark.skip(reason={reason!r})\ndef test_a(): pass\ndef test_b(): pass\n"
    )
    done = run_pytest(tmp_path, os.environ, require)
    assert done.returncode == status, done.stdout
    assert ("test_a: " in done.stdout and reason in done.stdout) == bool(status)
    assert done.stdout.splitlines()[-1].startswith("1 passed, 1 skipped")


@pytest.mark.parametrize(("require", "outcome"), [("", "1 skipped"), ("data", "1 error")])
def test_the_corpora_are_needed_only_where_required(tmp_path, require, outcome):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text(encoding="utf-8"))
    (tmp_path / "test_it.py").write_text("def test_a(data_dir): pass\n")
    without = {name: value for name, value in os.environ.items() if name != "SUPERTOPIC_DATA"}
    done = run_pytest(tmp_path, without, require)
    assert done.stdout.splitlines()[-1].startswith(outcome), done.stdout
