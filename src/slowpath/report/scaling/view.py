# SPDX-License-Identifier: Apache-2.0
"""Rounds of messages over the number of ranks: one picture for each library and environment, lines, scaling.csv."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slowpath.core.clean import csv_value
from slowpath.core.message_results import RankScaling
from slowpath.core.results import Results
from slowpath.report import format as fmt
from slowpath.report.figure import Figure, Table
from slowpath.report.svg import scaling_curve
from slowpath.report.svg.scaling_curve import Curve, Predicted

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
    """None in a run that counted no messages."""
    figures = []
    for (mpi, environment), each in _by_where(results).items():
        labels = list(dict.fromkeys(one.label for one in each))
        for start in range(0, len(labels), scaling_curve.MOST):
            some = [one for one in each if one.label in labels[start : start + scaling_curve.MOST]]
            title = f"Rounds over ranks, {mpi}"
            picture = scaling_curve.chart(_curves(some), TITLE, f"{title}, {environment}")
            if picture:
                figures.append(Figure(title, environment, Table(HEAD, [_row(one) for one in some]), picture=picture))
    return ScalingView(figures) if figures else None


def _by_where(results: Results) -> dict[Where, list[RankScaling]]:
    found: dict[Where, list[RankScaling]] = {}
    for one in results.scalings or []:
        if one.quantity == QUANTITY:
            found.setdefault((one.mpi or "", one.environment), []).append(one)
    return found


def _curves(each: Sequence[RankScaling]) -> list[Curve]:
    """One a label; a library that changes its algorithm has several laws, of which the last one predicts."""
    found = []
    for label in dict.fromkeys(one.label for one in each):
        parts = [one for one in each if one.label == label]
        counted = tuple((point.ranks, point.value) for one in parts for point in one.points)
        fitted = tuple(_fitted(one) for one in parts if one.is_exact or one.predicted)
        far = tuple(Predicted(f.ranks, f.value, (f.interval[0], f.interval[1])) for f in parts[-1].predicted)
        found.append(Curve(label, counted, fitted, far))
    return found


def _fitted(one: RankScaling) -> tuple[tuple[int, float], ...]:
    return tuple((point.ranks, point.fitted) for point in one.points if point.fitted is not None)


def _row(one: RankScaling) -> list[str]:
    first, last = one.points[0].ranks, one.points[-1].ranks
    held, law = one.held_out, one.law or one.reason or fmt.MISSING
    tested = fmt.MISSING if held is None else f"{held.ranks} ranks: {'holds' if held.holds else 'does not hold'}"
    far = "; ".join(f"{f.value:.0f} at {f.ranks}" for f in one.predicted) or one.reason or fmt.MISSING
    return [one.label, f"{first} to {last}", law, _exponent(one), tested, far]


def _exponent(one: RankScaling) -> str:
    if one.exponent is None:
        return fmt.MISSING
    if one.interval is None or one.interval[0] == one.interval[1]:
        return f"{one.exponent:.2f}"
    return f"{one.exponent:.2f} [{one.interval[0]:.2f}, {one.interval[1]:.2f}]"


def scaling_lines(results: Results) -> list[str]:
    """One line a collective; [] in a run that counted no messages."""
    lines: list[str] = []
    for (mpi, environment), each in _by_where(results).items():
        width = max(len(one.label) for one in each)
        lines.append(f"Rounds of messages over ranks, {mpi}, {environment}: counted, then by the law (extrapolated)")
        for one in each:
            counted = ", ".join(f"{point.value:.0f} at {point.ranks}" for point in one.points)
            far = ", ".join(f"{f.value:.0f} at {f.ranks}" for f in one.predicted)
            beyond = f"{one.law}: {far}" if far else one.reason or "no law"
            lines.append(f"  {one.label.ljust(width)}  {counted}; {beyond}")
    return lines


def scaling_files(results: Results) -> dict[str, str]:
    """Name -> content; {} in a run that counted no messages."""
    if not results.scalings:
        return {}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for one in results.scalings:
        for kind, ranks, value, ends in _points(one):
            row = (one.mpi, one.environment, one.placement, one.label, one.quantity, ranks, kind, value, *ends, one.law)
            writer.writerow([csv_value(cell) for cell in row])
    return {FILE: out.getvalue()}


def _points(one: RankScaling) -> Iterator[tuple[str, int, float, tuple[float | None, float | None]]]:
    for point in one.points:
        yield "counted", point.ranks, point.value, (None, None)
    for far in one.predicted:
        yield "extrapolated", far.ranks, far.value, (far.interval[0], far.interval[1])
