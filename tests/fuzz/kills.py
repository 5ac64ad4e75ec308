"""Fits that are killed at random moments, by the system and not by an exception: nothing is lost, nothing is different.

`python -m tests.fuzz.kills 200` fits with a checkpoint at every step, saves the model, and sends SIGKILL (or SIGINT,
Ctrl-C) at a random moment of it, for one engine after the other. After that the checkpoint can be read if there is
one, the model file is the old one or the new one, and the same fit once more ends with the same model, byte for byte.

Each fit is a process made by fork from this one, which has imported and compiled everything before.
"""

import argparse
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

from supertopic import LDA, Checkpoint, SLDAClassifier, SLDARegressor, Stream
from supertopic.persistence import read_file
from tests import test_golden_fits as golden
from tests.fuzz.runner import temporary_folder

ENGINES = (
    "lda-vb", "lda-cvb0", "lda-svi", "lda-gibbs", "lda-gibbs-partial", "mixture-vb", "mixture-svi", "mixture-gibbs",
    "sage-vb", "sage-svi", "htmm", "disclda", "faceted-sage", "geo-sage", "topic-model-vb", "topic-model-gibbs",
    "slda-gaussian-vb", "slda-softmax-svi", "slda-poisson-gibbs", "slda-gaussian-pc", "slda-gaussian-vb-cross-fit",
    "medlda-classes-cvb0", "medlda-classes-vb", "medlda-regressor-vb", "medlda-classes-gibbs", "sstm-regressor",
    "sstm-classifier-chains",
)  # fmt: skip
STREAMS = {
    "stream-lda-svi": (LDA, None, {"n_topics": 3, "inference": "svi", "max_iter": 4}),
    "stream-slda-svi": (SLDARegressor, "gaussian", {"n_topics": 3, "inference": "svi", "max_iter": 4}),
    "stream-slda-pc": (SLDAClassifier, "softmax", {"n_topics": 3, "inference": "pc", "max_iter": 3}),
}
NAMES = (*ENGINES, *STREAMS)


def batches(response):
    """120 documents, 30 at a time."""
    X, _, y, _ = golden.data(response)
    parts = [slice(start, start + 30) for start in range(0, X.shape[0], 30)]
    return Stream.from_iterable([X[part] if y is None else (X[part], y[part]) for part in parts])


def fit(name, checkpoint):
    """A fitted model of one case, as `tests/test_golden_fits.py` has it, with a checkpoint at every step."""
    kept = Checkpoint(checkpoint, every_seconds=0)
    if name in STREAMS:
        kind, response, params = STREAMS[name]
        return kind(checkpoint=kept, **params).fit(batches(response))
    kind, response, params = golden.CASES[name]
    try:
        golden.CASES[name] = (kind, response, {**params, "checkpoint": kept})
        return golden.fit(name)
    finally:
        golden.CASES[name] = (kind, response, params)


def fit_and_save(name, folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit(name, folder / "fit.checkpoint").save(folder / "model")


def start(name, folder):
    """The fit in a process of its own; its number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        fit_and_save(name, folder)
        code = 0
    except KeyboardInterrupt:
        code = 130
    finally:
        os._exit(code)


def finished(child):
    """The exit code of a process: minus the signal, if one ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def checkpoints(folder):
    return sorted(path for path in folder.glob("fit.checkpoint*"))


def kill_one(name, whole, seconds, rng, folder):
    """Kill a fit at a random moment, and let it go on; tell where it was."""
    old = b"" if rng.random() < 0.5 else whole
    (folder / "model").write_bytes(old)
    child = start(name, folder)
    if rng.random() < 0.6:  # between the first checkpoint and the end
        until = time.perf_counter() + 10 * seconds
        while not checkpoints(folder) and time.perf_counter() < until:
            time.sleep(0.001)
        time.sleep(rng.uniform(0, 0.5 * seconds))
    else:
        time.sleep(rng.uniform(0, 1.1 * seconds))
    os.kill(child, rng.choice([signal.SIGKILL] * 4 + [signal.SIGINT]))
    code = finished(child)
    assert code in (0, 130, -signal.SIGKILL), f"{name}: the fit ended with {code}"
    assert (folder / "model").read_bytes() in (old, whole), f"{name}: half a model"
    left = checkpoints(folder)
    for path in left:
        read_file(path, "checkpoint")
    if code != 0:
        code = finished(start(name, folder))
        assert code == 0, f"{name}: the fit that goes on ended with {code}"
    assert (folder / "model").read_bytes() == whole, f"{name}: another model"
    assert not checkpoints(folder), f"{name}: {checkpoints(folder)} are left"
    for path in folder.glob(".model.*"):  # of a save that was killed; the next fit of the checkpoint removes its own
        path.unlink()
    return "with a checkpoint" if left else "before the first checkpoint or after the last"


def prepare(name, folder):
    """The model of a whole fit, and the seconds that a fit takes once all is compiled."""
    fit_and_save(name, folder)
    whole = (folder / "model").read_bytes()
    began = time.perf_counter()
    assert finished(start(name, folder)) == 0
    assert (folder / "model").read_bytes() == whole
    return whole, time.perf_counter() - began


def main():
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.kills")
    parser.add_argument("kills", nargs="?", type=int, default=200)
    parser.add_argument("--engines", nargs="*", default=NAMES, choices=NAMES, metavar="ENGINE")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng, found = random.Random(asked.seed), {}
    with temporary_folder() as folder:
        began = time.perf_counter()
        for place, name in enumerate(asked.engines):
            own = Path(folder) / name
            own.mkdir()
            whole, seconds = prepare(name, own)
            number = asked.kills // len(asked.engines) + (place < asked.kills % len(asked.engines))
            for _ in range(number):
                where = kill_one(name, whole, seconds, rng, own)
                found[where] = found.get(where, 0) + 1
            print(f"{name}: {number} kills in a fit of {seconds:.2f} s", flush=True)
    seconds = time.perf_counter() - began
    print(f"{sum(found.values())} kills, {len(asked.engines)} engines, {seconds:.0f} s, all models the same: {found}")


if __name__ == "__main__":
    sys.exit(main())
