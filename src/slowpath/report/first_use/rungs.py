# SPDX-License-Identifier: Apache-2.0
"""The rungs of the first-use ladder: first uses in the order in which a program meets them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.results import Results
from slowpath.core.units import format_bytes

EXPERIMENT = "first_use"
Name = Callable[[CellResult], str]


@dataclass(frozen=True)
class Rung:
    """One row. first: the first time.  later: the k-th ones; None: it happens once in a process.  last: the median over
    launches of the last use that was taken, and its number; None: uses were not kept one by one.
    """

    name: str
    cell: CellResult
    metric: str
    first: MetricEstimate
    later: MetricEstimate | None
    last: tuple[int, float] | None


def _of(name: str) -> Callable[[CellResult], str]:
    return lambda cell: cell.parameters.get(name, "")


def _window(cell: CellResult) -> str:
    words = [format_bytes(int(cell.parameters["window_bytes"]))]
    if cell.parameters.get("memory") == "program":
        words.append("without MPI")
    if (info := cell.parameters.get("window_info", "none")) != "none":
        words.append(info)
    return ", ".join(words)


# Pattern -> metric -> words. Of windows the longest alone.
_RUNGS: dict[str, tuple[tuple[str, str, Name], ...]] = {
    "init": (
        ("library_load_s", "libraries mapped (processor time)", lambda _: ""),
        ("constructors_s", "constructors of libraries", lambda _: ""),
        ("init_s", "MPI_Init", lambda _: ""),
        ("first_duplicate_s", "first MPI_Comm_dup", lambda _: ""),
        ("first_split_s", "first MPI_Comm_split_type", lambda _: ""),
    ),
    "peer": (
        ("peer_s", "one peer", _of("order")),
        ("peers_s", "round over all peers", _of("order")),
    ),
    "communicator": (("communicator_s", "communicator", _of("made_by")),),
    "collective": (
        ("collective_first_s", "", lambda c: f"{c.parameters['collective']}, {c.parameters['communicator']}"),
    ),
    "window": (("window_use_s", "window", _window),),
    "shared_window": (("shared_window_use_s", "shared window", _window),),
    "persistent": (
        ("persistent_init_s", "persistent init", _of("persistent")),
        ("persistent_start_s", "persistent start", _of("persistent")),
    ),
    "partitioned": (
        ("partitioned_init_s", "partitioned init", lambda _: ""),
        ("partitioned_start_s", "partitioned start", lambda _: ""),
    ),
}


def rungs(results: Results) -> dict[tuple[str, str], list[Rung]]:
    """Library and placement -> its rungs, in the order of a program's start. Copies are left out."""
    found: dict[tuple[str, str], list[Rung]] = {}
    cells = [cell for cell in results.cells if cell.experiment == EXPERIMENT and cell.copy == 1 and cell.metrics]
    for pattern, metrics in _RUNGS.items():
        mine = [cell for cell in cells if cell.parameters.get("pattern") == pattern]
        for cell in _longest(mine):
            for metric, words, name in metrics:
                if (rung := _rung(cell, metric, words, name(cell))) is not None:
                    found.setdefault((cell.mpi or "this MPI", cell.placement), []).append(rung)
    return found


def _longest(cells: Sequence[CellResult]) -> list[CellResult]:
    """Of cells that differ in the window's length the longest."""
    groups: dict[tuple[object, ...], CellResult] = {}
    for cell in cells:
        rest = tuple(sorted((k, v) for k, v in cell.parameters.items() if k != "window_bytes"))
        key = (cell.mpi, cell.placement, cell.environment, rest)
        best = groups.get(key)
        if best is None or _length(cell) > _length(best):
            groups[key] = cell
    return list(groups.values())


def _length(cell: CellResult) -> int:
    return int(cell.parameters.get("window_bytes", "0"))


def _rung(cell: CellResult, metric: str, words: str, name: str) -> Rung | None:
    first = cell.estimate(metric, "first")
    if first is None:
        return None
    label = f"{words} ({name})" if words and name else words or name
    uses = cell.metrics[metric].by_repetition
    last = None
    if uses is not None:
        values = sorted(row[-1] for row in uses.launch_values)
        last = (uses.repetitions[-1], values[len(values) // 2])
    return Rung(label, cell, metric, first, cell.estimate(metric, "steady"), last)
