# SPDX-License-Identifier: Apache-2.0
"""Messages of a watch: over their length with the floor, between ranks, and the memory that they come from."""

from __future__ import annotations

from slowpath.core.units import format_bytes
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, FigureTable
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
    floors = any(message_class.floor_ratio is not None for message_class in results.classes)
    group = "the line joins what this machine needs at the best" if floors else "no floor was measured"
    return Figure(title, group, classes_table(results), picture=picture)


def _circles(results: WatchResults) -> list[Circle]:
    priced = {price.class_id for finding in results.findings for price in finding.prices}
    return [
        _circle(message_class, results, message_class.id in priced)
        for message_class in with_messages(results)[:MOST_CIRCLES]
    ]


def left_out(results: WatchResults) -> int:
    """Classes that the picture has no room for."""
    return max(0, len(with_messages(results)) - MOST_CIRCLES)


def sizes_key(results: WatchResults) -> list[tuple[str, str]]:
    """Class and words of the circles that there are."""
    occurring = {circle.class_ for circle in _circles(results)}
    return [entry for entry in KEY if entry[0] in occurring]


def _circle(message_class: MessageClass, results: WatchResults, priced: bool) -> Circle:
    each_s = each_transfer_s(message_class, results.program.recorded_ranks)
    time_s = message_class.median_s if each_s is None else each_s
    floor_s = each_s / message_class.floor_ratio if each_s is not None and message_class.floor_ratio else None
    weight = message_class.transfer_s if message_class.transfer_s is not None else message_class.time_s
    class_ = "m-priced" if priced else "m-first" if message_class.first else "m-plain"
    count, buffer = words.count(message_class.count), words.buffer(message_class)
    about = f"{words.messages(message_class)}: {count}, {fmt.time(time_s)} each; {buffer}"
    joined = family_of(message_class.call, results) != "collective"
    return Circle(words.mean_bytes(message_class), time_s, weight, floor_s, joined, each_s is None, class_, about)


def family_of(call: str, results: WatchResults) -> str | None:
    """Of a call by name; None: no such call was counted."""
    return next((known.family for known in results.calls if known.name == call), None)


def each_transfer_s(message_class: MessageClass, ranks: int) -> float | None:
    """Transfer of one message, waits taken off; None: not matched."""
    return (
        None
        if message_class.transfer_s is None or not message_class.count
        else message_class.transfer_s * max(1, ranks) / message_class.count
    )


def with_messages(results: WatchResults) -> list[MessageClass]:
    """Classes of messages; calls that have none stand in the table of calls."""
    return [message_class for message_class in results.classes if message_class.side != "none"]


def classes_table(results: WatchResults) -> FigureTable:
    """The classes with the most time."""
    head = ["Messages", "How many", "Time a rank", "Waiting", "Transfer", "Median", "Over the floor", "Buffer", "Place"]
    rows = [
        [
            words.messages(message_class),
            words.count(message_class.count),
            words.time(message_class.time_s),
            words.time(message_class.wait_s),
            words.time(message_class.transfer_s),
            words.time(message_class.median_s),
            fmt.ratio(message_class.floor_ratio),
            words.buffer(message_class),
            words.place(results.sites[message_class.site]),
        ]
        for message_class in with_messages(results)[:MOST_CLASSES]
    ]
    return FigureTable(head, rows)


def pairs(results: WatchResults) -> Figure | None:
    """Bytes between ranks; None: none were sent from one to another."""
    if not results.pairs:
        return None
    ranks = max([results.program.ranks, *(max(pair.source, pair.destination) + 1 for pair in results.pairs)])
    each = rank_matrix.bin_of(ranks)
    cells: dict[tuple[int, int], int] = {}
    for pair in results.pairs:
        if pair.bytes:
            key = pair.source // each, pair.destination // each
            cells[key] = cells.get(key, 0) + pair.bytes
    title = "Bytes from rank to rank"
    group = f"{fmt.plural(len(results.pairs), 'pair')}, point to point"
    group += f"; each square is {each} x {each} ranks" if each > 1 else ""
    order = sorted(results.pairs, key=lambda pair: -pair.bytes)
    most = order[0]
    described = f"Most from rank {most.source} to rank {most.destination}: {words.spelled_bytes(most.bytes)}."
    rows = [
        [f"{pair.source} to {pair.destination}", words.count(pair.messages), words.spelled_bytes(pair.bytes)]
        for pair in order[:MOST_PAIRS]
    ]
    picture = rank_matrix.chart(ranks, cells, title, described)
    return Figure(title, group, FigureTable(["Ranks", "Messages", "Bytes"], rows), picture=picture)


def allocations(results: WatchResults) -> list[tuple[float, list[str]]]:
    """Share of the bytes, and a row of words, of each kind of memory."""
    whole = sum(kind.bytes for kind in results.allocations) or 1
    return [(kind.bytes / whole, _allocation(kind)) for kind in results.allocations]


ALLOCATIONS_HEAD = ("Memory", "Pages", "Length", "Allocations", "Bytes", "Messages")


def _allocation(kind: AllocationKind) -> list[str]:
    odd = {None: "not known", True: "odd: no multiple of its page", False: "multiple of its page"}[kind.is_odd]
    pages = format_bytes(kind.page_bytes) if kind.page_bytes else "not known"
    return [
        kind.memory,
        pages,
        odd,
        words.count(kind.allocations),
        words.spelled_bytes(kind.bytes),
        words.count(kind.uses),
    ]
