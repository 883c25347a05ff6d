# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a program had to work with, for slow paths that judge it. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RankShare:
    """One rank between MPI_Init and MPI_Finalize. None: it was not recorded.

    host        of it.  processors: that any of its threads may use.  online: that the host has
    span_s, mpi_s   from MPI_Init to MPI_Finalize, and in MPI
    waited_s    in which the thread that calls MPI could run and had no processor.  busy: threads that ran for a tenth
                of the time at least, or could have.  busy_waited_s: as waited_s, of all threads, for each busy one
    has_ended_threads   some busy ones were over before the end: busy is the least that they are, and busy_waited_s is
                that of the thread that calls MPI
    resident    (seconds since MPI_Init, bytes), in the order of time.  limit_bytes: of its control group's memory
    namespace   number of its user namespace
    grown_bytes by which its memory in RAM grew.  faults: page faults without a disk.  fault_s: what one takes,
                mapped and unmapped, as measured at begin and end
    throttled_s for which its control group's quota stopped processors, added up
    """

    rank: int
    host: str
    processors: frozenset[int]
    online: int | None
    span_s: float
    mpi_s: float
    waited_s: float | None
    busy: int | None
    busy_waited_s: float | None
    has_ended_threads: bool = field(default=False, kw_only=True)
    resident: tuple[tuple[float, int], ...]
    limit_bytes: int | None
    namespace: int | None
    grown_bytes: int | None = field(default=None, kw_only=True)
    faults: int | None = field(default=None, kw_only=True)
    fault_s: tuple[float, ...] = field(default=(), kw_only=True)
    throttled_s: float | None = field(default=None, kw_only=True)


@dataclass(frozen=True)
class ProgramResources:
    """All ranks that recorded what they had. span_s: of the run."""

    ranks: tuple[RankShare, ...]
    span_s: float


@dataclass(frozen=True)
class Crowd:
    """Ranks of one host that may only use these processors, which are fewer than they are."""

    host: str
    ranks: tuple[RankShare, ...]
    processors: frozenset[int]


def crowds(ranks: Sequence[RankShare], need: Callable[[RankShare], int] = lambda _: 1) -> list[Crowd]:
    """Of each host the ranks that have to share processors: the most crowded set where several hold each other.

    A set of processors is crowded where ranks that may use nothing outside it need more than it has. The sets of single
    ranks and the one of all ranks are looked at, which is what launchers and batch systems give.
    Args: need: processors that a rank could use at one time.
    """
    by_host: dict[str, list[RankShare]] = defaultdict(list)
    for rank in ranks:
        if rank.processors:
            by_host[rank.host].append(rank)
    found: list[Crowd] = []
    for host, there in by_host.items():
        every = frozenset[int]().union(*(share.processors for share in there))
        taken: set[int] = set()
        for allowed in sorted({share.processors for share in there} | {every}, key=lambda one: (len(one), sorted(one))):
            inside = [share for share in there if share.processors <= allowed and share.rank not in taken]
            if sum(map(need, inside)) > len(allowed):
                found.append(Crowd(host, tuple(inside), allowed))
                taken |= {share.rank for share in inside}
    return found


def likewise(more: int) -> str:
    """The end of a sentence about one group, where there are more."""
    return f"; {more} more group{'s' if more > 1 else ''} likewise" if more else ""
