"""Memory of the device that is used again: taking new memory there stops everything, and steps are many and short.

All work of a process runs on the device in the order in which it was asked for, so that memory may be given to another
array as soon as nobody here knows the first one any more.
"""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import cuda

from supertopic.backends.cuda.kernels.lanes import SIMULATED
from supertopic.backends.cuda.kernels.launch import Given

if not SIMULATED:
    from numba.cuda.cudadrv.devicearray import DeviceNDArray
    from numba.cuda.cudadrv.driver import host_to_device

_FREE: dict[int, list[Any]] = defaultdict(list)  # by size in bytes
_SMALLEST = 256
_KEPT: list[weakref.ref] = []  # objects with arrays on the device
_SENT: dict[tuple[bytes, str], Any] = {}  # the last arrays of `sent_once`, by their numbers
_MOST_SENT = 64
_LARGE = 1 << 25  # bytes
_TOUCHING = 8  # threads


def empty(size: int, dtype: Any = np.float32) -> Any:
    """A flat array on the device, not yet written. An array without items cannot be made there, so that it has one."""
    n_items, kind = max(int(size), 1), np.dtype(dtype)
    if SIMULATED:
        return cuda.device_array(n_items, dtype=kind)
    room = _rounded(n_items * kind.itemsize)
    try:
        memory = _FREE[room].pop()
    except IndexError:  # to ask first would not do: several threads take memory
        memory = _new(room)
    array = _array(memory.gpu_data, memory.address, n_items, kind)
    weakref.finalize(array, _FREE[room].append, memory).atexit = False
    return array


def part_of(array: Any, first: int, last: int) -> Any:
    """Some of an array; as long as there is a part, the memory of the whole is not used again."""
    if SIMULATED:
        return array[first:last]
    begin, end = (int(place) * array.dtype.itemsize for place in (first, last))
    found = _array(array.gpu_data.view(begin, end), array.given.address + begin, int(last - first), array.dtype)
    found.whole = array
    return found


def sent(values: np.ndarray, dtype: Any) -> Any:
    """A flat array on the device."""
    flat = np.ascontiguousarray(values, dtype=dtype).reshape(-1)
    found = empty(len(flat), flat.dtype)
    if len(flat) and SIMULATED:
        found.copy_to_device(flat)
    elif len(flat):
        cuda.current_context()  # of this thread
        host_to_device(found, flat, flat.nbytes)  # `copy_to_device` asks about shapes for longer than a copy takes
    return found


def on_host(array: Any) -> np.ndarray:
    """A copy of a flat array. New memory takes longer to touch than to fill: threads touch that of a large one."""
    if array.nbytes < _LARGE:
        return np.asarray(array.copy_to_host())
    found = np.empty(array.shape, dtype=array.dtype)
    with ThreadPoolExecutor(_TOUCHING) as threads:
        list(threads.map(lambda part: part.fill(0), np.array_split(found, 8 * _TOUCHING)))
    array.copy_to_host(found)
    return found


def sent_once(values: np.ndarray, dtype: Any) -> Any:
    """As `sent`, for what many steps send: the same numbers are sent once. To send them, the device has to stop."""
    flat = np.ascontiguousarray(values, dtype=dtype).reshape(-1)
    key = flat.tobytes(), flat.dtype.str
    if key not in _SENT:
        if len(_SENT) >= _MOST_SENT:
            del _SENT[next(iter(_SENT))]  # the oldest: coefficients of earlier turns do not come again
        _SENT[key] = sent(flat, flat.dtype)
    return _SENT[key]


def keep_with(owner: Any, make: Callable[[], Any]) -> Any:
    """What is made for an object of the host: once, and kept with it until `forget`."""
    kept = vars(owner)
    if "on_device" not in kept:
        kept["on_device"] = make()
        _KEPT.append(weakref.ref(owner))
    return kept["on_device"]


def forget() -> None:
    """Let go of all that is kept: whoever uses the objects next may have changed them."""
    for reference in _KEPT:
        owner = reference()
        if owner is not None:
            vars(owner).pop("on_device", None)
    _KEPT.clear()
    _SENT.clear()


def _rounded(n_bytes: int) -> int:
    """At most an eighth more: arrays of about the same size share their memory."""
    step = max(1 << max(n_bytes.bit_length() - 4, 0), _SMALLEST)
    return -(-n_bytes // step) * step


def _new(n_bytes: int) -> Any:
    try:
        found = cuda.device_array(n_bytes, dtype=np.uint8)
    except Exception:  # none left: what nobody uses is given back first
        _FREE.clear()
        cuda.synchronize()
        found = cuda.device_array(n_bytes, dtype=np.uint8)
    found.address = found.__cuda_array_interface__["data"][0]
    return found


def _array(memory: Any, address: int, n_items: int, dtype: np.dtype) -> Any:
    """A flat array in this memory, which knows how kernels take it."""
    found = DeviceNDArray((n_items,), (dtype.itemsize,), dtype, gpu_data=memory)
    found.given = Given.of(dtype, address, n_items)
    return found
