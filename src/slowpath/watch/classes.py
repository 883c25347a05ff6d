# SPDX-License-Identifier: Apache-2.0
"""Messages that are alike, over all ranks: the profile's rows, with what their events say of waiting and transfer.

Waiting and transfer of a message are those of the call that started it, and its share of the call that completed it.

What a blocking collective takes is T_work: from its last rank's entry to its last rank's exit. Before that, ranks wait
for a late one, which no other algorithm changes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np
from msgspec.structs import replace

from slowpath.findings.program_pattern import grouped
from slowpath.watch.attributed import Attributed, TimePart
from slowpath.watch.events import NO_SITE, Bools, Events, Floats, Ints, World
from slowpath.watch.match import NO_EVENT, SideEvents
from slowpath.watch.reasons import Why
from slowpath.watch.record.layout import NONE_32, EventKind, watch_layout
from slowpath.watch.record.reader import RECEIVE_SIDE
from slowpath.watch.results import CollectiveClass, MessageClass
from slowpath.watch.totals import whole

MessageKey = tuple[int, int, str, int, bool]  # call, site, side, size class, first use


@dataclass(frozen=True)
class MessageTimes:
    """Sums over the recorded messages of one key.

    messages: of them, matched.  wait_s, transfer_s: seconds.  block_bytes: mean stretch of their datatypes; None: one.
    is_uneven: most of those with blocks have blocks or gaps of unequal lengths.
    """

    messages: int
    wait_s: float
    transfer_s: float
    block_bytes: int | None
    is_uneven: bool = False


@dataclass(frozen=True)
class PerMessage:
    """Of one side, shape (messages,).

    wait_s: waiting that this message ended.  transfer_s: of its own call, and its share of the call that completed it,
    by bytes.  is_matched: the other side is recorded.
    """

    wait_s: Floats
    transfer_s: Floats
    is_matched: Bools


def per_message(run: Attributed) -> tuple[PerMessage, PerMessage]:
    """Of sends, of receives."""
    events, parts = run.events, run.split
    sides = (run.matched.sends, run.matched.receives)
    moving = parts.parts_s[:, TimePart.TRANSFER] + parts.parts_s[:, TimePart.UNEXPECTED]
    load = np.zeros(len(events))
    for side in sides:
        done = side.done != NO_EVENT
        np.add.at(load, side.done[done], events.bytes[side.reported[done]] + 1.0)
    waits = _waits(run)
    result = []
    for side, wait_s, paired in zip(sides, waits, (run.matched.send, run.matched.receive), strict=True):
        is_matched = np.zeros(len(side), dtype=bool)
        is_matched[paired] = True
        result.append(PerMessage(wait_s, _transfers(events, side, moving, load), is_matched))
    return result[0], result[1]


def _transfers(events: Events, side: SideEvents, moving: Floats, load: Floats) -> Floats:
    has_done = side.done != NO_EVENT
    share = np.zeros(len(side))
    done = side.done[has_done]
    share[has_done] = moving[done] * (events.bytes[side.reported[has_done]] + 1.0) / np.maximum(load[done], 1.0)
    apart = (side.posted != NO_EVENT) & (side.posted != side.done) & events.is_timed[side.posted]
    share[apart] += moving[side.posted[apart]]
    return share


def _waits(run: Attributed) -> tuple[Floats, Floats]:
    """Each call's waiting goes to the message that ended it."""
    pairs, reasons, parts = run.matched, run.reasons, run.split
    sends, receives = np.zeros(len(pairs.sends)), np.zeros(len(pairs.receives))
    rows = np.flatnonzero(parts.reason != NO_EVENT)
    reason = parts.reason[rows]
    pair, why = reasons.pair[reason], reasons.why[reason]
    of_message = pair != NO_EVENT
    at_receiver = (why == int(Why.LATE_SENDER)) | (why == int(Why.SENDER_AWAY))
    for target, index, chosen in (
        (receives, pairs.receive, of_message & at_receiver),
        (sends, pairs.send, of_message & ~at_receiver),
    ):
        np.add.at(target, index[pair[chosen]], parts.wait_s[rows[chosen]])
    return sends, receives


def message_times(run: Attributed) -> dict[MessageKey, MessageTimes]:
    """By call, site, side, size class and first use."""
    result: dict[MessageKey, MessageTimes] = {}
    sides = zip((run.matched.sends, run.matched.receives), per_message(run), ("send", "receive"), strict=True)
    for side, times, name in sides:
        call, site, size, first = message_columns(run.events, side)
        table = np.stack([call, site, size, first], axis=1)
        number, firsts = grouped(call, site, size, first)
        keys = table[firsts]
        counted, wait, transfer = (
            np.bincount(number, weights=column * times.is_matched, minlength=len(keys))
            for column in (np.ones(len(table)), times.wait_s, times.transfer_s)
        )
        blocks, uneven = _blocks(run, side)
        total = np.bincount(number, weights=np.nan_to_num(blocks), minlength=len(keys))
        with_blocks = np.bincount(number, weights=np.isfinite(blocks), minlength=len(keys))
        are_uneven = np.bincount(number, weights=uneven, minlength=len(keys))
        for i, key in enumerate(keys.tolist()):
            block = int(total[i] / with_blocks[i]) if with_blocks[i] else None
            result[key[0], key[1], name, key[2], bool(key[3])] = MessageTimes(
                int(counted[i]), float(wait[i]), float(transfer[i]), block, bool(2 * are_uneven[i] > with_blocks[i])
            )
    return result


def message_columns(events: Events, side: SideEvents) -> tuple[Ints, Ints, Ints, Ints]:
    """Call and site of the post, size class, first use."""
    post = np.where(side.posted == NO_EVENT, side.reported, side.posted)
    size = np.frexp(events.bytes[side.reported].astype(float))[1].astype(np.int64)
    first = events.has(EventKind.FIRST)
    return events.call[post], events.site[post], size, (first[post] | first[side.reported]).astype(np.int64)


def _blocks(run: Attributed, side: SideEvents) -> tuple[Floats, Bools]:
    """Mean contiguous stretch of each message's datatype, bytes; NaN: contiguous. And whether it is irregular."""
    events, post = run.events, np.where(side.posted == NO_EVENT, side.reported, side.posted)
    record, row = events.record[post], events.datatype[post]
    result, uneven = np.full(len(side), np.nan), np.zeros(len(side), dtype=bool)
    for i in np.unique(record[row >= 0]).tolist():
        types = run.world.records[i].datatypes
        stretch = types["bytes"] / np.maximum(types["blocks"], 1)
        rows = (record == i) & (row >= 0)
        result[rows] = stretch[row[rows]]
        uneven[rows] = types["shape"][row[rows]] == IRREGULAR
    return result, uneven


SideName = Literal["send", "receive", "both", "none"]
MOST_CLASSES = 5000
FIRST_USE, HAS_GAPS = 1, 4  # flags of a profile row
IRREGULAR = 3  # shape of a datatype's row
_LENGTH_KNOWN, _IS_ODD = 1 << 9, 1 << 8
_STARTS = {0: "not known", 1: "page", 2: "line", 3: "elsewhere"}
_PAGES = {1: 4096, 2: 65536, 3: 2**21}


@dataclass
class _Sum:
    """One class over rows of profiles."""

    count: float = 0.0
    bytes: float = 0.0
    seconds: float = 0.0
    allocation_bytes: int = 0
    gaps: bool = False
    ranks: set[int] = field(default_factory=set)


@dataclass(frozen=True)
class ClassKey:
    """What makes messages alike."""

    call: int
    site: int
    side: SideName
    size_class: int
    is_first: bool
    buffer_class: int

    @property
    def of_messages(self) -> MessageKey:
        """The key by which events are found: they don't tell the start of the buffer."""
        return (self.call, self.site, self.side, self.size_class, self.is_first)


def classes_of(run: Attributed) -> tuple[tuple[MessageClass, ...], tuple[ClassKey, ...], tuple[int, ...]]:
    """Classes with most time first, their keys, and the sites that they name, in the order of CallSites.

    `MessageClass.site` is an index in the third.
    """
    world = run.world
    sums = _sums(world)
    times = message_times(run)
    keys = sorted(sums, key=lambda key: -sums[key].seconds)[:MOST_CLASSES]
    sites = tuple(dict.fromkeys([*(key.site for key in keys), *np.unique(run.events.site).tolist()]))
    site_at = {site: i for i, site in enumerate(sites)}
    ranks = max(len(world.records), 1)
    classes = tuple(
        _class(i, key, sums[key], site_at[key.site], times.get(key.of_messages), ranks, world)
        for i, key in enumerate(keys)
    )
    return classes, tuple(keys), sites


def side_of(call: str, family: str, flags: int) -> SideName:
    """Which side of a message a profile's row is."""
    if family == "point to point" and ("robe" not in call):
        return "receive" if flags & RECEIVE_SIDE else "send"
    if family == "collective":
        return "both"
    if family == "one-sided":
        if "Get_acc" in call or "Fetch" in call or "Compare" in call:
            return "both"
        return (
            "receive" if "get" in call.lower() else "send" if "put" in call.lower() or "acc" in call.lower() else "none"
        )
    return "none"


def _sums(world: World) -> dict[ClassKey, _Sum]:
    families = watch_layout().families
    family_of = [families.get(number, "other") for number in world.families]
    sums: dict[ClassKey, _Sum] = defaultdict(_Sum)
    for i, (record, clock) in enumerate(zip(world.records, world.clocks, strict=True)):
        site_of, call_of = world.site_of[i], world.call_of[i]
        for row in record.profile:
            call = int(call_of[row["call"]])
            flags, size_class = int(row["flags"]), int(row["size_class"])
            side = side_of(world.calls[call], family_of[call], flags)
            site = NO_SITE if row["site"] == NONE_32 else int(site_of[row["site"]])
            key = ClassKey(call, site, side, min(size_class, 63), bool(flags & FIRST_USE), int(row["buffer_class"]))
            _add(sums[key], row, record.rank, clock.s_per_tick)
    return sums


def _add(entry: _Sum, row: Any, rank: int, s_per_tick: float) -> None:
    entry.count += float(row["count"])
    entry.bytes += float(row["bytes"])
    entry.seconds += float(row["ticks"]) * s_per_tick
    entry.allocation_bytes = max(entry.allocation_bytes, min(int(row["allocation_bytes"]), 2**62))
    entry.gaps = entry.gaps or bool(int(row["flags"]) & HAS_GAPS)
    entry.ranks.add(rank)


def _class(
    i: int, key: ClassKey, total: _Sum, site: int, times: MessageTimes | None, ranks: int, world: World
) -> MessageClass:
    kind, page, start = key.buffer_class & 15, key.buffer_class >> 4 & 3, key.buffer_class >> 6 & 3
    is_known = bool(key.buffer_class & _LENGTH_KNOWN)
    memory = watch_layout().memory_kinds.get(kind, "not known")
    has_times = times is not None and times.messages > 0
    return MessageClass(
        id=i,
        call=world.calls[key.call],
        side=key.side,
        site=site,
        bytes_low=0 if key.size_class == 0 else 1 << (key.size_class - 1),
        bytes_high=0 if key.size_class == 0 else (1 << key.size_class) - 1,
        first=key.is_first,
        memory=memory,
        page_bytes=_PAGES.get(page),
        allocation_bytes=total.allocation_bytes or None,
        is_odd=bool(key.buffer_class & _IS_ODD) if is_known else None,
        start=_STARTS[start],
        block_bytes=times.block_bytes if times is not None and total.gaps else None,
        is_uneven=times is not None and total.gaps and times.is_uneven,
        ranks=len(total.ranks),
        count=whole(total.count),
        bytes=whole(total.bytes),
        time_s=total.seconds / ranks,
        wait_s=times.wait_s / times.messages * total.count / ranks if has_times and times is not None else None,
        transfer_s=times.transfer_s / times.messages * total.count / ranks if has_times and times is not None else None,
    )


NO_CLASS = -1
_UNKNOWN = -1  # in place of a buffer class


def pair_classes(run: Attributed, keys: Sequence[ClassKey], classes: Sequence[MessageClass]) -> Ints:
    """Shape (pairs, 2): class of the sender's side and of the receiver's; NO_CLASS: not among the classes.

    Events state no kind of buffer; their allocation does, as of its last use. Where it names none of the classes that
    are alike else, the message is taken to be of the largest of these.
    """
    by_key: dict[MessageKey, dict[int, int]] = defaultdict(dict)
    for number in sorted(range(len(keys)), key=lambda index: classes[index].count):
        by_key[keys[number].of_messages][keys[number].buffer_class] = number
        by_key[keys[number].of_messages][_UNKNOWN] = number
    sides = (
        ("send", run.matched.sends.take(run.matched.send)),
        ("receive", run.matched.receives.take(run.matched.receive)),
    )
    return np.stack([_of_side(run, side, name, by_key) for name, side in sides], axis=1)


def _of_side(run: Attributed, side: SideEvents, name: str, by_key: dict[MessageKey, dict[int, int]]) -> Ints:
    columns = (*message_columns(run.events, side), _buffer_classes(run, side))
    number, firsts = grouped(*columns)
    classes = np.full(len(firsts), NO_CLASS, dtype=np.int64)
    for i, (call, site, size, first, buffer_class) in enumerate(np.stack(columns, axis=1)[firsts].tolist()):
        fitting = by_key.get((call, site, name, size, bool(first)), {})
        classes[i] = fitting.get(buffer_class, fitting.get(_UNKNOWN, NO_CLASS))
    return classes[number]


def _buffer_classes(run: Attributed, side: SideEvents) -> Ints:
    events = run.events
    post = np.where(side.posted == NO_EVENT, side.reported, side.posted)
    record, row = events.record[post], events.allocation[post]
    result = np.full(len(side), _UNKNOWN, dtype=np.int64)
    for i in np.unique(record[row >= 0]).tolist():
        allocations = run.world.records[i].allocations
        rows = (record == i) & (row >= 0) & (row < allocations.size)
        result[rows] = allocations["buffer_class"][row[rows]]
    return result


MOST_COLLECTIVES: Final = 500
MOST_SITES: Final = 8
# Of each call, as experiment coll has it.
COLLECTIVES: Final[Mapping[str, str]] = {
    f"MPI_{name.capitalize()}": name
    for name in (
        *("barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall"),
        *("alltoallv", "alltoallw", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"),
    )
}
_OF_ALL_RANKS: Final = frozenset({"alltoall", "alltoallv", "alltoallw", "reduce_scatter", "reduce_scatter_block"})
_OF_ALL_RANKS_AT_ROOT: Final = frozenset({"scatter", "scatterv"})


def collectives_of(run: Attributed, weight: Floats, site_of: Mapping[int, int]) -> tuple[CollectiveClass, ...]:
    """Those of which all calls were kept, most time first.

    Args: weight: how many calls each kept one stands for, shape (n,).  site_of: site -> index in the results' sites.
    """
    events, groups, world = run.events, run.groups, run.world
    if not groups.groups:
        return ()
    names = [COLLECTIVES.get(name.removesuffix("_c")) for name in world.calls]
    rows, first = groups.event, groups.first[:-1]
    ranks = np.diff(groups.first)
    size = np.array([len(world.members.get(int(i), ())) for i in events.communicator[rows[first]]])
    call = events.call[rows[first]]
    is_known = np.array([name is not None for name in names], dtype=bool)
    chosen = is_known[call] & (ranks == size) & (size > 1) & ~events.has(EventKind.POST)[rows[first]]
    work_s = np.maximum.reduceat(events.end_s[rows], first) - np.maximum.reduceat(events.start_s[rows], first)
    length = np.add.reduceat(_collective_blocks(run, rows, groups.group, size, names), first) / ranks
    stands_for = np.add.reduceat(weight[rows], first) / ranks
    numbers = np.flatnonzero(chosen)
    key = np.stack([call, size, np.frexp(np.floor(length))[1]], axis=1)
    of_group = np.full(groups.groups, -1)
    alike = _groups_of(key[numbers])
    for number, members in enumerate(alike):
        of_group[numbers[members]] = number
    sites = _sites(of_group[groups.group], events.site[rows], site_of)
    made = []
    for number, members in enumerate(alike):
        mine = numbers[members]
        name = world.calls[int(call[mine[0]])]
        made.append(
            CollectiveClass(
                id=0,
                collective=str(names[int(call[mine[0]])]),
                call=name,
                bytes=round(float(np.average(length[mine], weights=stands_for[mine]))),
                ranks=int(size[mine[0]]),
                count=round(float(stands_for[mine].sum())),
                work_s=max(0.0, float(np.median(work_s[mine]))),
                sites=sites.get(number, ()),
            )
        )
    made.sort(key=lambda collective: collective.work_s * collective.count, reverse=True)
    return tuple(replace(collective, id=i) for i, collective in enumerate(made[:MOST_COLLECTIVES]))


def _collective_blocks(run: Attributed, rows: Ints, group: Ints, size: Ints, names: list[str | None]) -> Floats:
    """Bytes of a rank's call, of one block where it has one for each rank; shape (rows,)."""
    events = run.events
    of_all = np.array([name in _OF_ALL_RANKS for name in names])[events.call[rows]]
    at_root = np.array([name in _OF_ALL_RANKS_AT_ROOT for name in names])[events.call[rows]]
    at_root &= ~events.has(EventKind.RECEIVE)[rows]
    length: Floats = events.bytes[rows] / np.where(of_all | at_root, np.maximum(size[group], 1), 1)
    return length


def _groups_of(key: Ints) -> list[Ints]:
    if not len(key):
        return []
    _, number = np.unique(key, axis=0, return_inverse=True)
    order = np.argsort(number.reshape(-1), kind="stable")
    return np.split(order, np.flatnonzero(np.diff(number.reshape(-1)[order])) + 1)


def _sites(of_event: Ints, sites: Ints, site_of: Mapping[int, int]) -> dict[int, tuple[int, ...]]:
    both, counts = np.unique(np.stack([of_event, sites], axis=1), axis=0, return_counts=True)
    by_site: dict[int, tuple[int, ...]] = {}
    for (number, site), _ in sorted(zip(both.tolist(), counts.tolist(), strict=True), key=lambda counted: -counted[1]):
        known = by_site.get(number, ())
        if site in site_of and len(known) < MOST_SITES:
            by_site[number] = (*known, site_of[site])
    return by_site
