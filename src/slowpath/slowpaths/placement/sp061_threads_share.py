# SPDX-License-Identifier: Apache-2.0
"""SP061: threads of a program exceed the processors that its ranks may use."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from slowpath.core.machine import format_cpu_list
from slowpath.core.units import format_time
from slowpath.findings.program_pattern import Crowd, ProgramCalls, ProgramSlowPath, SeenPattern, crowds, likewise

SHORTEST_S = 0.5  # of a run: in a shorter one threads that a library starts are busy with that


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Ranks whose busy threads are more than their processors, where the ranks alone are not; those that lose most."""
    every = calls.resources.ranks if calls.resources is not None else ()
    ranks = [share for share in every if share.span_s >= SHORTEST_S]
    shared = {(crowd.host, rank.rank) for crowd in crowds(ranks) for rank in crowd.ranks}
    found = crowds([rank for rank in ranks if (rank.host, rank.rank) not in shared], lambda one: one.busy or 1)
    return [_pattern(max(found, key=_waited_s), len(found) - 1)] if any(map(_waited_s, found)) else []


def _waited_s(crowd: Crowd) -> float:
    """A busy thread, in the queue for a processor."""
    known = [rank.busy_waited_s for rank in crowd.ranks if rank.busy_waited_s is not None]
    return fmean(known) if known else 0.0


def _pattern(crowd: Crowd, more: int) -> SeenPattern:
    ranks, count, waited_s = crowd.ranks, len(crowd.processors), _waited_s(crowd)
    threads = sum(rank.busy or 1 for rank in ranks)
    span_s = fmean(rank.span_s for rank in ranks)
    each = max(count // len(ranks), 1)
    fewer = f"{each} thread{'s' if each > 1 else ''} a rank (OMP_NUM_THREADS)"
    least = "at least " if any(rank.has_ended_threads for rank in ranks) else ""
    of_ranks = f"rank {ranks[0].rank}" if len(ranks) == 1 else f"{len(ranks)} ranks"
    return SeenPattern(
        sites=(),
        count=threads,
        text=f"{least}{threads} busy threads of {of_ranks} on {count} processor{'s' if count > 1 else ''} "
        f"({format_cpu_list(sorted(crowd.processors))} of {crowd.host}): each was ready to run but had no "
        f"processor for {format_time(waited_s)} of {format_time(span_s)}{likewise(more)}",
        change=f"{least}{threads} threads share {count} processor{'s' if count > 1 else ''}: give each rank a "
        f"processor per thread, or start at most {fewer}",
        basis="the time of a busy thread in the kernel's run queue; low: half of it; high: twice that, for threads "
        "that wait for it",
        more_s=(waited_s, waited_s / 2, max(min(2 * waited_s, span_s), waited_s)),
    )


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP061",
    name="threads share processors",
    title="Threads of ranks are more than the processors that they may use",
    what="A rank computes with more threads than it has processors, as when a launcher binds it to one core.",
    needs="A watched program whose records say how many threads are busy, which processors they may use, and how "
    "long they stood in the queue.",
    remedy="As many processors for a rank as it has threads (--map-by slot:PE=N, srun --cpus-per-task=N, "
    "I_MPI_PIN_DOMAIN), or fewer threads (OMP_NUM_THREADS).",
    cause="Threads of the program take each other's processor.",
    needs_law=False,
    kind="fault",
    pattern=see,
)
