# SPDX-License-Identifier: Apache-2.0
"""The two sides of a finding: the slow cell that stands for it, and what it is slow against. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Mapping[str, Any]


@dataclass(frozen=True)
class Condition:
    """Under what a cell runs: names as in its run, and what they stand for."""

    environment: str
    variables: Mapping[str, str]
    unset: tuple[str, ...]
    placement: str
    bind: str
    setting: str | None = None


@dataclass(frozen=True)
class Sides:
    """axis: what the two differ in; None: fast is missing, or they differ in their numbers as a law has them."""

    slow: Json
    slow_under: Condition
    fast: Json | None
    fast_under: Condition | None
    axis: str | None
    metric: str
    phase: str
    fast_phase: str


def sides_of(finding: Json, results: Json) -> Sides | None:
    """The clearest of the finding's contrasts, else the extremes of its cells; None when it has neither.

    Args: results: of the run in which the finding was observed, as docs/reference/results.md has it.
    """
    cells = {cell["cell"]: cell for cell in results["cells"]}
    chosen = [c for c in results["contrasts"] if c["id"] in set(finding["contrasts"]) and c["interval"] and c["ratio"]]
    across = [c for c in chosen if c["axis"] != "phase"]
    if across or chosen:
        return _of_contrast(max(across or chosen, key=_clear), cells, results)
    return _of_cells(finding, cells, results)


def _clear(contrast: Json) -> float:
    """How far the interval's near end lies from 1, either way."""
    low, high = contrast["interval"]
    return float(max(low, 1 / high))


def _of_contrast(contrast: Json, cells: Mapping[int, Json], results: Json) -> Sides:
    slow, fast = ("b", "a") if contrast["ratio"] > 1 else ("a", "b")
    slow_cell, fast_cell = cells[contrast[slow]["cell"]], cells[contrast[fast]["cell"]]
    return Sides(
        slow_cell,
        condition(slow_cell, results),
        fast_cell,
        condition(fast_cell, results),
        contrast["axis"],
        contrast["metric"],
        contrast[slow]["phase"],
        contrast[fast]["phase"],
    )


def _of_cells(finding: Json, cells: Mapping[int, Json], results: Json) -> Sides | None:
    metric, phase = finding["metric"], finding["phase"]

    def time_s(cell: Json) -> float | None:
        estimate = cell["metrics"].get(metric, {}).get("phases", {}).get(phase)
        return None if estimate is None else float(estimate["value"])

    timed = [(value, cells[n]) for n in finding["cells"] if n in cells and (value := time_s(cells[n])) is not None]
    if not timed:
        return None
    slow_s, slow = max(timed, key=lambda pair: pair[0])
    alike = [pair for pair in timed if _message(pair[1]) == _message(slow) and pair[1] is not slow]
    fast = min(alike, key=lambda pair: pair[0], default=None)
    axis = _only_difference(slow["parameters"], fast[1]["parameters"]) if fast else None
    under = condition(slow, results)
    if fast is None or fast[0] >= slow_s:
        return Sides(slow, under, None, None, None, metric, phase, phase)
    return Sides(slow, under, fast[1], condition(fast[1], results), axis, metric, phase, phase)


def _message(cell: Json) -> str | None:
    found: str | None = cell["parameters"].get("message_bytes")
    return found


def _only_difference(one: Mapping[str, str], other: Mapping[str, str]) -> str | None:
    names = [name for name in one if one[name] != other.get(name)]
    return names[0] if len(names) == 1 else None


def condition(cell: Json, results: Json) -> Condition:
    """What the cell's environment and placement stand for in its run."""
    environment = _named(results["run"]["environments"], cell["environment"], cell.get("mpi"))
    placement: Json = next((p for p in results["run"]["placements"] if p["name"] == cell["placement"]), {})
    return Condition(
        environment=cell["environment"],
        variables=dict(environment.get("variables") or {}),
        unset=tuple(environment.get("unset") or ()),
        placement=cell["placement"],
        bind=str(placement.get("bind") or "core"),
        setting=environment.get("setting"),
    )


def _named(environments: Sequence[Json], name: str, mpi: str | None) -> Json:
    return next((e for e in environments if e["name"] == name and e.get("mpi") in (None, mpi)), {})
