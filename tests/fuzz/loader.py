"""Model files at random: bytes, headers, manifests and arrays of saved models are changed, checksums right or wrong.

What `load` gets is refused by a ValueError of one sentence that names the file, or is a model that predicts finite
numbers. While it loads, nothing but the file is opened, and nothing is imported or run.
"""

import copy
import json
import random
import struct
from functools import cache

import numpy as np

from supertopic import load
from supertopic.persistence import read_model, write_model
from tests.fuzz.runner import main
from tests.fuzz.watch import nothing_but, ran_out_of_memory, without_warnings
from tests.test_crafted_files import STAMP, VALUES, check_use, golden_files, use

NAMES = (
    "os.system", "builtins.eval", "subprocess", "__import__('os').system('true')", "/etc/passwd", "../x", "pickle",
    "cos\nsystem\n(S'true'\ntR.", "file:///etc/passwd", "http://localhost/", "numpy.load", "__class__", "__reduce__",
    "LDA", "SLDARegressor", "Vectorizer", "fit", "_state", "predict", "\x00", "\ud800", "a" * 5000, "(a+)+$", "%s%n",
)  # fmt: skip
TAGS = (
    "$tuple", "$set", "$frozenset", "$dict", "$numpy", "$array", "$range", "$random_state", "$vectorizer", "$code",
)  # fmt: skip
DTYPES = ("float64", "float32", "float16", "int64", "int32", "int8", "uint8", "uint64", "bool")
NUMBERS = (0, 1, -1, 2, 0.5, 1e-45, 1e-300, 1e30, 3e38, 1e308, np.nan, np.inf, -np.inf, 2**31 - 1, 2**31, -(2**63))


@cache
def models():
    """(bytes, manifest, arrays) of a file of each kind."""
    return [(path.read_bytes(), *read_model(path)) for path in golden_files().values()]


def warm_up():
    """Load and use a file of each kind, so that all modules are imported and all kernels compiled."""
    for path in golden_files().values():
        assert use(path)


def some_value(rng, depth=0):
    """A JSON value that a stranger might put anywhere."""
    choice = rng.random()
    if choice < 0.35 or depth > 3:
        return copy.deepcopy(rng.choice(VALUES))
    if choice < 0.55:
        return rng.choice(NAMES)
    if choice < 0.7:
        return rng.choice(
            [rng.randint(-5, 5), rng.uniform(-2, 2), 10 ** rng.randint(1, 30), float(rng.choice(NUMBERS))]
        )
    items = [some_value(rng, depth + 1) for _ in range(rng.randint(0, 3))]
    if choice < 0.8:
        return items
    if choice < 0.9:
        return {rng.choice(TAGS): rng.choice([items, items[0] if items else None])}
    return {rng.choice(NAMES): item for item in items}


def places(value, path=()):
    """Paths to all values inside a manifest; of long lists, the first three."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value[:3]) if isinstance(value, list) else ()
    for key, item in inside:
        yield from places(item, (*path, key))


def change_manifest(rng, manifest):
    """A manifest with one value replaced, removed, doubled, renamed or taken from another model."""
    changed = copy.deepcopy(manifest)
    path = rng.choice([one for one in places(changed) if one and one[0] not in STAMP])
    inside = changed
    for key in path[:-1]:
        inside = inside[key]
    last, choice = path[-1], rng.random()
    if choice < 0.15:
        del inside[last]
    elif choice < 0.25 and isinstance(inside, dict):
        inside[rng.choice([*NAMES, *inside])] = inside.pop(last)
    elif choice < 0.35 and isinstance(inside, list):
        inside.insert(rng.randint(0, len(inside)), copy.deepcopy(inside[last]))
    elif choice < 0.5:
        other = rng.choice(models())[1]
        inside[last] = copy.deepcopy(other.get(path[0]))
    else:
        inside[last] = some_value(rng)
    return changed


def change_array(rng, array):
    """An array of another type, shape or content."""
    choice = rng.random()
    with np.errstate(all="ignore"):
        if choice < 0.2:
            return array.astype(rng.choice(DTYPES))
        if choice < 0.5 and array.ndim:
            axis = rng.randrange(array.ndim)
            size = rng.choice([0, 1, array.shape[axis] - 1, array.shape[axis] + 1, 2 * array.shape[axis]])
            return np.resize(array, [max(size, 0) if k == axis else n for k, n in enumerate(array.shape)])
        if choice < 0.6:
            return rng.choice([array.T, array.reshape(-1), array[None], array[..., None], array[..., :0]])
        changed = array.copy()
        if not array.size or array.dtype.kind == "b":
            return ~changed if array.dtype.kind == "b" else changed
        if choice < 0.85:
            place = rng.randrange(array.size) if rng.random() < 0.7 else slice(None)
            changed.flat[place] = np.asarray(rng.choice(NUMBERS)).astype(array.dtype)
            return changed
        seen = changed.reshape(-1).view(np.uint8)
        seen[rng.randrange(seen.size)] ^= 1 << rng.randrange(8)
        return changed


def change_arrays(rng, arrays):
    changed = dict(arrays)
    name, choice = rng.choice(sorted(arrays)), rng.random()
    if choice < 0.1:
        del changed[name]
    elif choice < 0.2:
        changed[rng.choice(["state.", "draws.", "param.", "", "x."]) + rng.choice([*NAMES[:20], name])] = arrays[name]
    elif choice < 0.35:
        other = rng.choice(models())[2]
        changed[name] = other.get(name, rng.choice(list(other.values())))
    else:
        changed[name] = change_array(rng, arrays[name])
    return changed


def change_bytes(rng, data):
    """A file that was cut, filled up, or hit at one place."""
    data, choice = bytearray(data), rng.random()
    place = rng.randrange(len(data))
    if choice < 0.25:
        return bytes(data[:place])
    if choice < 0.5:
        data[place] ^= 1 << rng.randrange(8)
    elif choice < 0.7:
        data[place : place + rng.randrange(1, 200)] = rng.randbytes(rng.randrange(0, 200))
    elif choice < 0.85:
        data[:8] = struct.pack("<Q", rng.choice([0, 1, 7, 2**20, 10**8, 10**9, 2**40, 2**63, rng.randrange(len(data))]))
    else:
        data += data[place:]
    return bytes(data)


def change_header(rng, data):
    """A file whose header tells of other types, shapes, places and texts than there are."""
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    name = rng.choice(sorted(header))
    if name == "__metadata__":
        inside = header[name]
        inside[rng.choice([*inside, "more"])] = rng.choice([some_value(rng), *inside.values()])
    else:
        header[name][rng.choice(["dtype", "shape", "data_offsets"])] = rng.choice(
            [
                "F64",
                "F32",
                "I8",
                "BOOL",
                "BF16",
                "F8_E4M3",
                [],
                [2**40],
                [2**62, 4],
                [0, 10**12],
                [-1],
                [5, 3],
                some_value(rng),
            ]
        )
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + data[8 + length :]


@without_warnings
def try_one(rng, folder):
    """Write one forged file and do with it what somebody would; tell what became of it."""
    path = folder / "forged.supertopic"
    data, manifest, arrays = rng.choice(models())
    choice = rng.random()
    if choice < 0.15:
        path.write_bytes(change_bytes(rng, data))
    elif choice < 0.3:
        path.write_bytes(change_header(rng, data))
    else:
        for _ in range(rng.choice([1, 1, 1, 2, 3])):
            if rng.random() < 0.5:
                manifest = change_manifest(rng, manifest)
            else:
                arrays = change_arrays(rng, arrays)
        _write(path, manifest, arrays)
    try:
        with nothing_but(path):
            model = load(path)
    except ValueError as error:
        assert str(path) in str(error) and "\n" not in str(error) and len(str(error)) < 1000, str(error)
        assert not ran_out_of_memory(error), "a small file took all memory"
        return "refused"
    check_use(model)
    return "loaded, and predicts numbers"


def _write(path, manifest, arrays):
    try:
        write_model(path, manifest, arrays)
    except (ValueError, TypeError):  # what not even a forger can write, such as half a surrogate pair in a name
        path.write_bytes(b"")


if __name__ == "__main__":
    import os

    os.fsync = lambda descriptor: None
    random.seed(0)
    main("loader", try_one, default=10_000, warm_up=warm_up)
