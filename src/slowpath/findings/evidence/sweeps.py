# SPDX-License-Identifier: Apache-2.0
"""Sweeps out of results.json: cells that are equal but for numbers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from slowpath.stats.inputs import Floats
from slowpath.stats.laws.sweep import Sweep

FEWEST_POINTS = 3
# How long and how often is measured is no property of what is measured.
_EFFORT = frozenset(
    {"samples", "time_limit_s", "warmup_s", "warmups", "repetitions", "allocations", "messages", "validate"}
)
# What decides which way a message goes, though it is spelled as a number.
_SETTINGS = frozenset({"device", "exporter_device", "importer_device", "pairs", "peer", "copies", "seed"})
_SETTING = ("group", "experiment", "mpi", "environment", "placement", "copy")
_LENGTHS = ("sender_allocation_bytes", "receiver_allocation_bytes")
_LIVE = "live"  # slowpath-ipc's name of live_buffers
_UNIT = "s"

Cell = Mapping[str, Any]


def sweeps(results: Mapping[str, Any], fewest_points: int = FEWEST_POINTS) -> list[Sweep]:
    """Each metric in seconds and phase of each set of cells that differ in numbers alone, in the order of the cells.

    Args: results: as docs/reference/results.md has it.  fewest_points: smaller sets are left out.
    Nothing that differs in a name (a pattern, a memory kind, an environment, an MPI) is put into one sweep.
    """
    found = []
    for setting, cells in _grouped(results["cells"]).items():
        for metric, phase in _series(cells):
            if (sweep := _sweep(cells, metric, phase, setting[0])) is not None and sweep.points >= fewest_points:
                found.append(sweep)
    return found


def along(sweep: Sweep, covariate: str, fewest_points: int = FEWEST_POINTS) -> list[Sweep]:
    """The lines of a grid on which one covariate varies and all that do not follow from it stand still."""
    inputs = [name for name in sweep.varied() if name != covariate and not _follows(name)]
    keys = list(zip(*(sweep.covariates[name].tolist() for name in inputs), strict=True)) or [()] * sweep.points
    lines = [sweep.take(np.array([key == one for key in keys])) for one in dict.fromkeys(keys)]
    return [line for line in lines if line.points >= fewest_points and covariate in line.varied()]


def _follows(name: str) -> bool:
    """Whether it is a length of an allocation, which what is swept may decide."""
    return name == "buffer_bytes" or name.endswith("allocation_bytes")


def _grouped(cells: Sequence[Cell]) -> dict[tuple[str, ...], list[Cell]]:
    groups: dict[tuple[str, ...], list[Cell]] = defaultdict(list)
    for cell in cells:
        if cell["metrics"]:
            names = {k: v for k, v in cell["parameters"].items() if k not in _EFFORT and _number(k, v) is None}
            setting = [cell[part] for part in _SETTING]
            groups[tuple(str(part) for part in [*setting, sorted(names.items())])].append(cell)
    return dict(groups)


def _series(cells: Sequence[Cell]) -> Iterator[tuple[str, str]]:
    """Metrics in seconds and their phases, each once."""
    pairs = [
        (metric, phase)
        for cell in cells
        for metric, entry in cell["metrics"].items()
        if entry["unit"] == _UNIT
        for phase in entry["phases"]
    ]
    yield from dict.fromkeys(pairs)


def _sweep(cells: Sequence[Cell], metric: str, phase: str, group: str) -> Sweep | None:
    """None when a launch can't be told from another: cells of one sweep that were measured in unlike many launches."""
    there = [c for c in cells if phase in c["metrics"].get(metric, {}).get("phases", {})]
    estimates = [c["metrics"][metric]["phases"][phase] for c in there]
    launches = max(len(e["launch_values"]) for e in estimates)
    kept = [(c, e) for c, e in zip(there, estimates, strict=True) if len(e["launch_values"]) == launches]
    covariates = _covariates([cell["parameters"] for cell, _ in kept])
    if not covariates:
        return None
    times: Floats = np.array([launch_times(c["metrics"][metric], phase) for c, _ in kept], dtype=np.float64).T
    samples = np.array([e["samples"] for _, e in kept], dtype=np.int64)
    numbers = tuple(int(cell["cell"]) for cell, _ in kept)
    return Sweep(covariates, times, samples, group, metric, phase, _within([e for _, e in kept]), numbers)


def launch_times(entry: Mapping[str, Any], phase: str) -> Sequence[float]:
    """What stands for each launch where a law is fitted, seconds: its median, of first messages that of the buffers
    which nothing disturbed (by_repetition).

    Args: entry: of a metric of a cell, which has this phase.
    """
    medians: Sequence[float] = entry["phases"][phase]["launch_values"]
    by_use = (entry.get("by_repetition") or {}).get("launch_values") if phase == "first" else None
    return [row[0] for row in by_use] if by_use and len(by_use) == len(medians) else medians


def _within(estimates: Sequence[Mapping[str, Any]]) -> Floats | None:
    """Standard error of a launch's median; 1.2533 is the median's over the mean's for a normal law."""
    spreads = [(e["within_ratio"], e["samples"] / e["launches"]) for e in estimates]
    if any(spread is None for spread, _ in spreads):
        return None
    return np.array([1.2533 * spread / np.sqrt(n) for spread, n in spreads], dtype=np.float64)


def _number(name: str, value: str) -> float | None:
    """None: no number, or one that names a thing. A side's value may stand as SENDER:RECEIVER."""
    if name in _SETTINGS:
        return None
    parts = str(value).split(":")
    if name == "buffer_bytes" and all(part == "message" or part.isdecimal() for part in parts):
        return 0.0
    return float(parts[0]) if len(parts) <= 2 and all(part.isdecimal() for part in parts) else None


def _covariates(parameters: Sequence[Mapping[str, str]]) -> dict[str, Floats]:
    """What varies; allocations as one length where the two sides' are alike everywhere."""
    rows = [_lengths(one) | _plain(one) for one in parameters]
    names = [name for name in rows[0] if all(name in row for row in rows)]
    columns = {name: np.array([row[name] for row in rows], dtype=np.float64) for name in names}
    if all(row.get(_LENGTHS[0]) == row.get(_LENGTHS[1]) for row in rows) and _LENGTHS[0] in columns:
        columns["allocation_bytes"] = columns.pop(_LENGTHS[0])
        del columns[_LENGTHS[1]]
    varied = {name: values for name, values in columns.items() if np.ptp(values) > 0}
    if varied and "message_bytes" in columns:
        varied.setdefault("message_bytes", columns["message_bytes"])
    return varied


def _plain(parameters: Mapping[str, str]) -> dict[str, float]:
    """Numbers that both sides share."""
    found = {}
    for name, value in parameters.items():
        if name in _EFFORT or name in ("buffer_bytes", "overalloc_bytes", "allocation_bytes", "pad_to_bytes"):
            continue
        if (number := _number(name, value)) is not None and ":" not in value:
            found["live_buffers" if name == _LIVE else name] = number
    return found


def _lengths(parameters: Mapping[str, str]) -> dict[str, float]:
    """Length of each side's allocation."""
    sides = [_allocation({k: _side(v, i) for k, v in parameters.items()}) for i in range(len(_LENGTHS))]
    if sides[0] is None or sides[1] is None:
        return {}
    found = dict(zip(_LENGTHS, (sides[0], sides[1]), strict=True))
    asked = _allocation({k: _side(v, 0) for k, v in parameters.items() if k not in ("overalloc_bytes", "pad_to_bytes")})
    base = {} if asked is None else {"buffer_bytes": asked}
    return base | found


def _side(value: str, index: int) -> str:
    parts = str(value).split(":")
    return parts[index] if len(parts) == len(_LENGTHS) else str(value)


def _allocation(parameters: Mapping[str, str]) -> float | None:
    """None: the experiment does not say."""
    length = parameters.get("allocation_bytes") or parameters.get("buffer_bytes")
    if length == "message":
        length = parameters.get("message_bytes")
    if length is None or not length.isdecimal():
        return None
    whole = int(length) + int(parameters.get("overalloc_bytes", "0"))
    pad = int(parameters.get("pad_to_bytes", "0"))
    return float(-(-whole // pad) * pad if pad else whole)
