"""Checkpoints of long fits: the state is saved to a file, and only the same fit can continue from it."""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from supertopic.persistence import as_bytes, read_file, remove_leftovers, to_json, write_file
from supertopic.plain_values import encode

# Fits that are a part of another: of a fold, of an ensemble, beside words, on the way to a choice.
_ASIDE = re.compile(r"(\.(fold|member|pilot|choice)-\d+)+")


class Checkpoint:
    """Where, and how often, a long fit is saved while it runs: ``LDA(checkpoint=Checkpoint("fit.checkpoint", 300))``.

    A path alone, ``LDA(checkpoint="fit.checkpoint")``, saves every 30 seconds. A fit that was killed and is started
    again with the same data and parameters continues from the file. The file is removed at the end of the fit. Fits
    that are a part of it (of cross-fitting, of an ensemble, of ``supervision="auto"``) have files of their own beside
    it, such as ``fit.checkpoint.fold-2``; they are removed with it.

    Parameters
    ----------
    path : path
        The checkpoint file; its folder must exist. A fit with `n_init` starts or several chains has a file for each,
        whose name ends with the number.
    every_seconds : float
        Smallest time between two saves; 0 saves at every step. A save writes all numbers of the fit.
    fingerprint : mapping
        Set by the estimator. It identifies the fit: its parameters, and `fingerprint_data` of the data. A file with
        another fingerprint raises an error, so that no fit continues from the state of another.

    Examples
    --------
    >>> from supertopic import LDA, Checkpoint
    >>> texts = ["cat dog bird", "stock bond fund", "dog fish cat", "bond market stock"] * 10
    >>> model = LDA(2, checkpoint=Checkpoint("fit.checkpoint", every_seconds=300)).fit(texts)
    >>> model.n_features_in_
    8
    """

    def __init__(
        self, path: str | os.PathLike[str], every_seconds: float = 30.0, *,
        fingerprint: Mapping[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.path = os.path.realpath(path)  # the file that a link leads to is written and removed, and the link stays
        if not os.path.isdir(os.path.dirname(self.path)):
            raise ValueError(f"checkpoint: the folder of {os.fspath(path)} does not exist: create it first")
        if not os.access(os.path.dirname(self.path), os.W_OK):
            raise ValueError(
                f"checkpoint: nothing can be written to the folder of {os.fspath(path)}: choose another one"
            )
        if os.path.exists(self.path) and not os.path.isfile(self.path):
            raise ValueError(f"checkpoint: {os.fspath(path)} is a folder, a pipe or a device, expected a file")
        if not isinstance(every_seconds, int | float | np.number) or not every_seconds >= 0:
            raise ValueError(f"every_seconds: got {every_seconds!r}, expected a number of seconds >= 0")
        self.every_seconds = every_seconds
        self.fingerprint = json.loads(to_json(fingerprint or {}))
        self._saved_at = time.monotonic()
        self._stays = False  # until the fit that this one is a part of has ended

    @classmethod
    def of(cls, given: object, fingerprint: Mapping[str, Any]) -> Checkpoint:
        """The checkpoint of one fit, from the parameter `checkpoint`: a path or a Checkpoint."""
        if isinstance(given, Checkpoint):
            own = cls(given.path, given.every_seconds, fingerprint=fingerprint)
            own._stays = given._stays
            return own
        if not isinstance(given, str | os.PathLike):
            raise ValueError(f"checkpoint: got {given!r}, expected a path or a supertopic.Checkpoint")
        return cls(given, fingerprint=fingerprint)

    def part(self, number: int, what: str) -> Checkpoint:
        """The checkpoint of one of several fits of a Task: with a file and a fingerprint of its own."""
        own = {**self.fingerprint, what: number}
        return Checkpoint(f"{self.path}.{number}", self.every_seconds, fingerprint=own)

    @classmethod
    def aside(cls, given: object, what: str, number: int) -> Checkpoint | None:
        """The checkpoint of a fit that is a part of the one with the parameter `checkpoint`; None without one.

        Its file stays until `finish` of the whole: a fit that is killed in a later part does not repeat this one.
        """
        if given is None:
            return None
        whole = cls.of(given, {})
        own = cls(f"{whole.path}.{what}-{number}", whole.every_seconds)
        own._stays = True
        return own

    def __repr__(self) -> str:
        return f"Checkpoint({self.path!r}, every_seconds={self.every_seconds!r})"

    def seed(self) -> int | None:
        """The seed of the fit that left the file, for a fit whose `random_state` is None; None without a file."""
        for path in self.files():
            found = read_file(path, "checkpoint")[0].get("fingerprint", {}).get("seed")
            member = re.search(r"\.member-(\d+)$", path)  # of an ensemble: its number is added to the seed
            return found - int(member[1] if member else 0) if type(found) is int else None
        return None

    def files(self) -> list[str]:
        """What an earlier fit has left: its file, that of its first start, and those of its parts."""
        return [path for path in (self.path, f"{self.path}.0", *self._files_aside()) if os.path.lexists(path)]

    def load(self) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
        """Return the scalars and arrays of the last save, or None if there is no file."""
        remove_leftovers(self.path)
        if not os.path.lexists(self.path):
            return None
        manifest, arrays = read_file(self.path, "checkpoint")
        before = manifest.get("fingerprint", {})
        differences = _differences(before if isinstance(before, dict) else {}, self.fingerprint)
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
        """Replace the file by the current state, atomically; a full disk is a warning, and the fit goes on."""
        try:
            write_file(self.path, "checkpoint", {"fingerprint": self.fingerprint, "scalars": scalars}, arrays)
        except OSError as error:
            warnings.warn(f"checkpoint: {error}; the fit goes on", UserWarning, stacklevel=2)
        self._saved_at = time.monotonic()

    def finish(self) -> None:
        """Remove the file, and those of its parts: the fit is complete."""
        if self._stays:
            return
        for path in (*self._files_aside(), self.path):
            remove_leftovers(path)
            if os.path.lexists(path):
                os.remove(path)

    def _files_aside(self) -> list[str]:
        """The files of the fits that are a part of this one."""
        folder, name = os.path.split(self.path)
        found = (other for other in os.listdir(folder) if other.startswith(name))
        return sorted(os.path.join(folder, other) for other in found if _ASIDE.fullmatch(other, len(name)))


def fingerprint_value(value: object) -> str:
    """Return a short text that differs for different values of a parameter: a hash, where they are long."""
    try:
        text = to_json(encode(value, "parameter"))
    except ValueError:
        text = repr(value)
    return text if len(text) <= 60 else hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def fingerprint_data(matrix: object, *more: Any) -> str:
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
