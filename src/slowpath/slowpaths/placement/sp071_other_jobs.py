# SPDX-License-Identifier: Apache-2.0
"""SP071: other processes, or the job's own launcher, use the processors of ranks."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from slowpath.core.machine import format_cpu_list
from slowpath.core.units import format_time
from slowpath.findings.program_pattern import ProgramCalls, ProgramSlowPath, RankShare, SeenPattern, crowds

LEAST_WAITED = 0.2  # of the run. Two that take turns wait for half of it; what a system does beside takes little
OF_LAUNCHER = 0.5  # of what ranks wait: from here on the launcher is what they wait for
SHORTEST_S = 0.5  # of a run: a shorter one stands in the queue while it starts


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Ranks that wait for a processor which neither other ranks nor threads of their own keep."""
    every = calls.resources.ranks if calls.resources is not None else ()
    own = crowds(every) + crowds(every, lambda rank: rank.busy or 1)
    crowded = {(crowd.host, rank.rank) for crowd in own for rank in crowd.ranks}
    found = [rank for rank in every if (rank.host, rank.rank) not in crowded and _is_taken(rank)]
    launcher_s = calls.resources.launcher_s if calls.resources is not None else None
    if found and launcher_s is not None and launcher_s >= OF_LAUNCHER * sum(map(_taken_s, found)):
        return [_beside_launcher(found, launcher_s)]
    bound = [rank for rank in found if len(rank.processors) < (rank.online or 0)]
    free = [rank for rank in found if len(rank.processors) >= (rank.online or 0)]
    return [pattern(ranks) for ranks, pattern in ((bound, _on_bound), (free, _on_host)) if ranks]


def _taken_s(rank: RankShare) -> float:
    """Time in the queue, without that for which a quota stopped the processors."""
    return max((rank.waited_s or 0.0) - (rank.throttled_s or 0.0), 0.0)


def _is_taken(rank: RankShare) -> bool:
    """Whether a rank that has no thread which could be what it waits for lost much of its run."""
    waits = _taken_s(rank) >= LEAST_WAITED * rank.span_s and rank.span_s >= SHORTEST_S
    return bool(rank.online and rank.processors) and waits and not rank.has_ended_threads


def _beside_launcher(ranks: Sequence[RankShare], launcher_s: float) -> SeenPattern:
    """Of ranks whose own job takes their processors, as an mpiexec that forwards much output."""
    worst = max(ranks, key=_taken_s)
    return _pattern(
        ranks,
        f"the launcher of this job and what it started beside the ranks used {format_time(launcher_s)} of processor "
        f"time: rank {worst.rank}",
        "print less, or let each rank write its output into a file, which the launcher does not forward; or leave a "
        "processor to the launcher",
        "the launcher takes the ranks' processors",
    )


def _on_bound(ranks: Sequence[RankShare]) -> SeenPattern:
    """Of ranks that may use only some of their host's processors."""
    worst = max(ranks, key=_taken_s)
    where = f"processor{'s' if len(worst.processors) > 1 else ''} {format_cpu_list(sorted(worst.processors))}"
    return _pattern(
        ranks,
        f"rank {worst.rank} is bound to {where} of {worst.online} of {worst.host}, which other processes use, too: it",
        f"rank {worst.rank} shares its processors with other processes: give each job its own (a set per mpiexec, "
        "or the batch system's binding) or, if others are idle, do not bind (--bind-to none)",
    )


def _on_host(ranks: Sequence[RankShare]) -> SeenPattern:
    """Of ranks that may use all processors of their host."""
    worst = max(ranks, key=_taken_s)
    return _pattern(
        ranks,
        f"other processes use the {worst.online} processors of {worst.host}, too: rank {worst.rank}",
        f"other processes use the processors of {worst.host} (top shows them): run after them, or elsewhere",
    )


def _pattern(ranks: Sequence[RankShare], who: str, change: str, name: str = "") -> SeenPattern:
    """Args: who: begins the sentence about the rank that lost most.  name: empty: that of the slow path."""
    worst = max(ranks, key=_taken_s)
    taken_s, mean_s = _taken_s(worst), fmean(map(_taken_s, ranks))
    more = f"; {len(ranks) - 1} more rank{'s' if len(ranks) > 2 else ''} likewise" if len(ranks) > 1 else ""
    return SeenPattern(
        sites=(),
        count=len(ranks),
        text=f"{who} was ready to run but had no processor for {format_time(taken_s)} of "
        f"{format_time(worst.span_s)}{more}",
        change=change,
        basis="the mean time of these ranks in the kernel's run queue; low: half of it; high: that of the rank that "
        "lost most",
        more_s=(mean_s, mean_s / 2, taken_s),
        name=name,
    )


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP071",
    name="other processes on the ranks' processors",
    title="Other processes use the processors of ranks",
    what="Processes of another job, or of none, run on the processors that a rank may use: each mpiexec that knows "
    "of no other job binds its first rank to the first core.",
    needs="A watched program whose records say which processors each rank may use, how long it stood in the queue, "
    "and how many of its threads are busy.",
    remedy="A set of processors for each job, the batch system's binding, or no binding (--bind-to none).",
    cause="Other processes take the processors of ranks.",
    needs_law=False,
    kind="fault",
    pattern=see,
)
