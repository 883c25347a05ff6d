# SPDX-License-Identifier: Apache-2.0
"""Where the ranks' time went: over the run, and what they waited for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.figure import Figure, FigureTable, TrackRow
from slowpath.report.svg import marks, stack
from slowpath.report.svg.element import element, picture, text
from slowpath.report.svg.first_vs_later import short_time
from slowpath.report.svg.scale import LinearScale
from slowpath.watch.report import words
from slowpath.watch.result_parts import Efficiency, Slice
from slowpath.watch.results import RankTime, WatchResults

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
