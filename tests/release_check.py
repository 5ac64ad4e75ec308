"""What a release would be, tried: `python -m tests.release_check [PYTHON ...]`, or `make release-check`.

Builds the wheel and the source archive into dist/, checks them, installs the wheel into an empty environment of each
Python that is found (python3.11 to python3.14), and uses it there: a program, and the README's commands on a table.
Writes dist/sbom.json, what is installed with it. Kernels are compiled anew: two minutes of a core for each Python.
Nothing is published: a person does that, by `twine upload dist/*.whl dist/*.tar.gz`.
"""

import csv
import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROGRAM = """
import numpy as np, supertopic
from supertopic import LDA, SLDARegressor, Vectorizer, load
texts = ["a cat and a dog", "money in a bank", "a dog and a bird", "bank of money and trade"] * 5
LDA(2, max_iter=3, vectorizer=Vectorizer(min_df=1)).fit(texts).save("lda.supertopic")
model = SLDARegressor(2, max_iter=3, vectorizer=Vectorizer(min_df=1)).fit(texts, np.arange(20.0))
model.save("m.supertopic")
assert np.array_equal(load("m.supertopic").predict(texts), model.predict(texts))
print("supertopic", supertopic.__version__, "from", supertopic.__file__.rsplit("/", 3)[1])
"""


def call(*command, cwd):
    done = subprocess.run([str(part) for part in command], cwd=cwd, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}\n{done.stderr}")
    return done.stdout.strip()


def works(python):
    return shutil.which(python) and subprocess.run([python, "--version"], capture_output=True).returncode == 0


def build(dist):
    """Both archives, with what must and must not be in them."""
    shutil.rmtree(dist, ignore_errors=True)
    call(sys.executable, "-m", "build", "--outdir", dist, ROOT, cwd=ROOT)
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    call(sys.executable, "-m", "twine", "check", "--strict", wheel, source, cwd=ROOT)
    names = zipfile.ZipFile(wheel).namelist()
    assert "supertopic/py.typed" in names and any(name.endswith("licenses/LICENSE") for name in names)
    assert not [name for name in names if name.split("/")[0].split("-")[0] != "supertopic"]
    with tarfile.open(source) as archive:
        inside = {name.split("/", 1)[-1] for name in archive.getnames()}
    assert {"README.md", "LICENSE", "pyproject.toml", "src/supertopic/__init__.py"} <= inside
    print(f"{wheel.name} {wheel.stat().st_size >> 10} KB, {source.name} {source.stat().st_size >> 10} KB", flush=True)
    return wheel


def readme_commands():
    """Those of the README that fit and use a model of a table of reviews."""
    lines = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    return [shlex.split(line, comments=True) for line in lines if re.match(r"supertopic (?!demo)[a-z]", line)]


def try_commands(programs, here):
    texts = ["a superb film, warm and funny", "a dull plot and a boring film", "funny and warm", "boring, a waste"]
    rows = [[text, 4.0 - place % 2 * 2.5] for place, text in enumerate(texts * 15)]
    for name in ("reviews.csv", "new.csv"):
        with open(here / name, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["review", "rating"], *rows])
    found = readme_commands()
    for command in found:
        call(programs / command[0], *command[1:], cwd=here)
    assert len(found) >= 4 and (here / "stars.html").stat().st_size > 10_000
    return len(found)


def sbom(python, here):
    """What is installed in an environment, as CycloneDX has it."""
    told = json.loads(call(python, "-m", "pip", "inspect", cwd=here))
    parts = []
    for one in told["installed"]:
        about = one["metadata"]
        name, licence = about["name"], about.get("license_expression") or about.get("license") or ""
        entry = {"type": "library", "name": name, "version": about["version"]}
        entry["purl"] = f"pkg:pypi/{name.lower().replace('_', '-')}@{about['version']}"
        parts.append(entry | ({"licenses": [{"license": {"name": licence[:80]}}]} if licence else {}))
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "components": parts}


def main():
    pythons = sys.argv[1:] or [name for name in ("python3.11", "python3.12", "python3.13", "python3.14") if works(name)]
    dist = ROOT / "dist"
    wheel = build(dist)
    with tempfile.TemporaryDirectory() as folder:
        for number, python in enumerate(pythons):
            own = Path(folder) / str(number)
            call(python, "-m", "venv", own, cwd=folder)
            programs = own / "bin"
            call(programs / "python", "-m", "pip", "install", "-q", wheel, cwd=own)
            told = call(programs / "python", "-W", "error::SyntaxWarning", "-c", PROGRAM, cwd=own)
            assert "bank" in call(programs / "supertopic", "topics", "lda.supertopic", cwd=own)
            n_commands = try_commands(programs, own)
            version = call(programs / "python", "--version", cwd=own)
            print(f"{version}: {told.splitlines()[-1]}; {n_commands} commands of the README", flush=True)
            (dist / "sbom.json").write_text(json.dumps(sbom(programs / "python", own), indent=1), encoding="utf-8")
    if "[project.urls]" not in (ROOT / "pyproject.toml").read_text(encoding="utf-8"):
        print("pyproject.toml has no [project.urls] yet: say there where the repository and the site are", flush=True)


if __name__ == "__main__":
    main()
