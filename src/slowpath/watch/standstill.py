# SPDX-License-Identifier: Apache-2.0
"""What each rank does now: the call that it is in, at which place, and for whom that call waits.

From what each thread wrote down before its call (schema/watch.json, current), from requests that are still open, and
from the collectives that the other ranks came to.

A program that stands still: which ranks are in which call at which place, for whom they wait, and who has not come.

Each rank writes down the call that it is about to make (schema/watch.json, current). Of a run that was stopped while
nothing moved this says why: ranks that wait for each other, collectives that don't fit, or ranks that have not come.
Nothing is claimed of whom a call waits for where the record does not say it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from slowpath.core.units import listed, seconds
from slowpath.watch.attributed import Attributed
from slowpath.watch.findings import place_words
from slowpath.watch.match import posts_of
from slowpath.watch.reasons import NEEDS, Needs
from slowpath.watch.record.job import moved, tick_rate
from slowpath.watch.record.layout import NONE_16, Doing, EventKind, Peer, RecordState
from slowpath.watch.record.reader import RankRecord
from slowpath.watch.record.sites import NamedSite, named_sites
from slowpath.watch.results import Standing, Standstill, StandstillCause
from slowpath.watch.totals import as_site
from slowpath.watch.verdict import ranks_words

MOST_RANKS: Final = 2**16  # without a record, that are looked at
MOST_NAMED: Final = 50  # places that are looked up
_ENDED: Final[Mapping[RecordState, str]] = {
    RecordState.FINALIZED: "in MPI_Finalize, or past it",
    RecordState.NO_FINALIZE: "gone without MPI_Finalize",
}


@dataclass
class Stand:
    """One rank. with_: the call's partners in words.  group: communicator, call and number, of a collective."""

    rank: int
    doing: str
    call: str | None = None
    place: str | None = None
    for_s: float = 0.0
    with_: str = ""
    waits_for: set[int] = field(default_factory=set)
    group: tuple[int, str, int] | None = None

    @property
    def is_stuck(self) -> bool:
        return self.doing in ("in a call", "polling")

    @property
    def where(self) -> str:
        """`MPI_Recv from rank 0 (tag 7) at main (x.c:3)`."""
        return f"{self.call}{self.with_} at {self.place}"

    @property
    def words(self) -> str:
        """What follows `is`."""
        if self.is_stuck:
            waits = f", waiting for {ranks_words(self.waits_for)}" if self.waits_for else ""
            polls = "polling " if self.doing == "polling" else ""
            return f"{polls}in {self.where} for {seconds(self.for_s)}{waits}"
        if self.doing != "outside MPI":
            return self.doing
        after = f", after {self.call} at {self.place}" if self.call else ""
        return f"outside MPI for {seconds(self.for_s)}{after}"


class RanksNow:
    """What each rank does, by rank, and for whom it waits."""

    def __init__(self, found: Attributed, until_s: float) -> None:
        self.found = found
        self.size = found.world.job.size
        records = found.world.records
        self.by_rank: dict[int, Stand] = {
            rank: Stand(rank, "without a record") for rank in range(min(self.size, MOST_RANKS))
        }
        self.lane = {record.rank: _lane(record) for record in records}
        self._number = {record.rank: i for i, record in enumerate(records)}
        self._came: dict[tuple[int, int], set[int]] = {}
        self._here: dict[tuple[int, str], set[int]] = {}
        places = self._places(records)
        for record in records:
            self.by_rank[record.rank] = self._stand(record, places.get(record.rank), until_s)
        for i, record in enumerate(records):
            stand = self.by_rank[record.rank]
            if stand.is_stuck:
                self._partners(i, record)
                stand.waits_for &= self.by_rank.keys()

    def _places(self, records: Sequence[RankRecord]) -> dict[int, str]:
        """In words, by rank; ranks at one place are looked up once."""
        rows: dict[int, tuple[RankRecord, int]] = {}
        of_rank: dict[int, int] = {}
        for i, record in enumerate(records):
            lane = self.lane[record.rank]
            if lane is None or int(record.current["site"][lane]) >= len(record.sites):
                continue
            row = int(record.current["site"][lane])
            site = int(self.found.world.site_of[i][row])
            rows.setdefault(site, (record, row))
            of_rank[record.rank] = site
        named: dict[int, NamedSite] = dict(zip(rows, named_sites(list(rows.values()), MOST_NAMED), strict=True))
        return {rank: place_words(as_site(named[site])) for rank, site in of_rank.items()}

    def _stand(self, record: RankRecord, place: str | None, until_s: float) -> Stand:
        if record.state in _ENDED:
            return Stand(record.rank, _ENDED[record.state])
        lane = self.lane[record.rank]
        if lane is None:
            return Stand(record.rank, "not known")
        row, rate = record.current[lane], tick_rate(record.header, record.current) or 1e9
        doing = int(row["doing"])
        ticks = int(row["since_ticks"])
        if doing == Doing.OUTSIDE:
            ticks = max(ticks, int(record.lanes["last_ticks"][lane]))
        passed = (ticks - int(record.header["start_ticks"])) / rate
        for_s = until_s - int(record.header["start_realtime_ns"]) * 1e-9 - passed
        names = record.call_names
        call = names[int(row["call"])] if ticks and int(row["call"]) < len(names) and int(row["since_ticks"]) else None
        words: dict[int, str] = {Doing.IN_CALL: "in a call", Doing.POLLING: "polling"}
        return Stand(record.rank, words.get(doing, "outside MPI"), call, place, for_s)

    def _partners(self, i: int, record: RankRecord) -> None:
        stand, lane = self.by_rank[record.rank], self.lane[record.rank]
        if lane is None or stand.call is None:
            return
        row = record.current[lane]
        family = self.found.world.families[int(self.found.world.call_of[i][int(row["call"])])]
        identity = self._identity(record, int(row["communicator"]))
        if int(row["requests"]) and identity == 0 and family == _COMPLETION:
            self._requests(i, stand, int(row["request"]), int(row["requests"]))
        elif family == _COLLECTIVE:
            self._collective(stand, identity, int(row["sequence"]))
        elif int(row["peer"]) != Peer.NONE or int(row["source"]) != Peer.NONE:
            self._message(stand, identity, int(row["peer"]), int(row["source"]), int(row["tag"]))
        elif identity:
            stand.group = (identity, stand.call, -1)
            stand.waits_for = self._members(identity) - self._in_call(identity, stand.call) - {stand.rank}

    def _identity(self, record: RankRecord, row: int) -> int:
        return 0 if row == NONE_16 or row >= len(record.communicators) else int(record.communicators[row]["identity"])

    def _members(self, identity: int) -> set[int]:
        return {int(rank) for rank in self.found.world.members.get(identity, ()) if 0 <= int(rank) < self.size}

    def _collective(self, stand: Stand, identity: int, number: int) -> None:
        assert stand.call is not None
        if not identity:
            return
        stand.group = (identity, stand.call, number)
        missing = self._members(identity) - self._came_to(identity, number)
        missing.discard(stand.rank)
        record = self.found.world.records[self._index(stand.rank)]
        root = int(record.current["peer"][self.lane[stand.rank] or 0])
        if NEEDS.get(stand.call.removesuffix("_c")) == Needs.ROOT and root in missing:
            missing = {root}
        stand.waits_for = missing

    def _came_to(self, identity: int, number: int) -> set[int]:
        """Ranks that began a blocking collective of this number or a later one on that communicator."""
        if (known := self._came.get((identity, number))) is not None:
            return known
        came = self._came[identity, number] = set()
        for record in self.found.world.records:
            lanes = range(min(len(record.current), len(record.lanes)))
            for lane in lanes:
                row = record.current[lane]
                if (
                    self._identity(record, int(row["collective_communicator"])) == identity
                    and int(row["collective_sequence"]) >= number
                ):
                    came.add(record.rank)
        events = self.found.events
        later = events.has(EventKind.COLLECTIVE) & (events.communicator == np.uint64(identity))
        later &= (events.sequence >= number) & (events.sequence < 2**32 - 1)
        came |= set(np.unique(events.rank[later]).tolist())
        return came

    def _in_call(self, identity: int, call: str) -> set[int]:
        """Ranks that are in this call on that communicator."""
        if (known := self._here.get((identity, call))) is not None:
            return known
        found = self._here[identity, call] = set()
        for record in self.found.world.records:
            lane, stand = self.lane[record.rank], self.by_rank[record.rank]
            if lane is None or not stand.is_stuck or stand.call != call:
                continue
            if self._identity(record, int(record.current["communicator"][lane])) == identity:
                found.add(record.rank)
        return found

    def _index(self, rank: int) -> int:
        return self._number[rank]

    def _message(self, stand: Stand, identity: int, peer: int, source: int, tag: int) -> None:
        peer, source = self._world_rank(identity, peer), self._world_rank(identity, source)
        tagged = f" (tag {tag})" if tag >= 0 else ""
        words = []
        if peer >= 0:
            words.append(f" to rank {peer}{tagged}")
        if source >= 0:
            words.append(f" from rank {source}{tagged if peer < 0 else ''}")
        elif source == Peer.ANY:
            words.append(f" from any rank{tagged if peer < 0 else ''}")
        stand.with_ = " and".join(words)
        both = [rank for rank in (peer, source) if rank >= 0]
        if len(both) == 2:  # of MPI_Sendrecv: the side whose partner is not in the same exchange
            open_ = [
                rank for rank, end in ((peer, "source"), (source, "peer")) if not self._meets(rank, end, stand.rank)
            ]
            both = open_ or both
        stand.waits_for = set(both)

    def _meets(self, rank: int, end: str, other: int) -> bool:
        """Whether a rank is in a call whose source, or destination, is the other one."""
        stand, lane = self.by_rank.get(rank), self.lane.get(rank)
        if stand is None or lane is None or not stand.is_stuck:
            return False
        row = self.found.world.records[self._index(rank)].current[lane]
        return int(row[end]) == other

    def _world_rank(self, identity: int, rank: int) -> int:
        if rank > Peer.OF_COMMUNICATOR:
            return rank
        members = self.found.world.members.get(identity, ())
        at = int(Peer.OF_COMMUNICATOR) - rank
        return int(members[at]) if at < len(members) else int(Peer.ANY)

    def _requests(self, i: int, stand: Stand, serial: int, count: int) -> None:
        """Those of its requests that are open, and whose other side is not there."""
        events, matched = self.found.events, self.found.matched
        mine = events.record == i
        is_post = mine & events.has(EventKind.POST) & (events.request != 0)
        _, open_ = posts_of(events, is_post, mine & events.has(EventKind.DONE))
        if serial:
            open_ = open_[events.request[open_] == serial]
        there = set(matched.sends.reported[matched.send].tolist())
        there |= set(matched.receives.reported[matched.receive].tolist())
        words, waits = [], set()
        for row in open_.tolist():
            if row in there:
                continue
            kind, peer = int(events.kind[row]), int(events.peer[row])
            name = self.found.world.calls[int(events.call[row])]
            if kind & EventKind.COLLECTIVE:
                identity, number = int(events.communicator[row]), int(events.sequence[row])
                waits |= self._members(identity) - self._came_to(identity, number) - {stand.rank}
                words.append(name)
            elif peer >= 0:
                waits.add(peer)
                way = "from" if kind & EventKind.RECEIVE else "to"
                words.append(f"{name} {way} rank {peer} (tag {int(events.tag[row])})")
            elif peer == Peer.ANY:
                words.append(f"{name} from any rank")
        requests = f"{count} request{'s' if count != 1 else ''}"
        more = f" and {len(words) - 2} more" if len(words) > 2 else ""
        stand.with_ = f" of {requests} ({', '.join(words[:2])}{more})" if words else f" of {requests}"
        stand.waits_for = waits


_COMPLETION: Final = 2
_COLLECTIVE: Final = 3


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


LEAST_QUIET_S: Final = 5.0  # from which a run that was stopped counts as standing still


def standstill(
    found: Attributed, until_s: float | None, least_s: float = LEAST_QUIET_S, was_stopped: bool = True
) -> Standstill | None:
    """Return why nothing moves; None: something moved in the last `least_s` seconds, or no rank waits in a call.

    Args: until_s: CLOCK_REALTIME until when the program ran by itself; None: not known.  was_stopped: see Standstill.
    """
    records = found.world.records
    moves = [moved(record.header, record.lanes, record.current) for record in records]
    known = [move for move in moves if move is not None]
    if until_s is None or not any(move.is_in_call for move in known):
        return None
    quiet_s = until_s - max(move.at_s for move in known)
    if quiet_s < least_s:
        return None
    ranks = RanksNow(found, until_s)
    # What keeps the ranks, those that have not come, and one sentence without a full stop.
    cause, late, text = _mismatch(ranks) or _circle(ranks) or _missing(ranks) or ("not known", set(), _unknown(ranks))
    every = tuple(
        Standing(
            rank=one.rank,
            doing=one.doing,
            call=one.call,
            place=one.place,
            seconds=max(one.for_s, 0.0),
            waits_for=tuple(sorted(one.waits_for)),
            text=one.words,
        )
        for one in ranks.by_rank.values()
    )
    return Standstill(
        quiet_s=quiet_s, cause=cause, late=tuple(sorted(late)), text=text, was_stopped=was_stopped, ranks=every
    )


def _mismatch(ranks: RanksNow) -> tuple[StandstillCause, set[int], str] | None:
    """Ranks that are in different collectives which have one number on one communicator."""
    groups: dict[tuple[int, int], dict[str, list[Stand]]] = {}
    for stand in ranks.by_rank.values():
        if stand.is_stuck and stand.group is not None and stand.group[2] >= 0:
            identity, call, number = stand.group
            groups.setdefault((identity, number), {}).setdefault(call, []).append(stand)
    for calls in groups.values():
        if len(calls) < 2:
            continue
        most, *others = sorted(calls.values(), key=len, reverse=True)
        few = others[0]
        text = (
            f"{ranks_words(one.rank for one in few)} {_verb(few, 'is', 'are')} in {few[0].where} while "
            f"{ranks_words(one.rank for one in most)} {_verb(most, 'is', 'are')} in {most[0].where}: all ranks "
            "must call the same collective"
        )
        return "mismatch", {one.rank for one in few}, text
    return None


def _circle(ranks: RanksNow) -> tuple[StandstillCause, set[int], str] | None:
    """The shortest circle of ranks that wait for each other."""
    edges = {
        rank: sorted(other for other in stand.waits_for if (one := ranks.by_rank.get(other)) and one.is_stuck)
        for rank, stand in ranks.by_rank.items()
        if stand.is_stuck
    }
    best: list[int] = []
    for start in edges:
        path = _way_back(edges, start)
        if path and (not best or len(path) < len(best)):
            best = path
        if best and len(best) <= 2:
            break
    if not best:
        return None
    stands = [ranks.by_rank[rank] for rank in best]
    if len(stands) == 1:
        return "circle", {best[0]}, f"rank {best[0]} waits for itself in {stands[0].where}"
    if len(stands) > 2 and len({(one.call, one.place) for one in stands}) == 1:
        text = (
            f"{ranks_words(best)} wait for each other in a circle, all in {stands[0].call} at {stands[0].place}: "
            f"{', '.join(f'{one.rank} for {then.rank}' for one, then in _round(stands)[:4])}"
            f"{' and so on' if len(stands) > 4 else ''}"
        )
    else:
        parts = [f"rank {one.rank} in {one.where} for rank {then.rank}" for one, then in _round(stands)]
        shown = parts[:3] + ([f"and {len(parts) - 3} more"] if len(parts) > 3 else [])
        text = f"{ranks_words(best)} wait for each other: {', '.join(shown)}"
    return "circle", set(best), text


def _round(stands: Sequence[Stand]) -> list[tuple[Stand, Stand]]:
    return list(zip(stands, [*stands[1:], stands[0]], strict=True))


def _way_back(edges: Mapping[int, Sequence[int]], start: int) -> list[int]:
    """The shortest way from a rank to itself, without its end; empty: there is none."""
    before: dict[int, int] = {}
    queue = [start]
    for rank in queue:
        for other in edges.get(rank, ()):
            if other == start:
                path = [rank]
                while path[-1] != start:
                    path.append(before[path[-1]])
                return path[::-1]
            if other not in before:
                before[other] = rank
                queue.append(other)
    return []


def _missing(ranks: RanksNow) -> tuple[StandstillCause, set[int], str] | None:
    """Ranks that others wait for and that wait for nobody: the call in which most ranks wait for one of them."""
    waiting: dict[tuple[str, str], list[Stand]] = {}
    for stand in ranks.by_rank.values():
        if stand.is_stuck and any(not ranks.by_rank[other].is_stuck for other in stand.waits_for):
            waiting.setdefault((str(stand.call), str(stand.place)), []).append(stand)
    if not waiting:
        return None
    stands = max(waiting.values(), key=len)
    late = {other for one in stands for other in one.waits_for if not ranks.by_rank[other].is_stuck}
    who = [ranks.by_rank[rank] for rank in sorted(late)]
    state = who[0].words if len(who) == 1 else _together(who)
    does = "does" if len(who) == 1 else "do"
    if stands[0].group is not None:
        text = (
            f"{ranks_words(late)} {does} not come to {stands[0].call} at {stands[0].place}, where "
            f"{ranks_words(one.rank for one in stands)} {_verb(stands, 'waits', 'wait')}: "
            f"{'it is' if len(who) == 1 else 'they are'} {state}"
        )
    else:
        more = f" (and {len(stands) - 1} more so)" if len(stands) > 1 else ""
        verb = "polls" if stands[0].doing == "polling" else "waits"
        are = f"{ranks_words(late)} {_verb(who, 'is', 'are')} {state}"
        text = f"rank {stands[0].rank}{more} {verb} in {stands[0].where}, but {are}"
    return "missing", late, text


def _together(stands: Sequence[Stand]) -> str:
    kinds = {one.doing for one in stands}
    if kinds == {"outside MPI"}:
        return "outside MPI"
    return "outside MPI, or at their end"


def _unknown(ranks: RanksNow) -> str:
    stuck = [stand for stand in ranks.by_rank.values() if stand.is_stuck]
    places: dict[str, list[int]] = {}
    for stand in stuck:
        places.setdefault(f"{stand.call}{stand.with_} at {stand.place}", []).append(stand.rank)
    shown = sorted(places.items(), key=lambda entry: -len(entry[1]))[:3]
    parts = [f"{ranks_words(found)} in {place}" for place, found in shown]
    return f"{listed(parts)}; for whom they wait is not known"


def _verb(stands: Sequence[Stand], one: str, many: str) -> str:
    return one if len(stands) == 1 else many
