# SPDX-License-Identifier: Apache-2.0
"""Where the time of a multiplication goes, a bar for each variant, for some of the measured orders."""

from __future__ import annotations

from slowpath.core.cannon_results import CannonGroup, CannonPoint
from slowpath.report import format as fmt
from slowpath.report.cannon.curves import value_words
from slowpath.report.cannon.words import INSIDE, points, variant_name
from slowpath.report.figure import Figure, Row, Table
from slowpath.report.svg import stack
from slowpath.report.svg.scale_linear import LinearScale


def shown_orders(group: CannonGroup) -> list[int]:
    """The largest order, and one in the middle."""
    orders = sorted(group.n)
    return list(dict.fromkeys([orders[-1], orders[(len(orders) - 1) // 2]]))


def part_figures(group: CannonGroup, number: int) -> list[Figure]:
    """One figure for each shown order. number: of the group, for ids."""
    return [_figure(group, n, f"grid-parts-{number}-{n}") for n in shown_orders(group)]


def _figure(group: CannonGroup, n: int, grid: str) -> Figure:
    found = [(one.variant, point) for one in group.variants for point in points(group, one.variant)
             if point.n == n]  # fmt: skip
    longest = max((max(point.multiply_s.value, _inside_s(point)) for _, point in found), default=1e-9)
    scale = LinearScale(0.0, longest * 1.03)
    rows = []
    for variant, point in found:
        whole, ends = point.multiply_s.value, point.multiply_s.interval
        parts = [(f"p-{part}", point.parts_s[part]) for part in INSIDE if part in point.parts_s]
        notes = fmt.time(whole, ends)
        track = stack.track(parts, whole, ends, scale, grid, f"{variant_name(variant)}: {notes}")
        rows.append(Row(variant_name(variant), point.cell, track, notes, _note(point)))
    where = "parts are means over ranks; the upright tick is the whole, from the first start to the last end"
    return Figure(
        f"Where the time goes, n = {n}",
        where,
        _table(group, found),
        stack.axis(scale, grid, "time, mean over ranks"),
        rows,
    )


def _table(group: CannonGroup, found: list[tuple[str, CannonPoint]]) -> Table:
    head = ["Variant", "Time", "Interval"]
    for words in ("Speed-up", "Over the ceiling", "Of cores alone", "Exposed"):
        head += [words, "Interval"]
    head += [f"Hides of what {variant_name(group.reference)} exposes", "Rate", *INSIDE]
    rows = [
        [
            variant_name(variant),
            *value_words(point.multiply_s, "s", None),
            *value_words(point.speed_up, "×", point.speed_up_reason),
            *value_words(point.over_compute, "×", point.over_compute_reason),
            *value_words(point.of_cores, "%", point.of_cores_reason),
            *value_words(point.exposed_ratio, "%", point.exposed_ratio_reason),
            _hidden(point),
            fmt.quantity(point.rate_flops_per_s.value / 1e9, "Gflop/s"),
            *(fmt.time(point.parts_s.get(part)) for part in INSIDE),
        ]
        for variant, point in found
    ]
    return Table(head, rows)


def _hidden(point: CannonPoint) -> str:
    if point.hidden_ratio is None:
        return f"{fmt.MISSING} {point.hidden_ratio_reason}"
    return fmt.percent(point.hidden_ratio, 0)


def _inside_s(point: CannonPoint) -> float:
    return sum(point.parts_s.get(part, 0.0) for part in INSIDE)


def _note(point: CannonPoint) -> str:
    notes = []
    if point.speed_up:
        notes.append(f"speed-up {value_words(point.speed_up, '×', None)[0]}")
    if point.over_compute:
        notes.append(f"{value_words(point.over_compute, '×', None)[0]} the ceiling")
    if point.exposed_ratio:
        notes.append(f"{value_words(point.exposed_ratio, '%', None)[0]} exposed")
    return ", ".join(notes)
