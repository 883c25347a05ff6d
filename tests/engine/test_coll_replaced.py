# SPDX-License-Identifier: Apache-2.0
"""libslowpath-coll.so under real MPIs: what it replaces keeps MPI's promises, and what it doesn't costs a jump."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from ranks import Process, Ranks

SOURCES = Path(__file__).resolve().parents[2] / "engine" / "replace" / "tests"
# The first made of collectives, the second of messages too.
MOCKUPS: Mapping[str, tuple[str, str]] = {
    "bcast": ("scatter+allgather", "circulant"),
    "gather": ("reduce", "allgather"),
    "scatter": ("bcast", "scatterv"),
    "allgather": ("allreduce", "circulant"),
    "alltoall": ("copy+alltoall", "sendrecv"),
    "reduce": ("reduce_scatter_block+gather", "reduce_scatter+gatherv"),
    "allreduce": ("reduce_scatter_block+allgather", "allgather+reduce_local"),
    "reduce_scatter": ("allreduce", "reduce+scatterv"),
    "reduce_scatter_block": ("allreduce", "reduce+scatter"),
    "scan": ("exscan+reduce_local", "doubling"),
    "exscan": ("allgather+reduce_local", "doubling"),
}
Table = list[dict[str, Any]]
Run = Callable[..., tuple[Process, dict[str, Any]]]


def rows(which: int) -> Table:
    """One for each collective that can be replaced, from a byte to a mebibyte."""
    barrier = {"collective": "barrier", "ranks": [2, 8], "bytes": [0, 0], "mockup": "dissemination"}
    return [barrier] + [
        {"collective": name, "ranks": [2, 8], "bytes": [1, 1 << 20], "mockup": mockups[which]}
        for name, mockups in MOCKUPS.items()
    ]


@pytest.fixture
def program(ranks: Ranks, tmp_path: Path) -> Callable[[str], Path]:
    """Compiles a program of SOURCES."""

    def compiled(source: str) -> Path:
        if ranks.mpi.mpicxx is None:
            pytest.skip("no compiler wrapper")
        made = tmp_path / source.removesuffix(".c")
        argv = [str(ranks.mpi.mpicxx.with_name("mpicc")), "-O1", "-o", str(made), str(SOURCES / source)]
        # The only MPI here with a Fortran layer; what is declared weak does not make the linker keep it.
        fortran = ["-Wl,--no-as-needed", "-lmpifort"] if ranks.mpi.name == "intelmpi" else []
        subprocess.run([*argv, "-lpthread", "-lm", *fortran], env=ranks.environ(), check=True, capture_output=True)
        return made

    return compiled


def library_of(ranks: Ranks) -> Path:
    return ranks.engine.program.parent / "libslowpath-coll.so"


def text_of(ranks: Ranks, table: Table) -> str:
    return json.dumps({"schema": 1, "mpi": f"{ranks.mpi.name}-{ranks.mpi.version}", "rows": table})


@pytest.fixture
def replaced(ranks: Ranks, program: Callable[[str], Path], tmp_path: Path) -> Run:
    """Runs a program of SOURCES with a table, or its text; what it printed and its report."""

    def run(
        source: str, table: Table | str, *words: str, ranks_of_it: int = 2, in_variable: bool = False
    ) -> tuple[Process, dict[str, Any]]:
        text = table if isinstance(table, str) else text_of(ranks, table)
        (tmp_path / "tuning.json").write_text(text)
        variables = {
            "LD_PRELOAD": str(library_of(ranks)),
            "SLOWPATH_COLL": text if in_variable else str(tmp_path / "tuning.json"),
            "SLOWPATH_COLL_REPORT": str(tmp_path / "report.json"),
        }
        done = ranks.start(str(program(source)), *words, ranks=ranks_of_it, exported=variables)
        assert done.returncode == 0, done.stdout + done.stderr
        return done, json.loads((tmp_path / "report.json").read_text())

    return run


@pytest.mark.parametrize(("which", "words", "of"), [(0, ("threads",), 2), (1, (), 3)])
def test_what_mpi_promises_is_kept(replaced: Run, which: int, words: tuple[str, ...], of: int) -> None:
    done, report = replaced("semantics.c", rows(which), *words, ranks_of_it=of)
    assert "wrong: 0," in done.stdout
    assert report["problem"] is None
    assert report["ranks"] == of
    assert [row["mockup"] for row in report["rows"]] == [row["mockup"] for row in rows(which)]
    # Each rank counts each call that it replaced.
    assert [row["collective"] for row in report["rows"] if row["calls"] < of or row["calls"] % of] == []


def test_what_is_not_replaced_costs_a_look_and_a_bad_table_replaces_nothing(replaced: Run) -> None:
    row = {"collective": "bcast", "ranks": [2, 8], "bytes": [65536, 1 << 20], "mockup": "scatter+allgather"}
    done, report = replaced("cost.c", [row], ranks_of_it=1)
    assert report["rows"] == [{**row, "calls": 0}]
    more_ns = {name: float(text) for name, text, *_ in map(str.split, done.stdout.splitlines())}
    # Against what the library itself takes to look at a communicator and a datatype, in the same run.
    assert more_ns["no_row"] < more_ns["look"]
    assert more_ns["bytes_outside"] < 6 * more_ns["look"]
    assert more_ns["ranks_outside"] < 6 * more_ns["look"]
    done, report = replaced("cost.c", '{"schema": 1, "mpi": "mpich-1", "rows": [{}]}', ranks_of_it=1)
    (line,) = [line for line in done.stderr.splitlines() if "slowpath-coll" in line]
    assert line.endswith("tuning.json: line 1: a row needs collective, ranks, bytes and mockup; nothing is replaced")
    assert report["rows"] == []
    assert report["problem"].startswith("line 1: a row needs")


def test_rows_hold_to_their_edges_and_count_large_and_fortran_calls(replaced: Run, ranks: Ranks) -> None:
    done, report = replaced("counted.c", [{**row, "bytes": [64, 128]} for row in rows(0)[1:]])
    by_name = dict(word.split(": ") for word in done.stdout.strip().splitlines()[-1].split(", "))
    assert by_name["wrong"] == "0", done.stdout
    calls = {row["collective"]: row["calls"] for row in report["rows"]}
    assert calls["bcast"] == int(by_name["bcast"])
    # With counts of MPI_Count each is called once inside of its row, by both ranks.
    assert (by_name["_c"] == "1") is (ranks.mpi.name != "openmpi")
    named = [name for name in calls if name not in ("bcast", "reduce_scatter")]
    assert {calls[name] for name in named} == ({2} if by_name["_c"] == "1" else {0})
    assert by_name["fortran"] == ("1" if ranks.mpi.name == "intelmpi" else "0")


def test_a_table_may_be_the_variable_itself(replaced: Run, ranks: Ranks) -> None:
    row = {"collective": "bcast", "ranks": [2, 2], "bytes": [64, 128], "mockup": "scatter+allgather"}
    table = {"schema": 1, "mpi": f"{ranks.mpi.name}-{ranks.mpi.version}", "rows": [row]}
    done, report = replaced("counted.c", json.dumps(table), in_variable=True)
    assert report["rows"][0]["calls"] == int(done.stdout.split("bcast: ")[1].split(",")[0])
