"""Atomic writes, and the file format of models and checkpoints.

A file is a safetensors file: 8 bytes of header length, a JSON header, the buffers of the arrays. The header's
``__metadata__`` holds three strings: ``format`` (first, so that the first bytes identify the file), ``checksum`` and
``manifest`` (JSON). Any safetensors reader can open it, and no code in it is ever executed. A model has a fourth one,
``date``, the day of its fit. The checksum leaves it out: it is the same for the same fit on another day.
"""

from __future__ import annotations

import contextlib
import functools
import glob
import hashlib
import json
import os
import secrets
import stat
import struct
from collections.abc import Callable, Mapping
from typing import Any, BinaryIO

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load as read_arrays

Place = str | os.PathLike[str] | BinaryIO  # of a file: its path, or something open

FORMAT = "supertopic"
FORMAT_VERSION = 1

_OPENING = b'{"__metadata__":{"format":"' + FORMAT.encode() + b'"'
_HEADER_LIMIT = 100_000_000  # safetensors readers reject longer headers
_DTYPE_CODES = {
    "float64": "F64", "float32": "F32", "float16": "F16", "bool": "BOOL",
    "int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8",
    "uint64": "U64", "uint32": "U32", "uint16": "U16", "uint8": "U8",
}  # fmt: skip
_KINDS = {  # of files, and what to do where another kind is expected
    "checkpoint": "{path} is a checkpoint of an unfinished fit, not a {kind}: fit again with checkpoint={path!r}"
    " to finish it, then save the model",
    "model": "{path} is a saved model, not a {kind}: supertopic.load reads it; choose another path for a {kind}",
    "predictor": "{path} is a predictor, not a {kind}: supertopic.predictor.load_predictor reads it",
    "rescue": "{path} is what was kept of a fit that could not be saved, not a {kind}: safetensors.numpy.load_file"
    " reads its arrays",
}


def write_atomically(path: str | os.PathLike[str], data: bytes | Callable[[BinaryIO], None]) -> None:
    """Write a file atomically: at every moment `path` has either the old content or the new content.

    Parameters
    ----------
    path : path
        The file to write; a symbolic link is followed, an existing file keeps its permissions.
    data : bytes or callable
        The content, or a function that writes it to a given binary file.

    Raises
    ------
    OSError
        If the file cannot be written, e.g. because the disk is full; the old file is kept.
    """
    target = os.path.realpath(path)
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name}.{secrets.token_hex(4)}.tmp")
    try:
        if os.path.isdir(target):
            raise IsADirectoryError("it is a folder")
        if os.path.exists(target) and not os.path.isfile(target):  # renaming over /dev/null would destroy it
            raise OSError("it is a device or a pipe, not a file")
        try:
            with open(temporary, "xb") as file:
                if callable(data):
                    data(file)
                else:
                    file.write(data)
                file.flush()
                os.fsync(file.fileno())
            with contextlib.suppress(FileNotFoundError):
                os.chmod(temporary, stat.S_IMODE(os.stat(target).st_mode))
            os.replace(temporary, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.remove(temporary)
            raise
    except OSError as error:
        raise _in_one_sentence(error, "write", path, "; what was there before is unchanged") from error
    _sync_folder(folder)


def remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove temporary files next to `path` that were left by killed processes."""
    folder, name = os.path.split(os.path.realpath(path))
    for leftover in glob.glob(os.path.join(glob.escape(folder), f".{glob.escape(name)}.????????.tmp")):
        with contextlib.suppress(OSError):
            os.remove(leftover)


def write_model(path: Place, manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray], date: str = "") -> None:
    """Save a model: a JSON-compatible manifest and named arrays, which are stored exactly.

    Parameters
    ----------
    path : path or binary file
        The file, usually ``model.supertopic``; written atomically. Or something open to be written, such as a BytesIO.
    manifest : mapping
        What the reader needs in addition to the arrays; NumPy scalars are allowed. The format, its version, the
        version of supertopic and the kind of file are added.
    arrays : mapping of str to ndarray
        Numbers or booleans of any shape and memory layout.
    date : str
        The day of the fit, which `read_model` gives back as ``manifest["date"]``.
    """
    write_file(path, "model", manifest, arrays, date)


def read_model(path: Place) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a file written by `write_model`.

    Returns
    -------
    manifest : dict
    arrays : dict of str to ndarray

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If it is a folder, a file of another kind, damaged, truncated, or of a newer format.
    """
    return read_file(path, "model")


def write_file(
    path: Place, kind: str, manifest: Mapping[str, Any], arrays: Mapping[str, np.ndarray], date: str = ""
) -> None:
    """Write a file of a `kind`: "model", "checkpoint" or "rescue" (see `write_model`)."""
    if manifest.get("kind", kind) != kind:
        raise ValueError(f"manifest: the key 'kind' is reserved, got {manifest['kind']!r}, expected {kind!r}")
    stamp = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "supertopic_version": _version(),
        "kind": kind,
    }
    manifest_json = to_json({**stamp, **manifest, **stamp})
    # Arrays with wide items come first, so that all buffers are aligned without gaps (the format forbids gaps).
    names = sorted(arrays, key=lambda name: (-np.asarray(arrays[name]).dtype.itemsize, name))
    strings = {"format": FORMAT, "checksum": _checksum(manifest_json, arrays), "manifest": manifest_json}
    if date:
        strings["date"] = date
    text = _header(strings, names, arrays)

    def write(file: BinaryIO) -> None:
        file.write(struct.pack("<Q", len(text)))
        file.write(text)
        for name in names:
            file.write(as_bytes(_storable(name, arrays[name])))

    if isinstance(path, str | os.PathLike):
        write_atomically(path, write)
    else:
        write(path)


def read_file(path: Place, kind: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Read a file of a `kind`: "model" or "checkpoint" (see `read_model`)."""
    shown = name_of(path)
    try:
        content = shown if isinstance(path, str | os.PathLike) else path.read()
        _check_opening(content, shown)
        manifest, arrays = _read(content, shown)
    except FileNotFoundError:
        raise FileNotFoundError(f"{shown} does not exist: check the path of the {kind}") from None
    except OSError as error:
        raise _in_one_sentence(error, "read", shown) from error
    _check_version(shown, manifest)
    if manifest["kind"] != kind:
        raise ValueError(_KINDS[manifest["kind"]].format(path=shown, kind=kind))
    return manifest, arrays


def name_of(path: Place) -> str:
    """What messages call it."""
    return os.fspath(path) if isinstance(path, str | os.PathLike) else "the stream"


def _read(content: str | bytes, shown: str) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Manifest and arrays of a path or of what a file holds; of a newer format, the manifest only."""
    try:
        strings, arrays = _parts(content)
        manifest = json.loads(strings["manifest"])
        _check_manifest(manifest)
        if manifest["format_version"] > FORMAT_VERSION:  # this version may not know its arrays
            return manifest, {}
        found = arrays()
        if strings["checksum"] != _checksum(strings["manifest"], found):
            raise SafetensorError("the checksum does not match")
        if "date" in strings:
            manifest["date"] = strings["date"]
    except OSError:
        raise
    except Exception as error:  # whatever a forged header leads to
        what = " ".join(str(error).split())[:300]
        raise ValueError(
            f"{shown} is damaged or cut short ({what}): restore it from a copy, or delete it and fit again"
        ) from error
    return manifest, found


def _parts(content: str | bytes) -> tuple[dict[str, str], Callable[[], dict[str, np.ndarray]]]:
    """The strings of the header, and what reads the arrays."""
    if isinstance(content, bytes):
        length = int.from_bytes(content[:8], "little")
        return json.loads(content[8 : 8 + length])["__metadata__"], lambda: read_arrays(content)

    def from_file() -> dict[str, np.ndarray]:
        with safe_open(content, framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)

    with safe_open(content, framework="numpy") as file:
        return file.metadata(), from_file


def kind_of_file(path: str | os.PathLike[str]) -> str | None:
    """Return "model", "checkpoint" or "rescue" for a file of ours, None for any other one; reads its header only."""
    try:
        _check_opening(os.fspath(path), os.fspath(path))
        with open(path, "rb") as file:
            (length,) = struct.unpack("<Q", file.read(8))
            header = file.read(min(length, _HEADER_LIMIT))
        kind = json.loads(json.loads(header)["__metadata__"]["manifest"])["kind"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError, struct.error):
        return None
    return kind if kind in list(_KINDS) else None


def to_json(value: object) -> str:
    """Return ASCII JSON, with NumPy scalars and arrays as numbers and lists; floats are stored exactly."""
    return json.dumps(value, default=_plain, separators=(",", ":"))


def as_bytes(array: np.ndarray) -> memoryview:
    """Return the buffer of an array in C order, without a copy if it is contiguous."""
    return np.asarray(array, order="C").reshape(-1).view(np.uint8).data


def is_storable(array: np.ndarray) -> bool:
    """Whether a file can hold the array: numbers or booleans."""
    return array.dtype.name in _DTYPE_CODES


def _plain(value: object) -> Any:
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"manifest: a {type(value).__name__} cannot be saved, expected what JSON can hold")


def _storable(name: str, array: np.ndarray) -> np.ndarray:
    """Return the array in little-endian order; raise a ValueError if it does not hold numbers."""
    array = np.asarray(array)
    if not is_storable(array):
        raise ValueError(f"arrays: {name!r} has dtype {array.dtype}, expected numbers or booleans")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _header(strings: dict[str, str], names: list[str], arrays: Mapping[str, np.ndarray]) -> bytes:
    header: dict[str, Any] = {"__metadata__": strings}
    start = 0
    for name in names:
        array = _storable(name, arrays[name])
        stop = start + array.nbytes
        code, shape = _DTYPE_CODES[array.dtype.name], list(array.shape)
        header[name] = {"dtype": code, "shape": shape, "data_offsets": [start, stop]}
        start = stop
    text = json.dumps(header, separators=(",", ":")).encode()
    if len(text) > _HEADER_LIMIT:
        raise ValueError(f"manifest: {len(text):,} bytes, expected at most {_HEADER_LIMIT:,}; use arrays")
    return text + b" " * (-len(text) % 8)


def _checksum(manifest_json: str, arrays: Mapping[str, np.ndarray]) -> str:
    """Return a hash of the content, so that a damaged file raises an error."""
    digest = hashlib.blake2b(manifest_json.encode(), digest_size=16)
    for name in sorted(arrays):
        array = _storable(name, arrays[name])
        digest.update(f"|{name}|{array.dtype.name}|{array.shape}|".encode())
        digest.update(as_bytes(array))
    return digest.hexdigest()


def _check_opening(content: str | bytes, shown: str) -> None:
    """Raise if it is no file or one of another format, before anything is parsed."""
    opening = content[: 8 + len(_OPENING)] if isinstance(content, bytes) else _opening_of(content)
    if opening[8:] != _OPENING:
        raise ValueError(f"{shown} was not saved by supertopic, or has lost its beginning: expected a model file")


def _opening_of(path: str) -> bytes:
    """The first bytes of a file; refuses folders and pipes."""
    if os.path.exists(path) and not os.path.isfile(path):  # to open a pipe would wait for somebody to write
        what = "folder" if os.path.isdir(path) else "pipe or a device"
        raise ValueError(f"{path} is a {what}: expected a file that supertopic has saved")
    with open(path, "rb") as file:
        return file.read(8 + len(_OPENING))


def _check_manifest(manifest: object) -> None:
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT or manifest.get("kind") not in list(_KINDS):
        raise SafetensorError("its manifest is not one of supertopic")
    version = manifest.get("format_version")
    if type(version) is not int or version < 1:
        raise SafetensorError(f"its format version is {version!r}")


def _check_version(path: str, manifest: dict[str, Any]) -> None:
    version = manifest["format_version"]
    if version > FORMAT_VERSION:
        writer = manifest.get("supertopic_version")
        raise ValueError(
            f"{path} has format version {version!r:.40} (of supertopic {writer!s:.40}),"
            f" and this supertopic {_version()} reads up to {FORMAT_VERSION}: upgrade supertopic to load it"
        )


@functools.cache
def _version() -> str:
    from importlib import metadata  # it takes as long as reading a small model

    try:
        return metadata.version("supertopic")
    except metadata.PackageNotFoundError:  # run from a source tree without installation
        return "unknown"


def _in_one_sentence(error: OSError, verb: str, path: str | os.PathLike[str], rest: str = "") -> OSError:
    """Return the same kind of OSError, with a message of one sentence that names the file."""
    sentence = type(error)(f"could not {verb} {os.fspath(path)}: {error.strerror or error}{rest}")
    sentence.errno = error.errno
    return sentence


def _sync_folder(folder: str) -> None:
    """Flush a rename to the disk; ignored where the system cannot do it, since the file is complete anyway."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
