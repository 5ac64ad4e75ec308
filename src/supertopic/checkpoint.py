"""Checkpoints of long fits: the state is saved to a file, and only the same fit can continue from it."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from supertopic.persistence import as_bytes, read_file, remove_leftovers, to_json, write_file


class Checkpoint:
    """The state of one unfinished fit, saved at intervals and removed at the end of the fit.

    Parameters
    ----------
    path : path
        The checkpoint file; its folder must exist.
    every_seconds : float
        Smallest time between two saves; 0 saves at every call.
    fingerprint : mapping
        What identifies the fit: its parameters, and `fingerprint_data` of the data. A file with another
        fingerprint raises an error, so that no fit continues from the state of another.
    """

    def __init__(
        self, path: str | os.PathLike[str], every_seconds: float = 30.0, *, fingerprint: Mapping[str, Any]
    ) -> None:
        self.path = os.path.abspath(os.fspath(path))
        if not os.path.isdir(os.path.dirname(self.path)):
            raise ValueError(f"checkpoint: the folder of {os.fspath(path)} does not exist: create it first")
        if not every_seconds >= 0:
            raise ValueError(f"every_seconds: got {every_seconds!r}, expected a number of seconds >= 0")
        self.every_seconds = every_seconds
        self.fingerprint = json.loads(to_json(fingerprint))
        self._saved_at = time.monotonic()

    def load(self) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return the scalars and arrays of the last save, or None if there is no file."""
        remove_leftovers(self.path)
        if not os.path.lexists(self.path):
            return None
        manifest, arrays = read_file(self.path, "checkpoint")
        differences = _differences(manifest.get("fingerprint", {}), self.fingerprint)
        if differences:
            raise ValueError(
                f"{self.path} is the checkpoint of another fit ({', '.join(differences)}):"
                " delete the file or choose another path for checkpoint"
            )
        return manifest["scalars"], arrays

    def due(self) -> bool:
        """Whether it is time for the next save."""
        return time.monotonic() - self._saved_at >= self.every_seconds

    def save(self, scalars: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
        """Replace the file by the current state, atomically."""
        write_file(self.path, "checkpoint", {"fingerprint": self.fingerprint, "scalars": scalars}, arrays)
        self._saved_at = time.monotonic()

    def finish(self) -> None:
        """Remove the file: the fit is complete."""
        remove_leftovers(self.path)
        if os.path.lexists(self.path):
            os.remove(self.path)


def fingerprint_data(matrix: Any, *more: Any) -> str:
    """Return a hash of the data of a fit, 32 hexadecimal digits; takes about a second per gigabyte.

    Parameters
    ----------
    matrix : sparse matrix or array
        The documents.
    *more : array, sparse matrix or None
        The response, sample weights and other inputs of the fit; their order matters.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in (matrix, *more):
        if sp.issparse(part):
            csr = part.tocsr()
            digest.update(f"sparse {csr.shape}".encode())
            pieces = [csr.indptr, csr.indices, csr.data]
        else:
            pieces = [np.asarray(part)]
        for piece in pieces:
            digest.update(f"|{piece.dtype}|{piece.shape}|".encode())
            # The buffer of an object array holds addresses, not values.
            digest.update(repr(piece.tolist()).encode() if piece.dtype.hasobject else as_bytes(piece))
    return digest.hexdigest()


def _differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the differences between two fingerprints, each in a few words."""
    found = []
    for key in sorted({*old, *new}):
        was, now = (to_json(side[key]) if key in side else "absent" for side in (old, new))
        if was != now:
            short = max(len(was), len(now)) <= 24
            found.append(f"{key} was {was} and is {now}" if short else f"{key} differs")
    return found
