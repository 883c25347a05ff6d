# SPDX-License-Identifier: Apache-2.0
"""What a put costs, as the page shows it: the table, the study's two charts and where the instructions go."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Row, Table, shown_interval
from slowpath.report.put.designs import DESIGNS, KINDS
from slowpath.report.put.history import STUDY
from slowpath.report.put.ladder import ladder_figures
from slowpath.report.put.rows import METRIC, Condition, PutRow, conditions, put_cells, region, steady
from slowpath.report.put.split import split_figures
from slowpath.report.svg import bars
from slowpath.report.svg.bars import Bar

Json = Any
Numbers = tuple[str, str]  # a value, and what stands below it in small print
NOT_COUNTED = f"{fmt.MISSING} not counted"


@dataclass(frozen=True, slots=True)
class PutView:
    """The section of the page. legend: the MPIs, in the order of their colours.  kinds: of the intervals."""

    legend: list[str]
    kinds: list[str]
    kinds_of_ratios: list[str]
    layers: list[tuple[str, str]]
    head: list[str]
    rows: list[list[Numbers]]
    figures: list[Figure]
    ladder: list[Figure]
    split: list[Figure]
    history: Table
    others: Table | None


def put_view(results: Json) -> PutView | None:
    """None in a run without cells of the experiment put that have a value."""
    found = conditions(results)
    cells = [cell for cell in put_cells(results) if steady(cell, METRIC)]
    if not cells:
        return None
    mpis = list(dict.fromkeys(cell.get("mpi") or "" for cell in cells))
    charts = [figure for place, condition in enumerate(found) for figure in _charts(place, condition, mpis)]
    compared = [row for condition in found for row in condition.rows]
    first = found[0].rows if found else []
    listed = [row for row in first if row.design.kind != "ladder"]
    kinds = list(dict.fromkeys((row.estimate or {}).get("interval_kind") or "no reason" for row in listed))
    of_ratios = {row.of_empty.interval_kind for row in listed if row.of_empty and row.of_empty.interval}
    return PutView(
        [mpi or "this MPI" for mpi in mpis],
        kinds,
        sorted(of_ratios),
        [(design.words, design.meaning) for design in DESIGNS if design.meaning],
        _HEAD,
        [_numbers(row, len(kinds) > 1, len(of_ratios) > 1) for row in listed],
        charts,
        ladder_figures(first, mpis),
        split_figures(compared),
        _history(),
        _others(cells, {row.cell["cell"] for row in first}),
    )


_HEAD = ["Who puts", "Instructions in the call", "With call site and loop", "Time of a put", "Puts per second"]
_HEAD += ["Rate over empty call's", "Synchronisation of a burst"]


def _numbers(row: PutRow, tell_kind: bool, tell_kind_of_ratio: bool) -> list[Numbers]:
    where = "" if row.design.kind == "library" or not row.mpi else f"in launches of {row.mpi}"
    whole = _whole(row.cell)
    share = _share(row, tell_kind_of_ratio)
    return [(name(row), where), inside(row.cell), whole, *_costs(row.cell, tell_kind), share, synchronisation(row.cell)]


def _whole(cell: Json) -> Numbers:
    """Instructions of a put with its call site and loop."""
    counted = region(cell, "put")
    if counted is None:
        return NOT_COUNTED, ""
    loop, one = counted.get("loop_per_put"), (counted.get("per_call") or {}).get("stepped") or {"median": 0}
    return (f"{fmt.MISSING} not told" if loop is None else f"{loop + one['median']:.1f}"), ""


def _costs(cell: Json, tell_kind: bool = True) -> tuple[Numbers, Numbers]:
    """Time and rate, each with its interval."""
    one = steady(cell, METRIC) or {}
    value, between = one.get("value"), one.get("interval")
    rate, ends = one.get("message_rate_per_s"), one.get("message_rate_interval")
    shown = shown_interval(one) if tell_kind else fmt.quantity_interval(value, "s", between) or shown_interval(one)
    turned = fmt.quantity_interval(rate, "1/s", ends) or "no interval"
    return (fmt.time(value, between), shown), (fmt.quantity(rate, "1/s", ends), turned)


def inside(cell: Json) -> Numbers:
    """Median and range of the instructions inside a call; or why there are none."""
    counted = region(cell, "put")
    if counted is None:
        return NOT_COUNTED, ""
    one = (counted.get("per_call") or {}).get("stepped")
    if one is None:
        return f"{fmt.MISSING} nothing is called", ""
    calls = fmt.plural(counted["calls"], "call")
    return f"{one['median']:g}", f"{one['min']} to {one['max']} in {calls}" if one["min"] != one[
        "max"
    ] else f"all {calls}"


def synchronisation(cell: Json) -> Numbers:
    """Time and instructions of what ends a burst, apart from the puts."""
    one, counted = steady(cell, "synchronisation_s"), region(cell, "synchronisation")
    shown = fmt.time(one["value"], one.get("interval")) if one else f"{fmt.MISSING} not timed apart"
    return shown, f"{counted['total']['stepped']:g} instructions" if counted else "not counted"


def _share(row: PutRow, tell_kind: bool) -> Numbers:
    share = row.of_empty
    if share is None:
        is_empty = row.design.name.startswith("empty_call")
        return fmt.MISSING, "it is the empty call" if is_empty else "no empty call was measured"
    ends = fmt.ratio_interval(share.ratio, share.interval)
    told = ends if ends and not tell_kind else fmt.with_kind(ends, share.interval_kind)
    return fmt.ratio(share.ratio, share.interval), told


def _charts(place: int, condition: Condition, mpis: Sequence[str]) -> list[Figure]:
    rows = [row for row in condition.rows if row.design.kind != "ladder"]
    kinds = {row.design.kind for row in rows}
    title = ", ".join(KINDS[kind].lower() for kind in KINDS if kind in kinds)
    where = condition.where or "the usual put"
    made = []
    if any(row.calls for row in rows):
        made.append(_instructions(f"grid-put-i{place}", rows, mpis, f"{title}; {where}", history=place == 0))
    if any(row.estimate for row in rows):
        made.append(_rates(f"grid-put-r{place}", rows, mpis, f"{title}; {where}"))
    return made


def _by_words(rows: Sequence[PutRow]) -> list[list[PutRow]]:
    """Rows that the chart draws together: one design in the launches of several MPIs. Libraries stay apart."""

    def key(row: PutRow) -> tuple[str, str]:
        return row.words, row.mpi if row.design.kind == "library" else ""

    return [list(group) for _, group in groupby(rows, key)]


def name(row: PutRow) -> str:
    """What a row is called: a library by its MPI, everything else by its design."""
    return f"{row.words} of {row.mpi}" if row.design.kind == "library" and row.mpi else row.words


def _rows(groups: list[list[PutRow]], tracks: list[Any], said: Callable[[PutRow], str]) -> list[Row]:
    made = []
    for group, track in zip(groups, tracks, strict=True):
        texts = list(dict.fromkeys(said(row) for row in group))
        values = texts[0] if len(texts) == 1 else "; ".join(f"{row.mpi} {said(row)}" for row in group)
        made.append(Row(name(group[0]), group[0].cell["cell"], track, values))
    return made


def _instructions(grid: str, rows: Sequence[PutRow], mpis: Sequence[str], where: str, history: bool) -> Figure:
    groups = _by_words([row for row in rows if row.calls])
    drawn = [[_count_bar(row, mpis) for row in group] for group in groups]
    old = [[Bar(None, float(one.instructions))] for one in STUDY] if history else []
    scale = bars.scale_of([*drawn, *old])
    tracks = [bars.track(bar, scale, grid, f"{name(group[0])}: {said_count(group[0])} instructions")
              for bar, group in zip(drawn, groups, strict=True)]  # fmt: skip
    shown = _rows(groups, tracks, said_count)
    for one, bar in zip(STUDY, old, strict=False):
        words = f"{one.instructions} instructions, in the earlier study"
        shown.append(Row(f"History: {one.design}", -1, bars.track(bar, scale, grid, words), f"{one.instructions}"))
    axis = bars.axis(scale, grid, lambda tick: f"{tick:g}", "Instructions axis, logarithmic")
    numbers = [[name(row), row.mpi, said_count(row)] for group in groups for row in group]
    table = Table(["Who puts", "In launches of", "Instructions"], numbers)
    return Figure("Instructions of a put", where, table, axis, shown)


def said_count(row: PutRow) -> str:
    """The chart's words: inside the call, and all of it."""
    whole = "its loop was not counted" if row.with_loop is None else f"{row.with_loop:.1f} with its loop"
    one = row.inside
    if one is None:
        return f"all inlined; {whole}"
    spread = f", {one['min']} to {one['max']}" if one["min"] != one["max"] else ""
    return f"{one['median']:g}{spread}; {whole}"


def _count_bar(row: PutRow, mpis: Sequence[str]) -> Bar:
    one = row.inside
    spread = (float(one["min"]), float(one["max"])) if one and one["min"] != one["max"] else None
    return Bar(mpis.index(row.mpi), one["median"] if one else None, spread, row.with_loop)


def _rates(grid: str, rows: Sequence[PutRow], mpis: Sequence[str], where: str) -> Figure:
    groups = _by_words([row for row in rows if row.estimate])
    drawn = [[_rate_bar(row, mpis) for row in group] for group in groups]
    scale = bars.scale_of(drawn)
    tracks = [bars.track(bar, scale, grid, f"{name(group[0])}: {_said_rate(group[0])}")
              for bar, group in zip(drawn, groups, strict=True)]  # fmt: skip
    axis = bars.axis(scale, grid, _rate_tick, "Rate axis, puts per second, logarithmic")
    numbers = [[name(row), row.mpi, " ".join(_costs(row.cell)[1])] for group in groups for row in group]
    table = Table(["Who puts", "In launches of", "Puts per second"], numbers)
    return Figure("Rate of puts", where, table, axis, _rows(groups, tracks, _said_rate))


def _rate_tick(tick: float) -> str:
    shown, _, unit = fmt.quantity(tick, "1/s").partition(" ")
    return f"{float(shown):g} {unit}"


def _said_rate(row: PutRow) -> str:
    one = row.estimate or {}
    return fmt.quantity(one.get("message_rate_per_s"), "1/s", one.get("message_rate_interval"))


def _rate_bar(row: PutRow, mpis: Sequence[str]) -> Bar:
    one = row.estimate or {}
    low, high = one.get("message_rate_interval") or (None, None)
    spread = (low, high) if low is not None and high is not None else None
    return Bar(mpis.index(row.mpi), one.get("message_rate_per_s"), spread)


def _history() -> Table:
    rows = [[one.design, str(one.instructions), fmt.quantity(one.rate_per_s, "1/s"), one.meaning] for one in STUDY]
    return Table(["Design", "Instructions of a put", "Puts per second, then and there", "What it was"], rows)


def _others(cells: Sequence[Json], shown: set[int]) -> Table | None:
    """Everything that the first table leaves out: windows, info keys, synchronisations, datatypes, sizes."""
    rows = []
    for cell in cells:
        if cell["cell"] not in shown:
            numbers = [inside(cell), *_costs(cell), synchronisation(cell)]
            rows.append([cell["label"], *("; ".join(part for part in one if part) for one in numbers)])
    return Table(["Cell", _HEAD[1], _HEAD[3], _HEAD[4], _HEAD[6]], rows) if rows else None
