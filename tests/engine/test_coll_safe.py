# SPDX-License-Identifier: Apache-2.0
"""libslowpath-coll.so fails open: a program whose calls it can't replace runs as it does without it."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from ranks import Process, Ranks
from test_coll_replaced import SOURCES, Run, Table, library_of, program, replaced, text_of

from slowpath.mpi.find import find_mpi
from slowpath.run.engine.build import standard

pytestmark = pytest.mark.needs("minutes")

__all__ = ["program", "replaced"]  # fixtures

EVERYTHING = {"ranks": [1, 1 << 20], "bytes": [0, 1 << 62]}
# By all of these a reduction is done with an op of the program's own, or by the library where that is not safe.
REDUCTIONS: dict[str, tuple[str, ...]] = {
    "allreduce": (
        "reduce+bcast",
        "reduce_scatter_block+allgather",
        "reduce_scatter+allgatherv",
        "allgather+reduce_local",
        "padded",
        "split_2",
    ),
    "reduce": ("allreduce", "reduce_scatter_block+gather", "reduce_scatter+gatherv", "reduce_scatter", "split_8"),
    "reduce_scatter_block": ("reduce+scatter", "reduce_scatter", "allreduce"),
    "scan": ("exscan+reduce_local", "allgather+reduce_local", "doubling"),
    "exscan": ("allgather+reduce_local", "doubling"),
}
# Intel MPI itself ends with an assertion at 500.
MOST_COMMUNICATORS = {"mpich": 2100, "openmpi": 2100, "intelmpi": 300}
OUR_COMMUNICATORS = 2  # of the process, however many the program has
NO_TABLES = {
    "a directory": "it is no regular file",
    "/dev/zero": "it is no regular file",
    "a fifo": "it is no regular file",
    "too long": "it is longer than 16 MiB",
    "escapes": "line 1: a bad escape",
    "a long name": f"it is for {'x' * 200}..., the program runs with ",
}


@pytest.mark.parametrize("turn", range(6))
def test_ops_of_the_program_get_what_the_program_could_pass(replaced: Run, turn: int) -> None:
    table: Table = [
        {"collective": name, "mockup": mockups[turn % len(mockups)], **EVERYTHING}
        for name, mockups in REDUCTIONS.items()
    ]
    done, report = replaced("own_ops.c", table, ranks_of_it=3)
    assert done.stdout.endswith("wrong: 0, too long: 0\n"), done.stdout
    assert report["problem"] is None


@pytest.mark.needs("minutes")
def test_a_program_has_as_many_communicators_as_without(
    ranks: Ranks, program: Callable[[str], Path], replaced: Run
) -> None:
    most = str(MOST_COMMUNICATORS[ranks.mpi.name])
    native = ranks.start(str(program("communicators.c")), most)
    table: Table = [
        {"collective": "allreduce", "mockup": "reduce+bcast", **EVERYTHING},
        {"collective": "scan", "mockup": "doubling", **EVERYTHING},
    ]
    done, report = replaced("communicators.c", table, most)
    made = [[int(number) for number in re.findall(r"\d+", run.stdout)] for run in (native, done)]
    assert made[0][1] == made[1][1] == 0
    assert made[0][0] - OUR_COMMUNICATORS <= made[1][0] <= made[0][0]
    assert [row["calls"] for row in report["rows"]] == [2 * made[1][0]] * 2


def test_what_the_library_refuses_it_refuses_with_a_table(
    ranks: Ranks, program: Callable[[str], Path], replaced: Run
) -> None:
    if ranks.mpi.name == "openmpi":
        return  # says nothing of one buffer for both, and gives what comes of it
    native = ranks.start(str(program("aliased.c")))
    names = {"allreduce": "reduce+bcast", "allgather": "gather+bcast", "alltoall": "sendrecv", "scan": "doubling"}
    names |= {"reduce_scatter_block": "allreduce", "gather": "allgather", "scatter": "bcast"}
    table: Table = [{"collective": name, "mockup": mockup, **EVERYTHING} for name, mockup in names.items()]
    done, _ = replaced("aliased.c", table)
    assert done.stdout == native.stdout
    assert "0" not in native.stdout.split()


@pytest.mark.parametrize("kind", NO_TABLES)
def test_what_is_no_table_replaces_nothing(
    ranks: Ranks, program: Callable[[str], Path], tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "tuning.json"
    if kind == "a directory":
        path.mkdir()
    elif kind == "a fifo":
        os.mkfifo(path)
    elif kind == "too long":
        with path.open("wb") as file:
            file.truncate(3 << 30)
    elif kind == "escapes":
        row = '{"collective": "bc\\\x1bast", "ranks": [1, 2], "bytes": [1, 2], "mockup": "x"}'
        path.write_text(f'{{"schema": 1, "mpi": "mpich-5.0.2", "rows": [{row}]}}')
    elif kind == "a long name":
        path.write_text(json.dumps({"schema": 1, "mpi": "x" * 3_000_000, "rows": []}))
    table = kind if kind.startswith("/") else str(path)
    variables = {"LD_PRELOAD": str(library_of(ranks)), "SLOWPATH_COLL": table}
    done = ranks.start(str(program("communicators.c")), "2", exported=variables)
    assert (done.returncode, done.stdout) == (0, "made: 2, wrong: 0\n")
    (line,) = [line for line in done.stderr.splitlines() if "slowpath-coll" in line]
    assert line.startswith(f"slowpath-coll: {table}: {NO_TABLES[kind]}")
    assert line.endswith("; nothing is replaced")
    assert line.isprintable()


def unlike(ranks: Ranks, program: Path, rank: int, change: str, table: str) -> Process:
    """Two ranks, of which `rank` runs after a change of its variables by a shell."""
    script = program.with_name("unlike.sh")
    number = "${PMI_RANK:-$OMPI_COMM_WORLD_RANK}"
    script.write_text(f'#!/bin/sh\nif [ "{number}" = {rank} ]; then {change}; fi\nexec {shlex.quote(str(program))} 5\n')
    script.chmod(0o755)
    variables = {"LD_PRELOAD": str(library_of(ranks)), "SLOWPATH_COLL": table}
    return ranks.start(str(script), exported=variables)


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("lacks", ["library", "parts", "table"])
def test_ranks_that_are_not_alike_agree(
    ranks: Ranks, program: Callable[[str], Path], blankless: Path, lacks: str, rank: int
) -> None:
    alone = blankless / "libslowpath-coll.so"
    alone.write_bytes(library_of(ranks).read_bytes())
    change = {"library": "unset LD_PRELOAD", "parts": f"LD_PRELOAD={alone}", "table": "unset SLOWPATH_COLL"}[lacks]
    table = text_of(ranks, [{"collective": "allreduce", "mockup": "reduce+bcast", **EVERYTHING}])
    done = unlike(ranks, program("communicators.c"), rank, change, table)
    assert (done.returncode, done.stdout) == (0, "made: 5, wrong: 0\n"), done.stderr
    said = [line for line in done.stderr.splitlines() if "slowpath-coll" in line]
    parts = blankless / "libslowpath-coll-parts.so"
    assert [line.removeprefix("slowpath-coll: ").removesuffix("; nothing is replaced") for line in said] == {
        "library": [f"rank {rank} runs without libslowpath-coll.so"],
        "parts": [f"rank {rank}: {parts}: cannot open shared object file: No such file or directory"],
        "table": ["SLOWPATH_COLL is not set on rank 0"] if rank == 0 else [],
    }[lacks]


@pytest.mark.needs("other MPIs")
def test_built_for_another_mpi_it_steps_aside(ranks: Ranks, program: Callable[[str], Path], tmp_path: Path) -> None:
    """The parts bring the other MPI's library, which is not to be taken for the program's."""
    engine = SOURCES.parents[1]
    sources = [engine / "replace" / f"{name}.cpp" for name in ("preload", "agreement", "neighbours", "original")]
    options = ["-std=c++20", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti"]
    stub = tmp_path / "parts.cpp"
    stub.write_text('#include "replace/parts.hpp"\nint (*init)(int*, char***) = &PMPI_Init;\n')
    library, parts = tmp_path / "libslowpath-coll.so", tmp_path / "libslowpath-coll-parts.so"
    embedded = find_mpi("embedded")
    mpis = [embedded, standard(embedded), *map(find_mpi, filter(None, os.environ["SLOWPATH_TEST_MPIS"].split(":")))]
    for mpi in mpis:
        if mpi.abi == ranks.mpi.abi:
            continue
        for made, own in ((library, sources), (parts, [stub])):
            command = [mpi.mpicxx, *options, "-DMPICH_SKIP_MPICXX", "-DOMPI_SKIP_MPICXX", f"-I{engine}", *own]
            subprocess.run([*map(str, command), "-o", str(made)], env=mpi.environ(os.environ), check=True)
        variables = {"LD_PRELOAD": str(library), "SLOWPATH_COLL": text_of(ranks, [])}
        done = ranks.start(str(program("communicators.c")), "5", exported=variables)
        assert (done.returncode, done.stdout) == (0, "made: 5, wrong: 0\n"), done.stderr
        said = [line for line in done.stderr.splitlines() if "slowpath-coll" in line]
        assert said == [f"slowpath-coll: {parts} is built for another MPI than the program's; nothing is replaced"]


def test_a_communicator_of_threads_is_the_library_s(replaced: Run, ranks: Ranks) -> None:
    if ranks.mpi.name != "mpich":
        return  # has none
    done, _ = replaced("thread_communicator.c", [{"collective": "allreduce", "mockup": "reduce+bcast", **EVERYTHING}])
    assert sorted(done.stdout.splitlines()) == ["rank 0 wrong: 0", "rank 1 wrong: 0"]
