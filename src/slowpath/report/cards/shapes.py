# SPDX-License-Identifier: Apache-2.0
"""Pictures of findings about the order of time.

They show the messages of a launch, the messages folded at their period, their tail, and launches in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.core.results import Finding, Results
from slowpath.core.shape_results import CellShapes, DrawnMessages
from slowpath.findings.slow_path import Picture
from slowpath.report import format as fmt
from slowpath.report.cards.sides import axis_title
from slowpath.report.svg.element import element, number, picture
from slowpath.report.svg.plot import Frame, Wide
from slowpath.report.svg.scale import LinearScale, LogScale, spanning
from slowpath.report.svg.size_curves import tick_label
from slowpath.slowpaths.registry import known

HEIGHT = 250
_FRAME = Wide(12.0, 99.0, 26, HEIGHT - 44)  # percent, percent, pixels, pixels
_INNER = 1000  # units of the dots' own picture, which is as wide as the frame
_FEW = 40  # points, which are drawn larger
Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Group:
    """Points of one kind, one path of dots, so that some hundred stay small. `slow`: in the colour of slower ones."""

    label: str
    points: tuple[Point, ...]
    slow: bool


@dataclass(frozen=True, slots=True)
class ScatterAxes:
    """The titles of the axes. `unit` is that of y: "s" or "×"."""

    x_title: str
    y_title: str
    unit: str = "s"


def scatter_chart(groups: Sequence[Group], axes: ScatterAxes, title: str) -> Markup | None:
    """Return times on a logarithmic axis over a linear one, or None without points above zero."""
    ends = spanning([y for group in groups for _, y in group.points], margin=1.15)
    places = [x for group in groups for x, _ in group.points]
    if ends is None or not places:
        return None
    low, high = min(places), max(max(places), min(places) + 1)
    x = LinearScale(low, high, 0.02 * _INNER, 0.98 * _INNER)
    y = LogScale(*ends, _FRAME.bottom, _FRAME.top)
    across = _FRAME.right - _FRAME.left
    ticks = [tick for tick in x.ticks(8) if tick == int(tick)]
    content = _FRAME.levels([(y(tick), _label(tick, axes.unit)) for tick in y.ticks(5)])
    content += _FRAME.uprights([(_FRAME.left + across * x(tick) / _INNER, f"{tick:g}") for tick in ticks])
    content += _FRAME.titles(axes.x_title, axes.y_title)
    few = len(places) <= _FEW
    dots = "".join(_dots(group, x, y, few) for group in groups if group.points)
    content += element("svg", dots, x=f"{_FRAME.left}%", width=f"{across}%", height=HEIGHT,
                       viewBox=f"0 0 {_INNER} {HEIGHT}", preserveAspectRatio="none")  # fmt: skip
    said = "; ".join(
        f"{fmt.plural(len(group.points), group.label)}, {_span([value for _, value in group.points], axes.unit)}"
        for group in groups
        if group.points
    )
    return picture(content, title, f"{said}.", height=HEIGHT)


def _label(value: float, unit: str) -> str:
    return f"{value:.3g}×" if unit == "×" else tick_label(value, unit)


def _span(values: Sequence[float], unit: str) -> str:
    return f"{_label(min(values), unit)} to {_label(max(values), unit)}"


def _dots(group: Group, x: LinearScale, y: LogScale, few: bool) -> str:
    path = "".join(f"M{number(x(px))} {number(y(py))}h0" for px, py in group.points)
    classes = f"dots {'few' if few else 'many'}{' slower' if group.slow else ''}"
    return element("path", d=path, class_=classes)


WIDTH, TAIL_HEIGHT = 330, 250
_TAIL_FRAME = Frame(66, 26, WIDTH - 10, TAIL_HEIGHT - 44)


def tail_chart(points: Sequence[tuple[float, float]], x_title: str, title: str) -> Markup | None:
    """Return a line of the tail.

    Args: points: time and share of the messages that take longer, by time. Shares of 0 end the line.
    """
    times = spanning([time for time, _ in points], margin=1.03)
    shown = [(time, share) for time, share in points if share > 0]
    shares = spanning([share for _, share in shown], least=10.0, margin=1.0)
    if times is None or shares is None:
        return None
    x, y = (
        LogScale(*times, _TAIL_FRAME.left + 8, _TAIL_FRAME.right - 8),
        LogScale(*shares, _TAIL_FRAME.bottom, _TAIL_FRAME.top),
    )
    last = max(time for time, _ in points)
    places = [(x(time), y(share)) for time, share in shown]
    path = "M" + "L".join(f"{number(px)} {number(py)}" for px, py in [*places, (x(last), places[-1][1])])
    content = _TAIL_FRAME.y_axis(y, lambda share: f"{100 * share:g} %")
    content += _TAIL_FRAME.x_axis(x, x.ticks(5), lambda tick: tick_label(tick, "s"))
    content += _TAIL_FRAME.titles(x_title, "messages that take longer")
    content += element("path", d=path, class_="line s1")
    content += "".join(element("circle", cx=px, cy=py, r=2.5, class_="point s1") for px, py in places)
    middle, slowest = tick_label(points[0][0], "s"), tick_label(last, "s")
    words = f"Half of the messages take longer than {middle}, the slowest {slowest}."
    return picture(content, title, words, height=TAIL_HEIGHT, width=WIDTH)


Made = tuple[str, Markup | None, str]  # name, drawing, caption
_SLOW = "Slow ones are coloured."


def shape_pictures(finding: Finding, results: Results) -> list[Made]:
    """Return the pictures of a finding whose slow path names one, [] of any other."""
    path = known(finding.rule)
    return _DRAW[path.picture](finding, results) if path and path.picture else []


def _periodic(finding: Finding, results: Results) -> list[Made]:
    shapes = next((shape for shape in results.shapes if shape.cell == finding.slow_cells[0]), None)
    if shapes is None or shapes.drawn is None or shapes.period is None:
        return []
    drawn, every = shapes.drawn, shapes.period.every
    title = axis_title(shapes.metric)
    order = scatter_chart(
        _groups(drawn, every, lambda message: message),
        ScatterAxes("number of the message", title),
        f"Messages in their order, {finding.rule}",
    )
    folded = scatter_chart(
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
    drawing = tail_chart(points, axis_title(shapes.metric), f"Tail of the messages, {finding.rule}") if points else None
    return "tail", drawing, "Share of the messages of all launches that take longer."


def _launches(finding: Finding, results: Results) -> list[Made]:
    wanted = set(finding.slow_cells)
    kinds = next((kinds for kinds in results.launch_kinds if wanted & {cell.cell for cell in kinds.cells}), None)
    if kinds is None:
        return []
    points: dict[bool, list[Point]] = {False: [], True: []}
    for launch, slow, relative in zip(kinds.launches, kinds.slow, kinds.relative, strict=True):
        points[slow].append((launch, relative))
    groups = [Group("other launch", tuple(points[False]), False), Group("slow launch", tuple(points[True]), True)]
    axes = ScatterAxes("number of the launch, in the order of time", "time over that of the fast launches", "×")
    drawing = scatter_chart(groups, axes, f"Launches in their order, {finding.rule}")
    return [("launches", drawing, f"Mean of each launch over the cells with two kinds of launches.{_SLOW}")]


_DRAW: Mapping[Picture, Callable[[Finding, Results], list[Made]]] = {"periods": _periodic, "launches": _launches}
