"""Pack a payload into one HTML file.

All that comes from data travels as base64 of compressed bytes: no word, label or file name stands in the HTML, so that
none can be read as a tag or a script.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from supertopic.explore.page.payload import Payload, collect
from supertopic.persistence import write_atomically

if TYPE_CHECKING:
    from supertopic.estimators.shared.base import TopicEstimator

SCRIPTS = (
    "decode", "special", "tokens", "infer", "responses", "explain", "colors", "dom", "charts", "export", "state",
    "labels", "words", "axis", "matrix", "card", "topics", "waterfall", "document", "documents", "typed",
    "prevalence", "groups", "compared", "fit", "map", "diagnostics", "search", "address", "paper", "main",
)  # fmt: skip


def write_report(
    estimator: TopicEstimator, path: str | os.PathLike[str], X: object, y: object = None, **more: Any
) -> None:
    """Write the page of a fitted estimator to `path`, atomically; the arguments are those of `model.report`."""
    write_atomically(path, render(collect(estimator, X, y, **more)))


def render(payload: Payload, scripts: Sequence[str] = SCRIPTS) -> bytes:
    """The page."""
    script = "".join(f"// {name}.js\n{asset(f'{name}.js')}\n" for name in scripts)
    script = f'"use strict";\n(() => {{\n{script}}})();\n'
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    pieces = {
        "TITLE": escape(str(payload.facts["title"]).encode("utf-8", "replace").decode()),
        "HASH": digest,
        "STYLE": asset("page.css"),
        "DATA": base64.b64encode(pack(payload)).decode(),
        "SCRIPT": script,
    }
    page = asset("page.html")
    head, *rest = page.split("{{")
    parts = [head]
    for piece in rest:
        name, _, after = piece.partition("}}")
        parts += [pieces[name], after]
    return "".join(parts).encode()


def asset(name: str) -> str:
    """A file of the folder `assets`."""
    return resources.files("supertopic.explore.page").joinpath("assets", name).read_text(encoding="utf-8")


def pack(payload: Payload) -> bytes:
    """Compressed bytes: the length of the JSON (8 bytes), the JSON, and the arrays, each at a multiple of 8 bytes."""
    table, chunks, place = {}, [], 0
    for name, array in payload.arrays.items():
        data = np.ascontiguousarray(array).tobytes()
        table[name] = [str(array.dtype), list(array.shape), place]
        data += b"\0" * (-len(data) % 8)
        chunks.append(data)
        place += len(data)
    facts = json.dumps({**payload.facts, "arrays": table}, allow_nan=False, separators=(",", ":")).encode("ascii")
    facts += b" " * (-len(facts) % 8)
    return gzip.compress(b"".join([len(facts).to_bytes(8, "little"), facts, *chunks]), 6, mtime=0)
