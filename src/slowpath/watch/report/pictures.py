# SPDX-License-Identifier: Apache-2.0
"""Where the ranks' time went: over the run, and what they waited for.

Messages of a watch: over their length with the floor, between ranks, and the memory that they come from.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from markupsafe import Markup

from slowpath.core import guard
from slowpath.core.units import format_bytes
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, FigureTable, TrackRow
from slowpath.report.svg import marks, stack
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.marks import percent
from slowpath.report.svg.plot import Wide
from slowpath.report.svg.scale import LinearScale, LogScale, powers_of_two, spanning
from slowpath.watch.report import words
from slowpath.watch.results import AllocationKind, Efficiency, MessageClass, RankTime, Slice, WatchResults

LEFT, RIGHT, TOP, BOTTOM, GAP = 6.0, 99.5, 20, 40, 2
ROWS = ((4, 44), (8, 28), (16, 20), (32, 14), (64, 9))  # up to so many rows: pixels of one
LABEL = 14  # pixels between two labels
WIDE = 1000  # units of a row's own box; a row is 100 units high
HATCH = "unkept"


@dataclass(frozen=True, slots=True)
class Piece:
    """A time range of a rank. `shares` from below; the rest is the row's ground. None: no events were kept."""

    start_s: float
    end_s: float
    shares: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class RankRow:
    """A rank. `pieces` are ordered by time and don't overlap."""

    label: str
    pieces: Sequence[Piece]


def slices_chart(rows: Sequence[RankRow], classes: Sequence[str], ground: str, end_s: float, title: str,
          description: str, what: str = "rank", left: float = LEFT) -> Markup:  # fmt: skip
    """Return the picture.

    Args: classes: classes of the shares, from below. ground: class of the rest.  what: a row is; other pictures of the
          page have other words.  left: percent of the width, for the rows' labels.
    """
    scale = LinearScale(0.0, end_s if end_s > 0 else 1e-9, left, RIGHT)
    hatch = HATCH if what == "rank" else f"{HATCH}-{what}"
    high = next((pixels for most, pixels in ROWS if len(rows) <= most), ROWS[-1][1])
    height = TOP + (high + GAP) * len(rows) + BOTTOM
    content = _hatch(hatch) + _axis(scale, height)
    every = max(1, -(-LABEL // (high + GAP)))
    for place, row in enumerate(rows):
        y = TOP + place * (high + GAP)
        if place % every == 0:
            content += text(row.label, marks.percent(left - 1), y + (high + 9) / 2, "end", "label")
        content += _row(row, classes, ground, scale, y, high) + _unkept(row, scale, y, high, hatch)
    content += text(what, marks.percent(left - 1), 12, "end", "axis-title")
    content += text("time since the first MPI_Init", "52%", height - 6, "middle", "axis-title")
    return picture(content, title, description, height=height, class_="slices")


def _hatch(name: str) -> str:
    stroke = element("path", d="M0 6L6 0M-1.5 1.5L1.5-1.5M4.5 7.5L7.5 4.5", class_="hatch")
    return element("defs", element("pattern", stroke, id=name, width=6, height=6, patternUnits="userSpaceOnUse"))


def _axis(scale: LinearScale, height: int) -> str:
    content = ""
    for place, tick in enumerate(scale.ticks(6)):
        x = marks.percent(scale(tick))
        content += element("line", x1=x, x2=x, y1=TOP - 4, y2=height - BOTTOM, class_="grid")
        anchor = "end" if scale(tick) > 94 else "middle"
        content += text(short_time(tick) if tick else "0", x, height - 24, anchor, "tick odd" if place % 2 else "tick")
    return content


def _row(row: RankRow, classes: Sequence[str], ground: str, scale: LinearScale, y: int, high: int) -> str:
    """Draw each share down to the row's foot, the highest first, so that lower ones cover it."""
    end_s, left = scale.high, scale(0.0)
    kept = [(round(WIDE * piece.start_s / end_s), round(WIDE * piece.end_s / end_s), piece.shares)
            for piece in row.pieces if piece.shares is not None]  # fmt: skip
    layers = [(ground, _path(kept, lambda _: 1.0))]
    layers += [(classes[top - 1], _path(kept, lambda shares, top=top: sum(shares[:top])))  # type: ignore[misc]
               for top in range(len(classes), 0, -1)]  # fmt: skip
    content = "".join(element("path", d=d, class_=class_) for class_, d in layers if d)
    if not content:
        return ""
    return element("svg", content, x=marks.percent(left), width=marks.percent(RIGHT - left), y=y, height=high,
                   viewBox=f"0 0 {WIDE} 100", preserveAspectRatio="none")  # fmt: skip


def _path(kept: Sequence[tuple[int, int, tuple[float, ...]]], height: Callable[[tuple[float, ...]], float]) -> str:
    steps = [(start, end, 100 - round(100 * min(1.0, height(shares)))) for start, end, shares in kept if end > start]
    return "".join(_outline(run) for run in _runs(steps) if any(y < 100 for _, _, y in run))


def _runs(steps: Sequence[tuple[int, int, int]]) -> Iterator[list[tuple[int, int, int]]]:
    """Return runs of steps that touch each other."""
    run: list[tuple[int, int, int]] = []
    for step in steps:
        if run and step[0] != run[-1][1]:
            yield run
            run = []
        run.append(step)
    if run:
        yield run


def _outline(run: Sequence[tuple[int, int, int]]) -> str:
    parts, last = [f"M{run[0][0]} 100"], 100
    for place, (_, end, y) in enumerate(run):
        if y != last:
            parts.append(f"V{y}")
            last = y
        if place + 1 == len(run) or run[place + 1][2] != y:
            parts.append(f"H{end}")
    return "".join([*parts, "V100z"])


def _unkept(row: RankRow, scale: LinearScale, y: int, high: int, hatch: str) -> str:
    content, lost = "", [piece for piece in row.pieces if piece.shares is None]
    begin = end = None
    for piece in [*lost, None]:
        if piece is not None and end is not None and abs(piece.start_s - end) < 1e-9:
            end = piece.end_s
            continue
        if begin is not None and end is not None:
            low, top = scale(begin), scale(end)
            content += element("rect", x=marks.percent(low), width=marks.percent(top - low), y=y, height=high,
                               fill=f"url(#{hatch})", class_="unkept")  # fmt: skip
        begin, end = (piece.start_s, piece.end_s) if piece is not None else (None, None)
    return content


# Of a slice, from the foot of a row: name of the field, class of the picture, words.
SHARES: tuple[tuple[Callable[[Slice], float], str, str], ...] = (
    (lambda stretch: stretch.waiting, "w-waiting", "waiting for other ranks"),
    (lambda stretch: stretch.transfer, "w-transfer", "moving bytes"),
    (lambda stretch: stretch.other, "w-other", "in MPI, otherwise"),
)
GROUND = ("w-computing", "outside of MPI")
# Of a rank's time in MPI, in the order of a bar.
PARTS: tuple[tuple[Callable[[RankTime], float], str, str], ...] = (
    (lambda rank: rank.late_sender_s, "w-late-sender", "waiting for a late sender"),
    (lambda rank: rank.late_receiver_s, "w-late-receiver", "waiting for a late receiver"),
    (lambda rank: rank.imbalance_s, "w-imbalance", "waiting in collectives"),
    (lambda rank: rank.unexpected_s, "w-unexpected", "copies of unexpected messages"),
    (lambda rank: rank.transfer_s, "w-transfer", "moving bytes"),
    (lambda rank: rank.call_s, "w-other", "overhead of calls"),
    (lambda rank: rank.unexplained_s, "w-unexplained", "unexplained"),
)
MOST_BARS = 24  # rows of the picture of waits
_GRID = "ranks-grid"


def timeline(results: WatchResults) -> Figure | None:
    """Ranks x time; None: no slices."""
    if not results.slices:
        return None
    by_rank: dict[int, list[Slice]] = {}
    for stretch in results.slices:
        by_rank.setdefault(stretch.rank, []).append(stretch)
    rows = [
        RankRow(str(rank), [_piece(stretch) for stretch in sorted(found, key=lambda stretch: stretch.start_s)])
        for rank, found in sorted(by_rank.items())
    ]
    end_s = max(stretch.end_s for stretch in results.slices)
    title = "What each rank did when"
    lost = sum(not stretch.is_kept for stretch in results.slices)
    described = f"{fmt.plural(len(rows), 'rank')} over {fmt.time(end_s)}."
    if lost:
        described += f" {fmt.percent(lost / len(results.slices), 0)} of the time slices were not kept."
    picture = slices_chart(rows, [class_ for _, class_, _ in SHARES], GROUND[0], end_s, title, described)
    return Figure(title, _shown(results, len(rows)), FigureTable([], []), picture=picture)


def _piece(stretch: Slice) -> Piece:
    return Piece(
        stretch.start_s, stretch.end_s, tuple(read(stretch) for read, _, _ in SHARES) if stretch.is_kept else None
    )


def _shown(results: WatchResults, rows: int) -> str:
    if results.shown_ranks is None:
        return f"all {fmt.plural(rows, 'rank')}" if rows > 1 else "1 rank"
    return f"{rows} of {words.count(results.program.ranks)} ranks: {_ranges(results.shown_ranks)}"


def _ranges(numbers: Sequence[int]) -> str:
    """`0 to 63`, `0, 4, 8 and 61 more`."""
    first, last = min(numbers), max(numbers)
    if len(set(numbers)) == last - first + 1:
        return f"{first} to {last}"
    few = sorted(numbers)[:6]
    rest = len(numbers) - len(few)
    return ", ".join(map(str, few)) + (f" and {rest} more" if rest else "")


# Rows of the strip chart: words, field, class of the picture.
EFFICIENCIES: tuple[tuple[str, Callable[[Efficiency], float | None], str], ...] = (
    ("parallel", lambda one: one.parallel, "mean time outside MPI over the time"),
    ("load balance", lambda one: one.load_balance, "mean time outside MPI over that of the rank with the most"),
    ("serialization", lambda one: one.serialization, "that rank's time outside MPI over the time without any transfer"),
    ("transfer", lambda one: one.transfer, "the time without any transfer over the time"),
    ("communication", lambda one: one.communication, "serialization times transfer"),
)


def efficiency(results: WatchResults) -> FigureTable | None:
    """The POP model's factors of the run, and their range over its windows; None: no rank."""
    whole = results.efficiency
    if whole is None:
        return None
    rows = []
    for name, read, meaning in EFFICIENCIES:
        known = [value for one in results.windows or () if (value := read(one)) is not None]
        ends = f"{fmt.percent(min(known), 0)} to {fmt.percent(max(known), 0)}" if known else fmt.MISSING
        value = read(whole)
        rows.append([name, fmt.MISSING if value is None else fmt.percent(value, 0), ends, meaning])
    return FigureTable(["Efficiency", "Of the run", "Of its windows", "Is"], rows)


def efficiency_strip(results: WatchResults) -> Figure | None:
    """Efficiencies x time; None: the run was too short for windows."""
    windows = results.windows
    if not windows:
        return None
    rows = [
        RankRow(name, [Piece(one.start_s, one.end_s, _share(read(one))) for one in windows])
        for name, read, _ in EFFICIENCIES[:4]
    ]
    rates = [one.per_s for one in windows if one.per_s is not None]
    most = max(rates, default=0.0)
    if most > 0:
        pieces = [
            Piece(one.start_s, one.end_s, _share(None if one.per_s is None else one.per_s / most)) for one in windows
        ]
        rows.append(RankRow("calls a second", pieces))
    title = "Efficiencies over time"
    described = f"{fmt.plural(len(windows), 'window')} over {fmt.time(windows[-1].end_s)}."
    picture = slices_chart(
        rows, ["w-transfer"], GROUND[0], windows[-1].end_s, title, described, "efficiency", STRIP_LEFT
    )
    group = f"{fmt.plural(len(windows), 'window')} of {fmt.time(windows[0].end_s - windows[0].start_s)}"
    if most > 0:
        group += f"; calls a second: messages and collectives of all ranks, at most {words.count(round(most))}"
    return Figure(title, group, FigureTable([], []), picture=picture)


STRIP_LEFT = 12.0  # percent of the width


def _share(value: float | None) -> tuple[float, ...] | None:
    return None if value is None else (value,)


def time_key() -> list[tuple[str, str]]:
    """Class and words of each part of the picture ranks x time."""
    return [GROUND, *((class_, what) for _, class_, what in SHARES)]


def waits_key() -> list[tuple[str, str]]:
    """Class and words of each part of the bars."""
    return [(class_, what) for _, class_, what in PARTS]


def rank_bars(results: WatchResults) -> Figure | None:
    """The time in MPI of each rank by reason: who is late waits least. None: no rank was recorded."""
    if not results.ranks:
        return None
    shown, chosen = _chosen(results.ranks)
    whole = max((rank.mpi_s for rank in results.ranks), default=0.0) or 1e-9
    scale = LinearScale(0.0, whole)
    rows = [_bar(rank, scale) for rank in shown]
    head = ["Rank", "Host", "In MPI", *(what for _, _, what in PARTS), "Record"]
    table = [
        [str(rank.rank), rank.host, fmt.time(rank.mpi_s), *(words.time(read(rank)) for read, _, _ in PARTS), rank.ended]
        for rank in shown
    ]
    axis = stack.axis(scale, _GRID, "time in MPI")
    return Figure("Time in MPI of each rank, by reason", chosen, FigureTable(head, table), axis=axis, rows=rows)


def accounts(results: WatchResults) -> FigureTable | None:
    """The time in MPI by name; None: no rank was recorded."""
    if not results.accounts:
        return None
    rows = [
        [
            one.name,
            words.time(one.seconds),
            fmt.percent(one.share),
            words.time(min(one.by_rank, default=0.0)),
            words.time(max(one.by_rank, default=0.0)),
        ]
        for one in results.accounts
    ]
    return FigureTable(["Time went to", "A rank", "Of the time in MPI", "Least on a rank", "Most on a rank"], rows)


def _bar(rank: RankTime, scale: LinearScale) -> TrackRow:
    parts = [(class_, read(rank)) for read, class_, _ in PARTS]
    track: Markup = stack.track(parts, None, None, scale, _GRID, f"rank {rank.rank}")
    share = fmt.percent(rank.mpi_s / rank.span_s, 0) if rank.span_s else fmt.MISSING
    note = f"{share} of its run" + ("" if rank.ended == "finalized" else f"; {rank.ended}")
    return TrackRow(f"rank {rank.rank}", rank.rank, track, f"{fmt.time(rank.mpi_s)} in MPI", note)


def _chosen(ranks: Sequence[RankTime]) -> tuple[list[RankTime], str]:
    """All, or those that wait least, which others wait for, and those that wait most."""
    if len(ranks) <= MOST_BARS:
        return list(ranks), "all ranks"
    order, half = sorted(ranks, key=lambda rank: rank.waiting_s), MOST_BARS // 2
    picked = {rank.rank for rank in (*order[:half], *order[-half:])}
    words_ = f"of {words.count(len(ranks))} ranks, the {half} that wait least and the {half} that wait most"
    return [rank for rank in order if rank.rank in picked], f"{words_}; ranks.csv has all"


HEIGHT, CIRCLES_TOP, CIRCLES_BOTTOM = 340, 26, 290
CIRCLES_LEFT, CIRCLES_RIGHT = 12.0, 98.0
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
    frame = Wide(CIRCLES_LEFT, CIRCLES_RIGHT, CIRCLES_TOP, CIRCLES_BOTTOM)
    x, y = LogScale(*across, CIRCLES_LEFT + 1, CIRCLES_RIGHT - 1), LogScale(*ends, CIRCLES_BOTTOM - 2, CIRCLES_TOP + 2)
    content = frame.levels([(y(tick), short_time(tick)) for tick in y.ticks(6)])
    content += frame.uprights([(x(size), fmt.count_bytes(size)) for size in powers_of_two(*across, 7)])
    content += _floor(drawn, x, y)
    most = max(circle.weight for circle in drawn) or 1.0
    for circle in sorted(drawn, key=lambda circle: -circle.weight):
        radius = max(SMALLEST, LARGEST * math.sqrt(circle.weight / most))
        content += element(
            "circle", element("title", escape(guard.text(circle.words))), cx=percent(x(circle.size_bytes)),
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


WIDTH, SQUARE_LEFT, SQUARE_TOP = 344, 40, 44
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
    side = (WIDTH - SQUARE_LEFT - 4) / max(1, side_count)
    most, least = max(cells.values(), default=1), max(1, min(cells.values(), default=1))
    span = math.log(max(LEAST_SPAN, most / least))
    content = element(
        "rect", x=SQUARE_LEFT, y=SQUARE_TOP, width=side * side_count, height=side * side_count, class_="square base"
    )
    for (row, column), sent in sorted(cells.items()):
        shade = 1.0 - (1 - LIGHTEST) * math.log(most / max(1, sent)) / span
        content += element(
            "rect",
            x=SQUARE_LEFT + column * side + 0.5,
            y=SQUARE_TOP + row * side + 0.5,
            width=max(1.0, side - 1),
            height=max(1.0, side - 1),
            class_="sent",
            fill_opacity=f"{shade:.2f}",
        )
    for place in range(0, side_count, math.ceil(side_count / LABELS)):
        at = (place + 0.5) * side
        content += text(str(place * each), SQUARE_LEFT - 6, SQUARE_TOP + at + 4, "end", "label")
        content += text(str(place * each), SQUARE_LEFT + at, SQUARE_TOP - 6, "middle", "label")
    content += text("from rank (left)", 0, 14, None, "axis-title")
    content += text("to rank", WIDTH - 4, 14, "end", "axis-title")
    return picture(content, title, described, height=math.ceil(SQUARE_TOP + side * side_count + 6), width=WIDTH)


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
