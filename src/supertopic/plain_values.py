"""Parameters of estimators as JSON and back: the value and its type survive, and nothing is pickled.

JSON has no tuples, no NumPy numbers, and no dictionaries with keys other than text. Such a value is written as an
object with one key that begins with "$": ``{"$tuple": [1, 2]}``, ``{"$numpy": ["int64", 3]}``. Reading calls nothing
that a file names: the tags are those of this module.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_MOST_BITS = 4096  # of a whole number: Python itself refuses to read numbers of very many digits
_LONGEST_RANGE = 100_000
_KEYS = 624  # words of the state of NumPy's RandomState
_FLOATS, _WHOLE = ("float16", "float32", "float64"), ("int8", "int16", "int32", "int64")
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_NUMBERS = (*_FLOATS, *_WHOLE, *_UNSIGNED, "bool")
_COLLECTIONS: dict[str, Any] = {"$tuple": tuple, "$set": set, "$frozenset": frozenset}


def encode(value: object, name: str) -> Any:
    """The value as JSON can hold it; a ValueError in one sentence that begins with `name` if it cannot."""
    try:
        return _encode(value)
    except _NoPlainValue as error:
        raise ValueError(
            f"{name}: {error} cannot be saved; set the parameter to a plain value (numbers, text, lists, tuples,"
            " dicts, arrays) before the model is saved"
        ) from None
    except RecursionError:
        raise ValueError(f"{name}: a value nested so deeply cannot be saved; expected a plain value") from None


def decode(value: object) -> Any:
    """The value that `encode` was given; a ValueError for what `encode` never writes."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next(iter(value), "")
    if not any(key.startswith("$") for key in value):
        return {key: decode(item) for key, item in value.items()}
    if len(value) > 1 or tag not in _READERS:
        raise ValueError(f"a value of the unknown kind {tag!r:.40}")
    return _READERS[tag](value[tag])


class _NoPlainValue(Exception):
    """Says what cannot be written."""


def _encode(value: Any) -> Any:
    kind = type(value)
    if value is None or kind in (bool, str, float):
        return value
    if kind is int:
        if value.bit_length() > _MOST_BITS:
            raise _NoPlainValue("a whole number of so many digits")
        return value
    if kind is list:
        return [_encode(item) for item in value]
    if kind is dict:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: _encode(item) for key, item in value.items()}
        return {"$dict": [[_encode(key), _encode(item)] for key, item in value.items()]}
    for tag, collection in _COLLECTIONS.items():
        if kind is collection:
            items = value if kind is tuple else sorted(value, key=repr)
            return {tag: [_encode(item) for item in items]}
    if kind is range:
        if not _is_short(value):
            raise _NoPlainValue("a range of so many numbers")
        return {"$range": [value.start, value.stop, value.step]}
    if kind is np.str_:
        return {"$numpy": ["str", str(value)]}
    if isinstance(value, np.generic) and value.dtype.name in _NUMBERS:
        return {"$numpy": [value.dtype.name, value.item()]}
    if kind is np.ndarray:
        return {"$array": _encode_array(value)}
    if kind is np.random.RandomState:
        return {"$random_state": _encode_random_state(value)}
    raise _NoPlainValue(f"a {kind.__module__}.{kind.__qualname__}".replace("builtins.", ""))


def _is_short(numbers: range) -> bool:
    """Whether a range may become an array without filling the memory."""
    return not numbers[_LONGEST_RANGE:]


def _encode_array(array: np.ndarray) -> list[Any]:
    if array.dtype.name in _NUMBERS:
        return [array.dtype.name, list(array.shape), array.ravel().tolist()]
    if array.dtype.kind == "U":
        return [array.dtype.str, list(array.shape), array.ravel().tolist()]
    if array.dtype.kind == "O":
        return ["object", list(array.shape), [_encode(item) for item in array.ravel().tolist()]]
    raise _NoPlainValue(f"an array of {array.dtype}")


def _encode_random_state(state: np.random.RandomState) -> list[Any]:
    found = state.get_state(legacy=False)
    if found["bit_generator"] != "MT19937":
        raise _NoPlainValue(f"a RandomState of {found['bit_generator']}")
    keys, position = found["state"]["key"].tolist(), int(found["state"]["pos"])
    return [keys, position, int(found["has_gauss"]), float(found["gauss"])]


def _decode_dict(pairs: object) -> dict[Any, Any]:
    return {decode(key): decode(item) for key, item in _items(pairs)}


def _decode_range(ends: object) -> range:
    start, stop, step = _items(ends)
    found = range(start, stop, step)
    if not _is_short(found):
        raise ValueError("a range of so many numbers")
    return found


def _decode_numpy(pair: object) -> Any:
    name, value = _items(pair)
    if name == "str" and isinstance(value, str):
        return np.str_(value)
    return _number(name, value)


def _number(name: Any, value: Any) -> Any:
    """A NumPy number of the type of that name; NumPy itself would turn 300 into an int8 or text into a number."""
    expected: tuple[type, ...] = (bool,) if name == "bool" else (float,) if name in _FLOATS else (int,)
    if name not in _NUMBERS or type(value) not in expected:
        raise ValueError(f"a number of the unknown kind {name!r:.40}")
    if name in (*_WHOLE, *_UNSIGNED) and not np.iinfo(name).min <= value <= np.iinfo(name).max:
        raise ValueError(f"a whole number that is no {name}")
    with np.errstate(all="ignore"):
        number = np.dtype(name).type(value)
    if number.item() != value and not (isinstance(value, float) and math.isnan(value)):
        raise ValueError(f"the number {value!r:.40}, which is no {name}")
    return number


def _decode_array(parts: object) -> np.ndarray:
    name, shape, items = _items(parts)
    if not isinstance(shape, list) or not isinstance(items, list) or math.prod(shape) != len(items):
        raise ValueError("an array whose shape does not fit its values")
    if name in _NUMBERS:
        return np.array([_number(name, item) for item in items], dtype=name).reshape(shape)
    if name == "object":
        array = np.empty(len(items), dtype=object)
        array[:] = [decode(item) for item in items]
        return array.reshape(shape)
    if isinstance(name, str) and name[1:2] == "U" and all(isinstance(item, str) for item in items):
        if int(name[2:]) > max([1, *map(len, items)]) + 1_000:
            raise ValueError("an array of text with more room than its texts need")
        return np.array(items, dtype=name).reshape(shape)
    raise ValueError(f"an array of the unknown kind {name!r:.40}")


def _decode_random_state(parts: object) -> np.random.RandomState:
    keys, position, has_gauss, gauss = _items(parts)
    whole = [*_items(keys), position, has_gauss]
    fine = len(keys) == _KEYS and all(type(item) is int and 0 <= item < 2**32 for item in whole)
    if not fine or position > _KEYS or has_gauss > 1 or type(gauss) is not float or not math.isfinite(gauss):
        raise ValueError("a RandomState that NumPy never has")
    state = np.random.RandomState(0)
    state.set_state(("MT19937", np.array(keys, dtype=np.uint32), position, has_gauss, gauss))
    return state


def _items(value: object) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{value!r:.40} where a list was expected")
    return value


_READERS: dict[str, Any] = {
    "$dict": _decode_dict,
    "$range": _decode_range,
    "$numpy": _decode_numpy,
    "$array": _decode_array,
    "$random_state": _decode_random_state,
    "$tuple": lambda items: tuple(decode(item) for item in _items(items)),
    "$set": lambda items: {decode(item) for item in _items(items)},
    "$frozenset": lambda items: frozenset(decode(item) for item in _items(items)),
}
