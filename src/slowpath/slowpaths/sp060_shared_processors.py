# SPDX-License-Identifier: Apache-2.0
"""SP060: ranks of a program share processors: with each other, with their own threads, or with other processes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from slowpath.core.machine import format_cpu_list
from slowpath.core.units import format_time, listed
from slowpath.findings.program_pattern import (
    Crowd,
    ProgramCalls,
    ProgramSlowPath,
    RankShare,
    SeenPattern,
    crowded_ranks,
    crowds,
)
from slowpath.slowpaths.remedies import PROGRAM_BIND_CORES, PROGRAM_BIND_NONE, PROGRAM_YIELD_WHEN_IDLE, page_of

SHORTEST_S = 0.5  # of a run: in a shorter one threads that a library starts are busy with that, and ranks start
LEAST_WAITED = 0.2  # of the run. Two that take turns wait for half of it; what a system does beside takes little
# Ranks that only compute end some slices of the scheduler apart, which fewer ranks would not gain.
UNEVEN, UNEVEN_S = 0.12, 0.06  # of the run, but no more than so long
PROVE = f"slowpath prove --remedy {PROGRAM_YIELD_WHEN_IDLE.key}"
MOST_NAMED = 8  # ranks in the sentence


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Who shares processors with whom."""
    if calls.resources is None:
        return []
    every = calls.resources.ranks
    return [*_ranks_share(every), *_threads_share(every), *_others_share(every, calls.resources.launcher_s)]


def _ranks_share(every: Sequence[RankShare]) -> Sequence[SeenPattern]:
    """The ranks that may only use fewer processors than they are; where several groups are, the one that loses most."""
    crowded = crowds(every)
    crowded = [crowd for crowd in crowded if _lost_s(crowd)[0] >= min(UNEVEN * crowd.ranks[0].span_s, UNEVEN_S)]
    worst = max(crowded, key=_waited_s, default=None)
    if worst is None or not _waited_s(worst):
        return []
    return [_ranks_pattern(worst, sum(rank.host == worst.host for rank in every))]


def _waited_s(crowd: Crowd, *, of_threads: bool = False) -> float:
    return fmean((rank.busy_waited_s if of_threads else rank.waited_s) or 0.0 for rank in crowd.ranks)


def _ranks_pattern(crowd: Crowd, on_host: int) -> SeenPattern:
    ranks, waited_s = crowd.ranks, _waited_s(crowd)
    who = listed([str(rank.rank) for rank in ranks[:MOST_NAMED]]) + (" and more" if len(ranks) > MOST_NAMED else "")
    count, span_s = len(crowd.processors), fmean(rank.span_s for rank in ranks)
    return SeenPattern(
        sites=(),
        name="ranks share processors",
        count=len(ranks),
        text=f"{len(ranks)} ranks on {count} processor{'s' if count > 1 else ''} "
        f"({format_cpu_list(sorted(crowd.processors))} of {crowd.host}): ranks {who} were ready to run but had "
        f"no processor for {format_time(waited_s)} of {format_time(span_s)} each",
        change=_change(crowd, max(ranks[0].online or 0, count), on_host),
        more_s=_lost_s(crowd),
    )


def _lost_s(crowd: Crowd) -> tuple[float, float, float]:
    """Value, low, high of the run. As few ranks as processors have as much to do in sum, less what polls in MPI."""
    span_s = fmean(rank.span_s for rank in crowd.ranks)
    without_s = fmean((rank.waited_s if rank.without_s is None else rank.without_s) or 0.0 for rank in crowd.ranks)
    computed_s, done_s = map(_computed_s, crowd.ranks), (rank.worked_s or 0.0 for rank in crowd.ranks)
    most_s, least_s = (
        max(span_s - max(sum(each) / len(crowd.processors), *each), 0.0) for each in map(tuple, (computed_s, done_s))
    )
    value_s = min(without_s, most_s, max(least_s, without_s / 3))
    return value_s, value_s / 2, min(without_s * len(crowd.ranks), most_s, 3 * value_s)


def _computed_s(rank: RankShare) -> float:
    """Processor time outside MPI, where a rank stands in the queue as often as in MPI."""
    outside_s = max(rank.span_s - rank.mpi_s, 0.0)
    queued_s = (rank.waited_s or 0.0) * outside_s / max(rank.span_s, 1e-9)
    return min(outside_s - queued_s, outside_s if rank.ran_s is None else rank.ran_s)


def _change(crowd: Crowd, online: int, on_host: int) -> str:
    ranks, count, named = len(crowd.ranks), len(crowd.processors), format_cpu_list(sorted(crowd.processors))
    yields = f"or let ranks that wait yield ({PROVE})"
    if on_host <= online:
        share = f"{ranks} ranks share {count} of {online} processors of {crowd.host}"
        return f"{share}: bind each to its own core, or none; {yields}"
    where = f", {ranks} on {'each' if ranks * online == on_host * count else named}" if online > count else ""
    share = f"{on_host} ranks share the {online} processor{'s' if online > 1 else ''} of {crowd.host}{where}"
    return f"{share}: start at most {online} there, {yields}"


def _threads_share(every: Sequence[RankShare]) -> Sequence[SeenPattern]:
    """Ranks whose busy threads are more than their processors, where the ranks alone are not; those that lose most."""
    ranks = [share for share in every if share.span_s >= SHORTEST_S]
    shared = {(crowd.host, rank.rank) for crowd in crowds(ranks) for rank in crowd.ranks}
    crowded = crowds([rank for rank in ranks if (rank.host, rank.rank) not in shared], lambda rank: rank.busy or 1)
    worst = max(crowded, key=lambda crowd: _waited_s(crowd, of_threads=True), default=None)
    return [_threads_pattern(worst)] if worst and _waited_s(worst, of_threads=True) else []


def _threads_pattern(crowd: Crowd) -> SeenPattern:
    ranks, count, waited_s = crowd.ranks, len(crowd.processors), _waited_s(crowd, of_threads=True)
    threads = sum(rank.busy or 1 for rank in ranks)
    span_s = fmean(rank.span_s for rank in ranks)
    each = max(count // len(ranks), 1)
    fewer = f"{each} thread{'s' if each > 1 else ''} a rank (OMP_NUM_THREADS)"
    least = "at least " if any(rank.has_ended_threads for rank in ranks) else ""
    of_ranks = f"rank {ranks[0].rank}" if len(ranks) == 1 else f"{len(ranks)} ranks"
    return SeenPattern(
        sites=(),
        name="threads share processors",
        count=threads,
        text=f"{least}{threads} busy threads of {of_ranks} on {count} processor{'s' if count > 1 else ''} "
        f"({format_cpu_list(sorted(crowd.processors))} of {crowd.host}): each was ready to run but had no "
        f"processor for {format_time(waited_s)} of {format_time(span_s)}",
        change=f"{least}{threads} threads share {count} processor{'s' if count > 1 else ''}: give each rank a "
        f"processor per thread, or start at most {fewer}",
        more_s=(waited_s, waited_s / 2, max(min(2 * waited_s, span_s), waited_s)),
    )


OTHERS = "other processes on the ranks' processors"
OF_LAUNCHER = 0.5  # of what ranks wait: from here on the launcher is what they wait for


def _others_share(every: Sequence[RankShare], launcher_s: float | None) -> Sequence[SeenPattern]:
    """Ranks that wait for a processor which neither other ranks nor threads of their own keep."""
    crowded = crowded_ranks(every)
    taken = [rank for rank in every if (rank.host, rank.rank) not in crowded and _is_taken(rank)]
    if taken and launcher_s is not None and launcher_s >= OF_LAUNCHER * sum(map(_taken_s, taken)):
        return [_others_pattern(taken, launcher_s)]
    bound = [rank for rank in taken if len(rank.processors) < (rank.online or 0)]
    free = [rank for rank in taken if len(rank.processors) >= (rank.online or 0)]
    return [_others_pattern(ranks, None) for ranks in (bound, free) if ranks]


def _taken_s(rank: RankShare) -> float:
    """Time in the queue, without that for which a quota stopped the processors."""
    return max((rank.waited_s or 0.0) - (rank.throttled_s or 0.0), 0.0)


def _is_taken(rank: RankShare) -> bool:
    """Whether a rank that has no thread which could be what it waits for lost much of its run."""
    waits = _taken_s(rank) >= LEAST_WAITED * rank.span_s and rank.span_s >= SHORTEST_S
    return bool(rank.online and rank.processors) and waits and not rank.has_ended_threads


def _others_pattern(ranks: Sequence[RankShare], launcher_s: float | None) -> SeenPattern:
    """Args: launcher_s: their own job takes their processors for so long, as an mpiexec that forwards much output."""
    worst = max(ranks, key=_taken_s)
    taken_s, mean_s = _taken_s(worst), fmean(map(_taken_s, ranks))
    where = f"processor{'s' if len(worst.processors) > 1 else ''} {format_cpu_list(sorted(worst.processors))}"
    name, who, change = (
        OTHERS,
        f"other processes use the {worst.online} processors of {worst.host}, too: rank {worst.rank}",
        f"run after the other processes of {worst.host} (see top), or elsewhere",
    )
    if launcher_s is not None:
        name, who, change = (
            "the launcher takes the ranks' processors",
            f"the launcher of this job and what it started beside the ranks used {format_time(launcher_s)} of "
            f"processor time: rank {worst.rank}",
            "print less, or into files, or leave a processor to the launcher",
        )
    elif len(worst.processors) < (worst.online or 0):
        bound = f"rank {worst.rank} is bound to {where} of {worst.online} of {worst.host}"
        who = f"{bound}, which other processes use, too: it"
        change = (
            f"Rank {worst.rank} shares its processors with other processes: give each job its own, or bind it to "
            "some that stand idle"
        )
    return SeenPattern(
        sites=(),
        count=len(ranks),
        text=f"{who} was ready to run but had no processor for {format_time(taken_s)} of {format_time(worst.span_s)}",
        change=change,
        more_s=(mean_s, mean_s / 2, taken_s),
        name=name,
    )


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    kind="fault",
    program_remedies=(PROGRAM_YIELD_WHEN_IDLE, PROGRAM_BIND_CORES, PROGRAM_BIND_NONE),
    pattern=see,
    **page_of("SP060"),
)
