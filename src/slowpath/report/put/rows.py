# SPDX-License-Identifier: Apache-2.0
"""Cells of the experiment put, sorted for comparison: which differ only in who puts, and the empty call beside each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from slowpath.core.roles import is_effort
from slowpath.experiments.put.experiment import PUT
from slowpath.report.put.designs import DESIGNS, EMPTY_CALLS, Design, design_of

Json = Any
METRIC = "time_per_put_s"
_WHO = ("design", "call", "checks", "rung")
_NOT_SET = (*_WHO, "pattern")
_ORDER = {design.name: place for place, design in enumerate(DESIGNS)}


@dataclass(frozen=True, slots=True)
class Share:
    """Rate of a row over that of the empty call. interval_kind: or why there is no interval."""

    ratio: float
    interval: tuple[float, float] | None
    interval_kind: str


@dataclass(frozen=True, slots=True)
class PutRow:
    """One design in the launches of one MPI. mpi: its short name; "" in a run of one unnamed MPI."""

    design: Design
    words: str
    mpi: str
    cell: Json
    rung: int
    of_empty: Share | None

    @property
    def estimate(self) -> Json | None:
        """The time of one put in the steady state."""
        return steady(self.cell, METRIC)

    @property
    def calls(self) -> Json | None:
        """Instructions of the puts; None: not counted."""
        return region(self.cell, "put")

    @property
    def inside(self) -> Json | None:
        """Distribution of the instructions inside a call; None: not counted, or nothing is called."""
        found: Json | None = ((self.calls or {}).get("per_call") or {}).get("stepped")
        return found

    @property
    def with_loop(self) -> float | None:
        """Instructions of a put: inside the call (median), call site and loop."""
        loop = (self.calls or {}).get("loop_per_put")
        return None if loop is None else loop + (self.inside or {"median": 0})["median"]


@dataclass(frozen=True, slots=True)
class Condition:
    """Rows that differ in who puts alone. where: what sets them apart from the first condition, in words."""

    where: str
    rows: list[PutRow]


def steady(cell: Json, metric: str) -> Json | None:
    """The steady estimate of a metric; None where there is no value."""
    found = ((cell.get("metrics") or {}).get(metric) or {}).get("phases", {}).get("steady")
    return found if found and found.get("value") is not None else None


def region(cell: Json, name: str) -> Json | None:
    """Instructions of the puts or of the synchronisation."""
    found: Json | None = (cell.get("instructions") or {}).get(name)
    return found


def put_cells(results: Json) -> list[Json]:
    """Cells of the experiment put."""
    return [cell for cell in results["cells"] if cell.get("experiment") == PUT.name]


def _settings(cell: Json) -> dict[str, str]:
    given = {k: str(v) for k, v in cell["parameters"].items() if k not in _NOT_SET and not is_effort(PUT.roles, k)}
    return given | {"environment": str(cell.get("environment")), "placement": str(cell.get("placement"))}


def _who(cell: Json) -> tuple[str, ...]:
    """What tells designs apart: a limit is the same whatever `call` and `checks` say, a layer is not."""
    given = cell["parameters"]
    design = design_of(given.get("design", "mpi"))
    if design.kind == "layer":
        return (design.name, given.get("call", "library"), given.get("checks", "on"))
    return (design.name, given.get("rung", "0")) if design.kind == "ladder" else (design.name,)


def _words(cell: Json) -> str:
    given, design = cell["parameters"], design_of(cell["parameters"].get("design", "mpi"))
    if design.kind != "layer":
        return design.words
    called = "called" if given.get("call", "library") == "library" else "inlined"
    return f"{design.words}, {called}, {'checked' if given.get('checks', 'on') == 'on' else 'unchecked'}"


def _place(row: PutRow) -> tuple[int, bool, bool, int, int]:
    """Rows that differ in the MPI alone follow one another; called before inlined, checked before unchecked."""
    given = row.cell["parameters"]
    order = _ORDER.get(row.design.name, len(_ORDER))
    return order, given.get("call") == "inlined", given.get("checks") == "off", row.rung, row.cell["cell"]


def conditions(results: Json) -> list[Condition]:
    """Every set of cells in which at least two designs meet; the one with most designs first. Skipped cells are out."""
    found: dict[tuple[tuple[str, str], ...], list[Json]] = {}
    for cell in put_cells(results):
        if cell.get("copy") in (None, 1) and steady(cell, METRIC):
            found.setdefault(tuple(sorted(_settings(cell).items())), []).append(cell)
    several = [cells for cells in found.values() if _designs(cells) > 1]
    several.sort(key=lambda cells: -_designs(cells))
    usual = _settings(several[0][0]) if several else {}
    return [Condition(_where(_settings(cells[0]), usual), _rows(cells, results["contrasts"])) for cells in several]


def _designs(cells: list[Json]) -> int:
    return len({_who(cell) for cell in cells})


def _where(settings: dict[str, str], usual: dict[str, str]) -> str:
    return ", ".join(f"{k.replace('_', ' ')} {v}" for k, v in settings.items() if usual.get(k) != v)


def _rows(cells: list[Json], contrasts: list[Json]) -> list[PutRow]:
    same: dict[tuple[str, tuple[str, ...]], list[Json]] = {}
    for cell in cells:
        same.setdefault((cell.get("mpi") or "", _who(cell)), []).append(cell)
    rows = []
    for (mpi, _), alike in same.items():
        design = design_of(alike[0]["parameters"].get("design", "mpi"))
        empty = same.get((mpi, (EMPTY_CALLS[design.arguments],)), [])
        shares = {cell["cell"]: _of_empty(cell, empty, contrasts) for cell in alike}
        best = max(alike, key=lambda cell: (_has_interval(shares[cell["cell"]]), region(cell, "put") is not None))
        rung = int(best["parameters"].get("rung", "0"))
        rows.append(PutRow(design, _words(best), mpi, best, rung, shares[best["cell"]]))
    return sorted(rows, key=_place)


def _has_interval(share: Share | None) -> bool:
    return share is not None and share.interval is not None


def _of_empty(cell: Json, empty: list[Json], contrasts: list[Json]) -> Share | None:
    """The rate over the empty call's: from a contrast of the same launches, else of the two values alone."""
    numbers = {one["cell"] for one in empty}
    if cell["cell"] in numbers or not empty:
        return None
    for contrast in contrasts:
        a, b, ratio = contrast["a"]["cell"], contrast["b"]["cell"], contrast.get("ratio")
        if contrast["metric"] != METRIC or not ratio or contrast["a"]["phase"] != "steady":
            continue
        low, high = contrast.get("interval") or (None, None)
        ends = (low, high) if low and high else None
        kind = contrast.get("interval_kind") or contrast.get("reason") or "no reason was recorded"
        if b == cell["cell"] and a in numbers:
            return Share(1 / ratio, (1 / ends[1], 1 / ends[0]) if ends else None, kind)
        if a == cell["cell"] and b in numbers:
            return Share(ratio, ends, kind)
    own, other = steady(cell, METRIC), steady(empty[0], METRIC)
    if own is None or other is None:
        return None
    return Share(other["value"] / own["value"], None, "not a contrast")
