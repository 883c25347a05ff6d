# SPDX-License-Identifier: Apache-2.0
"""Unexpected messages against expected ones, without what their calls cost by themselves. Pure.

A receive that was posted before ends in MPI_Wait, a late one in MPI_Probe and MPI_Recv, and libraries look at their
network differently often in these: at 8 B the right practice took 2.3 times as long (MPICH 5.0.2: 586 ns, 254 ns).
So what the calls differ by at the shortest message, with next to nothing to copy, is taken off at the longer ones.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.findings.evidence.evidence import LAW_RATIO, UnexpectedReceive
from slowpath.findings.evidence.words import number
from slowpath.findings.gather.contrasts import ratio_of
from slowpath.findings.gather.laws import length_law
from slowpath.stats.inputs import Floats

RECEIVE = "receive_s"
_POSTED, _LENGTH = "posted", "message_bytes"
Sides = Mapping[str, CellResult]  # posted -> its cell


def unexpected_receives(cells: Iterable[CellResult], minimum_effect: float) -> list[UnexpectedReceive]:
    """Of each kind of cells the length at which a late receive loses most, over those where it loses."""
    found = (_of_group(group, minimum_effect) for group in _groups(cells).values())
    return [one for one in found if one is not None]


def _groups(cells: Iterable[CellResult]) -> dict[tuple[object, ...], dict[float, dict[str, CellResult]]]:
    """What is equal but for length and posting -> length -> posted -> cell."""
    groups: dict[tuple[object, ...], dict[float, dict[str, CellResult]]] = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        length, posted = number(cell, _LENGTH), cell.parameters.get(_POSTED)
        if length is None or posted not in ("before", "after") or not _times(cell).size:
            continue
        rest = sorted((name, value) for name, value in cell.parameters.items() if name not in (_POSTED, _LENGTH))
        key = (cell.experiment, cell.mpi, cell.environment, cell.placement, cell.copy, str(rest))
        groups[key][length][posted] = cell
    return groups


def _times(cell: CellResult) -> Floats:
    estimate = cell.estimate(RECEIVE, "steady")
    return np.array(estimate.launch_values if estimate else [], dtype=np.float64)


def _of_group(group: Mapping[float, Sides], minimum_effect: float) -> UnexpectedReceive | None:
    both = {length: sides for length, sides in sorted(group.items()) if len(sides) == 2}
    lengths = list(both)
    if len(lengths) < 2:
        return None
    shortest = both[lengths[0]]
    calls_s = _difference(shortest)
    if calls_s is None:
        return None
    excess: dict[float, Sequence[float]] = {}
    slower: list[UnexpectedReceive] = []
    for length in lengths[1:]:
        difference_s = _difference(both[length])
        if difference_s is None or difference_s.size != calls_s.size:
            continue
        excess[length] = (difference_s - calls_s).tolist()
        late_s = _times(both[length]["after"])
        expected_s = late_s - (difference_s - calls_s)
        if (expected_s <= 0).any():
            continue
        ratio = ratio_of(late_s, expected_s, minimum_effect)
        if ratio.beyond and ratio.least >= LAW_RATIO:
            slower.append(
                UnexpectedReceive(
                    slow=both[length]["after"],
                    fast=both[length]["before"],
                    metric=RECEIVE,
                    slow_s=float(np.median(late_s)),
                    fast_s=float(np.median(expected_s)),
                    ratio=ratio,
                    calls_s=float(np.median(calls_s)),
                    shortest_bytes=int(lengths[0]),
                    cells=tuple(cell for sides in both.values() for cell in sides.values()),
                    law=None,
                )
            )
    if not slower:
        return None
    top = max(slower, key=lambda one: one.excess_s)
    return UnexpectedReceive(**{**vars(top), "law": length_law(excess, minimum_effect)})


def _difference(sides: Sides) -> Floats | None:
    """After minus before, launch by launch; None: not of the same launches."""
    before, after = _times(sides["before"]), _times(sides["after"])
    return after - before if before.size == after.size else None
