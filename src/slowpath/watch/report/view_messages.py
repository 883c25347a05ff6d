# SPDX-License-Identifier: Apache-2.0
"""Messages of a watch: over their length with the floor, between ranks, and the memory that they come from."""

from __future__ import annotations

from slowpath.core.units import format_bytes
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Table
from slowpath.report.svg import message_sizes, rank_matrix
from slowpath.report.svg.message_sizes import Circle
from slowpath.watch.report import words
from slowpath.watch.results import AllocationKind, MessageClass, WatchResults

MOST_CLASSES = 60  # rows of the table; classes.csv has all
MOST_CIRCLES = 400  # of the picture
MOST_PAIRS = 20
KEY = (("m-priced", "of a finding"), ("m-first", "first use of an allocation"), ("m-plain", "all others"))


def sizes(results: WatchResults) -> Figure | None:
    """Time of one message over its length; None: no messages with bytes."""
    title = "Time of a message over its length"
    picture = message_sizes.chart(_circles(results), title)
    if picture is None:
        return None
    floors = any(one.floor_ratio is not None for one in results.classes)
    group = "the line joins what this machine needs at the best" if floors else "no floor was measured"
    return Figure(title, group, classes_table(results), picture=picture)


def _circles(results: WatchResults) -> list[Circle]:
    priced = {price.class_id for one in results.findings for price in one.prices}
    return [_circle(one, results, one.id in priced) for one in with_messages(results)[:MOST_CIRCLES]]


def left_out(results: WatchResults) -> int:
    """Classes that the picture has no room for."""
    return max(0, len(with_messages(results)) - MOST_CIRCLES)


def sizes_key(results: WatchResults) -> list[tuple[str, str]]:
    """Class and words of the circles that there are."""
    occurring = {one.class_ for one in _circles(results)}
    return [entry for entry in KEY if entry[0] in occurring]


def _circle(one: MessageClass, results: WatchResults, priced: bool) -> Circle:
    each_s = each_transfer_s(one, results.program.recorded_ranks)
    time_s = one.median_s if each_s is None else each_s
    floor_s = each_s / one.floor_ratio if each_s is not None and one.floor_ratio else None
    weight = one.transfer_s if one.transfer_s is not None else one.time_s
    class_ = "m-priced" if priced else "m-first" if one.first else "m-plain"
    about = f"{words.messages(one)}: {words.count(one.count)}, {fmt.time(time_s)} each; {words.buffer(one)}"
    joined = family_of(one.call, results) != "collective"
    return Circle(words.mean_bytes(one), time_s, weight, floor_s, joined, each_s is None, class_, about)


def family_of(call: str, results: WatchResults) -> str | None:
    """Of a call by name; None: no such call was counted."""
    return next((one.family for one in results.calls if one.name == call), None)


def each_transfer_s(one: MessageClass, ranks: int) -> float | None:
    """Transfer of one message, waits taken off; None: not matched."""
    return None if one.transfer_s is None or not one.count else one.transfer_s * max(1, ranks) / one.count


def with_messages(results: WatchResults) -> list[MessageClass]:
    """Classes of messages; calls that have none stand in the table of calls."""
    return [one for one in results.classes if one.side != "none"]


def classes_table(results: WatchResults) -> Table:
    """The classes with the most time."""
    head = ["Messages", "How many", "Time a rank", "Waiting", "Transfer", "Median", "Over the floor", "Buffer", "Place"]
    rows = [
        [words.messages(one), words.count(one.count), words.time(one.time_s), words.time(one.wait_s),
         words.time(one.transfer_s), words.time(one.median_s), fmt.ratio(one.floor_ratio), words.buffer(one),
         words.place(results.sites[one.site])]
        for one in with_messages(results)[:MOST_CLASSES]
    ]  # fmt: skip
    return Table(head, rows)


def pairs(results: WatchResults) -> Figure | None:
    """Bytes between ranks; None: none were sent from one to another."""
    if not results.pairs:
        return None
    ranks = max([results.program.ranks, *(max(one.source, one.destination) + 1 for one in results.pairs)])
    each = rank_matrix.bin_of(ranks)
    cells: dict[tuple[int, int], int] = {}
    for one in results.pairs:
        if one.bytes:
            key = one.source // each, one.destination // each
            cells[key] = cells.get(key, 0) + one.bytes
    title = "Bytes from rank to rank"
    group = f"{fmt.plural(len(results.pairs), 'pair')}, point to point"
    group += f"; each square is {each} x {each} ranks" if each > 1 else ""
    order = sorted(results.pairs, key=lambda one: -one.bytes)
    most = order[0]
    described = f"Most from rank {most.source} to rank {most.destination}: {words.spelled_bytes(most.bytes)}."
    rows = [[f"{one.source} to {one.destination}", words.count(one.messages), words.spelled_bytes(one.bytes)]
            for one in order[:MOST_PAIRS]]  # fmt: skip
    picture = rank_matrix.chart(ranks, cells, title, described)
    return Figure(title, group, Table(["Ranks", "Messages", "Bytes"], rows), picture=picture)


def allocations(results: WatchResults) -> list[tuple[float, list[str]]]:
    """Share of the bytes, and a row of words, of each kind of memory."""
    whole = sum(one.bytes for one in results.allocations) or 1
    return [(one.bytes / whole, _allocation(one)) for one in results.allocations]


ALLOCATIONS_HEAD = ("Memory", "Pages", "Length", "Allocations", "Bytes", "Messages")


def _allocation(one: AllocationKind) -> list[str]:
    odd = {None: "not known", True: "odd: no multiple of its page", False: "multiple of its page"}[one.is_odd]
    pages = format_bytes(one.page_bytes) if one.page_bytes else "not known"
    return [one.memory, pages, odd, words.count(one.allocations), words.spelled_bytes(one.bytes),
            words.count(one.uses)]  # fmt: skip
