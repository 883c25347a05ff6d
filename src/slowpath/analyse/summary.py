# SPDX-License-Identifier: Apache-2.0
"""One line of numbers per cell, launch, rank and phase, from any number of samples in little memory.

Blocks are read one group at a time into two threads' buffers, so memory follows the largest group and not the
file. Exact
quantiles: selection inside the group, no sketch.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowpath.record.blocks import THREADS, BlockIndex, opened, read_from
from slowpath.record.layout import layout
from slowpath.stats.orderstat import quantiles_in_place

_GROUP = ("cell", "launch", "rank", "phase")
_TASK_GROUPS = 64
_PROBABILITIES = (0.5, 0.9, 0.99)


@dataclass(frozen=True)
class CellSummary:
    """Times of one operation, nanoseconds: each sample divided by its block's batch."""

    cell: int
    launch: int
    rank: int
    phase: str
    count: int  # samples
    batch: int | None  # None: blocks of different batches
    median_ns: float
    p90_ns: float
    p99_ns: float
    min_ns: float
    max_ns: float


def summarise(index: BlockIndex) -> list[CellSummary]:
    """Summaries in the order in which the groups first appear in the file; groups without samples are left
    out.

    Raises: RecordError: the file is gone or became shorter since the scan.
    """
    groups = _groups(index)
    tasks = [groups[i : i + _TASK_GROUPS] for i in range(0, len(groups), _TASK_GROUPS)]
    with opened(index.path) as descriptor, ThreadPoolExecutor(THREADS) as pool:
        done = pool.map(lambda task: _summarise_groups(descriptor, index, task), tasks)
        return [summary for part in done for summary in part]


def _groups(index: BlockIndex) -> list[NDArray[np.intp]]:
    if not len(index):
        return []
    keys = np.stack([index.headers[name].astype(np.int64) for name in _GROUP], axis=1)
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(inverse.ravel(), kind="stable")
    bounds = np.cumsum(np.bincount(inverse.ravel()))[:-1]
    members = np.split(order, bounds)
    return [members[i] for i in np.argsort(first, kind="stable")]


def _summarise_groups(descriptor: int, index: BlockIndex, groups: Iterable[NDArray[np.intp]]) -> list[CellSummary]:
    found = (_summarise_group(descriptor, index, blocks) for blocks in groups)
    return [summary for summary in found if summary is not None]


def _summarise_group(descriptor: int, index: BlockIndex, blocks: NDArray[np.intp]) -> CellSummary | None:
    header = index.headers[blocks[0]]
    batches = index.headers["batch"][blocks]
    parts: list[NDArray[Any]] = [read_from(descriptor, index, int(i)).duration_ns for i in blocks]
    batch = int(batches[0]) if (batches == batches[0]).all() else None
    if batch is None:
        parts = [part / int(k) for part, k in zip(parts, batches, strict=True)]
    values = parts[0] if len(parts) == 1 else np.concatenate(parts)
    if values.size == 0:
        return None
    middle = quantiles_in_place(values, _PROBABILITIES)
    divisor = 1 if batch is None else batch
    number = int(header["phase"])
    return CellSummary(
        int(header["cell"]), int(header["launch"]), int(header["rank"]),
        layout().phases.get(number, f"phase {number}"), int(values.size), batch,
        *(float(value) / divisor for value in (*middle, values.min(), values.max())),
    )  # fmt: skip
