# SPDX-License-Identifier: Apache-2.0
"""The library that the ranks found at run time, against the one that the run was planned for. Pure.

The dynamic linker may load another one than that of the loaded module: Cray's default folder stands in for a module
whose folder is not in LD_LIBRARY_PATH. Settings are spelled by version, so that they may mean nothing then.
"""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.results import Line, MpiResult
from slowpath.mpi.applies import version_tuple
from slowpath.mpi.identify import named_in
from slowpath.mpi.libraries import library_named


def library_lines(mpis: Sequence[MpiResult]) -> list[Line]:
    """Lines of the verdict: a library that is not the one that the run was planned for."""
    texts = [f"{_planned(mpi)} was asked for, and the ranks loaded {mpi.library}." for mpi in mpis if _differs(mpi)]
    return [Line(level="warning", text=text, contrast=None) for text in texts]


def _planned(mpi: MpiResult) -> str:
    known = library_named(mpi.name or "")
    return f"{known.title if known else mpi.name} {mpi.version or ''}".strip()


def _differs(mpi: MpiResult) -> bool:
    found, planned = named_in(mpi.library or ""), library_named(mpi.name or "")
    if found is None or planned is None:
        return False
    library, version = found
    if library.name != planned.name:
        # The first line of a library that was made from another may be that one's.
        return library.name != planned.base
    one, other = version_tuple(version), version_tuple(mpi.version)
    if one is None or other is None:
        return False
    known = min(len(one), len(other))
    return one[:known] != other[:known]
