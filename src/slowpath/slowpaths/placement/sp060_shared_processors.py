# SPDX-License-Identifier: Apache-2.0
"""SP060: ranks of a program share processors, and a rank that waits keeps the one that another needs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from slowpath.core.machine import format_cpu_list
from slowpath.core.units import format_time, listed
from slowpath.findings.program_pattern import Crowd, ProgramCalls, ProgramSlowPath, SeenPattern, crowds, likewise
from slowpath.slowpaths.remedies import PROGRAM_BIND_CORES, PROGRAM_BIND_NONE, PROGRAM_YIELD_WHEN_IDLE

PROVE = f"slowpath prove --remedy {PROGRAM_YIELD_WHEN_IDLE.key}"
MOST_NAMED = 8  # ranks in the sentence


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """The ranks that may only use fewer processors than they are; where several groups are, the one that loses most."""
    found = crowds(calls.resources.ranks) if calls.resources is not None else []
    return [_pattern(max(found, key=_waited_s), len(found) - 1)] if any(map(_waited_s, found)) else []


def _waited_s(crowd: Crowd) -> float:
    """A rank, in the queue for a processor."""
    known = [rank.waited_s for rank in crowd.ranks if rank.waited_s is not None]
    return fmean(known) if known else 0.0


def _pattern(crowd: Crowd, more: int) -> SeenPattern:
    ranks, waited_s = crowd.ranks, _waited_s(crowd)
    who = listed([str(rank.rank) for rank in ranks[:MOST_NAMED]]) + (" and more" if len(ranks) > MOST_NAMED else "")
    count, span_s = len(crowd.processors), fmean(rank.span_s for rank in ranks)
    return SeenPattern(
        sites=(),
        count=len(ranks),
        text=f"{len(ranks)} ranks on {count} processor{'s' if count > 1 else ''} "
        f"({format_cpu_list(sorted(crowd.processors))} of {crowd.host}): ranks {who} were ready to run but had "
        f"no processor for {format_time(waited_s)} of {format_time(span_s)} each{likewise(more)}",
        change=_change(crowd, count),
        basis="the time in MPI while a rank was in the kernel's run queue; low: half of each rank's queue time; "
        "high: both",
        more_s=_lost_s(crowd),
    )


def _lost_s(crowd: Crowd) -> tuple[float, float, float]:
    """Value, low, high of the run. A rank in MPI waits for one without a processor, while any stands in the queue."""
    waited_s, span_s = _waited_s(crowd), fmean(rank.span_s for rank in crowd.ranks)
    queue_s = waited_s * len(crowd.ranks)
    mpi_s = fmean(min(rank.mpi_s, rank.span_s) for rank in crowd.ranks)
    value_s = max(waited_s, min(mpi_s, queue_s))
    return value_s, waited_s / 2, max(value_s, min(mpi_s + waited_s, queue_s, span_s))


def _change(crowd: Crowd, count: int) -> str:
    online = max((rank.online or 0 for rank in crowd.ranks), default=0)
    yields = f"or let ranks that wait yield ({PROVE})"
    if online > count:
        return (
            f"{len(crowd.ranks)} ranks share {count} of {online} processors of {crowd.host}: bind each to its own "
            f"core, or none; {yields}"
        )
    return (
        f"{len(crowd.ranks)} ranks share the {count} processor{'s' if count > 1 else ''} of {crowd.host}: start at "
        f"most {count} there, {yields}"
    )


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP060",
    name="ranks share processors",
    title="Ranks of a program share processors",
    what="More ranks run on a host than the processors that they may use. A rank that waits spins, and keeps its "
    "processor for milliseconds.",
    needs="A watched program whose records say which processors each rank may use, and how long it stood in the "
    "kernel's queue for one.",
    remedy="As many ranks as processors, each bound to one; else let ranks that wait yield (slowpath prove WATCH "
    "--remedy yield-when-idle).",
    cause="Ranks that wait keep the processor that others need.",
    needs_law=False,
    kind="fault",
    program_remedies=(PROGRAM_YIELD_WHEN_IDLE, PROGRAM_BIND_CORES, PROGRAM_BIND_NONE),
    pattern=see,
)
