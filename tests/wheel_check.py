"""Build the wheel, install it into an empty environment of each Python that is found, and use it there.

`python -m tests.wheel_check [PYTHON ...]`; by default each of python3.11 to python3.14 that the path has.
"""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

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


def main():
    pythons = sys.argv[1:] or [name for name in ("python3.11", "python3.12", "python3.13", "python3.14") if works(name)]
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        call(sys.executable, "-m", "build", "--wheel", "--outdir", here, root, cwd=here)
        (wheel,) = here.glob("*.whl")
        for number, python in enumerate(pythons):
            own = here / str(number)
            call(python, "-m", "venv", own, cwd=here)
            call(own / "bin" / "python", "-m", "pip", "install", "-q", wheel, cwd=own)
            told = call(own / "bin" / "python", "-W", "error::SyntaxWarning", "-c", PROGRAM, cwd=own)
            topics = call(own / "bin" / "supertopic", "topics", "lda.supertopic", cwd=own)
            assert "bank" in topics
            print(f"{call(own / 'bin' / 'python', '--version', cwd=own)}: {told.splitlines()[-1]}", flush=True)


if __name__ == "__main__":
    main()
