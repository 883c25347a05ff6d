# SPDX-License-Identifier: Apache-2.0
"""Raw samples for the explorer: read from the run folder, thinned to what a screen shows, within a budget of bytes."""

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
class Series:
    """Samples of one cell, launch, phase and rank in the order they were taken.

    values_ns: int64, shape (n,), nanoseconds of a batch of `batch` operations, undivided.
    """

    cell: int
    launch: int
    phase: str
    rank: int
    batch: int
    values_ns: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Explorer:
    """What the page embeds: JSON text, and whether samples were thinned or whole series left out."""

    data: str
    series: int
    samples: int
    thinned: bool
    left_out: int


def read_series(folder: Path) -> Iterator[Series]:
    """Series of all launches of a run folder, one launch in memory at a time. Damaged blocks and files are left out.

    The samples of several allocations follow one another in the order of the file.
    """
    for launch in launch_folders(folder) if (folder / "launches").is_dir() else ():
        try:
            yield from _launch_series(launch / "samples.blk")
        except RecordError:
            continue  # the verdict's notes name it; the explorer only shows what can be read


def _launch_series(path: Path) -> Iterator[Series]:
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
            yield Series(cell, launch, phase, rank, batch, np.concatenate(parts))


def thin(values: NDArray[np.int64], buckets: int) -> NDArray[np.int64]:
    """Smallest and largest value of each of `buckets` runs, in their order; all values where they are not more.

    Shape (n,) -> (min(n, 2 * buckets),). Outliers stay visible: no extreme is lost.
    """
    if len(values) <= 2 * buckets:
        return values
    kept = []
    for run in np.array_split(values, buckets):
        low, high = int(run.argmin()), int(run.argmax())
        kept += [run[min(low, high)], run[max(low, high)]]
    return np.array(kept, dtype=np.int64)


def ranks(values: NDArray[np.int64], points: int) -> NDArray[np.int64]:
    """Sorted values at `points` evenly spaced ranks, the smallest and the largest included: vertices of the ECDF."""
    places = np.linspace(0, len(values) - 1, points).round().astype(np.int64)
    ordered: NDArray[np.int64] = np.sort(values)[places]
    return ordered


@dataclass(frozen=True, slots=True)
class _Shown:
    """A series as fine as the screen: its extremes in order, its ECDF if it was thinned, and how long it was."""

    series: Series
    ecdf: NDArray[np.int64] | None
    samples: int


def _finest(one: Series) -> _Shown:
    """Thins at once, so that only what a screen can show of a large run is ever in memory together."""
    values = one.values_ns
    if len(values) <= 2 * FINEST:
        return _Shown(one, None, len(values))
    kept = Series(one.cell, one.launch, one.phase, one.rank, one.batch, thin(values, FINEST))
    return _Shown(kept, ranks(values, FINEST), len(values))


def _encode(shown: _Shown, buckets: int) -> dict[str, Any]:
    one = shown.series
    values = thin(one.values_ns, buckets)
    made: dict[str, Any] = {"l": one.launch, "p": one.phase, "r": one.rank, "k": one.batch, "n": shown.samples}
    made["v"] = values.tolist()
    if len(values) < shown.samples:
        whole = one.values_ns if shown.ecdf is None else shown.ecdf
        made["q"] = ranks(whole, min(len(whole), max(COARSEST, buckets // 2))).tolist()
    return made


def _document(series: list[_Shown], labels: dict[int, str], buckets: int) -> str:
    cells: dict[int, list[dict[str, Any]]] = {}
    for one in series:
        cells.setdefault(one.series.cell, []).append(_encode(one, buckets))
    named = [{"c": cell, "t": labels.get(cell, f"cell {cell}"), "s": rows} for cell, rows in cells.items()]
    return json.dumps(named, separators=(",", ":"), ensure_ascii=False)


def explore(series: Iterable[Series], labels: dict[int, str], budget_bytes: int) -> Explorer | None:
    """Everything that fits into `budget_bytes` of JSON; first coarser, then fewer series. None without samples or room.

    Args: labels: the label of each cell, in the order in which cells are offered and, at last, given up from the end.
    """
    order = {cell: place for place, cell in enumerate(labels)}
    kept = [_finest(one) for one in series if len(one.values_ns)]
    kept.sort(key=lambda s: (order.get(s.series.cell, len(order)), s.series.phase, s.series.launch, s.series.rank))
    if not kept:
        return None
    total, samples, buckets = len(kept), sum(one.samples for one in kept), FINEST
    data = _document(kept, labels, buckets)
    while (size := len(data.encode())) > budget_bytes and buckets > COARSEST:
        buckets = max(COARSEST, int(buckets * min(0.9, budget_bytes / size)))
        data = _document(kept, labels, buckets)
    while (size := len(data.encode())) > budget_bytes and kept:
        kept = kept[: int(len(kept) * min(0.95, budget_bytes / size))]
        data = _document(kept, labels, buckets)
    if not kept:
        return None
    thinned = any(one.samples > 2 * buckets for one in kept)
    return Explorer(data, len(kept), samples, thinned, total - len(kept))
