# SPDX-License-Identifier: Apache-2.0
"""Cells of the same launches side by side: ranks, puts and messages, messages behind a computation. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.findings.evidence.evidence import CLEAR_RATIO, ExposedMessage, Ratio, SlowPeer, SlowPut
from slowpath.findings.evidence.words import PUT, SPEAKING, number, parameter
from slowpath.findings.gather.contrasts import ratio_of

FEWEST_RANKS = 3
FAR = 2.0  # lower end of the ratio from which on a put is far below a message
MESSAGE = "time_per_message_s"
EXPOSED_RATIO, EXPOSED = "exposed_communication_ratio", "exposed_s"
ALONE, COMPUTE, BOTH = "communication_s", "compute_s", "overlapped_s"
LITTLE = 0.5  # of the communication that stays exposed; more is no overlap worth the name
FEWEST_S = 5e-6  # shorter messages have nothing to hide
_PEER = "peer"


def _steady(cell: CellResult, metric: str) -> MetricEstimate | None:
    return cell.estimate(metric, "steady")


def slow_peers(cells: Iterable[CellResult], minimum_effect: float) -> list[SlowPeer]:
    """Each rank against the median of the others, launch by launch, where cells are equal but for the peer."""
    groups = [group for group in _alike(cells) if len(group) >= FEWEST_RANKS]
    return [one for group in groups for one in _slow(group, minimum_effect)]


def _alike(cells: Iterable[CellResult]) -> list[list[CellResult]]:
    groups: dict[tuple[object, ...], list[CellResult]] = defaultdict(list)
    for cell in cells:
        if number(cell, _PEER) is not None and cell.metrics:
            rest = sorted((name, value) for name, value in cell.parameters.items() if name != _PEER)
            setting = (cell.experiment, cell.mpi, cell.environment, cell.placement, cell.copy)
            groups[(*setting, str(rest))].append(cell)
    return list(groups.values())


def _slow(cells: Sequence[CellResult], minimum_effect: float) -> Iterator[SlowPeer]:
    metric = next((name for name in SPEAKING if all(_steady(cell, name) for cell in cells)), None)
    if metric is None:
        return
    launches = [one.launch_values for cell in cells if (one := _steady(cell, metric)) is not None]
    if len({len(values) for values in launches}) != 1:
        return
    times = np.array(launches)
    for rank, cell in enumerate(cells):
        others = np.median(np.delete(times, rank, axis=0), axis=0)
        ratio = ratio_of(times[rank], others, minimum_effect)
        if ratio.beyond and ratio.value >= CLEAR_RATIO:
            nearest = int(np.argmin(np.abs(np.median(times, axis=1) - np.median(others))))
            yield SlowPeer(
                slow=cell,
                fast=cells[nearest],
                metric=metric,
                slow_s=float(np.median(times[rank])),
                fast_s=float(np.median(others)),
                ratio=ratio,
                cells=tuple(cells),
            )


def slow_puts(cells: Sequence[CellResult], minimum_effect: float) -> list[SlowPut]:
    """For each kind of window the length at which puts lose most against messages."""
    best: dict[tuple[object, ...], SlowPut] = {}
    for put in (cell for cell in cells if _is_put(cell)):
        message = _message(cells, put)
        found = _put_over(put, message, minimum_effect) if message is not None else None
        if found is None or found.ratio.interval is None or found.ratio.interval[0] < FAR:
            continue
        key = (put.mpi, put.environment, put.placement, put.parameters.get("window"))
        if key not in best or found.ratio.value > best[key].ratio.value:
            best[key] = found
    return list(best.values())


def _is_put(cell: CellResult) -> bool:
    p: Mapping[str, str] = cell.parameters
    plain = p.get("operation", "put") in ("put", "rput") and p.get("design", "mpi") == "mpi"
    return PUT in cell.metrics and plain and int(p.get("puts", "1000")) > 1


def _message(cells: Iterable[CellResult], put: CellResult) -> CellResult | None:
    """The message of the same length under the same library, environment and placement."""
    for cell in cells:
        alike = (cell.mpi, cell.environment, cell.placement) == (put.mpi, put.environment, put.placement)
        if alike and MESSAGE in cell.metrics and _length(cell) == _length(put) and _plain_host(cell):
            return cell
    return None


def _length(cell: CellResult) -> str:
    return parameter(cell, "message_bytes", "8")


def _plain_host(cell: CellResult) -> bool:
    return parameter(cell, "memory", "host") == "host" and parameter(cell, "datatype", "contiguous") == "contiguous"


def _put_over(put: CellResult, message: CellResult, minimum_effect: float) -> SlowPut | None:
    slow, fast = _steady(put, PUT), _steady(message, MESSAGE)
    if slow is None or fast is None or len(slow.launch_values) != len(fast.launch_values):
        return None
    ratio = ratio_of(slow.launch_values, fast.launch_values, minimum_effect)
    return SlowPut(slow=put, fast=message, metric=PUT, slow_s=slow.value, fast_s=fast.value, ratio=ratio)


def exposed_messages(cells: Iterable[CellResult], minimum_effect: float) -> list[ExposedMessage]:
    """Cells whose exposed part lies above a half with its whole interval, MPI_Test not being called."""
    asked = (cell for cell in cells if parameter(cell, "pattern") == "overlap")
    quiet = (cell for cell in asked if parameter(cell, "progress", "none") == "none")
    return [found for cell in quiet if (found := _exposed(cell, minimum_effect)) is not None]


def _exposed(cell: CellResult, minimum_effect: float) -> ExposedMessage | None:
    part, exposed = _steady(cell, EXPOSED_RATIO), _steady(cell, EXPOSED)
    alone, compute, both = (_steady(cell, name) for name in (ALONE, COMPUTE, BOTH))
    if part is None or exposed is None or alone is None or compute is None or both is None:
        return None
    if not part.interval or part.interval[0] <= LITTLE:
        return None
    longer = np.maximum(alone.launch_values, compute.launch_values)
    ratio: Ratio = ratio_of(both.launch_values, longer, minimum_effect)
    if not ratio.beyond or exposed.value < FEWEST_S:
        return None
    return ExposedMessage(
        slow=cell,
        fast=cell,
        metric=BOTH,
        slow_s=both.value,
        fast_s=float(np.median(longer)),
        ratio=ratio,
        share=part.value,
        share_interval=part.interval,
        share_interval_kind=part.interval_kind,
    )
