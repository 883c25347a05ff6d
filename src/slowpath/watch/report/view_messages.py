# SPDX-License-Identifier: Apache-2.0
"""Messages of a watch: over their length with the floor, between ranks, and the memory that they come from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from slowpath.core import clean
from slowpath.core.units import format_bytes
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, FigureTable
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.marks import percent
from slowpath.report.svg.plot import Wide
from slowpath.report.svg.scale import LogScale, powers_of_two, spanning
from slowpath.watch.report import words
from slowpath.watch.results import AllocationKind, MessageClass, WatchResults

HEIGHT, TOP, BOTTOM = 340, 26, 290
LEFT, RIGHT = 12.0, 98.0
LARGEST, SMALLEST = 22.0, 3.0  # radius, pixels


@dataclass(frozen=True, slots=True)
class Circle:
    """A class of messages.

    Args: seconds: time of one message. weight: total time. floor_s: None if not measured. joined: the floor is that of
          messages between ranks, which a line joins. hollow: seconds includes waiting, because the class was not
          matched.
    """

    size_bytes: float
    seconds: float
    weight: float
    floor_s: float | None
    joined: bool
    hollow: bool
    class_: str
    words: str


def sizes_chart(circles: Sequence[Circle], title: str) -> Markup | None:
    """Return the picture, or None without a message that has bytes and takes time."""
    drawn = [circle for circle in circles if circle.size_bytes > 0 and circle.seconds > 0]
    across = spanning([circle.size_bytes for circle in drawn], least=16.0, margin=1.6)
    ends = spanning([value for circle in drawn for value in (circle.seconds, circle.floor_s)], least=8.0, margin=1.9)
    if across is None or ends is None:
        return None
    frame = Wide(LEFT, RIGHT, TOP, BOTTOM)
    x, y = LogScale(*across, LEFT + 1, RIGHT - 1), LogScale(*ends, BOTTOM - 2, TOP + 2)
    content = frame.levels([(y(tick), short_time(tick)) for tick in y.ticks(6)])
    content += frame.uprights([(x(size), fmt.count_bytes(size)) for size in powers_of_two(*across, 7)])
    content += _floor(drawn, x, y)
    most = max(circle.weight for circle in drawn) or 1.0
    for circle in sorted(drawn, key=lambda circle: -circle.weight):
        radius = max(SMALLEST, LARGEST * math.sqrt(circle.weight / most))
        content += element(
            "circle", element("title", escape(clean.text(circle.words))), cx=percent(x(circle.size_bytes)),
            cy=y(circle.seconds), r=radius, class_=f"{circle.class_}{' hollow' if circle.hollow else ''}",
        )  # fmt: skip
    content += frame.titles("length of a message", "time of one message")
    low, high = (fmt.time(end(circle.seconds for circle in drawn)) for end in (min, max))
    described = f"{fmt.plural(len(drawn), 'class')} of messages, {low} to {high} each; area: their total time."
    return picture(content, title, described, height=HEIGHT, class_="sizes")


def _floor(circles: Sequence[Circle], x: LogScale, y: LogScale) -> str:
    """The least floor at each length, joined: what this machine needs for such a message at the best. Collectives have
    floors of their own, which are dots alone."""
    least: dict[float, float] = {}
    for circle in circles:
        if circle.floor_s and circle.joined:
            least[circle.size_bytes] = min(circle.floor_s, least.get(circle.size_bytes, circle.floor_s))
    places = [(percent(x(size)), y(floor)) for size, floor in sorted(least.items())]
    apart = [
        (percent(x(circle.size_bytes)), y(circle.floor_s)) for circle in circles if circle.floor_s and not circle.joined
    ]
    content = "".join(
        element("line", x1=a[0], y1=a[1], x2=b[0], y2=b[1], class_="floor-line") for a, b in itertools.pairwise(places)
    )
    return content + "".join(
        element("circle", cx=at, cy=level, r=2.5, class_="floor-dot") for at, level in [*places, *apart]
    )


WIDTH, LEFT, TOP = 344, 40, 44
MOST = 32  # squares along a side
LABELS = 8  # along a side
LIGHTEST = 0.12  # of the pair with the least bytes
LEAST_SPAN = 100.0  # from the lightest to the darkest, so that almost equal pairs look almost equal


def bin_of(ranks: int) -> int:
    """Return how many ranks share a row."""
    return max(1, math.ceil(ranks / MOST))


def matrix_chart(ranks: int, cells: Mapping[tuple[int, int], int], title: str, described: str) -> Markup:
    """Return the picture, with senders on the left.

    Args: cells: bytes by row and column, each of `bin_of(ranks)` ranks.
    """
    each = bin_of(ranks)
    side_count = math.ceil(ranks / each)
    side = (WIDTH - LEFT - 4) / max(1, side_count)
    most, least = max(cells.values(), default=1), max(1, min(cells.values(), default=1))
    span = math.log(max(LEAST_SPAN, most / least))
    content = element("rect", x=LEFT, y=TOP, width=side * side_count, height=side * side_count, class_="square base")
    for (row, column), sent in sorted(cells.items()):
        shade = 1.0 - (1 - LIGHTEST) * math.log(most / max(1, sent)) / span
        content += element("rect", x=LEFT + column * side + 0.5, y=TOP + row * side + 0.5, width=max(1.0, side - 1),
                           height=max(1.0, side - 1), class_="sent", fill_opacity=f"{shade:.2f}")  # fmt: skip
    for place in range(0, side_count, math.ceil(side_count / LABELS)):
        at = (place + 0.5) * side
        content += text(str(place * each), LEFT - 6, TOP + at + 4, "end", "label")
        content += text(str(place * each), LEFT + at, TOP - 6, "middle", "label")
    content += text("from rank (left)", 0, 14, None, "axis-title")
    content += text("to rank", WIDTH - 4, 14, "end", "axis-title")
    return picture(content, title, described, height=math.ceil(TOP + side * side_count + 6), width=WIDTH)


MOST_CLASSES = 60  # rows of the table; classes.csv has all
MOST_CIRCLES = 400  # of the picture
MOST_PAIRS = 20
KEY = (("m-priced", "of a finding"), ("m-first", "first use of an allocation"), ("m-plain", "all others"))


def sizes(results: WatchResults) -> Figure | None:
    """Time of one message over its length; None: no messages with bytes."""
    title = "Time of a message over its length"
    picture = sizes_chart(_circles(results), title)
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
    each = bin_of(ranks)
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
    picture = matrix_chart(ranks, cells, title, described)
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
