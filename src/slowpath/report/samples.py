# SPDX-License-Identifier: Apache-2.0
"""Raw samples for the explorer of the page, thinned to screen resolution within a number of bytes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowpath.core.errors import RecordError
from slowpath.record import blocks
from slowpath.record.folder import launch_folders

FINEST = 400  # intervals of samples that one series can show: the explorer is about that many pixels wide
COARSEST = 8


@dataclass(frozen=True, slots=True)
class SampleSeries:
    """The samples of a cell, launch, phase and rank, in the order in which they were taken.

    Args: values_ns: int64, shape (n,), nanoseconds of a batch of `batch` operations.
    """

    cell: int
    launch: int
    phase: str
    rank: int
    batch: int
    values_ns: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Explorer:
    """The explorer's data: JSON text, and whether samples were thinned or series left out."""

    data: str
    series: int
    samples: int
    thinned: bool
    left_out: int


def read_series(folder: Path) -> Iterator[SampleSeries]:
    """Yield the series of all launches of a run folder, one launch at a time, without damaged blocks and files.

    The samples of several allocations follow one another in the order of the file.
    """
    for launch in launch_folders(folder) if (folder / "launches").is_dir() else ():
        try:
            yield from _launch_series(launch / "samples.blk")
        except RecordError:
            continue  # the verdict's notes name it; the explorer only shows what can be read


def _launch_series(path: Path) -> Iterator[SampleSeries]:
    index = blocks.scan(path, verify=False)
    by_key: dict[tuple[int, int, str, int, int], list[int]] = {}
    for i, header in enumerate(index.headers):
        cell, launch, rank, batch = (int(header[name]) for name in ("cell", "launch", "rank", "batch"))
        key = (cell, launch, index.phase(i), rank, batch)
        by_key.setdefault(key, []).append(i)
    if not by_key:
        return
    with blocks.opened(path) as descriptor:
        for (cell, launch, phase, rank, batch), places in by_key.items():
            parts = [blocks.read_from(descriptor, index, i).duration_ns for i in places]
            yield SampleSeries(cell, launch, phase, rank, batch, np.concatenate(parts))


def thin(values: NDArray[np.int64], buckets: int) -> NDArray[np.int64]:
    """Return the smallest and largest value of each of `buckets` sections in order, or all values if there are fewer.

    Returns: shape (min(n, 2 * buckets),). Outliers stay visible.
    """
    if len(values) <= 2 * buckets:
        return values
    kept = []
    for run in np.array_split(values, buckets):
        low, high = int(run.argmin()), int(run.argmax())
        kept += [run[min(low, high)], run[max(low, high)]]
    return np.array(kept, dtype=np.int64)


def ranks(values: NDArray[np.int64], points: int) -> NDArray[np.int64]:
    """Return sorted values at `points` evenly spaced ranks, with the smallest and largest: vertices of the ECDF."""
    places = np.linspace(0, len(values) - 1, points).round().astype(np.int64)
    ordered: NDArray[np.int64] = np.sort(values)[places]
    return ordered


@dataclass(frozen=True, slots=True)
class _Shown:
    """A series at screen resolution: its extremes in order, its ECDF if it was thinned, and its length."""

    series: SampleSeries
    ecdf: NDArray[np.int64] | None
    samples: int


def _finest(sampled: SampleSeries) -> _Shown:
    """Thin a series at once, so that memory never holds more than a screen can show."""
    values = sampled.values_ns
    if len(values) <= 2 * FINEST:
        return _Shown(sampled, None, len(values))
    kept = SampleSeries(sampled.cell, sampled.launch, sampled.phase, sampled.rank, sampled.batch, thin(values, FINEST))
    return _Shown(kept, ranks(values, FINEST), len(values))


def _encode(shown: _Shown, buckets: int) -> dict[str, Any]:
    sampled = shown.series
    values = thin(sampled.values_ns, buckets)
    made: dict[str, Any] = {
        "l": sampled.launch,
        "p": sampled.phase,
        "r": sampled.rank,
        "k": sampled.batch,
        "n": shown.samples,
    }
    made["v"] = values.tolist()
    if len(values) < shown.samples:
        whole = sampled.values_ns if shown.ecdf is None else shown.ecdf
        made["q"] = ranks(whole, min(len(whole), max(COARSEST, buckets // 2))).tolist()
    return made


def _document(series: list[_Shown], labels: dict[int, str], buckets: int) -> str:
    cells: dict[int, list[dict[str, Any]]] = {}
    for sampled in series:
        cells.setdefault(sampled.series.cell, []).append(_encode(sampled, buckets))
    named = [{"c": cell, "t": labels.get(cell, f"cell {cell}"), "s": rows} for cell, rows in cells.items()]
    return json.dumps(named, separators=(",", ":"), ensure_ascii=False)


def explore(series: Iterable[SampleSeries], labels: dict[int, str], budget_bytes: int) -> Explorer | None:
    """Return the explorer's data within `budget_bytes` of JSON, or None without samples or room.

    Series become coarser first, then fewer.
    Args: labels: label of each cell, in the order in which cells are offered; the last ones are given up first.
    """
    order = {cell: place for place, cell in enumerate(labels)}
    kept = [_finest(sampled) for sampled in series if len(sampled.values_ns)]
    kept.sort(key=lambda s: (order.get(s.series.cell, len(order)), s.series.phase, s.series.launch, s.series.rank))
    if not kept:
        return None
    total, samples, buckets = len(kept), sum(sampled.samples for sampled in kept), FINEST
    data = _document(kept, labels, buckets)
    while (size := len(data.encode())) > budget_bytes and buckets > COARSEST:
        buckets = max(COARSEST, int(buckets * min(0.9, budget_bytes / size)))
        data = _document(kept, labels, buckets)
    while (size := len(data.encode())) > budget_bytes and kept:
        kept = kept[: int(len(kept) * min(0.95, budget_bytes / size))]
        data = _document(kept, labels, buckets)
    if not kept:
        return None
    thinned = any(sampled.samples > 2 * buckets for sampled in kept)
    return Explorer(data, len(kept), samples, thinned, total - len(kept))
