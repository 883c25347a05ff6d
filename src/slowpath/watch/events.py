# SPDX-License-Identifier: Apache-2.0
"""The kept events of all ranks as columns, in seconds; calls, sites and communicators by numbers of the whole job."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowpath.watch.record.job import Ticks, WatchedJob, boots, level_of, ticks_of, windows_of
from slowpath.watch.record.layout import NONE_16, NONE_32, EventKind, Peer, watch_layout
from slowpath.watch.record.reader import RankRecord
from slowpath.watch.record.sites import Maps, PythonFrames, python_frames

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Members = Sequence[int] | NDArray[np.int32]
NO_SITE = -1
# Of communicators whose members nobody names, all together: a made-up rank must not make a list as long as itself.
MOST_GATHERED = 2**22


@dataclass(frozen=True)
class Events:
    """Shape (n,) each; by rank, lane and time of return.

    record      index in the job's records.  rank: in MPI_COMM_WORLD.  lane: thread
    start_s, end_s   entry and return, seconds since `World.origin_s`; after `joined`, on one clock for all hosts
    bytes, request, sequence, tag, requests   as in schema/watch.json
    peer        world rank, or one of Peer; whatever is of a communicator with unknown members is ANY
    call, site  index in World.calls, World.sites; NO_SITE: none
    kind        bits of EventKind
    communicator  identity, 0: not known.  allocation, datatype: row of the rank's table, -1: none
    window      number of the window of the entry.  offset: start of the buffer modulo 2 MiB
    """

    record: Ints
    rank: Ints
    lane: Ints
    start_s: Floats
    end_s: Floats
    bytes: Ints
    request: Ints
    sequence: Ints
    peer: Ints
    tag: Ints
    call: Ints
    site: Ints
    kind: Ints
    communicator: NDArray[np.uint64]
    allocation: Ints
    datatype: Ints
    requests: Ints
    window: Ints
    offset: Ints

    def __len__(self) -> int:
        return int(self.record.size)

    def has(self, kind: EventKind) -> Bools:
        """Where any of these bits is set."""
        has: Bools = (self.kind & int(kind)) != 0
        return has

    def of(self, record: int, lane: int) -> Ints:
        """Calls of one thread of a rank, in order."""
        low, high = np.searchsorted(self.record, [record, record + 1])
        rows = np.arange(low, high)
        in_span: Ints = rows[
            (self.lane[low:high] == lane) & ((self.kind[low:high] & int(EventKind.DONE | EventKind.PART)) == 0)
        ]
        return in_span

    @property
    def is_timed(self) -> Bools:
        """Where the event is a call, whose time is its own."""
        return ~self.has(EventKind.DONE | EventKind.PART)

    @property
    def duration_s(self) -> Floats:
        """From entry to return."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class World:
    """What the events' numbers mean, and what is known of each record.

    calls: names.  families: of calls, as numbers of the schema.  sites: (record, row) of one rank that has it; rows of
    all ranks with equal frames relative to their objects are one.  site_of: record -> its rows' numbers.
    clock: number of the host's clock, shape (records,).  origin_s: of each clock, CLOCK_MONOTONIC at time 0.
    members: identity -> world ranks of a communicator; where none are named and it has as many ranks as the world, the
    world's, as a range; else those whose records name it, -1: another one.
    """

    job: WatchedJob
    clocks: tuple[Ticks, ...]
    clock: Ints
    origin_s: Floats
    calls: tuple[str, ...]
    families: tuple[int, ...]
    sites: tuple[tuple[int, int], ...]
    site_of: tuple[Ints, ...]
    call_of: tuple[Ints, ...]
    members: dict[int, Members]
    notes: tuple[str, ...]
    polls: tuple[float, ...] = ()  # of each record its calls in loops that wait by polling (`polls.with_loops`)

    @property
    def records(self) -> tuple[RankRecord, ...]:
        """By rank."""
        return self.job.records

    def is_of(self, *families: str) -> Bools:
        """Of each call whether it is of these families, shape (calls,)."""
        numbers = [number for number, name in watch_layout().families.items() if name in families]
        return np.isin(np.array(self.families, dtype=np.int64), numbers)

    def sites_at(self, i: int, rows: NDArray[Any]) -> Ints:
        """Sites of these rows of a record's; NO_SITE: none."""
        sites = np.full(rows.size, NO_SITE, dtype=np.int64)
        known = rows != NONE_32
        sites[known] = self.site_of[i][rows[known].astype(np.int64)]
        return sites

    @property
    def level(self) -> int:
        """Windows whose number is no multiple of 2^level are missing on some rank."""
        return level_of(self.records)


def events_of(job: WatchedJob) -> tuple[Events, World]:
    """All kept events of a job, each host on its own clock (`clocks.joined` makes them one)."""
    world = _world(job)
    parts = [_of_record(world, i) for i in range(len(world.records))]
    if not parts:
        parts = [_nothing()]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return Events(**columns), world


def _world(job: WatchedJob) -> World:
    records = job.records
    clocks, notes = ticks_of(records)
    clock = boots(records)
    origin = np.full(int(clock.max(initial=-1)) + 1, np.inf)
    for ticks, number in zip(clocks, clock, strict=True):
        origin[number] = min(origin[number], ticks.origin_s)
    calls, families, call_of = _calls(records)
    sites, site_of = _sites(records)
    return World(
        job, tuple(clocks), clock, origin, calls, families, sites, site_of, call_of, _members(job), tuple(notes)
    )


def _calls(records: tuple[RankRecord, ...]) -> tuple[tuple[str, ...], tuple[int, ...], tuple[Ints, ...]]:
    numbers: dict[str, int] = {}
    families: list[int] = []
    of_record = []
    for record in records:
        rows = []
        for name, family in zip(record.call_names, record.calls["family"].tolist(), strict=True):
            if name not in numbers:
                numbers[name] = len(numbers)
                families.append(family)
            rows.append(numbers[name])
        of_record.append(np.array(rows, dtype=np.int64))
    return tuple(numbers), tuple(families), tuple(of_record)


def _sites(records: tuple[RankRecord, ...]) -> tuple[tuple[tuple[int, int], ...], tuple[Ints, ...]]:
    """Rows with the same frames and line in Python are one site, wherever a rank's objects are mapped."""
    numbers: dict[tuple[bytes, PythonFrames], int] = {}
    objects: dict[str, int] = {}
    first: list[tuple[int, int]] = []
    of_record = []
    for i, record in enumerate(records):
        maps = Maps.of(record)
        frames = record.sites["frames"]
        in_use = np.arange(frames.shape[1]) < record.sites["depth"][:, None]
        index, offset = maps.places(frames)
        numbered = [objects.setdefault(path, len(objects)) for path in maps.paths]
        place = np.zeros((*frames.shape, 2), dtype=np.int64)
        place[..., 0] = np.where(in_use, np.array([*numbered, -1], dtype=np.int64)[index], -2)
        place[..., 1] = np.where(in_use, offset.astype(np.int64), 0)
        rows = np.zeros(len(frames), dtype=np.int64)
        python = python_frames(record)
        for row, key in enumerate(place):
            known = key.tobytes(), python.get(int(record.sites["python"][row]), ())[:1]
            if known not in numbers:
                numbers[known] = len(numbers)
                first.append((i, row))
            rows[row] = numbers[known]
        of_record.append(rows)
    return tuple(first), tuple(of_record)


def _members(job: WatchedJob) -> dict[int, Members]:
    """World ranks by identity of a communicator, as far as any rank's record tells."""
    by_identity: dict[int, Members] = {}
    seen: dict[int, dict[int, int]] = {}
    for record in job.records:
        for row in record.communicators:
            identity, start = int(row["identity"]), int(row["members_offset"])
            if identity == 0 or identity in by_identity:
                continue
            if start != NONE_32 and not row["is_inter"]:
                by_identity[identity] = record.members[start : start + int(row["members_count"])]
            elif int(row["size"]) == job.size and not row["is_inter"]:
                by_identity[identity] = range(job.size)
            else:
                seen.setdefault(identity, {})[int(row["rank"])] = record.rank
    left = MOST_GATHERED
    for identity, ranks in seen.items():
        count = max(ranks) + 1
        if identity not in by_identity and count <= left:
            by_identity[identity] = tuple(ranks.get(rank, -1) for rank in range(count))
            left -= count
    return by_identity


def _of_record(world: World, i: int) -> dict[str, Any]:
    record, clock = world.records[i], world.clocks[i]
    order = np.lexsort((record.events["end_ticks"], record.event_lane))
    events, lane = record.events[order], record.event_lane[order]
    origin = float(world.origin_s[world.clock[i]])
    n = events.size
    identities = np.append(record.communicators["identity"], np.uint64(0))
    row = np.where(events["communicator"] == NONE_16, record.communicators.size, events["communicator"])
    return {
        "record": np.full(n, i, dtype=np.int64),
        "rank": np.full(n, record.rank, dtype=np.int64),
        "lane": lane.astype(np.int64),
        "start_s": clock.seconds(events["start_ticks"], origin),
        "end_s": clock.seconds(events["end_ticks"], origin),
        "bytes": np.minimum(events["bytes"], np.uint64(2**62)).astype(np.int64),
        "request": events["request"].astype(np.int64),
        "sequence": events["sequence"].astype(np.int64),
        "peer": _peers(world, events["peer"].astype(np.int64), identities[row]),
        "tag": events["tag"].astype(np.int64),
        "call": world.call_of[i][events["call"]],
        "site": world.sites_at(i, events["site"]),
        "kind": events["kind"].astype(np.int64),
        "communicator": identities[row],
        "allocation": _or_none(events["allocation"], NONE_32),
        "datatype": _or_none(events["datatype"], NONE_16),
        "requests": events["requests"].astype(np.int64),
        "window": windows_of(record, clock, events["start_ticks"]),
        "offset": events["start_offset"].astype(np.int64),
    }


def _peers(world: World, peer: Ints, identity: NDArray[np.uint64]) -> Ints:
    """World ranks: those given as ranks of a communicator are looked up, and ANY where its members aren't known."""
    peers = np.where((peer >= world.job.size) | (peer < Peer.PROC_NULL), int(Peer.ANY), peer)
    for at in np.flatnonzero(peer <= Peer.OF_COMMUNICATOR).tolist():
        members = world.members.get(int(identity[at]), ())
        rank = int(Peer.OF_COMMUNICATOR) - int(peer[at])
        if rank < len(members) and 0 <= members[rank] < world.job.size:
            peers[at] = int(members[rank])
    return peers


def _or_none(rows: NDArray[Any], none: int) -> Ints:
    return np.where(rows == none, -1, rows.astype(np.int64))


def _nothing() -> dict[str, Any]:
    whole = {name: np.zeros(0, dtype=np.int64) for name in Events.__dataclass_fields__}
    times = {name: np.zeros(0) for name in ("start_s", "end_s")}
    return whole | times | {"communicator": np.zeros(0, dtype=np.uint64)}
