# SPDX-License-Identifier: Apache-2.0
"""What making a window costs by its length, beyond the same memory without MPI: experiment first_use. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from msgspec import structs

from slowpath.core.cell_results import CellResult
from slowpath.core.result import Interval
from slowpath.findings.evidence.first_uses import PAGE_BYTES, WindowPages
from slowpath.findings.evidence.words import number, parameter
from slowpath.findings.gather.contrasts import ratio_of
from slowpath.findings.gather.laws import length_law
from slowpath.findings.gather.source import Source
from slowpath.stats.laws.found import Coefficient, FittedLaw, with_words

EXPERIMENT = "first_use"
METRICS = {"window": "window_use_s", "shared_window": "shared_window_use_s"}
PHASE = "steady"  # windows that are made later: the first one holds what is set up once
FEWEST_LENGTHS = 5  # a law that has to predict one of them
EXAMPLE_BYTES = 8.0 * 2**30
_GROWS, _PER = "bytes", "byte of the window"
Key = tuple[object, ...]


def window_pages(source: Source) -> list[WindowPages]:
    """One for each kind of window and place whose excess grows with the length."""
    found = []
    for library, program in _pairs(source.cells_of(EXPERIMENT)):
        lengths = sorted(library.keys() & program.keys())
        if len(lengths) >= FEWEST_LENGTHS:
            found += _grown([library[one] for one in lengths], [program[one] for one in lengths], source.minimum_effect)
    return found


def _pairs(cells: Iterable[CellResult]) -> Iterable[tuple[dict[float, CellResult], dict[float, CellResult]]]:
    """Cells that differ in their length alone, of the library's memory and of the program's."""
    groups: dict[Key, dict[str, dict[float, CellResult]]] = defaultdict(lambda: {"library": {}, "program": {}})
    for cell in cells:
        length, memory = number(cell, "window_bytes"), parameter(cell, "memory", "library")
        if parameter(cell, "pattern") not in METRICS or cell.copy != 1 or length is None:
            continue
        alike = sorted((k, v) for k, v in cell.parameters.items() if k not in ("memory", "window_bytes", "uses"))
        groups[cell.group, cell.mpi, cell.environment, cell.placement, tuple(alike)][memory][length] = cell
    return ((both["library"], both["program"]) for both in groups.values())


def _grown(library: Sequence[CellResult], program: Sequence[CellResult], effect: float) -> list[WindowPages]:
    metric = METRICS[parameter(library[0], "pattern")]
    rows = [(cell, *_launches(cell, other, metric)) for cell, other in zip(library, program, strict=True)]
    lengths = {number(cell, "window_bytes") or 0.0: (ours, theirs) for cell, ours, theirs in rows if ours}
    law = length_law({one: (np.array(a) - np.array(b)).tolist() for one, (a, b) in lengths.items()}, effect)
    if law is None or law.fits != _GROWS or not (each := _term(law)) or not each.interval or each.interval[0] <= 0:
        return []
    longest = max(lengths)
    ours, theirs = lengths[longest]
    slow, fast = library[-1], program[-1]
    return [
        WindowPages(
            slow=slow,
            fast=fast,
            metric=metric,
            slow_s=float(np.median(ours)),
            fast_s=float(np.median(theirs)),
            ratio=ratio_of(ours, theirs, effect),
            law=_of_windows(law),
            per_page_s=each.value * PAGE_BYTES,
            per_page_interval=_times(each.interval, PAGE_BYTES),
            longest_bytes=longest,
            example_bytes=EXAMPLE_BYTES,
            example_s=(each.value * EXAMPLE_BYTES, _times(each.interval, EXAMPLE_BYTES)),
            cells=tuple(library),
        )
    ]


def _launches(cell: CellResult, other: CellResult, metric: str) -> tuple[Sequence[float], Sequence[float]]:
    """Of both, launch by launch; empty where they were not measured in the same launches."""
    ours, theirs = cell.estimate(metric, PHASE), other.estimate(metric, PHASE)
    if ours is None or theirs is None or len(ours.launch_values) != len(theirs.launch_values):
        return (), ()
    return ours.launch_values, theirs.launch_values


def _term(law: FittedLaw) -> Coefficient | None:
    return next((one for one in law.coefficients if one.per == "byte"), None)


def _of_windows(law: FittedLaw) -> FittedLaw:
    """The law in the words of a window: no message is sent."""
    return replace(
        law,
        coefficients=tuple(
            replace(one, unit=f"s per {_PER}") if one.per == "byte" else one for one in law.coefficients
        ),
        forecasts=tuple(
            with_words(structs.replace(forecast, place=_place(forecast.place))) for forecast in law.forecasts
        ),
        separating=tuple(_place(one) for one in law.separating),
        drawn=tuple(structs.replace(point, place=_place(point.place)) for point in law.drawn),
    )


def _place(place: Mapping[str, float]) -> dict[str, float]:
    return {"window_bytes" if name == "message_bytes" else name: value for name, value in place.items()}


def _times(interval: Interval | None, factor: float) -> Interval | None:
    return None if interval is None else (interval[0] * factor, interval[1] * factor)
