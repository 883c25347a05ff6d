# SPDX-License-Identifier: Apache-2.0
"""Programs with one needless pattern each are named at its place under a real MPI, their corrected twins are not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from ranks import Ranks

from slowpath.findings.program_pattern import ProgramCalls
from slowpath.mpi.mpi import Mpi
from slowpath.watch.analysis import AttributedWatch, calls_of_program, kept_of, watched
from slowpath.watch.classes import pair_classes
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.patterns import seen_in

SOURCE = Path(__file__).parents[1] / "watch" / "patterns.c"
IN_PYTHON = SOURCE.with_suffix(".py")
RANKS, ITERATIONS, COMPUTE_US = 4, 30, 100
# Pattern of the program -> rule and function. Whether it is worth a line is a matter of the machine's times.
PLANTED = {
    "small-messages": ("SP050", "small_messages"),
    "small-nonblocking": ("SP050", "small_nonblocking"),
    "small-reductions": ("SP051", "small_reductions"),
    "window": ("SP052", "window"),
    "barriers": ("SP053", "barriers"),
    "broadcast": ("SP054", "broadcast"),
    "chain": ("SP055", "chain"),
    "unexpected": ("SP056", "unexpected"),
    "leak": ("SP057", "leak"),
    "late": ("SP058", "late"),
    "new-buffers": ("SP059", "new_buffers"),
    "passive": ("SP075", "passive"),
    "synchronous": ("SP076", "synchronous"),
    "polls": ("SP077", "polls"),
    "requests": ("SP057", "requests"),
}
# Its ranks must pass a message on at once five times: on busy cores most of thirty chains are interrupted.
MORE_ITERATIONS = {"chain": 100}
# Ranks that share a core are late for that; and each computes so long that others on its core do not hide it.
FEW_RANKS = dict.fromkeys(("late", "unexpected", "passive", "synchronous", "polls"), 2)
LONGER_US = {"late": 2000, "passive": 8000, "synchronous": 2000, "polls": 4000}
SIZE = {"late": str(1 << 24)}  # Intel MPI sends 1 MiB without its receive
ALSO = {"leak": {"SP052"}, "requests": {"SP050"}}  # what is in both twins: made in each iteration, eight messages


@pytest.fixture(scope="module")
def program(ranks: Ranks, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if ranks.mpi.mpicxx is None:
        pytest.skip("no compiler wrapper")
    made = tmp_path_factory.mktemp("patterns") / "patterns"
    argv = [str(ranks.mpi.mpicxx.with_name("mpicc")), "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o", made, SOURCE]
    subprocess.run(argv, env=ranks.environ(), check=True, capture_output=True)
    return made


@pytest.mark.parametrize("pattern", list(PLANTED))
def test_a_pattern_is_named_at_its_place_and_its_twin_is_clean(
    ranks: Ranks, watch_library: Path, program: Path, tmp_path: Path, pattern: str
) -> None:
    code, function = PLANTED[pattern]
    faulty, clean = (seen(ranks, watch_library, program, tmp_path, pattern, twin) for twin in ("faulty", "clean"))
    # Open MPI tells malloc to keep what is freed: what page faults there are need not be of new buffers.
    may_cost_nothing = pattern == "new-buffers" and ranks.mpi.name == "openmpi"
    # Of three libraries inside a node, MPICH alone waits for the target.
    may_cost_nothing |= pattern == "passive" and ranks.mpi.name != "mpich"
    # Intel MPI finds a message at once, wherever it stands among the earlier ones: there is nothing to name.
    costs_nothing = pattern == "unexpected" and ranks.mpi.name == "intelmpi"
    assert ((code, function) in faulty) is not costs_nothing or may_cost_nothing
    assert {rule for rule, _ in clean} <= ALSO.get(pattern, set())


def test_reductions_of_objects_by_mpi4py_are_named_and_those_of_an_array_are_not(
    ranks: Ranks, watch_library: Path, tmp_path: Path
) -> None:
    """mpi4py makes messages and broadcasts of comm.allreduce(number): no MPI_Allreduce is there to be seen."""
    program = (sys.executable, str(IN_PYTHON), "small-reductions")
    for twin in ("faulty", "clean"):
        words = (*program, twin, "30", "100")
        found = watched_run(ranks, watch_library, words, tmp_path / twin, 2, of_mpi4py(ranks.mpi))
        calls = calls_of(found)
        of_objects = [one for path, one in seen_in(calls) if path.code == "SP051"]
        assert len(of_objects) == (twin == "faulty")
        for one in of_objects:
            assert "mpi4py.MPI.Comm.allreduce of an object" in one.text
            assert "comm.Allreduce" in one.change
            assert {calls.within[site] for site in one.sites} == {"mpi4py.MPI.Comm.allreduce"}
            assert 30 <= one.count <= 30 * 32 + 1  # ranks that lose their core are no row; half a call is none
            assert one.more_s[2] >= one.more_s[0] > one.more_s[1] == 0.0


def seen(
    ranks: Ranks, library: Path, program: Path, folder: Path, pattern: str, twin: str
) -> set[tuple[str, str]]:  # fmt: skip
    """Rules and functions of what a watch of it sees."""
    iterations = MORE_ITERATIONS.get(pattern, ITERATIONS)
    words = (str(program), pattern, twin, str(iterations), str(LONGER_US.get(pattern, COMPUTE_US)))
    words += (SIZE[pattern],) if pattern in SIZE else ()
    found = watched_run(ranks, library, words, folder / twin, FEW_RANKS.get(pattern, RANKS))
    return {
        (path.code, found.results.sites[place].function)
        for path, one in seen_in(calls_of(found))
        for place in one.sites[:1]
    }


def of_mpi4py(mpi: Mpi) -> dict[str, str]:
    """The variable by which mpi4py opens this MPI, and not the first that it finds."""
    return {"MPI4PY_LIBMPI": str(min(mpi.prefix.glob("lib*/libmpi.so.*"), key=lambda path: len(path.name)))}


def watched_run(
    ranks: Ranks, library: Path, words: tuple[str, ...], watch: Path, count: int, more: Mapping[str, str] | None = None
) -> AttributedWatch:
    """The program on so many ranks, watched into a new folder.  Args: more: variables of the ranks."""
    (watch / "ranks").mkdir(parents=True)
    of_ranks = {"LD_PRELOAD": str(library), "SLOWPATH_WATCH": str(watch / "ranks"), **(more or {})}
    done = ranks.start(*words, ranks=count, of_ranks=of_ranks)
    assert done.returncode == 0, done.stderr
    info = WatchInfo(
        slowpath="1", command=words, started="2026-01-01T00:00:00Z", working_folder="/", host="n", library=str(library),
        wall_s=1.0, exit_code=0,
    )  # fmt: skip
    write_watch(watch, info)
    return watched(watch)


def calls_of(found: AttributedWatch) -> ProgramCalls:
    """As slow paths look at them."""
    pairs = pair_classes(found.attributed, found.class_keys, found.results.classes)
    return calls_of_program(found, kept_of(found.attributed, pairs))
