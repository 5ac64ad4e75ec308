"""Kernels, in numba alone, and where their compiled code is found.

numba keeps compiled code beside the source or in a folder of the user, and refuses to start where neither can be
written. Here code that others compiled (the administrator, or the build of a container) is read wherever it lies, and
where nothing can be written, kernels are compiled in each process anew.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable
from typing import Any, Self

from numba.core.caching import Cache, FunctionCache

_LOCATORS: list[Any] = FunctionCache._impl_class._locator_classes  # numba asks them in turn
_GIVEN, _BESIDE = _LOCATORS[:2]  # the folder NUMBA_CACHE_DIR; __pycache__ beside the source


class _OfOthers:
    """A folder with the code of a kernel, which this process may read and not write."""

    def __init__(self, beside: Any, folder: str, py_file: str) -> None:
        """beside : numba's own locator, which knows the source"""
        self._beside, self._folder, self._py_file = beside, folder, py_file  # numba asks for `_py_file`, too

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Self | None:
        if not os.path.exists(py_file):
            return None
        beside = _BESIDE(py_func, py_file)
        name = f"{os.path.splitext(os.path.basename(py_file))[0]}.{py_func.__qualname__}"
        name += f"-{beside.get_disambiguator()}.py{sys.version_info[0]}{sys.version_info[1]}"
        for folder in (_given(py_func, py_file), beside.get_cache_path()):
            if folder is not None and cls.has_code(folder, name):
                return cls(beside, folder, py_file)
        return None

    @staticmethod
    def has_code(folder: str, name: str) -> bool:
        """Whether the kernel of this name was compiled into this folder, by this version of Python."""
        return bool(glob.glob(os.path.join(glob.escape(folder), f"{glob.escape(name)}*.nbi")))

    def get_cache_path(self) -> str:
        return self._folder

    def get_source_stamp(self) -> Any:
        return self._beside.get_source_stamp()

    def get_disambiguator(self) -> Any:
        return self._beside.get_disambiguator()

    def ensure_cache_path(self) -> None:
        """Nothing is written."""


class _Nowhere(_OfOthers):
    """Nothing was compiled, and nothing can be kept."""

    @staticmethod
    def has_code(folder: str, name: str) -> bool:
        return True


def _given(py_func: Callable[..., Any], py_file: str) -> str | None:
    """The folder for a kernel's code in NUMBA_CACHE_DIR."""
    from numba.core import config

    return str(_GIVEN(py_func, py_file).get_cache_path()) if config.CACHE_DIR else None


def _save_where_possible(self: Any, sig: Any, data: Any) -> None:
    if not isinstance(self._impl.locator, _OfOthers):
        _save(self, sig, data)


if _OfOthers not in _LOCATORS:
    _save = Cache.save_overload
    Cache.save_overload = _save_where_possible
    _LOCATORS.insert(2, _OfOthers)
    _LOCATORS.append(_Nowhere)
