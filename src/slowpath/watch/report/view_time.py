# SPDX-License-Identifier: Apache-2.0
"""Where the ranks' time went: over the run, and what they waited for."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Row, Table
from slowpath.report.svg import rank_slices, stack
from slowpath.report.svg.rank_slices import Piece, RankRow
from slowpath.report.svg.scale_linear import LinearScale
from slowpath.watch.report import words
from slowpath.watch.results import RankTime, Slice, WatchResults

# Of a slice, from the foot of a row: name of the field, class of the picture, words.
SHARES: tuple[tuple[Callable[[Slice], float], str, str], ...] = (
    (lambda one: one.waiting, "w-waiting", "waiting for other ranks"),
    (lambda one: one.transfer, "w-transfer", "moving bytes"),
    (lambda one: one.other, "w-other", "in MPI, otherwise"),
)
GROUND = ("w-computing", "outside of MPI")
# Of a rank's time in MPI, in the order of a bar.
PARTS: tuple[tuple[Callable[[RankTime], float], str, str], ...] = (
    (lambda one: one.late_sender_s, "w-late-sender", "waiting for a late sender"),
    (lambda one: one.late_receiver_s, "w-late-receiver", "waiting for a late receiver"),
    (lambda one: one.imbalance_s, "w-imbalance", "waiting in collectives"),
    (lambda one: one.unexpected_s, "w-unexpected", "copies of unexpected messages"),
    (lambda one: one.transfer_s, "w-transfer", "moving bytes"),
    (lambda one: one.call_s, "w-other", "overhead of calls"),
    (lambda one: one.unexplained_s, "w-unexplained", "unexplained"),
)
MOST_BARS = 24  # rows of the picture of waits
_GRID = "ranks-grid"


def timeline(results: WatchResults) -> Figure | None:
    """Ranks x time; None: no slices."""
    if not results.slices:
        return None
    by_rank: dict[int, list[Slice]] = {}
    for one in results.slices:
        by_rank.setdefault(one.rank, []).append(one)
    rows = [RankRow(str(rank), [_piece(one) for one in sorted(found, key=lambda one: one.start_s)])
            for rank, found in sorted(by_rank.items())]  # fmt: skip
    end_s = max(one.end_s for one in results.slices)
    title = "What each rank did when"
    lost = sum(not one.is_kept for one in results.slices)
    described = f"{fmt.plural(len(rows), 'rank')} over {fmt.time(end_s)}."
    if lost:
        described += f" {fmt.percent(lost / len(results.slices), 0)} of the stretches were not kept."
    picture = rank_slices.chart(rows, [class_ for _, class_, _ in SHARES], GROUND[0], end_s, title, described)
    return Figure(title, _shown(results, len(rows)), Table([], []), picture=picture)


def _piece(one: Slice) -> Piece:
    return Piece(one.start_s, one.end_s, tuple(read(one) for read, _, _ in SHARES) if one.is_kept else None)


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
    whole = max((one.mpi_s for one in results.ranks), default=0.0) or 1e-9
    scale = LinearScale(0.0, whole)
    rows = [_bar(one, scale) for one in shown]
    head = ["Rank", "Host", "In MPI", *(what for _, _, what in PARTS), "Record"]
    table = [[str(one.rank), one.host, fmt.time(one.mpi_s), *(words.time(read(one)) for read, _, _ in PARTS), one.ended]
             for one in shown]  # fmt: skip
    axis = stack.axis(scale, _GRID, "time in MPI")
    return Figure("Time in MPI of each rank, by reason", chosen, Table(head, table), axis=axis, rows=rows)


def _bar(one: RankTime, scale: LinearScale) -> Row:
    parts = [(class_, read(one)) for read, class_, _ in PARTS]
    track: Markup = stack.track(parts, None, None, scale, _GRID, f"rank {one.rank}")
    share = fmt.percent(one.mpi_s / one.span_s, 0) if one.span_s else fmt.MISSING
    note = f"{share} of its run" + ("" if one.ended == "finalized" else f"; {one.ended}")
    return Row(f"rank {one.rank}", one.rank, track, f"{fmt.time(one.mpi_s)} in MPI", note)


def waited(one: RankTime) -> float:
    """All of a rank's waiting for others, seconds."""
    return one.late_sender_s + one.late_receiver_s + one.imbalance_s


def _chosen(ranks: Sequence[RankTime]) -> tuple[list[RankTime], str]:
    """All, or those that wait least, which others wait for, and those that wait most."""
    if len(ranks) <= MOST_BARS:
        return list(ranks), "all ranks"
    order, half = sorted(ranks, key=waited), MOST_BARS // 2
    picked = {one.rank for one in (*order[:half], *order[-half:])}
    words_ = f"of {words.count(len(ranks))} ranks the {half} that wait least and the {half} that wait most"
    return [one for one in order if one.rank in picked], f"{words_}; ranks.csv has all"
