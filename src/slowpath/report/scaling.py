# SPDX-License-Identifier: Apache-2.0
"""Rounds of messages over the number of ranks: a picture for each library and environment, lines, scaling.csv."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from slowpath.core.results import Results
from slowpath.core.study_results import RankScaling
from slowpath.report import format as fmt
from slowpath.report.csv import as_csv
from slowpath.report.figure import MOST_SERIES, Axis, Band, Group, Plot, Point, Section, Series, numbers

FILE = "scaling.csv"
QUANTITY = "rounds"
HEAD = ["Collective", "Ranks counted", "Law in p", "Exponent", "Held-out point", "Predicted (extrapolated)"]
_COLUMNS = ("mpi", "environment", "placement", "collective", "quantity", "ranks", "kind", "value", "low", "high", "law")
Where = tuple[str, str]


_LEAD = (
    "Rounds of messages that one call needs, counted and not timed. Filled: counted. The line is the fitted law; "
    "hollow and dashed marks are its predictions, which were not measured. A law is extrapolated only if it predicted "
    "the largest counted number of ranks from the smaller ones."
)


def scaling_section(results: Results) -> Section | None:
    """Return the section, or None in a run that counted no messages."""
    figures = []
    for (mpi, environment), each in _by_where(results).items():
        labels = list(dict.fromkeys(scaling.label for scaling in each))
        for start in range(0, len(labels), MOST_SERIES):
            some = [scaling for scaling in each if scaling.label in labels[start : start + MOST_SERIES]]
            figures.append(_figure(mpi, environment, some))
    title = "Collectives over the number of ranks"
    return Section("scaling", title, "Over ranks", [Group("panels", figures)], _LEAD) if figures else None


def _by_where(results: Results) -> dict[Where, list[RankScaling]]:
    found: dict[Where, list[RankScaling]] = {}
    for scaling in results.scalings:
        if scaling.quantity == QUANTITY:
            found.setdefault((scaling.mpi or "", scaling.environment), []).append(scaling)
    return found


def _figure(mpi: str, environment: str, some: Sequence[RankScaling]) -> Plot:
    """Return the panel of a few collectives. Of several laws, as of a library that changes its algorithm, the last
    predicts.
    """
    series: list[Series] = []
    for place, label in enumerate(dict.fromkeys(scaling.label for scaling in some)):
        parts, style = [scaling for scaling in some if scaling.label == label], f"s{place + 1}"
        series.append(Series(label, [Point(p.ranks, p.value) for part in parts for p in part.points], style, ""))
        laws = [[Point(p.ranks, p.fitted) for p in part.points if p.fitted is not None]
                for part in parts if part.is_exact or part.predicted]  # fmt: skip
        series += [Series("", law, style, marker="") for law in laws]
        far = [Point(f.ranks, f.value, (f.interval[0], f.interval[1])) for f in parts[-1].predicted]
        series += [Series("", far, style, "", "hollow")] if far else []
        beyond = [*laws[-1][-1:], *(Point(point.x, point.y) for point in far)] if laws and far else []
        series += [Series("", beyond, style, "dashed", "")] if beyond else []
    last = max(point.ranks for scaling in some for point in scaling.points)
    bands = [Band(last, last, "extrapolated →")] if any(scaling.predicted for scaling in some) else []
    ticks = sorted({point.x for curve in series for point in curve.points})
    table = numbers(HEAD, [_row(scaling) for scaling in some])
    x, y = Axis("ranks", "", ticks=ticks), Axis("rounds of messages", "")
    return Plot(f"Rounds over ranks, {mpi}", environment, x, y, series, bands, table=table)


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
