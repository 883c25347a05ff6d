# SPDX-License-Identifier: Apache-2.0
"""The same message to several ranks: cells that are equal but for the peer. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from slowpath.core.units import format_time
from slowpath.findings.evidence.compared import Cell, Ratio, ratio_of
from slowpath.findings.rule import Observation
from slowpath.findings.words import SPEAKING, memory, ratio_words, sizes

if TYPE_CHECKING:
    from slowpath.findings.evidence.evidence import Evidence

PEER = "peer"
FEWEST = 3  # ranks to compare
CLEAR_RATIO = 1.25
_SETTING = ("experiment", "mpi", "environment", "placement", "copy")


@dataclass(frozen=True)
class _Slow:
    """One rank against the median of the others: times in seconds."""

    cell: Cell
    other: Cell
    metric: str
    ratio: Ratio
    slow_s: float
    usual_s: float


def slow_peers(evidence: Evidence) -> list[Observation]:
    """Each rank against the median of the others, launch by launch."""
    return [
        _observation(evidence, cells, one)
        for cells in _alike(evidence)
        if len(cells) >= FEWEST
        for one in _slow(cells, evidence.minimum_effect)
    ]


def _slow(cells: Sequence[Cell], minimum_effect: float) -> Iterator[_Slow]:
    metric = next((name for name in SPEAKING if all(_steady(cell, name) for cell in cells)), None)
    if metric is None:
        return
    launches = [_steady(cell, metric) for cell in cells]
    if len({len(values) for values in launches}) != 1:
        return
    times = np.array(launches)
    for number, cell in enumerate(cells):
        others = np.median(np.delete(times, number, axis=0), axis=0)
        ratio = ratio_of(times[number], others, minimum_effect)
        if ratio.beyond and ratio.value >= CLEAR_RATIO:
            nearest = int(np.argmin(np.abs(np.median(times, axis=1) - np.median(others))))
            yield _Slow(cell, cells[nearest], metric, ratio, float(np.median(times[number])), float(np.median(others)))


def _steady(cell: Cell, metric: str) -> list[float]:
    phases = cell["metrics"].get(metric, {}).get("phases", {})
    return list(phases["steady"]["launch_values"]) if "steady" in phases else []


def _alike(evidence: Evidence) -> list[list[Cell]]:
    groups: dict[tuple[object, ...], list[Cell]] = defaultdict(list)
    for cell in evidence.cells.values():
        p = cell["parameters"]
        if str(p.get(PEER, "")).isdecimal() and cell["metrics"]:
            rest = sorted((name, value) for name, value in p.items() if name != PEER)
            groups[(*(cell.get(part) for part in _SETTING), str(rest))].append(cell)
    return list(groups.values())


def _observation(evidence: Evidence, cells: Sequence[Cell], one: _Slow) -> Observation:
    rank, lengths = one.cell["parameters"][PEER], sizes([one.cell])
    words = ratio_words(one.ratio.value, one.ratio.interval)
    return Observation(
        about=f"rank {rank}",
        place=evidence.place([one.cell], [f"rank {rank}", f"{memory([one.cell])} memory", f"messages of {lengths}"]),
        text=f"A message of {lengths} from rank 0 to rank {rank} takes {words} as long as to the others: "
        f"{format_time(one.slow_s)} against {format_time(one.usual_s)}.",
        metric=one.metric,
        phase="steady",
        ratio=one.ratio.value,
        interval=one.ratio.interval,
        excess_s=one.slow_s - one.usual_s,
        usual=evidence.users_own(one.cell),
        cells=tuple(cell["cell"] for cell in cells),
        evidence=(f"{words} the median of {len(cells) - 1} other ranks, launch by launch",),
        slow_cells=(one.cell["cell"],),
        fast_cells=(one.other["cell"],),
    )
