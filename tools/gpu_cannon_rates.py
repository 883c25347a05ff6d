# SPDX-License-Identifier: Apache-2.0
"""Rates and shares of `cannon` on GPUs, from the records of launches. Pure but for reading."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slowpath.record.blocks import BlockIndex, read, scan
from slowpath.record.events import read_events

TOTAL, DGEMM = 0, 1  # parts of `multiply`, docs/internals/record.md
NS = 1e-9
Cell = tuple[int, str, str]  # n, numbers, variant
Times = NDArray[np.float64]


@dataclass(frozen=True)
class Timed:
    """The steady repetitions of one cell in one launch.

    multiply_s: from the first rank's start to the last rank's end, shape (repetitions,).
    total_s, dgemm_s: of each rank, shape (ranks, repetitions); dgemm_s is the device's own busy time.
    """

    multiply_s: Times
    total_s: Times
    dgemm_s: Times

    def exposed_ratio(self) -> float:
        """Share of the time in which a rank's device was not multiplying; median over repetitions."""
        return float(np.median(1 - self.dgemm_s.mean(axis=0) / self.total_s.mean(axis=0)))


@dataclass(frozen=True)
class Ended:
    """How a cell of one launch ended. timed: None unless it was ok."""

    status: str
    reason: str | None
    timed: Timed | None


def read_launch(folder: Path, cells: Sequence[Cell]) -> dict[Cell, Ended]:
    """What one launch left; cells that it did not reach are absent.  Raises: RecordError."""
    ends = read_events(folder / "events.jsonl").cell_ends
    index = scan(folder / "samples.blk")
    found: dict[Cell, Ended] = {}
    for number, cell in enumerate(cells):
        if number in ends:
            end = ends[number]
            found[cell] = Ended(end.status, end.reason, _timed(index, number) if end.status == "ok" else None)
    return found


def _timed(index: BlockIndex, cell: int) -> Timed | None:
    """None: the cell has no steady samples."""
    begin_ns, spent_ns, dgemm_ns = {}, {}, {}
    for position in index.select(cell=cell, phase="steady"):
        header, samples = index.headers[position], read(index, int(position))
        rank, part = int(header["rank"]), int(header["part"])
        if part == TOTAL and samples.start_ns is not None:
            begin_ns[rank] = samples.start_ns + int(header["t0_ns"])
            spent_ns[rank] = samples.duration_ns
        elif part == DGEMM:
            dgemm_ns[rank] = samples.duration_ns
    if not begin_ns or begin_ns.keys() != dgemm_ns.keys():
        return None
    ranks, count = sorted(begin_ns), len(next(iter(spent_ns.values())))
    begin = np.array([begin_ns[rank] for rank in ranks])
    spent = np.array([spent_ns[rank] for rank in ranks])
    dgemm = np.array([dgemm_ns[rank].reshape(count, -1).sum(axis=1) for rank in ranks])
    return Timed(((begin + spent).max(axis=0) - begin.min(axis=0)) * NS, spent * NS, dgemm * NS)


def flops(n: int) -> float:
    """Of one multiplication of n x n matrices."""
    return 2.0 * n**3


def rate_per_s(n: int, timed: Timed) -> float:
    """Operations a second of all ranks together, from the median time."""
    return flops(n) / float(np.median(timed.multiply_s))


def ceiling_per_s(n: int, compute_only: Timed) -> float:
    """Sum over the GPUs of what each one's cuBLAS does in compute_only, all of them at work.

    A rank's busy time is the median over repetitions, so that the sum is of what each GPU does most of the time.
    """
    ranks = compute_only.dgemm_s.shape[0]
    return float(sum(flops(n) / ranks / np.median(busy_s) for busy_s in compute_only.dgemm_s))


@dataclass(frozen=True)
class Row:
    """One line of the table: each value a list over launches."""

    cell: Cell
    multiply_s: list[float]
    rates_per_s: list[float]
    of_busy_ratio: list[float]  # of ranks x one GPU's cuBLAS in the same launch, all GPUs at work
    exposed_ratio: list[float]
    trouble: str | None  # why there is nothing, or what was wrong in some launch


def rows(launches: Sequence[Mapping[Cell, Ended]], cells: Sequence[Cell]) -> list[Row]:
    """One row a cell, in their order."""
    made = []
    for n, numbers, variant in cells:
        row = Row((n, numbers, variant), [], [], [], [], _trouble(launches, (n, numbers, variant)))
        for launch in launches:
            ended, ceiling = launch.get((n, numbers, variant)), launch.get((n, numbers, "compute_only"))
            if ended is None or ended.timed is None:
                continue
            row.multiply_s.append(float(np.median(ended.timed.multiply_s)))
            row.rates_per_s.append(rate_per_s(n, ended.timed))
            row.exposed_ratio.append(ended.timed.exposed_ratio())
            if ceiling is not None and ceiling.timed is not None:
                row.of_busy_ratio.append(rate_per_s(n, ended.timed) / ceiling_per_s(n, ceiling.timed))
        made.append(row)
    return made


def _trouble(launches: Sequence[Mapping[Cell, Ended]], cell: Cell) -> str | None:
    for launch in launches:
        if cell in launch and launch[cell].status != "ok":
            return f"{launch[cell].status}: {launch[cell].reason}"
    return None if any(cell in launch for launch in launches) else "not reached"


def spread(values: Sequence[float], scale: float, digits: int) -> str:
    """Median and range over launches, '-' for none."""
    if not values:
        return "-"
    middle, low, high = (f"{scale * v:.{digits}f}" for v in (statistics.median(values), min(values), max(values)))
    return middle if len(values) == 1 else f"{middle} ({low} to {high})"
