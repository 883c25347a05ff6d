# SPDX-License-Identifier: Apache-2.0
"""Cannon's algorithm for a terminal: the advice, the critical n, and every variant at the largest n."""

from __future__ import annotations

from slowpath.core.cannon_results import CannonDistribution, CannonGroup, CannonPoint
from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.cannon.curves import value_words
from slowpath.report.cannon.scaling import scaling_lines
from slowpath.report.cannon.words import points

HEAD = ("variant", "time", "speed-up", "over ceiling", "of its cores", "exposed")
WORDS = {"root": "through rank 0", "file": "through files"}


def cannon_lines(results: Results) -> list[str]:
    """One line each, not wrapped; [] in a run without cells of the experiment cannon."""
    groups = results.cannon.groups if results.cannon else []
    scaled = scaling_lines(results.cannon.scaling) if results.cannon else []
    return [line for group in groups for line in _group(group)] + scaled + distribution_lines(results)


def distribution_lines(results: Results) -> list[str]:
    """What inputs out of rank 0 or a file cost, a line for each n."""
    found = results.cannon.distribution if results.cannon else []
    return [f"Inputs and product {WORDS.get(one.source, one.source)}: {_moved(one)}" for one in found]


def _moved(one: CannonDistribution) -> str:
    share = f"{fmt.percent(one.moved_ratio)} of the multiplication, " if one.moved_ratio is not None else ""
    ratio, kind = value_words(one.over_in_place, "×", one.over_in_place_reason)
    where = f"{one.variant}, n = {one.n}, {fmt.plural(one.ranks, 'rank')}"
    return f"{share}{ratio} the time ({kind}); {where}."


def _group(group: CannonGroup) -> list[str]:
    largest = max(group.n)
    ranks = fmt.plural(group.ranks, "rank")
    lines = [f"Cannon's algorithm, {group.label}{'' if group.label.endswith(ranks) else f', {ranks}'}:"]
    lines.append("  " + (group.advice or f"No advice: {group.advice_reason}"))
    for key, words in (("half", "half"), ("tenth", "a tenth")):
        critical = group.critical_n[key]
        if critical.n is not None:
            shown = fmt.with_kind(fmt.quantity_interval(critical.n, "", critical.interval), critical.interval_kind)
            lines.append(
                f"  {group.reference} exposes less than {words} of its time from n = {critical.n:.0f} on ({shown})."
            )
    table: list[tuple[str, ...]] = [HEAD]
    for one in group.variants:
        table += [_row(one.variant, point) for point in points(group, one.variant) if point.n == largest]
    widths = [max(len(row[place]) for row in table) for place in range(len(HEAD))]
    lines.append(f"  At n = {largest}, speed-up over {group.reference}, ceiling {group.ceiling}:")
    return lines + ["    " + "  ".join(x.ljust(w) for x, w in zip(row, widths, strict=True)).rstrip() for row in table]


def _row(variant: str, point: CannonPoint) -> tuple[str, ...]:
    values = ((point.speed_up, "×"), (point.over_compute, "×"), (point.of_cores, "%"), (point.exposed_ratio, "%"))
    shown = [value_words(value, unit, "")[0] for value, unit in values]
    return variant, value_words(point.multiply_s, "s", "")[0], *shown
