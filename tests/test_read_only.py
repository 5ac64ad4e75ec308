"""Models load and predict where nothing can be written, with kernels that somebody else has compiled, or none."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import supertopic
from supertopic import LDA

SOURCE = Path(supertopic.__file__).parents[1]
READ_ONLY = """
mount -o remount,bind,ro / || exit 77
for place in /tmp /dev/shm /var/tmp "$HOME" "$PLACE" "$SOURCE"; do
    mount --bind "$place" "$place" 2>/dev/null && mount -o remount,bind,ro "$place"
done
touch "$PLACE/x" 2>/dev/null && exit 77
exec "$PYTHON" -B -c "$PROGRAM"
"""
PROGRAM = """
import os
import numpy as np
from supertopic import load
model = load(os.environ["PLACE"] + "/m.supertopic")
found = model.transform(np.array([[2, 0, 1, 0], [0, 3, 0, 1]]))
from supertopic.kernels.e_step_words import infer_documents
print(found.ravel().tolist(), sum(infer_documents.stats.cache_hits.values()))
"""


def predicted(place, **environment):
    """What a process says that may write nowhere; it is skipped where the system gives no namespaces."""
    told = {"PLACE": place, "SOURCE": SOURCE, "PYTHON": sys.executable, "PROGRAM": PROGRAM, "PYTHONPATH": SOURCE}
    told = {name: str(value) for name, value in {**told, **environment}.items()}
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", READ_ONLY]
    done = subprocess.run(command, env={**os.environ, **told}, capture_output=True, text=True, timeout=300)
    if done.returncode == 77 or "unshare: " in done.stderr:
        pytest.skip("no namespace in which nothing can be written")
    assert done.returncode == 0, done.stderr
    *numbers, hits = done.stdout.replace("[", "").replace("]", "").replace(",", "").split()
    return [float(number) for number in numbers], int(hits)


@pytest.mark.slow
@pytest.mark.release  # compiles anew, twice
@pytest.mark.skipif(shutil.which("unshare") is None, reason="Linux only")
def test_a_model_predicts_where_nothing_can_be_written(tmp_path):
    model = LDA(2, max_iter=3).fit(np.random.default_rng(0).poisson(1.0, (40, 4)) + np.eye(40, 4))
    model.save(tmp_path / "m.supertopic")
    expected = model.transform(np.array([[2, 0, 1, 0], [0, 3, 0, 1]])).ravel().tolist()
    copy = tmp_path / "source"
    shutil.copytree(SOURCE / "supertopic", copy / "supertopic", ignore=shutil.ignore_patterns("*.nbi", "*.nbc"))
    without = {"SOURCE": copy, "PYTHONPATH": copy, "HOME": tmp_path, "NUMBA_CACHE_DIR": ""}
    assert predicted(tmp_path, **without) == (pytest.approx(expected, rel=1e-5), 0)
    kept = tmp_path / "kept"
    program = [sys.executable, "-c", PROGRAM]
    told = {"PLACE": str(tmp_path), "PYTHONPATH": str(copy), "NUMBA_CACHE_DIR": str(kept)}
    subprocess.run(program, env={**os.environ, **told}, check=True, capture_output=True)
    assert any(kept.rglob("*.nbi")) and not any(copy.rglob("*.nbi"))
    found, hits = predicted(tmp_path, **{**without, "NUMBA_CACHE_DIR": kept})
    assert found == pytest.approx(expected, rel=1e-5) and hits == 1
