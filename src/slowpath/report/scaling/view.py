# SPDX-License-Identifier: Apache-2.0
"""Rounds of messages over the number of ranks: a picture for each library and environment, lines, scaling.csv."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.core.message_results import RankScaling
from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.csv import as_csv
from slowpath.report.figure import Figure, FigureTable
from slowpath.report.svg.element import element, number, picture, text
from slowpath.report.svg.plot import Frame
from slowpath.report.svg.scale import LogScale, spanning
from slowpath.report.svg.size_curves import MARKERS, STYLES

WIDTH, PLOT_HEIGHT, LINE = 344, 284, 18
MOST = len(STYLES)  # curves of one panel


@dataclass(frozen=True, slots=True)
class PredictedPoint:
    """A prediction beyond the counted numbers of ranks."""

    ranks: int
    value: float
    interval: tuple[float, float]


@dataclass(frozen=True, slots=True)
class ScalingCurve:
    """A collective: counted values and those of each law by number of ranks, and predictions of the last law."""

    label: str
    counted: tuple[tuple[int, float], ...]
    fitted: tuple[tuple[tuple[int, float], ...], ...]
    predicted: tuple[PredictedPoint, ...]


def chart(curves: Sequence[ScalingCurve], y_title: str, title: str) -> Markup | None:
    """Return a panel of at most MOST curves, or None without a value above zero."""
    values = [v for curve in curves for _, v in curve.counted]
    values += [v for curve in curves for far in curve.predicted for v in (far.value, *far.interval)]
    ranks = [float(p) for curve in curves for p, _ in curve.counted]
    last = max(ranks, default=0.0)
    ranks += [float(far.ranks) for curve in curves for far in curve.predicted]
    across, up = spanning(ranks, margin=1.0), spanning([v for v in values if v > 0], least=1.5, margin=1.1)
    if across is None or up is None:
        return None
    frame = Frame(46, 28, WIDTH - 12, PLOT_HEIGHT - 50)
    x, y = LogScale(*across, frame.left + 10, frame.right - 10), LogScale(*up, frame.bottom, frame.top)
    content = frame.y_axis(y, lambda tick: f"{tick:g}", 6) + frame.x_axis(x, _ticks(ranks, x), lambda tick: f"{tick:g}")
    content += text(y_title, 4, 14, None, "axis-title")
    content += text("ranks", (frame.left + frame.right) / 2, frame.bottom + 34, "middle", "axis-title")
    if any(curve.predicted for curve in curves):
        at = x(last)
        content += element("line", x1=at, x2=at, y1=frame.top, y2=frame.bottom, class_="critical")
        content += text("extrapolated →", at + 4, frame.top + 10, None, "label")
    content += "".join(
        _curve(drawn_curve, place, x, y) + _legend(drawn_curve, place) for place, drawn_curve in enumerate(curves)
    )
    described = f"{fmt.plural(len(curves), 'curve')} over ranks. Filled: counted. Hollow, dashed: predicted."
    return picture(content, title, described, height=PLOT_HEIGHT + LINE * len(curves), width=WIDTH)


def _ticks(ranks: Sequence[float], x: LogScale) -> list[float]:
    """Return the numbers of ranks without those whose labels would touch."""
    found: list[float] = []
    for ranks_here in sorted(set(ranks)):
        if not found or x(ranks_here) - x(found[-1]) >= 26:
            found.append(ranks_here)
    return found


def _curve(curve: ScalingCurve, place: int, x: LogScale, y: LogScale) -> str:
    style = STYLES[place % len(STYLES)]
    content = "".join(_line(law, f"line {style}", x, y) for law in curve.fitted)
    if curve.predicted and curve.fitted:
        beyond = (curve.fitted[-1][-1], *((far.ranks, far.value) for far in curve.predicted))
        content += _line(beyond, f"line {style} predicted", x, y)
    for far in curve.predicted:
        at, (low, high) = x(far.ranks), far.interval
        if low > 0:
            content += element("line", x1=at, x2=at, y1=y(low), y2=y(high), class_=f"whisker {style}")
        content += _marker(at, y(far.value), place, "point hollow")
    return content + "".join(_marker(x(p), y(v), place, f"point {style}") for p, v in curve.counted if v > 0)


def _line(points: Sequence[tuple[int, float]], class_: str, x: LogScale, y: LogScale) -> str:
    places = [f"{number(x(p))} {number(y(v))}" for p, v in points if v > 0]
    return element("path", d="M" + "L".join(places), class_=class_) if len(places) > 1 else ""


def _marker(x: float, y: float, place: int, class_: str) -> str:
    move = f"translate({number(x)} {number(y)})"
    return element("path", d=MARKERS[place % len(MARKERS)], transform=move, class_=class_)


def _legend(curve: ScalingCurve, place: int) -> str:
    y, style = PLOT_HEIGHT + LINE * place + 8, STYLES[place % len(STYLES)]
    return _marker(52.0, float(y) - 4, place, f"point {style}") + text(curve.label, 64, y, None, f"curve {style}")


FILE = "scaling.csv"
QUANTITY, TITLE = "rounds", "rounds of messages"
HEAD = ["Collective", "Ranks counted", "Law in p", "Exponent", "Held-out point", "Predicted (extrapolated)"]
_COLUMNS = ("mpi", "environment", "placement", "collective", "quantity", "ranks", "kind", "value", "low", "high", "law")
Where = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ScalingView:
    """The section of the page."""

    figures: list[Figure]


def scaling_view(results: Results) -> ScalingView | None:
    """Return the section, or None in a run that counted no messages."""
    figures = []
    for (mpi, environment), each in _by_where(results).items():
        labels = list(dict.fromkeys(scaling.label for scaling in each))
        for start in range(0, len(labels), MOST):
            some = [scaling for scaling in each if scaling.label in labels[start : start + MOST]]
            title = f"Rounds over ranks, {mpi}"
            picture = chart(_curves(some), TITLE, f"{title}, {environment}")
            if picture:
                figures.append(
                    Figure(title, environment, FigureTable(HEAD, [_row(scaling) for scaling in some]), picture=picture)
                )
    return ScalingView(figures) if figures else None


def _by_where(results: Results) -> dict[Where, list[RankScaling]]:
    found: dict[Where, list[RankScaling]] = {}
    for scaling in results.scalings:
        if scaling.quantity == QUANTITY:
            found.setdefault((scaling.mpi or "", scaling.environment), []).append(scaling)
    return found


def _curves(each: Sequence[RankScaling]) -> list[ScalingCurve]:
    """Return a curve for each label. A library that changes its algorithm has several laws; the last one predicts."""
    found = []
    for label in dict.fromkeys(scaling.label for scaling in each):
        parts = [scaling for scaling in each if scaling.label == label]
        counted = tuple((point.ranks, point.value) for part in parts for point in part.points)
        fitted = tuple(_fitted(part) for part in parts if part.is_exact or part.predicted)
        far = tuple(PredictedPoint(f.ranks, f.value, (f.interval[0], f.interval[1])) for f in parts[-1].predicted)
        found.append(ScalingCurve(label, counted, fitted, far))
    return found


def _fitted(scaling: RankScaling) -> tuple[tuple[int, float], ...]:
    return tuple((point.ranks, point.fitted) for point in scaling.points if point.fitted is not None)


def _row(scaling: RankScaling) -> list[str]:
    first, last = scaling.points[0].ranks, scaling.points[-1].ranks
    held, law = scaling.held_out, scaling.law or scaling.reason or fmt.MISSING
    tested = fmt.MISSING if held is None else f"{held.ranks} ranks: {'holds' if held.holds else 'does not hold'}"
    far = "; ".join(f"{f.value:.0f} at {f.ranks}" for f in scaling.predicted) or scaling.reason or fmt.MISSING
    return [scaling.label, f"{first} to {last}", law, _exponent(scaling), tested, far]


def _exponent(scaling: RankScaling) -> str:
    if scaling.exponent is None:
        return fmt.MISSING
    if scaling.interval is None or scaling.interval[0] == scaling.interval[1]:
        return f"{scaling.exponent:.2f}"
    return f"{scaling.exponent:.2f} [{scaling.interval[0]:.2f}, {scaling.interval[1]:.2f}]"


def scaling_lines(results: Results) -> list[str]:
    """Return a line for each collective, [] in a run that counted no messages."""
    lines: list[str] = []
    for (mpi, environment), each in _by_where(results).items():
        width = max(len(scaling.label) for scaling in each)
        lines.append(f"Rounds of messages over ranks, {mpi}, {environment}: counted, then by the law (extrapolated)")
        for scaling in each:
            counted = ", ".join(f"{point.value:.0f} at {point.ranks}" for point in scaling.points)
            far = ", ".join(f"{f.value:.0f} at {f.ranks}" for f in scaling.predicted)
            beyond = f"{scaling.law}: {far}" if far else scaling.reason or "no law"
            lines.append(f"  {scaling.label.ljust(width)}  {counted}; {beyond}")
    return lines


def scaling_files(results: Results) -> dict[str, str]:
    """Return content by file name, {} in a run that counted no messages."""
    if not results.scalings:
        return {}
    rows = (
        [one.mpi, one.environment, one.placement, one.label, one.quantity, ranks, kind, value, *ends, one.law]
        for one in results.scalings
        for kind, ranks, value, ends in _points(one)
    )
    return {FILE: as_csv(_COLUMNS, rows)}


def _points(scaling: RankScaling) -> Iterator[tuple[str, int, float, tuple[float | None, float | None]]]:
    for point in scaling.points:
        yield "counted", point.ranks, point.value, (None, None)
    for far in scaling.predicted:
        yield "extrapolated", far.ranks, far.value, (far.interval[0], far.interval[1])
