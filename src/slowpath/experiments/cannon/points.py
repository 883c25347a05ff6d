# SPDX-License-Identifier: Apache-2.0
"""One variant at one n: its time, its share, and its ratios to others in the same launches. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from slowpath.core.cannon_results import CannonPoint, Value
from slowpath.core.cell_results import CellResult
from slowpath.experiments.cannon.groups import CellGroup
from slowpath.experiments.cannon.runs import PARTS, TOTAL
from slowpath.experiments.cannon.variants import ALONE, CEILING, REFERENCE
from slowpath.experiments.measured.reduce import Reduced
from slowpath.stats.contrast import ContrastEstimate, paired

Rounds = Mapping[int, tuple[int, Reduced]]  # round -> launch and what it measured
Measured = Mapping[tuple[int, str, str], Rounds]
Entries = Mapping[int, CellResult]  # cell -> its entry of results.json

_NOT_BY_ITSELF = "the ranks do not make their own inputs here"


@dataclass(frozen=True)
class Own:
    """What the tool itself costs, by cell.

    timing_s: stamping one repetition on one rank; why_no_timing: why that is not known.
    shared_cores: why not every rank has a core of its own; None: each has.
    """

    timing_s: Mapping[int, float] = field(default_factory=dict)
    why_no_timing: Mapping[int, str] = field(default_factory=dict)
    shared_cores: str | None = None


def rounds_of(measured: Measured, group: CellGroup, variant: str, n: int, metric: str = "multiply_s") -> Rounds:
    """What the launches measured of a variant; empty where there is no such cell or nothing in it."""
    cell = group.cells.get((variant, n))
    return {} if cell is None else measured.get((cell.cell, metric, "steady"), {})


def compare(over: Rounds, under: Rounds, minimum_effect: float) -> ContrastEstimate | None:
    """over / under, launch by launch; None where they share no launch."""
    shared = sorted(r for r in over.keys() & under.keys() if over[r][0] == under[r][0])
    if not shared:
        return None
    values = [[side[r][1].centre_s for r in shared] for side in (under, over)]
    return paired(values[0], values[1], minimum_effect)


def point(
    group: CellGroup, variant: str, n: int, measured: Measured, entries: Entries, effect: float, own: Own
) -> CannonPoint:
    """POINT of docs/reference/results.md.

    Args: entries: cells as in results.json; this one has multiply_s.  effect: smallest relative difference that counts.
          own: what the launches say of the tool itself.
    """
    cell = group.cells[variant, n].cell
    entry = entries[cell]
    multiply_s = _steady(entry, "multiply_s")
    if multiply_s is None:
        raise ValueError(f"cell {cell} was not measured")
    mine = rounds_of(measured, group, variant, n)
    ceiling = compare(mine, rounds_of(measured, group, CEILING, n), effect)
    reference = compare(rounds_of(measured, group, REFERENCE, n), mine, effect)
    alone = compare(rounds_of(measured, group, ALONE, n), mine, effect)
    shared = own.shared_cores
    share = _steady(entry, "exposed_ratio")
    parts_s = _parts(entry)
    exposed = _steady(entry, "exposed_s")
    return CannonPoint(
        n=n,
        cell=cell,
        multiply_s=multiply_s,
        exposed_s=exposed.value if exposed else None,
        parts_s=parts_s,
        rate_flops_per_s=_rate(multiply_s, n),
        **_ratio("over_compute", ceiling, variant, CEILING),
        **_ratio("speed_up", reference, variant, REFERENCE),
        **(_nothing("of_cores", shared) if shared else _ratio("of_cores", alone, variant, ALONE)),
        exposed_ratio=share,
        exposed_ratio_reason=None if share else entry.absent.get("exposed_ratio", "no samples"),
        **_of_multiply("timing_ratio", own.timing_s.get(cell), multiply_s, own.why_no_timing.get(cell)),
        **_of_multiply("generate_ratio", _generate_s(parts_s, entry), multiply_s, _NOT_BY_ITSELF),
    )


def _generate_s(parts_s: Mapping[str, float], entry: CellResult) -> float | None:
    """Inputs made by every rank outside the multiplication; with source=root rank 0 makes all, inside it."""
    in_place = entry.parameters.get("source", "in_place") == "in_place"
    return parts_s.get("generate") if in_place else None


def _of_multiply(name: str, part_s: float | None, multiply_s: Value, why: str | None) -> dict[str, Any]:
    if part_s is None:
        return {name: None, f"{name}_reason": why or "no samples"}
    return {name: part_s / multiply_s.value, f"{name}_reason": None}


def _steady(entry: CellResult, metric: str) -> Value | None:
    found = entry.estimate(metric, "steady")
    if found is None:
        return None
    kind, level = found.interval_kind, found.level
    return Value(value=found.value, interval=found.interval, interval_kind=kind, level=level, launches=found.launches)


def _parts(entry: CellResult) -> dict[str, float]:
    found = {part: _steady(entry, f"{part}_s") for number, part in PARTS.items() if number != TOTAL}
    return {part: value.value for part, value in found.items() if value}


def _rate(multiply_s: Value, n: int) -> Value:
    """2 n^3 floating-point operations over the time; the interval turns over with it."""
    operations = 2.0 * n**3
    interval = multiply_s.interval
    turned = (operations / interval[1], operations / interval[0]) if interval else None
    return msgspec.structs.replace(multiply_s, value=operations / multiply_s.value, interval=turned)


def _nothing(name: str, why: str) -> dict[str, Any]:
    return {name: None, f"{name}_reason": why}


def _ratio(name: str, found: ContrastEstimate | None, variant: str, other: str) -> dict[str, Any]:
    if variant == other:
        return _nothing(name, f"{other} is what the others are compared with")
    if found is None:
        return _nothing(name, f"{other} was not measured in the same launches")
    return {name: value_of(found), f"{name}_reason": None}


def value_of(found: ContrastEstimate) -> Value:
    """A ratio as VALUE of docs/reference/results.md."""
    return Value(
        value=found.ratio, interval=found.interval, interval_kind=found.kind, level=found.level, launches=found.n
    )
