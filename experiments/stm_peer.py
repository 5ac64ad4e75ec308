"""A structural topic model of another library, fitted by an interpreter of its own: `python stm_peer.py NAME FOLDER`.

FOLDER holds `counts.npz` and `design.npy` (without a constant; its first column is the party). Written are `topics`,
`party` (estimate and error by topic) and `seconds` (of the fit and of the effects, of the processor).
"""

import importlib
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp

N_TOPICS, DRAWS = 20, 25


def with_topica(counts, design):
    topica = importlib.import_module("topica")
    documents = [np.repeat(row.indices, row.data.astype(int)) for row in counts]
    words = [[f"w{word}" for word in one] for one in documents]
    start = time.process_time()
    model = topica.STM(N_TOPICS, seed=1).fit(words, prevalence=design, num_threads=1)
    middle = time.process_time()
    found = topica.estimate_effect(model, design, nsims=DRAWS, seed=1).to_frame()
    end = time.process_time()
    topics = np.zeros((N_TOPICS, counts.shape[1]))
    topics[:, [int(word[1:]) for word in model.vocabulary]] = model.topic_word
    party = found.loc[found["feature"] == "feature_0", ["coef", "se"]].to_numpy()
    return topics, party, (middle - start, end - middle)


def main(name, folder):
    counts = sp.csr_matrix(sp.load_npz(folder / "counts.npz"))
    topics, party, seconds = {"topica": with_topica}[name](counts, np.load(folder / "design.npy"))
    for what, value in (("topics", topics), ("party", party), ("seconds", seconds)):
        np.save(folder / what, np.asarray(value))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
