# SPDX-License-Identifier: Apache-2.0
"""The tuning file of a watch's priced collectives, and what the library says that it did with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slowpath.core.errors import UsageError
from slowpath.slowpaths.registry import find_program_remedy
from slowpath.watch.prove.remedies import FILE, ProgramMpi, tuning_rows, with_tuning
from slowpath.watch.prove.rerun import of_collectives_report
from slowpath.watch.results import CollectiveClass, WatchResults
from support.watch_results import results

MPICH = ProgramMpi("mpich", "5.0.2")


def program(way: str | None = "reduce+bcast", message_bytes: int = 65536) -> WatchResults:
    kind = CollectiveClass(
        id=0,
        collective="allreduce",
        call="MPI_Allreduce",
        bytes=message_bytes,
        ranks=2,
        count=9,
        work_s=1e-4,
        sites=(),
        way=way,
    )
    return results(collectives=(kind,))


def test_a_row_for_each_kind_with_a_price(tmp_path: Path) -> None:
    remedy = find_program_remedy("collectives")
    made = with_tuning(remedy, tmp_path, program(), MPICH)
    assert made.variables == {"SLOWPATH_COLL": str(tmp_path / FILE)}
    assert made.preload == "libslowpath-coll.so"
    written = json.loads((tmp_path / FILE).read_text())
    row = {"collective": "allreduce", "ranks": [2, 2], "bytes": [65536, 131071], "mockup": "reduce+bcast"}
    assert written == {"schema": 1, "mpi": "mpich-5.0.2", "rows": [row]}
    assert tuning_rows(program(message_bytes=0))[0].bytes == (0, 0)
    assert tuning_rows(program(message_bytes=65535))[0].bytes == (32768, 65535)


def test_without_a_price_there_is_nothing_to_replace(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--remedy collectives: no collective of .* slowpath replay"):
        with_tuning(find_program_remedy("collectives"), tmp_path, program(way=None), MPICH)
    assert not (tmp_path / FILE).exists()
    other = find_program_remedy("two-copies")
    assert with_tuning(other, tmp_path, None, MPICH) is other


def test_the_library_says_what_it_replaced(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    assert of_collectives_report(report) is not None
    row = {"collective": "allreduce", "ranks": [2, 2], "bytes": [1, 2], "mockup": "reduce+bcast", "calls": 24000}
    report.write_text(json.dumps({"schema": 1, "ranks": 2, "problem": None, "rows": [row]}))
    found = of_collectives_report(report)
    assert found is not None
    assert (found.state, found.text) == (
        "taken",
        "libslowpath-coll.so replaced 24,000 calls: allreduce by reduce+bcast",
    )
    report.write_text(json.dumps({"rows": [row | {"calls": 0}], "problem": "it is of another MPI"}))
    assert (of_collectives_report(report) or found).text.endswith("nothing: it is of another MPI")
