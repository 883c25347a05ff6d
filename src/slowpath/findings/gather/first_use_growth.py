# SPDX-License-Identifier: Apache-2.0
"""First uses that take longer the more ranks there are, or the more uses there were before. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.findings.evidence.evidence import CLEAR_RATIO
from slowpath.findings.evidence.first_uses import FirstUseGrowth
from slowpath.findings.evidence.words import parameter
from slowpath.findings.gather.contrasts import ratio_of
from slowpath.findings.gather.laws import count_law
from slowpath.findings.gather.source import Source

EXPERIMENT = "first_use"
# What of a pattern all ranks wait for; of the first time in a process or a communicator.
OVER_RANKS = {
    "init": "init_s",
    "peer": "peers_s",
    "communicator": "communicator_s",
    "collective": "collective_first_s",
}
OVER_USES = {"communicator": "communicator_s"}
FEWEST = 5  # numbers, so that one can be set apart
EXAMPLE_RANKS, EXAMPLE_FACTOR = 1024.0, 16.0
Over = Literal["ranks", "uses"]
Row = tuple[CellResult, Sequence[float]]  # the launches' times


def first_use_growth(source: Source) -> list[FirstUseGrowth]:
    """By ranks where each has a core of its own, and by the uses that were made before."""
    cells = source.cells_of(EXPERIMENT)
    found = [*_over_ranks(source, cells), *_over_uses(cells)]
    return [one for over, rows in found if (one := _growth(over, rows, source.minimum_effect)) is not None]


def _over_ranks(source: Source, cells: Iterable[CellResult]) -> list[tuple[Over, dict[float, Row]]]:
    asked = {one.name: one for one in source.run.placements}
    groups: dict[tuple[object, ...], dict[float, Row]] = defaultdict(dict)
    for cell in cells:
        place, metric = asked.get(cell.placement), OVER_RANKS.get(parameter(cell, "pattern"))
        estimate = cell.estimate(metric, "first") if metric else None
        if place is None or place.ranks is None or estimate is None or _share_cores(source, cell):
            continue
        alike = (place.bind, place.spread, place.nodes, tuple(sorted(cell.parameters.items())))
        groups[cell.group, cell.copy, cell.mpi, cell.environment, alike][float(place.ranks)] = (
            cell,
            estimate.launch_values,
        )
    return [("ranks", rows) for rows in groups.values()]


def _share_cores(source: Source, cell: CellResult) -> bool:
    """Ranks that share cores measure the scheduler."""
    found = source.processors(cell)
    return found is None or found.shared


def _over_uses(cells: Iterable[CellResult]) -> list[tuple[Over, dict[float, Row]]]:
    found: list[tuple[Over, dict[float, Row]]] = []
    for cell in cells:
        metric = OVER_USES.get(parameter(cell, "pattern"))
        uses = cell.metrics[metric].by_repetition if metric in cell.metrics else None
        if uses is None or cell.copy != 1:
            continue
        columns = np.array(uses.launch_values).T
        # The first one pays for what is set up once, whatever comes after it.
        later = zip(uses.repetitions[1:], columns[1:], strict=True)
        found.append(("uses", {float(number): (cell, times.tolist()) for number, times in later}))
    return found


def _growth(over: Over, rows: Mapping[float, Row], effect: float) -> FirstUseGrowth | None:
    if len(rows) < FEWEST:
        return None
    least, most = min(rows), max(rows)
    (fast, fast_s), (slow, slow_s) = rows[least], rows[most]
    if len(fast_s) != len(slow_s):
        return None
    ratio = ratio_of(slow_s, fast_s, effect)
    law = count_law({count: times for count, (_, times) in rows.items()}, effect)
    if not ratio.beyond or ratio.least < CLEAR_RATIO or law is None or law.fits != "each":
        return None
    constant, each = law.coefficients[0], law.coefficients[-1]
    if not each.interval or each.interval[0] <= 0:
        return None
    far = EXAMPLE_RANKS if over == "ranks" else EXAMPLE_FACTOR * most
    return FirstUseGrowth(
        slow=slow,
        fast=fast,
        metric=(OVER_RANKS if over == "ranks" else OVER_USES)[parameter(slow, "pattern")],
        slow_s=float(np.median(slow_s)),
        fast_s=float(np.median(fast_s)),
        ratio=ratio,
        over=over,
        law=law,
        each_s=each.value,
        each_interval=each.interval,
        least=least,
        most=most,
        example=(far, constant.value + each.value * far),
        cells=tuple(cell for cell, _ in rows.values()) if over == "ranks" else (slow,),
    )
