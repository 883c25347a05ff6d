# SPDX-License-Identifier: Apache-2.0
"""One collective in every way that was measured, over its lengths, out of the cells of a run. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.results import Results
from slowpath.experiments.coll.experiment import EXPERIMENT
from slowpath.experiments.coll.metrics import OWN, WORK
from slowpath.experiments.registry import ROLES
from slowpath.report.figure import grouped

LIBRARY = "library"


@dataclass(frozen=True, slots=True)
class Panel:
    """One collective, all else equal.

    where: MPI and ranks, and what else of the cells is not the rule.  metric: of all times.
    times: way -> length in bytes -> estimate; the library's own first.
    """

    collective: str
    where: str
    metric: str
    mpi: str
    times: Mapping[str, Mapping[int, MetricEstimate]]

    @property
    def own(self) -> Mapping[int, MetricEstimate]:
        """The library's own call."""
        return self.times[LIBRARY]

    @property
    def lengths(self) -> list[int]:
        """At which the library's own call was measured, bytes; 0: it has none."""
        return sorted(self.own)

    def best(self, length: int) -> tuple[str, MetricEstimate] | None:
        """The fastest other way at a length; None: there is none."""
        others = [(name, at[length]) for name, at in self.times.items() if name != LIBRARY and length in at]
        return min(others, key=lambda one: one[1].value, default=None)

    def ratio(self, length: int) -> float | None:
        """The library's own time over the best other way's."""
        best = self.best(length)
        return None if best is None else self.own[length].value / best[1].value


def panels(results: Results) -> list[Panel]:
    """In the order of the cells; those with one way alone are left out."""
    cells = [cell for cell in results.cells if cell.experiment == EXPERIMENT and _steady(cell) is not None]
    calls = [cell for cell in cells if cell.parameters.get("pattern", "calls") == "calls" and cell.copy == 1]
    groups = [group for group in grouped(calls, _place).values() if _is_compared(group)]
    usual = _usual(cells)
    return [_panel(group, results, usual) for group in groups]


def _is_compared(cells: Sequence[CellResult]) -> bool:
    ways = {cell.parameters.get("way", LIBRARY) for cell in cells}
    return LIBRARY in ways and len(ways) > 1


def _settings(cell: CellResult) -> dict[str, str]:
    """What sets a line apart."""
    without = ("way", "message_bytes", "collective", "pattern")
    return {k: v for k, v in cell.parameters.items() if k not in without and ROLES.get(k) != "effort"}


def _place(cell: CellResult) -> tuple[object, ...]:
    collective = cell.parameters.get("collective")
    return (cell.mpi, cell.environment, cell.placement, collective, *sorted(_settings(cell).items()))


def _usual(cells: Iterable[CellResult]) -> dict[str, set[str]]:
    """Setting -> values that occur."""
    found: dict[str, set[str]] = {}
    for cell in cells:
        for name, value in _settings(cell).items():
            found.setdefault(name, set()).add(value)
    return found


_NEVER_SHOWN = ("datatype", "op", "calls", "arrival_ratio")  # they follow from the collective, or from nothing


def _panel(cells: Sequence[CellResult], results: Results, usual: Mapping[str, set[str]]) -> Panel:
    first = cells[0]
    ways = dict.fromkeys([LIBRARY, *(cell.parameters.get("way", LIBRARY) for cell in cells)])
    metric = WORK if all(_has(cell, WORK) for cell in cells) else OWN
    times: dict[str, dict[int, MetricEstimate]] = {way: {} for way in ways}
    for cell in cells:
        estimate = cell.estimate(metric, "steady")
        if estimate is not None:
            times[cell.parameters.get("way", LIBRARY)][_length(cell)] = estimate
    return Panel(
        first.parameters.get("collective", ""),
        ", ".join(_where(first, results, usual)),
        metric,
        first.mpi or "",
        {way: at for way, at in times.items() if at},
    )


def _where(cell: CellResult, results: Results, usual: Mapping[str, set[str]]) -> list[str]:
    run = results.run
    place = next((one for one in run.placements if one.name == cell.placement), None)
    ranks = (place.ranks or len(place.observed)) if place else 0
    words = [cell.mpi] if cell.mpi and len(run.mpis or []) > 1 else []
    words += [f"{ranks} ranks"] if ranks else []
    words += [cell.environment] if len(run.environments) > 1 else []
    words += [cell.placement] if len(run.placements) > 1 and not (place and place.ranks) else []
    reported = {k: v for k, v in _settings(cell).items() if k not in _NEVER_SHOWN and len(usual[k]) > 1}
    standard = {"start": "blocking", "in_place": "off", "shape": "elements", "communicator": "world", "members": "all"}
    return words + [f"{k.replace('_', ' ')} {v}" for k, v in reported.items() if standard.get(k) != v]


def _length(cell: CellResult) -> int:
    """Bytes; 0: the collective has no message."""
    return 0 if cell.parameters.get("collective") == "barrier" else int(cell.parameters.get("message_bytes", "0"))


def _has(cell: CellResult, metric: str) -> bool:
    return cell.estimate(metric, "steady") is not None


def _steady(cell: CellResult) -> MetricEstimate | None:
    return cell.estimate(WORK, "steady") or cell.estimate(OWN, "steady")
