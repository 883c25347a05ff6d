# SPDX-License-Identifier: Apache-2.0
"""What each rank does now, or did when a program was stopped while nothing moved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np

from slowpath.core.machine import format_cpu_list
from slowpath.core.units import seconds
from slowpath.watch.attributed import Attributed
from slowpath.watch.events import World
from slowpath.watch.findings import place_words
from slowpath.watch.record.job import moved, tick_rate
from slowpath.watch.record.layout import NONE_16, Doing, Peer, RecordState, watch_layout
from slowpath.watch.record.reader import RankRecord
from slowpath.watch.record.sites import named_sites
from slowpath.watch.results import Standing, Standstill
from slowpath.watch.totals import as_site

LEAST_QUIET_S: Final = 5.0  # from which a run that was stopped counts as standing still
MOST_RANKS: Final = 2**16  # without a record, that are looked at
MOST_GROUPS: Final = 3  # of ranks, in one sentence
_ENDED: Final[Mapping[RecordState, str]] = {
    RecordState.FINALIZED: "in MPI_Finalize, or past it",
    RecordState.NO_FINALIZE: "gone without MPI_Finalize",
}


def standstill(
    run: Attributed, until_s: float | None, least_s: float = LEAST_QUIET_S, was_stopped: bool = True
) -> Standstill | None:
    """Return what each rank did; None: something moved in the last `least_s` seconds, or no rank waits in a call.

    Args: until_s: CLOCK_REALTIME until when the program ran by itself; None: not known.  was_stopped: see Standstill.
    """
    world = run.world
    moves = [moved(record.header, record.lanes, record.current) for record in world.records]
    known = [move for move in moves if move is not None]
    if until_s is None or not any(move.is_in_call for move in known):
        return None
    quiet_s = until_s - max(move.at_s for move in known)
    if quiet_s < least_s:
        return None
    by_rank = {record.rank: record for record in world.records}
    places = _places(world)
    ranks = tuple(
        _standing(world, by_rank[rank], places, until_s)
        if rank in by_rank
        else Standing(rank=rank, doing="without a record", call=None, place=None, seconds=0.0, text="")
        for rank in range(min(world.job.size, MOST_RANKS))
    )
    groups = standing_groups(ranks)
    more = f"; and {len(groups) - MOST_GROUPS} more groups of ranks" if len(groups) > MOST_GROUPS else ""
    text = "; ".join(map(_group_words, groups[:MOST_GROUPS])) + more
    return Standstill(quiet_s=quiet_s, text=text, was_stopped=was_stopped, ranks=ranks)


def standing_groups(ranks: Iterable[Standing]) -> list[list[Standing]]:
    """Ranks that do the same at one place: those in a call first, the largest group first."""
    groups: dict[tuple[str, str | None, str | None], list[Standing]] = {}
    for rank in ranks:
        groups.setdefault((rank.doing, rank.call, rank.place), []).append(rank)
    return sorted(groups.values(), key=lambda group: (not group[0].text, -len(group)))


def ranks_words(numbers: Iterable[int]) -> str:
    """`rank 3`, `ranks 0 and 2`, `ranks 0-2,4-7`."""
    ranks = sorted(set(numbers))
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    return f"ranks {ranks[0]} and {ranks[1]}" if len(ranks) == 2 else f"ranks {format_cpu_list(ranks)}"


def _group_words(group: list[Standing]) -> str:
    """`ranks 0-2 in MPI_Barrier at main (x.c:3) for 20 s`."""
    first = group[0]
    where = f" at {first.place}" if first.place else ""
    if first.doing in ("in a call", "polling"):
        polls = "polling " if first.doing == "polling" else ""
        words = f"{polls}in {first.text if len(group) == 1 else first.call}{where} for {seconds(first.seconds)}"
    elif first.doing == "outside MPI":
        words = f"outside MPI for {seconds(first.seconds)}" + (f", after {first.call}{where}" if first.call else "")
    else:
        words = first.doing
    return f"{ranks_words(rank.rank for rank in group)} {words}"


def _places(world: World) -> dict[int, str]:
    rows: dict[int, tuple[RankRecord, int]] = {}
    of_rank: dict[int, int] = {}
    for i, record in enumerate(world.records):
        lane = _lane(record)
        if lane is not None and (row := int(record.current["site"][lane])) < len(record.sites):
            of_rank[record.rank] = int(world.site_of[i][row])
            rows.setdefault(of_rank[record.rank], (record, row))
    named = dict(zip(rows, named_sites(list(rows.values())), strict=True))
    return {rank: place_words(as_site(named[site])) for rank, site in of_rank.items()}


def _lane(record: RankRecord) -> int | None:
    """The thread that tells what its rank does: one that is in a call, the longest of these; else the last that was."""
    count = min(len(record.current), len(record.lanes))
    if not count:
        return None
    rows = record.current[:count]
    stuck = np.flatnonzero(rows["doing"] != Doing.OUTSIDE)
    if stuck.size:
        return int(stuck[np.argmin(rows["since_ticks"][stuck])])
    return int(np.argmax(record.lanes["last_ticks"][:count]))


def _standing(world: World, record: RankRecord, places: Mapping[int, str], until_s: float) -> Standing:
    lane = _lane(record)
    if record.state in _ENDED or lane is None:
        doing = _ENDED.get(record.state, "not known")
        return Standing(rank=record.rank, doing=doing, call=None, place=None, seconds=0.0, text="")
    row, rate = record.current[lane], tick_rate(record.header, record.current) or 1e9
    doings: Mapping[int, str] = {Doing.IN_CALL: "in a call", Doing.POLLING: "polling"}
    doing = doings.get(int(row["doing"]), "outside MPI")
    ticks, number = int(row["since_ticks"]), int(row["call"])
    call = record.call_names[number] if ticks and number < len(record.call_names) else None
    if doing == "outside MPI":
        ticks = max(ticks, int(record.lanes["last_ticks"][lane]))
    for_s = until_s - int(record.header["start_realtime_ns"]) * 1e-9
    for_s -= (ticks - int(record.header["start_ticks"])) / rate
    is_in = call is not None and doing != "outside MPI"
    return Standing(
        rank=record.rank,
        doing=doing,
        call=call,
        place=places.get(record.rank),
        seconds=max(for_s, 0.0),
        text=f"{call}{_partners(world, record, row)}" if is_in else "",
    )


def _partners(world: World, record: RankRecord, row: np.void) -> str:
    """With whom the call communicates: ` from rank 0 (tag 7)`; of a collective nothing."""
    call, number = record.call_names[int(row["call"])], int(row["communicator"])
    if watch_layout().families.get(world.families[world.calls.index(call)]) == "collective":
        return ""
    known = number != NONE_16 and number < len(record.communicators)
    members = world.members.get(int(record.communicators[number]["identity"]), ()) if known else ()
    tagged = f" (tag {int(row['tag'])})" if int(row["tag"]) >= 0 else ""
    words = []
    for name, way in (("peer", "to"), ("source", "from")):
        rank = int(row[name])
        if rank <= Peer.OF_COMMUNICATOR:
            at = int(Peer.OF_COMMUNICATOR) - rank
            rank = int(members[at]) if at < len(members) else int(Peer.ANY)
        if rank >= 0 or rank == Peer.ANY:
            words.append(f" {way} {f'rank {rank}' if rank >= 0 else 'any rank'}{tagged}")
    return " and".join(words)
