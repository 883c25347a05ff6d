# SPDX-License-Identifier: Apache-2.0
"""Calls that a program could do without: each pattern is named where it was planted, its corrected twin is clean."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from slowpath.slowpaths import placement
from slowpath.slowpaths.registry import SLOW_PATHS
from slowpath.watch.analysis import concluded_watch
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.results import WatchFinding, WatchResults
from support.watch_record import Job, Rank

COMPUTE_S, CALL_S, STEP_S = 100e-6, 1e-6, 50e-9
ITERATIONS = 20
HERE, THERE, ELSEWHERE = 1, 2, 3  # rows of sites; 0 is the coarse one


@dataclass
class Program:
    """Ranks that compute and call; each has its own clock. `call` moves the clock over one call and a loop's step."""

    ranks: int
    job: Job = field(init=False)
    now: list[float] = field(init=False)
    call_s: float = CALL_S

    def __post_init__(self) -> None:
        self.job = Job(self.ranks, header={"call_cost_ns": 20})
        self.now = [0.01] * self.ranks
        for rank in self.job.ranks:
            for place in (HERE, THERE, ELSEWHERE):
                rank.site(0x1000 * place)

    def compute(self, seconds: float = COMPUTE_S) -> None:
        self.now = [at + seconds for at in self.now]

    def send(self, source: int, to: int, size: int = 8, site: int = HERE, offset: int = 0) -> float:
        """A send that goes at once; the time at which it began."""
        start = self.now[source]
        self.at(source).send(to, start_s=start, end_s=start + self.call_s, message_bytes=size, site=site,
                             start_offset=offset)  # fmt: skip
        self.now[source] = start + self.call_s + STEP_S
        return start

    def receive(self, rank: int, source: int, sent: float, size: int = 8, site: int = THERE, offset: int = 0) -> None:
        """A receive that ends a call after the message was sent, or after its own begin."""
        start = self.now[rank]
        end = max(start, sent) + self.call_s
        self.at(rank).receive(source, start_s=start, end_s=end, message_bytes=size, site=site, start_offset=offset)
        self.now[rank] = end + STEP_S

    def message(self, source: int, to: int, size: int = 8) -> None:
        self.receive(to, source, self.send(source, to, size), size)

    def all(self, call: str = "MPI_Allreduce", size: int = 8, site: int = HERE, root: int = -1,
            offset: int = 0, took_s: float | None = None) -> None:  # fmt: skip
        """A collective that all leave together."""
        end = max(self.now) + (self.call_s if took_s is None else took_s)
        for rank in self.job.ranks:
            rank.collective(call, start_s=self.now[rank.rank], end_s=end, message_bytes=size, site=site, root=root,
                            start_offset=offset)  # fmt: skip
        self.now = [end + STEP_S] * self.ranks

    def at(self, rank: int) -> Rank:
        return self.job.ranks[rank]

    def watched(self, folder: Path) -> WatchResults:
        end_s = max(self.now) + 0.001
        self.job.write(folder / "ranks", end_s)
        info = WatchInfo(
            slowpath="1", command=("./app",), started="2026-01-01T00:00:00Z", working_folder="/", host="node1",
            library="/l.so", wall_s=end_s, exit_code=0,
        )  # fmt: skip
        write_watch(folder, info)
        return concluded_watch(folder)


def small_messages(program: Program, twin: bool) -> None:
    for _ in range(ITERATIONS):
        program.compute()
        if twin:
            program.message(0, 1, 200 * 8)
        else:
            sent = [program.send(0, 1) for _ in range(200)]
            for at in sent:
                program.receive(1, 0, at)


def small_reductions(program: Program, twin: bool) -> None:
    for _ in range(ITERATIONS):
        program.compute(20e-6)
        for number in range(1 if twin else 16):
            program.all(size=128 if twin else 8, offset=8 * number, took_s=4e-6)


def made_anew(program: Program, twin: bool) -> None:
    """A window in each iteration, or one."""
    for number in range(ITERATIONS):
        program.compute()
        if not twin or number == 0:
            program.all("MPI_Win_create", size=0, took_s=30e-6)
        program.all(size=2048, site=ELSEWHERE, took_s=4e-6)
        if not twin or number == ITERATIONS - 1:
            program.all("MPI_Win_free", size=0, site=THERE, took_s=20e-6)


def barriers(program: Program, twin: bool) -> None:
    for _ in range(500):
        program.compute(10e-6)
        if not twin:
            program.all("MPI_Barrier", size=0, site=THERE, took_s=2e-6)
        program.all(size=64, took_s=4e-6)
        if not twin:
            program.all("MPI_Barrier", size=0, site=ELSEWHERE, took_s=2e-6)


def never_freed(program: Program, twin: bool) -> None:
    for _ in range(30):
        program.compute()
        program.all("MPI_Comm_dup", size=0, took_s=0.2e-6)
        program.all(size=2048, site=ELSEWHERE)
        if twin:
            for rank in program.job.ranks:
                rank.profile_row("MPI_Comm_free", 50, 1, site=THERE)


def chain(program: Program, twin: bool) -> None:
    """A shift round the ring: each receives first, or all send at once."""
    for _ in range(100):
        program.compute(20e-6)
        if twin:
            sent = [program.send(rank, (rank + 1) % 4, 2048, offset=64) for rank in range(4)]
            for rank in range(4):
                program.receive(rank, (rank + 3) % 4, sent[(rank + 3) % 4], 2048, offset=4096)
        else:
            at = program.send(0, 1, 2048, offset=64)
            for rank in (1, 2, 3):
                program.receive(rank, rank - 1, at, 2048, offset=4096)
                at = program.send(rank, (rank + 1) % 4, 2048, offset=64)
            program.receive(0, 3, at, 2048, offset=4096)


def broadcast(program: Program, twin: bool) -> None:
    """Eight ranks: one sends to each other one, or all broadcast in three steps."""
    for _ in range(40):
        program.compute(20e-6)
        if twin:
            program.all("MPI_Bcast", size=2048, root=0, took_s=3 * CALL_S)
        else:
            sent = [program.send(0, rank, 2048, offset=64) for rank in range(1, program.ranks)]
            for rank, at in enumerate(sent, 1):
                program.receive(rank, 0, at, 2048, offset=64)
            program.all(size=2048, site=ELSEWHERE)


def received_late(program: Program, twin: bool) -> None:
    """Messages in another order than they come: each receive looks at all that wait."""
    count = 600
    for _ in range(2):
        program.compute()
        sent = [program.send(0, 1, 2048) for _ in range(count)]
        program.now[1] = max(program.now[1], program.now[0])
        for number in range(count):
            search_s = 0.0 if twin else (count - number) * 10e-9
            program.call_s = 1e-6 + search_s
            program.receive(1, 0, sent[number], 2048)
        program.call_s = CALL_S
        for _ in range(20):
            program.message(0, 1, 2048)
        program.all(size=2048, site=ELSEWHERE)


Plant = Callable[[Program, bool], None]
PLANTS: dict[str, Plant] = {
    "SP050": small_messages,
    "SP051": small_reductions,
    "SP052": made_anew,
    "SP053": barriers,
    "SP054": broadcast,
    "SP055": chain,
    "SP056": received_late,
    "SP057": never_freed,
}


RANKS = {"SP054": 8}


def found(code: str, twin: bool, folder: Path) -> tuple[WatchResults, list[WatchFinding]]:
    program = Program(RANKS.get(code, 4))
    PLANTS[code](program, twin)
    results = program.watched(folder)
    return results, list(results.findings)


def test_every_pattern_is_planted() -> None:
    """Those about processors and memory are planted in records: tests/unit/watch/test_watch_shares.py."""
    assert sorted(PLANTS) == [path.code for path in SLOW_PATHS if path.pattern and path not in placement.FAMILY]


@pytest.mark.parametrize("code", list(PLANTS))
def test_what_is_planted_is_named_alone_at_its_place(code: str, tmp_path: Path) -> None:
    results, findings = found(code, False, tmp_path)
    assert {finding.rule for finding in findings} == {code}
    assert len(findings) <= 2  # barriers before, and after
    assert findings[0].status == "estimated"
    assert findings[0].sites
    assert results.verdict[0].endswith("could be saved") or not findings[0].saved_s


@pytest.mark.parametrize("code", list(PLANTS))
def test_the_corrected_twin_is_clean(code: str, tmp_path: Path) -> None:
    assert found(code, True, tmp_path)[1] == []


@pytest.mark.parametrize("code", ["SP050", "SP051", "SP052", "SP053", "SP055", "SP056"])
def test_the_estimate_is_the_time_that_the_twin_takes_less(code: str, tmp_path: Path) -> None:
    faulty, findings = found(code, False, tmp_path / "faulty")
    clean, _ = found(code, True, tmp_path / "clean")
    less_s = (faulty.program.span_s or 0.0) - (clean.program.span_s or 0.0)
    steps_s = sum(finding.messages for finding in findings) * STEP_S  # loops' steps are no calls
    assert sum(finding.saved_s or 0.0 for finding in findings) == pytest.approx(less_s, abs=steps_s + 0.1 * less_s)
    for finding in findings:
        assert finding.saved_interval is not None
        assert finding.saved_interval[0] <= (finding.saved_s or 0.0) <= finding.saved_interval[1]
    assert faulty.saved_s == pytest.approx(sum(finding.saved_s or 0.0 for finding in findings), rel=0.05)


def test_rounds_in_which_all_send_at_once_are_no_chain(tmp_path: Path) -> None:
    program = Program(4)
    for number in range(100):
        program.now = [at + 0.3e-6 * ((7 * rank + 3 * number) % 5) for rank, at in enumerate(program.now)]
        sent = [program.send(rank, (rank + 1) % 4, 2048, offset=64) for rank in range(4)]
        program.compute(20e-6)
        for rank in range(4):
            program.receive(rank, (rank + 3) % 4, sent[(rank + 3) % 4], 2048, offset=4096)
    assert not program.watched(tmp_path).findings


def test_several_that_are_made_together_in_each_iteration_are_named(tmp_path: Path) -> None:
    program = Program(4)
    for _ in range(ITERATIONS):
        program.compute()
        for _ in range(4):
            program.all("MPI_Win_create", size=0, took_s=30e-6)
        program.all(size=2048, site=ELSEWHERE, took_s=4e-6)
        for _ in range(4):
            program.all("MPI_Win_free", size=0, site=THERE, took_s=20e-6)
    (finding,) = program.watched(tmp_path).findings
    assert (finding.rule, finding.messages) == ("SP052", 4 * 4 * ITERATIONS)
    assert finding.saved_s == pytest.approx((ITERATIONS - 1) * 4 * 50e-6, rel=0.05)


def ping_pong(program: Program) -> None:
    for _ in range(400):
        program.message(0, 1)
        program.message(1, 0)


def halo(program: Program) -> None:
    """Three fields to each neighbour."""
    for _ in range(100):
        program.compute(5e-6)
        for step in (1, program.ranks - 1):
            sent = [[program.send(rank, (rank + step) % program.ranks, 64) for _ in range(3)] for rank in range(4)]
            for rank in range(4):
                for at in sent[(rank - step) % program.ranks]:
                    program.receive(rank, (rank - step) % program.ranks, at, 64)


def farm(program: Program) -> None:
    """Rank 0 hands out work and takes results."""
    for number in range(300):
        worker = 1 + number % (program.ranks - 1)
        program.message(0, worker)
        program.now[worker] += 5e-6
        program.message(worker, 0)


def pipeline(program: Program) -> None:
    """Each element is sent once it was computed, so that the receiver can begin."""
    for _ in range(300):
        program.now[0] += 20e-6
        program.message(0, 1)


def until_converged(program: Program) -> None:
    """One variable is reduced again and again, with little computing, in rows of one length."""
    for _ in range(20):
        program.compute()
        for _ in range(10):
            program.compute(1e-6)
            program.all(took_s=4e-6)


def until_converged_at_once(program: Program) -> None:
    """The same without computing, in rows of any length."""
    for row in range(20):
        program.compute()
        for _ in range(5 + 3 * row % 7):
            program.all(took_s=4e-6)


def token(program: Program) -> None:
    """What comes is passed on: from the same buffer."""
    for _ in range(100):
        program.compute(20e-6)
        at = program.send(0, 1, 2048)
        for rank in (1, 2, 3):
            program.receive(rank, rank - 1, at, 2048)
            at = program.send(rank, (rank + 1) % 4, 2048)
        program.receive(0, 3, at, 2048)


def sweep(program: Program) -> None:
    """Each rank computes from what came before it sends."""
    for _ in range(100):
        at = program.send(0, 1, 2048, offset=64)
        for rank in (1, 2, 3):
            program.receive(rank, rank - 1, at, 2048, offset=4096)
            program.now[rank] += 20e-6
            at = program.send(rank, (rank + 1) % 4, 2048, offset=64)
        program.receive(0, 3, at, 2048, offset=4096)


def all_to_all(program: Program) -> None:
    """Each rank sends to all others at one place."""
    for _ in range(40):
        program.compute(20e-6)
        sent = {
            (rank, other): program.send(rank, other, 2048) for rank in range(4) for other in range(4) if rank != other
        }
        for (rank, other), at in sent.items():
            program.receive(other, rank, at, 2048)


def rounds_of_work(program: Program) -> None:
    """Parts of different lengths for all, after which one waits for each result."""
    for number in range(40):
        for worker in (1, 2, 3):
            program.message(0, worker, 1500 + 100 * ((number + worker) % 3))
        program.compute(20e-6)
        for worker in (1, 2, 3):
            program.receive(0, worker, program.send(worker, 0, 1500 + 100 * worker), 1500 + 100 * worker)


def flood(program: Program) -> None:
    """Many messages come before their receives, which take no longer for that."""
    sent = [program.send(0, 1, 2048) for _ in range(600)]
    program.now[1] = program.now[0]
    for at in sent:
        program.receive(1, 0, at, 2048)


def made_in_a_row(program: Program) -> None:
    """All communicators that are needed later, in one loop; they are never freed."""
    for _ in range(30):
        program.all("MPI_Comm_dup", size=0, took_s=30e-6)
    for _ in range(20):
        program.compute()
        program.all(size=2048, site=ELSEWHERE)


def timed(program: Program) -> None:
    """A barrier, then the computing that it separates from the reduction."""
    for _ in range(500):
        program.all("MPI_Barrier", size=0, site=THERE, took_s=2e-6)
        program.compute(10e-6)
        program.all(size=64, took_s=4e-6)
        program.compute(10e-6)


CLEAN = (
    ping_pong,
    halo,
    farm,
    pipeline,
    until_converged,
    until_converged_at_once,
    made_in_a_row,
    timed,
    token,
    sweep,
    all_to_all,
    rounds_of_work,
    flood,
)


@pytest.mark.parametrize("clean", CLEAN, ids=lambda one: one.__name__)
def test_what_looks_alike_is_not_named(clean: Callable[[Program], None], tmp_path: Path) -> None:
    program = Program(4)
    clean(program)
    assert list(program.watched(tmp_path).findings) == []
