# SPDX-License-Identifier: Apache-2.0
"""Cells as the page shows them: first against later messages, distributions."""

from __future__ import annotations

from typing import Any

from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Json, Row, Table, grouped, heading, main_metric, shown_interval
from slowpath.report.svg import distributions, first_vs_later
from slowpath.report.view_contrasts import interval_words


def first_figures(results: Json) -> list[Figure]:
    """First message against later ones, one figure for each group of cells."""
    contrasts = {(c["a"]["cell"], c["metric"]): c for c in results["contrasts"] if c["axis"] == "phase"}
    figures: list[Figure] = []
    for (group, metric), cells in grouped(results["cells"], lambda c: (c["group"], main_metric(c))).items():
        both = [(c, c["metrics"][metric]["phases"]) for c in cells if metric]
        both = [(c, p) for c, p in both if _has_value(p, "first") and _has_value(p, "steady")]
        if both:
            figures.append(_first_figure(f"grid-first-{len(figures)}", group, metric, both, contrasts))
    return figures


def _has_value(phases: Json, phase: str) -> bool:
    return bool(phases.get(phase)) and phases[phase].get("value") is not None


def _first_figure(
    grid: str, group: str, metric: str, both: list[tuple[Json, Json]], contrasts: dict[Any, Json]
) -> Figure:
    scale = first_vs_later.scale_of([phases[name] for _, phases in both for name in ("first", "steady")])
    rows, numbers = [], []
    for cell, phases in both:
        first, steady = phases["first"], phases["steady"]
        contrast = contrasts.get((cell["cell"], metric))
        value = (
            f"{fmt.time(steady['value'], steady.get('interval'))} → {fmt.time(first['value'], first.get('interval'))}"
        )
        ratio = f"{fmt.ratio(contrast['ratio'], contrast['interval'])} {interval_words(contrast)}" if contrast else ""
        rows.append(Row(cell["label"], cell["cell"], first_vs_later.track(first, steady, scale, grid), value, ratio))
        shown = [(fmt.time(e["value"], e.get("interval")), shown_interval(e)) for e in (first, steady)]
        numbers.append([cell["label"], *shown[0], *shown[1], ratio or "no contrast was asked for"])
    head = ["Cell", "First", "Interval", "Later", "Interval", "First over later"]
    return Figure(heading(metric), group, Table(head, numbers), first_vs_later.axis(scale, grid), rows)


def distribution_figures(results: Json) -> list[Figure]:
    """Launch medians and quantiles of every cell, one figure for each group and metric."""
    figures: list[Figure] = []
    for (group, metric), cells in grouped(results["cells"], lambda c: (c["group"], main_metric(c))).items():
        if metric is None:
            continue
        phase = "steady" if any(_has_value(c["metrics"][metric]["phases"], "steady") for c in cells) else "first"
        phases = [(c, c["metrics"][metric]["phases"]) for c in cells]
        known = [(c, found[phase]) for c, found in phases if _has_value(found, phase)]
        if known:
            figures.append(_distribution(f"grid-spread-{len(figures)}", group, metric, phase, known))
    return figures


def _distribution(grid: str, group: str, metric: str, phase: str, known: list[tuple[Json, Json]]) -> Figure:
    scales = distributions.scales_of([one for _, one in known])
    rows = [
        Row(cell["label"], cell["cell"], distributions.track(one, "s", scales, grid), _centre(one), _remarks(one))
        for cell, one in known
    ]
    numbers = [[cell["label"], *_quantiles(one)] for cell, one in known]
    head = ["Cell", "Median", "Interval", "90 %", "99 %", "99.9 %", "Max", "Launches", "Samples"]
    head += ["Spread within launches", "Spread between launches", "Severe outliers"]
    title = heading(metric, "later messages" if phase == "steady" else "first messages")
    return Figure(title, group, Table(head, numbers), distributions.axis(scales, grid), rows)


def _centre(one: Json) -> str:
    found = [fmt.time(one["value"], one.get("interval"))]
    if one.get("p99") is not None:
        found.append(f"99 % {fmt.time(one['p99'])}")
    if one.get("max") is not None:
        found.append(f"max {fmt.time(one['max'])}")
    return ", ".join(found)


def _remarks(one: Json) -> str:
    """What a reader must know before trusting the median."""
    found: list[str] = []
    if one.get("launches") == 1:
        found.append("one launch: run-to-run spread unknown")
    if one.get("modes"):
        modes = [f"{fmt.time(mode['value'])} in {fmt.plural(mode['launches'], 'launch')}" for mode in one["modes"]]
        found.append("launches fall into modes: " + ", ".join(modes))
    if one.get("steady_class") in ("slowdown", "no steady state"):
        found.append(one["steady_class"])
    if (one.get("quantum_ratio") or 0) > 0.01:
        found.append(f"clock steps are {fmt.percent(one['quantum_ratio'])} of a sample")
    return "; ".join(found)


def _tail(one: Json, name: str) -> str:
    """A quantile, or why there is none."""
    if one.get(name) is not None:
        return fmt.time(one[name])
    return f"{fmt.MISSING} {one.get('p999_reason') or 'not recorded'}"


def _quantiles(one: Json) -> list[str]:
    severe = (one.get("outliers") or {}).get("severe")
    share = (one.get("outliers") or {}).get("severe_time_ratio")
    return [
        fmt.time(one["value"], one.get("interval")),
        shown_interval(one),
        *(_tail(one, name) for name in ("p90", "p99", "p999")),
        fmt.time(one.get("max")),
        str(one.get("launches", fmt.MISSING)),
        str(one.get("samples", fmt.MISSING)),
        fmt.percent(one.get("within_ratio")),
        fmt.percent(one.get("between_ratio")),
        fmt.MISSING if severe is None else f"{severe}, {fmt.percent(share)} of the time",
    ]
