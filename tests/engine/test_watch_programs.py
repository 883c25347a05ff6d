# SPDX-License-Identifier: Apache-2.0
"""Programs with one needless pattern each are named at its place under a real MPI, their corrected twins are not."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from ranks import Ranks

from slowpath.findings.program_pattern import ProgramCalls
from slowpath.mpi.find import find_mpi
from slowpath.mpi.launchers import command, launcher_named
from slowpath.mpi.mpi import Mpi
from slowpath.watch.accounts import accounts_of
from slowpath.watch.analysis import AttributedWatch, calls_of_program, kept_of, watched
from slowpath.watch.attributed import Attributed, attributed
from slowpath.watch.classes import pair_classes
from slowpath.watch.patterns import seen_in
from slowpath.watch.record.job import read_job
from slowpath.watch.results import RankTime, Standstill, WatchResults, read_watch_results
from slowpath.watch.totals import call_seconds, rank_times, time_weights
from support.watch_truth import Score, scores
from support.watched_program import described
from watchdog import WATCHDOG_S

SOURCE = Path(__file__).parents[1] / "watch" / "patterns.c"
IN_PYTHON = SOURCE.with_suffix(".py")
RANKS, ITERATIONS, COMPUTE_US = 4, 30, 100
# Pattern of the program -> rule and function. Whether it is worth a line is a matter of the machine's times.
PLANTED = {
    "small-messages": ("SP079", "small_messages"),
    "small-nonblocking": ("SP079", "small_nonblocking"),
    "small-reductions": ("SP079", "small_reductions"),
    "window": ("SP083", "window"),
    "barriers": ("SP081", "barriers"),
    "broadcast": ("SP079", "broadcast"),
    "chain": ("SP081", "chain"),
    "unexpected": ("SP080", "unexpected"),
    "leak": ("SP083", "leak"),
    "late": ("SP081", "late"),
    "new-buffers": ("SP082", "new_buffers"),
    "passive": ("SP081", "passive"),
    "synchronous": ("SP081", "synchronous"),
    "polls": ("SP081", "polls"),
    "requests": ("SP083", "requests"),
    "epochs": ("SP079", "epochs"),
    "any-request": ("SP079", "any_request"),
    "own-part": ("SP079", "own_part"),
    "asks-again": ("SP079", "asks_again"),
    "counts": ("SP079", "counts"),
}
# On busy cores most of thirty rows are interrupted, such as a message that four ranks pass on at once.
MORE_ITERATIONS = {"chain": 100, "unexpected": 100, "any-request": 100}
TRIES = {"chain": 3}  # four ranks on two processors: in one of twelve runs most wait for want of one
# Ranks that share a core are late for that; and each computes so long that others on its core do not hide it.
FEW_RANKS = dict.fromkeys(("late", "unexpected", "passive", "synchronous", "polls", "epochs", "any-request"), 2)
LONGER_US = {"late": 2000, "passive": 8000, "synchronous": 2000, "polls": 4000}
SIZE = {"late": str(1 << 24), "unexpected": "1500"}  # Intel MPI sends 1 MiB without its receive; a queue worth a search
# What is in both twins: made in each iteration, eight messages; and to compute is to read the clock until time is over.
ALSO = {"leak": {"SP083"}, "requests": {"SP079"}, **{pattern: {"SP082"} for pattern in LONGER_US}}


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
    clean = seen(ranks, watch_library, program, tmp_path, pattern, "clean")
    for number in range(TRIES.get(pattern, 1)):
        faulty = seen(ranks, watch_library, program, tmp_path / str(number), pattern, "faulty")
        if (code, function) in faulty:
            break
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
    mpi = min(ranks.mpi.prefix.glob("lib*/libmpi.so.*"), key=lambda path: len(path.name))  # not the first it finds
    for twin in ("faulty", "clean"):
        words = (*program, twin, "30", "100")
        watch = watched_run(ranks, watch_library, words, tmp_path / twin, 2, {"MPI4PY_LIBMPI": str(mpi)})
        calls = calls_of(watch)
        of_objects = [pattern for _, pattern in seen_in(calls) if pattern.name == "collectives of objects in a row"]
        assert len(of_objects) == (twin == "faulty")
        for pattern in of_objects:
            assert "mpi4py.MPI.Comm.allreduce of an object" in pattern.text
            assert "comm.Allreduce" in pattern.change
            assert {calls.within[site] for site in pattern.sites} == {"mpi4py.MPI.Comm.allreduce"}
            assert 30 <= pattern.count <= 30 * 32 + 1  # ranks that lose their core are no row; half a call is none
            assert pattern.more_s[2] >= pattern.more_s[0] > pattern.more_s[1] == 0.0


@pytest.mark.parametrize(("twin", "kind"), [("faulty", 1), ("clean", 0)])
def test_locks_are_exclusive_or_not(
    ranks: Ranks, watch_library: Path, program: Path, tmp_path: Path, twin: str, kind: int
) -> None:
    calls = calls_of(watched_run(ranks, watch_library, (str(program), "epochs", twin, "30", "9"), tmp_path / twin, 2))
    assert set(calls.detail[calls.named("MPI_Win_lock")].tolist()) == {kind}


def test_numbers_that_become_text_for_a_message_are_named_and_numbers_are_not(
    ranks: Ranks, watch_library: Path, program: Path, tmp_path: Path
) -> None:
    for twin in ("faulty", "clean"):
        words = (str(program), "text", twin, "400", str(COMPUTE_US))
        watch = watched_run(ranks, watch_library, words, tmp_path / twin, 2)
        if any(record.header["address_errno"] for record in watch.attributed.world.records):
            pytest.skip("the kernel gives no addresses here")
        patterns = [pattern for _, pattern in seen_in(calls_of(watch)) if "converted" in pattern.name]
        assert len(patterns) == (twin == "faulty")
        for pattern in patterns:
            assert pattern.name == "numbers converted by snprintf"
            assert "snprintf, called in text (patterns.c:" in pattern.text
            assert pattern.at.startswith("patterns.c:")
            assert "numbers as text" in pattern.text, "its messages were looked into"


def seen(
    ranks: Ranks, library: Path, program: Path, folder: Path, pattern: str, twin: str
) -> set[tuple[str, str]]:  # fmt: skip
    """Rules and functions of what a watch of it sees."""
    iterations = MORE_ITERATIONS.get(pattern, ITERATIONS)
    words = (str(program), pattern, twin, str(iterations), str(LONGER_US.get(pattern, COMPUTE_US)))
    words += (SIZE[pattern],) if pattern in SIZE else ()
    watch = watched_run(ranks, library, words, folder / twin, FEW_RANKS.get(pattern, RANKS))
    return {
        (path.code, watch.results.sites[place].function)
        for path, pattern in seen_in(calls_of(watch))
        for place in pattern.sites[:1]
        if "is late" not in pattern.name  # a machine that others use makes ranks late
    }


def watched_run(
    ranks: Ranks, library: Path, words: tuple[str, ...], watch: Path, count: int, more: Mapping[str, str] | None = None
) -> AttributedWatch:
    """The program on so many ranks, watched into a new folder.  Args: more: variables of the ranks."""
    (watch / "ranks").mkdir(parents=True)
    of_ranks = {"LD_PRELOAD": str(library), "SLOWPATH_WATCH": str(watch / "ranks"), **(more or {})}
    done = ranks.start(*words, ranks=count, of_ranks=of_ranks)
    assert done.returncode == 0, done.stderr
    return watched(described(watch, command=words, library=str(library)))


def calls_of(watch: AttributedWatch) -> ProgramCalls:
    """As slow paths look at them."""
    pairs = pair_classes(watch.attributed, watch.class_keys, watch.results.classes)
    return calls_of_program(watch, kept_of(watch.attributed, pairs))


SOURCE_POLLS = Path(__file__).parents[1] / "watch" / "polls.c"
WAYS = ("blocks", "tests", "probes", "testsome", "places", "barrier")


def watched_polls(ranks: Ranks, watch_library: Path, folder: Path, way: str) -> Attributed:
    """What one run of the program in this way left."""
    assert ranks.mpi.mpicxx is not None
    program, records = folder / "polls", folder / way / "ranks"
    argv = [str(ranks.mpi.mpicxx.with_name("mpicc")), "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE_POLLS]
    subprocess.run(argv, env=ranks.environ(), check=True, capture_output=True)
    records.mkdir(parents=True)
    preloaded = {"LD_PRELOAD": str(watch_library), "SLOWPATH_WATCH": str(records)}
    done = ranks.start(str(program), way, ranks=2, of_ranks=preloaded)
    assert done.returncode == 0, done.stderr
    return attributed(read_job(folder / way))


def times_of_rank_1(run: Attributed) -> tuple[RankTime, dict[str, float]]:
    """Also by name."""
    weight = time_weights(run.events, run.world, np.flatnonzero(run.events.is_timed))
    seconds = call_seconds(run.world)
    ranks = rank_times(run, seconds)
    return ranks[1], {account.name: account.by_rank[1] for account in accounts_of(run, weight, seconds, ranks, {}, ())}


@pytest.mark.parametrize("way", WAYS)
def test_polling_is_waiting_for_the_rank_that_is_late(
    way: str, ranks: Ranks, watch_library: Path, tmp_path: Path
) -> None:
    time, by_name = times_of_rank_1(watched_polls(ranks, watch_library, tmp_path, way))
    names = ("wait at barrier", "wait at N x N") if way == "barrier" else ("late sender",)
    waited_s = sum(by_name.get(name, 0.0) for name in names)
    assert time.mpi_s > 0.6 * time.span_s
    assert waited_s > 0.5 * time.mpi_s


SOURCE_SHARES = """#include <mpi.h>
int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    for (int step = 0; step < 200; ++step) {
        for (volatile int work = 0; work < 200000; ++work) {}
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return MPI_Finalize();
}
"""
CODE = "SP060"


@pytest.fixture(scope="module")
def program_shares(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two hundred short computations with a barrier behind each, compiled."""
    folder, mpi = tmp_path_factory.mktemp("shares"), find_mpi("embedded")
    assert mpi.mpicxx is not None
    (folder / "steps.c").write_text(SOURCE_SHARES)
    argv = [str(mpi.mpicxx.with_name("mpicc")), "-O1", "-o", folder / "steps", folder / "steps.c"]
    subprocess.run(argv, env=mpi.environ(os.environ), check=True, capture_output=True)
    return folder / "steps"


def watched_shares(program_shares: Path, library: Path, folder: Path, processors: set[int]) -> WatchResults:
    """Two ranks of the program that may use these processors."""
    mpi = find_mpi("embedded")
    launched = [str(mpi.mpiexec), "-bind-to", "none", "-n", "2", str(program_shares)]
    own = ["--library", str(library), "-o", str(folder), "-q", "--verdict", str(folder.with_suffix(".txt"))]
    argv = [sys.executable, "-m", "slowpath.cli", "watch", *own, "--", *launched]
    done = subprocess.run(
        argv,
        env=mpi.environ(os.environ),
        preexec_fn=lambda: os.sched_setaffinity(0, processors),
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return read_watch_results(folder)


def test_two_ranks_on_one_processor_are_named(program_shares: Path, watch_library: Path, tmp_path: Path) -> None:
    processor = min(os.sched_getaffinity(0))
    watch = watched_shares(program_shares, watch_library, tmp_path / "w", {processor})
    assert watch.resources is not None
    assert [rank.processors for rank in watch.resources] == [str(processor)] * 2
    named = next(finding for finding in watch.findings if finding.rule == CODE)
    assert f"2 ranks on 1 processor ({processor} of " in named.text
    assert named.interval[0] > 0
    assert "2 ranks share 1 of " in (tmp_path / "w.txt").read_text().replace("\n", " ")


STOPPED_AFTER = "15"  # seconds, by timeout(1)
SOURCE_HANG = Path(__file__).parents[1] / "watch" / "hang.c"


@pytest.fixture(scope="module")
def program_hang(mpi: Mpi, tmp_path_factory: pytest.TempPathFactory) -> Path:
    if mpi.mpicxx is None:
        pytest.skip("no compiler wrapper")
    made = tmp_path_factory.mktemp("hang") / "hang"
    argv = [str(mpi.mpicxx.with_name("mpicc")), "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-o", made, SOURCE_HANG]
    subprocess.run(argv, env=mpi.environ(os.environ), check=True, capture_output=True)
    return made


def hung(mpi: Mpi, library: Path, program_hang: Path, folder: Path, way: str) -> tuple[str, Standstill]:
    """The last lines of stderr, and what the results say."""
    own = ["--library", str(library), "-o", str(folder / "w"), "-q"]
    plain, launcher, cores = mpi.environ(os.environ), launcher_named(mpi.launcher), len(os.sched_getaffinity(0))
    words = [str(program_hang), way]
    made = command(launcher, str(mpi.mpiexec), mpi.name, RANKS, "none", {}, words, cores, plain)
    argv = ["timeout", STOPPED_AFTER, sys.executable, "-m", "slowpath.cli", "watch", *own, "--", *made.argv]
    environ = {**plain, **made.variables}
    done = subprocess.run(argv, env=environ, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)
    assert done.returncode != 0
    results = read_watch_results(folder / "w")
    assert results.standstill is not None, done.stderr
    assert results.standstill.text in results.verdict[0]
    assert f"hang, {RANKS} ranks, hung for " in done.stderr
    assert "interrupted: the report covers the time until then" in done.stderr
    return done.stderr, results.standstill


def test_the_rank_that_does_not_come_to_a_barrier_is_named(
    mpi: Mpi, watch_library: Path, program_hang: Path, tmp_path: Path
) -> None:
    _, still = hung(mpi, watch_library, program_hang, tmp_path, "barrier")
    assert still.text.startswith("ranks 0-2 in MPI_Barrier at barrier (hang.c:")
    assert "; rank 3 outside MPI for " in still.text


def test_sends_round_a_ring_wait(mpi: Mpi, watch_library: Path, program_hang: Path, tmp_path: Path) -> None:
    _, still = hung(mpi, watch_library, program_hang, tmp_path, "cycle")
    assert still.text.startswith("ranks 0-3 in MPI_Ssend at cycle (hang.c:")
    assert [rank.text.split(" (")[0] for rank in still.ranks] == [f"MPI_Ssend to rank {rank}" for rank in (1, 2, 3, 0)]


SOURCE_TRUTH = Path(__file__).parents[1] / "watch" / "truth.c"
TRUE_RANKS, SEED, ROUNDS, DELAY_US = 4, 20, 250, 400
LEAST_SHARE = 0.99
LEAST_ASKED = {"matched": 400, "late sender": 300, "unexpected": 200, "late receiver": 200, "last in a collective": 20}


def test_late_and_unexpected_are_what_the_program_knows(ranks: Ranks, watch_library: Path, tmp_path: Path) -> None:
    if ranks.mpi.mpicxx is None:
        pytest.skip("no compiler wrapper")
    program = tmp_path / "truth"
    argv = [str(ranks.mpi.mpicxx.with_name("mpicc")), "-O1", "-Wall", "-Wextra", "-Werror", "-o", program, SOURCE_TRUTH]
    subprocess.run(argv, env=ranks.environ(), check=True, capture_output=True)
    scores = watched_truth(ranks, watch_library, program, tmp_path / "watch")
    for question, score in scores.items():
        assert score.share >= LEAST_SHARE, (question, scores)
    for question, least in LEAST_ASKED.items():
        assert scores[question].asked >= least, (question, scores)


def watched_truth(ranks: Ranks, watch_library: Path, program: Path, watch: Path) -> dict[str, Score]:
    """What one run of the program knows, and how often the watch is right."""
    (watch / "ranks").mkdir(parents=True)
    preloaded = {"LD_PRELOAD": str(watch_library)}
    words = (str(program), str(watch / "table"), str(SEED), str(ROUNDS), str(DELAY_US))
    done = ranks.start(*words, ranks=TRUE_RANKS, of_ranks={**preloaded, "SLOWPATH_WATCH": str(watch / "ranks")})
    assert done.returncode == 0, done.stderr
    return scores(watch / "table", attributed(read_job(watch)))


CANCELLED = """#include <mpi.h>
int main(int argc, char** argv) {
    char bytes[99];
    int rank = MPI_Init(&argc, &argv);
    MPI_Request request;
    for (int i = MPI_Comm_rank(MPI_COMM_WORLD, &rank); i < 99; i++, MPI_Barrier(MPI_COMM_WORLD)) {
        if (!rank && !MPI_Irecv(bytes, 99, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &request) && !MPI_Cancel(&request))
            i % 2 ? MPI_Wait(&request, MPI_STATUS_IGNORE) : MPI_Request_free(&request);
        MPI_Barrier(MPI_COMM_WORLD);
        rank ? MPI_Send(bytes, i, MPI_BYTE, 0, 5, MPI_COMM_WORLD)
             : MPI_Recv(bytes, 99, MPI_BYTE, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    return MPI_Finalize();
}
"""


TYPED = """#include <mpi.h>
int main(int argc, char** argv) {
    static double given[2048], taken[2048], exposed[2048];
    MPI_Datatype eights, ones;  // of 512 doubles
    MPI_Win window;
    MPI_Init(&argc, &argv);
    MPI_Type_vector(64, 8, 16, MPI_DOUBLE, &eights);
    MPI_Type_vector(512, 1, 2, MPI_DOUBLE, &ones);
    MPI_Type_commit(&eights);
    MPI_Type_commit(&ones);
    MPI_Alltoall(given, 1, eights, taken, 1, ones, MPI_COMM_WORLD);
    MPI_Win_create(exposed, sizeof exposed, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(given, 512, MPI_DOUBLE, 0, 0, 1, eights, window);
    MPI_Win_fence(0, window);
    return MPI_Win_free(&window) + MPI_Finalize();
}
"""


def watched_source(ranks: Ranks, watch_library: Path, source: str, folder: Path) -> Attributed:
    (folder / "ranks").mkdir()
    (folder / "program.c").write_text(source)
    wrapper = ranks.mpi.mpicxx.with_name("mpicc") if ranks.mpi.mpicxx else pytest.skip("no compiler wrapper")
    subprocess.run([wrapper, "program.c", "-o", "program"], env=ranks.environ(), check=True, cwd=folder)
    preloaded = {"LD_PRELOAD": str(watch_library), "SLOWPATH_WATCH": str(folder / "ranks")}
    assert ranks.start(str(folder / "program"), ranks=2, of_ranks=preloaded).returncode == 0
    return attributed(read_job(folder))


def test_a_cancelled_receive_leaves_its_message_to_the_next(ranks: Ranks, watch_library: Path, tmp_path: Path) -> None:
    run = watched_source(ranks, watch_library, CANCELLED, tmp_path)
    assert (run.matched.send.size, run.contradictions) == (99, 0)


def test_of_two_datatypes_the_one_of_shorter_blocks_is_kept(ranks: Ranks, watch_library: Path, tmp_path: Path) -> None:
    run = watched_source(ranks, watch_library, TYPED, tmp_path)
    kept = [(run.world.calls[call], types["bytes"][row] / types["blocks"][row])
            for i, record in enumerate(run.world.records) for types in [record.datatypes]
            for call, row, of in zip(run.events.call, run.events.datatype, run.events.record, strict=True)
            if of == i and row >= 0]  # fmt: skip
    assert sorted(kept) == sorted(2 * [("MPI_Alltoall", 8), ("MPI_Put", 64)])
