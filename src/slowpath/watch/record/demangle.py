# SPDX-License-Identifier: Apache-2.0
"""Names of functions as their authors wrote them: C++ by the C++ library itself, Fortran modules by gfortran's rule,
Python in Cython by Cython's."""

from __future__ import annotations

import ctypes
import re
from functools import lru_cache
from typing import Any

LONGEST_NAME = 4096  # characters; a made-up name must not keep the demangler busy
_LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libc++.so.1")
_CYTHON = re.compile(r"__pyx_(?:pw|pf|f)_")
_MODULE_PROCEDURE = re.compile(r"__(\w+?)_MOD_(\w+)")


def demangled(name: str) -> str:
    """The name for people; the symbol itself where it is not mangled or no C++ library is there."""
    if len(name) > LONGEST_NAME:
        return name[:LONGEST_NAME]
    if name.startswith("_Z"):
        return _cpp(name)
    if cython := _CYTHON.match(name):
        return _python(name[cython.end() :]) or name
    fortran = _MODULE_PROCEDURE.fullmatch(name)
    return f"{fortran[1]}::{fortran[2]}" if fortran else name


def _python(name: str) -> str | None:
    """`mpi4py.MPI.Comm.Isend` of `6mpi4py_3MPI_4Comm_77Isend`: words behind lengths, a method behind a number."""
    words = []
    while counted := re.match(r"\d+", name):
        length, rest = int(counted[0]), name[counted.end() :]
        if rest[length : length + 1] != "_" or not rest[:length].isidentifier():
            name = rest
            break
        words.append(rest[:length])
        name = rest[length + 1 :]
    return ".".join([*words, name]) if words and name.isidentifier() else None


def _cpp(name: str) -> str:
    demangle, free = _functions()
    if demangle is None:
        return name
    status = ctypes.c_int(0)
    result = demangle(name.encode(), None, None, ctypes.byref(status))
    if not result:
        return name
    try:
        return ctypes.string_at(result).decode("utf-8", "replace") if status.value == 0 else name
    finally:
        free(result)


@lru_cache(maxsize=1)
def _functions() -> tuple[Any, Any]:
    """__cxa_demangle (Itanium C++ ABI, section 3.4) and free; None: no C++ library."""
    for library in _LIBRARIES:
        try:
            demangle = ctypes.CDLL(library).__cxa_demangle
            free = ctypes.CDLL(None).free
        except (OSError, AttributeError):
            continue
        demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
        demangle.restype = ctypes.c_void_p
        free.argtypes = [ctypes.c_void_p]
        return demangle, free
    return None, None
