# SPDX-License-Identifier: Apache-2.0
"""What is wrong with the place where a program's ranks ran: by what they recorded, else by where it was started. Pure.

Ranks may be elsewhere than the command that started them: in containers of their own, on other nodes. So what they say
themselves comes first, each node judged alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from slowpath.core.machine import PlaceFacts, PlaceFault, format_cpu_list
from slowpath.findings.program_pattern import RankShare, crowds
from slowpath.mpi.place import PlaceJob, faults
from slowpath.watch.folder import WatchInfo
from slowpath.watch.results import RankResources

LEAST_WAITED = 0.01  # of the run, that ranks which share processors stood in the queue for one


def wrong_place(
    info: WatchInfo, library: str | None, resources: Sequence[RankResources], shares: Sequence[RankShare]
) -> tuple[PlaceFault, ...]:
    """What is wrong, of the first node where anything is.

    Args: library: name of the MPI; None: not known.  resources, shares: of the ranks that left records.
    """
    started = info.place or PlaceFacts()
    hosts: dict[str, list[RankShare]] = defaultdict(list)
    for share in shares:
        hosts[share.host].append(share)
    of_rank = {rank.rank: rank for rank in resources}
    for host, there in hosts.items():
        those = [of_rank[share.rank] for share in there if share.rank in of_rank]
        place = _place(those, there, started if host == info.host else PlaceFacts(apart_errno=started.apart_errno))
        wrong = faults(place, PlaceJob(len(there), library, info.variables))
        if wrong:
            return tuple(wrong)
    return ()


def started_in(info: WatchInfo, ranks: int, library: str | None) -> tuple[PlaceFault, ...]:
    """What is wrong with where the command was started, whose ranks left no record."""
    return tuple(faults(info.place, PlaceJob(ranks, library, info.variables)))


def _place(ranks: Sequence[RankResources], shares: Sequence[RankShare], started: PlaceFacts) -> PlaceFacts:
    spaces = {rank.user_namespace for rank in ranks if rank.user_namespace is not None}
    refused = next((rank.copy_refused for rank in ranks if rank.copy_refused), None)
    quotas = [rank for rank in ranks if rank.processor_quota is not None]
    least = min(quotas, key=lambda rank: rank.processor_quota or 0.0, default=None)
    sizes = [(rank.shm_bytes, rank.shm_free_bytes) for rank in ranks if rank.shm_bytes is not None]
    here = (started.shm_bytes, started.shm_free_bytes)
    shm_bytes, shm_free_bytes = min(sizes, key=lambda size: size[0], default=here)  # a killed rank has no free bytes
    place = replace(
        started,
        user_namespaces=max(len(spaces), 1),
        shm_bytes=shm_bytes,
        shm_free_bytes=shm_free_bytes,
        memory_limit_bytes=None,  # that they ended well shows that it was enough
        processor_quota=least.processor_quota if least else None,
        **_stopped(least, shares),
        **_shared(shares),
    )
    if refused is not None and place.user_namespaces == 1 and not place.copy_errno:
        is_filtered = any(rank.seccomp == 2 for rank in ranks) and not place.ptrace_scope
        place = replace(place, rank_errno=refused, own_errno=refused if is_filtered else None)
    return place


def _stopped(rank: RankResources | None, shares: Sequence[RankShare]) -> Mapping[str, float | int | None]:
    if rank is None or rank.throttled_s is None or not shares:
        return {"tried": None, "tried_s": None, "still_s": None}
    span_s = max(share.span_s for share in shares)
    return {"tried": len(shares), "tried_s": span_s, "still_s": min(rank.throttled_s / len(shares), span_s)}


def _shared(shares: Sequence[RankShare]) -> Mapping[str, str | int | None]:
    """All processors of ranks that take turns, and those of the node; None: they don't, or lost nothing by it."""
    crowded = [share for crowd in crowds(shares) for share in crowd.ranks]
    if not any((share.waited_s or 0.0) >= LEAST_WAITED * share.span_s for share in crowded):
        return {"processors": None}
    every = frozenset[int]().union(*(share.processors for share in shares))
    return {"processors": format_cpu_list(sorted(every)), "online": shares[0].online}
