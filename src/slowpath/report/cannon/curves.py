# SPDX-License-Identifier: Apache-2.0
"""Cannon's algorithm over n: compute and communication with critical n, speed-up, exposed share, ceiling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.cannon.words import families, points, variant_name
from slowpath.report.figure import Figure, Json, Table
from slowpath.report.svg import over_n
from slowpath.report.svg.over_n import Mark, Series

FEWEST_ORDERS = 2
Get = Callable[[Json], Any]


def curve_figures(group: Json) -> list[Figure]:
    """Every panel of a group; a group of fewer than FEWEST_ORDERS orders has none."""
    if len(group["n"]) < FEWEST_ORDERS:
        return []
    reference, ceiling = variant_name(group["reference"]), variant_name(group["ceiling"])
    made = [_critical(group), _distribution(group)]
    # The reference stands in each panel of exposed shares, for comparison.
    for key, title, unit, level, most in (
        ("speed_up", f"Speed-up over {reference}", "×", 1.0, over_n.MOST),
        ("exposed_ratio", "Exposed share of the time", "%", None, over_n.MOST - 1),
        ("over_compute", f"Time over that of {ceiling}", "×", 1.0, over_n.MOST),
    ):
        made += [_family(group, names, f"{title}, {family}", key, unit, level)
                 for family, names in families(_competing(group), most) if names]  # fmt: skip
    return [figure for figure in made if figure]


def _competing(group: Json) -> list[str]:
    return [one["variant"] for one in group["variants"] if one["variant"] not in (group["reference"], group["ceiling"])]


def _seconds(group: Json, variant: str, get: Get) -> tuple[tuple[int, float, None], ...]:
    found = [(int(point["n"]), get(point)) for point in points(group, variant)]
    return tuple((n, value, None) for n, value in found if value is not None)


def _part(name: str) -> Get:
    return lambda point: point["parts_s"].get(name)


def _critical(group: Json) -> Figure | None:
    """Compute and communication of the reference, and where communication becomes the smaller part."""
    name = group["reference"]
    series = [
        Series("multiplying", _seconds(group, name, _part("dgemm"))),
        Series("everything else", _seconds(group, name, lambda p: p["exposed_s"])),
    ]
    marks, said = [], []
    for key, words in (("half", "1/2 exposed"), ("tenth", "1/10")):
        one = group["critical_n"][key]
        if one["n"] is None:
            said.append(f"{words}: {fmt.MISSING} {one['reason']}")
            continue
        ends = tuple(one["interval"]) if one["interval"] else None
        marks.append(Mark(words, one["n"], ends))
        shown = fmt.with_kind(fmt.quantity_interval(one["n"], "", ends), one["interval_kind"])
        said.append(f"{words} at n = {fmt.quantity(one['n'], '', ends)}, {shown}")
    picture = over_n.chart(series, "s", f"Compute and communication of {variant_name(name)}", marks)
    rows = [[str(point["n"]), fmt.time(point["parts_s"].get("dgemm")), fmt.time(point["exposed_s"])]
            for point in points(group, name)]  # fmt: skip
    table = Table(["n", "Multiplying", "Everything else"], rows)
    title = f"Compute and communication of {variant_name(name)}"
    return _panel(title, "; ".join(said), table, picture)


def _panel(title: str, where: str, table: Table, picture: Markup | None) -> Figure | None:
    return Figure(title, where, table, picture=picture) if picture else None


def _distribution(group: Json) -> Figure | None:
    """What it costs to bring inputs from one place and the product back, beside the multiplication itself."""
    name = next((one["variant"] for one in group["variants"] if any(
        "distribute" in p["parts_s"] or "gather" in p["parts_s"] for p in one["points"])), None)  # fmt: skip
    if name is None:
        return None
    own = [one for one in (group["reference"], name) if any("distribute" in p["parts_s"] for p in points(group, one))]
    name = own[0] if own else name
    series = [
        Series(words, _seconds(group, name, _part(part)))
        for words, part in (("multiplying", "dgemm"), ("inputs to the ranks", "distribute"), ("product back", "gather"))
    ]
    title = "Distribution and gathering beside the multiplication"
    rows = []
    for point in points(group, name):
        parts = point["parts_s"]
        moved = parts.get("distribute", 0.0) + parts.get("gather", 0.0)
        share = fmt.percent(moved / parts["dgemm"]) if parts.get("dgemm") else fmt.MISSING
        rows.append(
            [str(point["n"]), *(fmt.time(parts.get(part)) for part in ("distribute", "gather", "dgemm")), share]
        )
    table = Table(["n", "Inputs to the ranks", "Product back", "Multiplying", "Both over multiplying"], rows)
    where = f"{fmt.plural(group['ranks'], 'rank')}, mean over ranks, of {variant_name(name)}"
    return _panel(title, where, table, over_n.chart([one for one in series if one.points], "s", title))


def _family(group: Json, names: Sequence[str], title: str, key: str, unit: str, level: float | None) -> Figure | None:
    series, rows = [], []
    if key == "exposed_ratio":
        names = [group["reference"], *names]
    for name in names:
        known = [point for point in points(group, name) if point[key]]
        series.append(Series(variant_name(name), tuple(
            (int(p["n"]), p[key]["value"], tuple(p[key]["interval"]) if p[key]["interval"] else None) for p in known
        )))  # fmt: skip
        rows += [[variant_name(name), str(p["n"]), *value_words(p[key], unit, p[f"{key}_reason"])]
                 for p in points(group, name)]  # fmt: skip
    table = Table(["Variant", "n", "Value", "Interval"], rows)
    where = "above 1, it is faster" if key == "speed_up" else ""
    return _panel(title, where, table, over_n.chart([one for one in series if one.points], unit, title, (), level))


def value_words(value: Json | None, unit: str, reason: str | None) -> tuple[str, str]:
    """A VALUE and its interval in words; or that it is missing, and why."""
    if value is None:
        return fmt.MISSING, reason or "no reason was recorded"
    ends = value["interval"]
    if unit == "%":
        shown = f"[{fmt.percent(ends[0], 2)}, {fmt.percent(ends[1], 2)}]" if ends else None
        return fmt.percent(value["value"], 2), fmt.with_kind(shown, value["interval_kind"])
    if unit == "×":
        shown = fmt.ratio_interval(value["value"], ends)
        return fmt.ratio(value["value"], ends), fmt.with_kind(shown, value["interval_kind"])
    shown = fmt.quantity_interval(value["value"], unit, ends)
    return fmt.quantity(value["value"], unit, ends), fmt.with_kind(shown, value["interval_kind"])
