# SPDX-License-Identifier: Apache-2.0
"""Pictures of findings about the order of time.

They show the messages of a launch, the messages folded at their period, their tail, and launches in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from markupsafe import Markup

from slowpath.core.results import Finding, Results
from slowpath.core.shape_results import CellShapes, DrawnMessages
from slowpath.findings.slow_path import Picture
from slowpath.report.cards.sides import axis_title
from slowpath.report.svg import scatter
from slowpath.report.svg.scatter import Group, Point, ScatterAxes
from slowpath.slowpaths.registry import known

Made = tuple[str, Markup | None, str]  # name, drawing, caption
_SLOW = "Slow ones are coloured."


def shape_pictures(finding: Finding, results: Results) -> list[Made]:
    """Return the pictures of a finding whose slow path names one, [] of any other."""
    path = known(finding.rule)
    return _DRAW[path.picture](finding, results) if path and path.picture else []


def _periodic(finding: Finding, results: Results) -> list[Made]:
    shapes = next((shape for shape in results.shapes or () if shape.cell == finding.slow_cells[0]), None)
    if shapes is None or shapes.drawn is None or shapes.period is None:
        return []
    drawn, every = shapes.drawn, shapes.period.every
    title = axis_title(shapes.metric)
    order = scatter.chart(
        _groups(drawn, every, lambda message: message),
        ScatterAxes("number of the message", title),
        f"Messages in their order, {finding.rule}",
    )
    folded = scatter.chart(
        _groups(drawn, every, lambda message: message % every),
        ScatterAxes(f"place in the period of {every} messages", title),
        f"Messages folded at their period, {finding.rule}",
    )
    return [
        ("messages", order, f"The messages of launch {drawn.launch} in their order.{_SLOW}"),
        ("folded", folded, f"The same messages, folded at {every}.{_SLOW}"),
        _tail(shapes, finding),
    ]


def _groups(drawn: DrawnMessages, every: int, place: Callable[[int], int]) -> list[Group]:
    points: dict[bool, list[Point]] = {False: [], True: []}
    for message, time_s in zip(drawn.numbers, drawn.times_s, strict=True):
        points[message % every in drawn.slow_places].append((place(message), time_s))
    return [Group("other message", tuple(points[False]), False), Group("slow message", tuple(points[True]), True)]


def _tail(shapes: CellShapes, finding: Finding) -> Made:
    points = [(point.time_s, point.share) for point in shapes.tail]
    drawing = (
        scatter.tail_chart(points, axis_title(shapes.metric), f"Tail of the messages, {finding.rule}")
        if points
        else None
    )
    return "tail", drawing, "Share of the messages of all launches that take longer."


def _launches(finding: Finding, results: Results) -> list[Made]:
    wanted = set(finding.slow_cells)
    kinds = next((kinds for kinds in results.launch_kinds or () if wanted & {cell.cell for cell in kinds.cells}), None)
    if kinds is None:
        return []
    points: dict[bool, list[Point]] = {False: [], True: []}
    for launch, slow, relative in zip(kinds.launches, kinds.slow, kinds.relative, strict=True):
        points[slow].append((launch, relative))
    groups = [Group("other launch", tuple(points[False]), False), Group("slow launch", tuple(points[True]), True)]
    axes = ScatterAxes("number of the launch, in the order of time", "time over that of the fast launches", "×")
    drawing = scatter.chart(groups, axes, f"Launches in their order, {finding.rule}")
    return [("launches", drawing, f"Mean of each launch over the cells with two kinds of launches.{_SLOW}")]


_DRAW: Mapping[Picture, Callable[[Finding, Results], list[Made]]] = {"periods": _periodic, "launches": _launches}
