# SPDX-License-Identifier: Apache-2.0
"""What an MPI library reads back for its control variables, asked of the library itself without starting a job.

MPI_T may be used before MPI_Init (MPI-4.1 section 15.3). In the ABIs of MPICH and Open MPI its counts and scopes are C
ints, MPI_THREAD_SINGLE and MPI_SUCCESS 0, and a null object handle stands for "bound to nothing".
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from slowpath.core.decoding import DAMAGE
from slowpath.mpi.loaded import Ask
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.probe import output_of

_QUESTION = """
import ctypes, json, sys
library, wanted = ctypes.CDLL(sys.argv[1], ctypes.RTLD_GLOBAL), set(sys.argv[2:])
number, found, names = ctypes.c_int(), {}, []
if library.MPI_T_init_thread(0, ctypes.byref(number)) == 0 and library.MPI_T_cvar_get_num(ctypes.byref(number)) == 0:
    for index in range(number.value):
        name, length, nothing = ctypes.create_string_buffer(1024), ctypes.c_int(1024), ctypes.c_int(0)
        ints, kinds = [ctypes.c_int() for _ in range(3)], [ctypes.c_void_p() for _ in range(2)]
        at = ctypes.byref
        if library.MPI_T_cvar_get_info(index, name, at(length), at(ints[0]), at(kinds[0]), at(kinds[1]), None,
                                       at(nothing), at(ints[1]), at(ints[2])) != 0:
            continue
        names.append(name.value.decode(errors="replace"))
        handle, count = ctypes.c_void_p(), ctypes.c_int()
        if names[-1] in wanted and library.MPI_T_cvar_handle_alloc(index, None, at(handle), at(count)) == 0:
            value = ctypes.create_string_buffer(65536)
            if count.value <= 4096 and library.MPI_T_cvar_read(handle, value) == 0:
                found[names[-1]] = value.raw[:4096].hex()
sys.stdout.write(json.dumps({"names": names, "values": found}))
"""


class ControlVariables(msgspec.Struct, frozen=True):
    """names: of all that the library lists.  values: raw bytes of those that were asked for, hexadecimal."""

    names: list[str]
    values: dict[str, str]

    def number(self, name: str) -> int | None:
        """Return the value as a C int; None: not there, or not in hexadecimal digits."""
        try:
            return int.from_bytes(bytes.fromhex(self.values[name])[:4], "little", signed=True)
        except (KeyError, ValueError):
            return None


def read_control_variables(
    library: Path, wanted: Sequence[str], environ: Mapping[str, str], ask: Ask = output_of
) -> ControlVariables | None:
    """Return what `library` reads for `wanted` under `environ`; None: it can't be asked, as a library without MPI_T."""
    said = ask([sys.executable, "-c", _QUESTION, str(library), *wanted], environ)
    try:
        return msgspec.json.decode((said or "").splitlines()[-1], type=ControlVariables)
    except (IndexError, *DAMAGE):
        return None


def library_of(mpi: Mpi) -> Path | None:
    """Return the file of the library; None: it is in none of the usual folders."""
    folders = (mpi.prefix / "lib", mpi.prefix / "lib64", mpi.prefix / "lib" / "release")
    return next((path for folder in folders for path in sorted(folder.glob("libmpi.so.*"))), None)


_LISTED: dict[Path, frozenset[str] | None] = {}


def listed_by(mpi: Mpi, environ: Mapping[str, str], ask: Ask = output_of) -> frozenset[str] | None:
    """Return the names of all control variables that a library lists, which it is asked for once; None: it can't be
    asked.
    """
    library = library_of(mpi)
    if library is None:
        return None
    if library not in _LISTED:
        found = read_control_variables(library, (), {**environ, **mpi.env}, ask)
        _LISTED[library] = frozenset(found.names) if found is not None and found.names else None
    return _LISTED[library]
