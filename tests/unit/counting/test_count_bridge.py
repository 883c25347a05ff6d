# SPDX-License-Identifier: Apache-2.0
"""The bridge from a program's count to the campaign's number: functions explain the difference."""

from __future__ import annotations

import dataclasses

from msgspec.structs import replace
from test_count_compare import LIBRARY, count

from slowpath.core.results import Results
from slowpath.core.study_results import PutPart, PutSplit
from slowpath.studies.counting.report import bridge_lines
from slowpath.studies.counting.trace import ProcessCount, SteppedFunction
from support import report_studies


def campaign(parts: dict[tuple[str, str], float]) -> Results:
    """Puts under two MPIs; the first library's call is made of `parts`."""
    found = report_studies.put_results()
    assert found.put is not None
    cell = next(row.cell for row in found.put.conditions[0].rows if row.design == "mpi")
    made = [PutPart(library=lib, function=name, per_call=value, ratio=None) for (lib, name), value in parts.items()]
    split = PutSplit(design="mpi", mpi="mpich", cell=cell, parts=made)
    return replace(found, put=replace(found.put, splits=[split]))


def program(parts: dict[tuple[str, str], int]) -> ProcessCount:
    calls = 4
    shares = tuple(SteppedFunction(lib, name, value * calls, value * calls) for (lib, name), value in parts.items())
    return dataclasses.replace(count([sum(parts.values())] * calls), shares=shares)


def test_the_allocator_explains_the_difference() -> None:
    then = {(LIBRARY, "MPI_Put"): 545.0, ("libc.so.6", "malloc"): 41.0}
    now = {(LIBRARY, "MPI_Put"): 545, ("libc.so.6", "malloc"): 131, ("libc.so.6", "libc.so.6+0x9a0"): 58}
    [line] = bridge_lines([program(now)], campaign(then))
    assert "rank 0: 734.0 instructions a call here, 586.0 in its cell" in line
    assert "+148.0, made of malloc (libc.so) +90.0, functions without a name (libc.so) +58.0." in line
    assert line.endswith("the number depends on what the program's heap holds")
