# SPDX-License-Identifier: Apache-2.0
"""Where the ranks' time went: over the run, and what they waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.figure import Figure, FigureTable, TrackRow
from slowpath.report.svg import rank_slices, stack
from slowpath.report.svg.rank_slices import Piece, RankRow
from slowpath.report.svg.scale_linear import LinearScale
from slowpath.watch.report import words
from slowpath.watch.results import RankTime, WatchResults
from slowpath.watch.timeline_results import Efficiency, Slice

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
        described += f" {fmt.percent(lost / len(results.slices), 0)} of the stretches were not kept."
    picture = rank_slices.chart(rows, [class_ for _, class_, _ in SHARES], GROUND[0], end_s, title, described)
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
    ("load balance", lambda one: one.load_balance, "mean time outside MPI over that of the rank with most"),
    ("serialization", lambda one: one.serialization, "that rank's time outside MPI over the time without any transfer"),
    ("transfer", lambda one: one.transfer, "the time without any transfer over the time"),
    ("communication", lambda one: one.communication, "serialization times transfer"),
)


def efficiency(results: WatchResults) -> FigureTable | None:
    """The POP model's factors of the run, and their range over its windows; None: an older version, or no rank."""
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
    picture = rank_slices.chart(
        rows, ["w-transfer"], GROUND[0], windows[-1].end_s, title, described, "efficiency", STRIP_LEFT
    )
    group = f"{fmt.plural(len(windows), 'window')} of {fmt.time(windows[0].end_s - windows[0].start_s)}"
    if most > 0:
        group += f"; calls a second: messages and collectives of all ranks, in full {words.count(round(most))}"
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
    """The time in MPI by name; None: an older version wrote it, or no rank was recorded."""
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
    words_ = f"of {words.count(len(ranks))} ranks the {half} that wait least and the {half} that wait most"
    return [rank for rank in order if rank.rank in picked], f"{words_}; ranks.csv has all"
