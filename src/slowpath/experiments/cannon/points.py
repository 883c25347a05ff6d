# SPDX-License-Identifier: Apache-2.0
"""Cells that differ in variant and n alone, and one variant at one n: times, shares, ratios, the tool's cost. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec

from slowpath.core.cell_results import CellResult
from slowpath.core.plan import Cell, Roles, is_effort
from slowpath.core.study_results import CannonClock, CannonPoint, Value
from slowpath.experiments.cannon.observed import EXPERIMENT
from slowpath.experiments.cannon.runs import ALONE, CEILING, NOT_REPORTED, PARTS, REFERENCE, TOTAL, clock_of
from slowpath.experiments.measured import LaunchRecord, Reduced, why_cores_are_shared
from slowpath.record.events import Note, Repetitions
from slowpath.stats.contrast import ContrastEstimate, paired

ROLES: Roles = {
    "pattern": "setting",
    "variant": "setting",
    "n": "covariate",
    "grid": "setting",
    "skew": "setting",
    "window": "setting",
    "numbers": "setting",
    "kernel": "setting",
    "source": "setting",
    "repetitions": "effort",
    "warmups": "effort",
    "piece": "covariate",
    "quiet_wait_s": "effort",
    "validate": "effort",
}


_AXES = ("variant", "n")


@dataclass(frozen=True)
class CellGroup:
    """parameters: what its cells share.  cells: (variant, n) -> cell, in the order of the plan."""

    label: str
    parameters: dict[str, str]
    mpi: str | None
    environment: str
    placement: str
    copy: int
    cells: dict[tuple[str, int], Cell]

    @property
    def n(self) -> list[int]:
        return sorted({n for _, n in self.cells})

    @property
    def variants(self) -> list[str]:
        return list(dict.fromkeys(variant for variant, _ in self.cells))


def groups(cells: Sequence[Cell]) -> list[CellGroup]:
    """Cells of this experiment, in the order of the plan; of two equal ones, copies included, the first is taken.

    A copy asks whether the same twice is the same, which is a contrast's question, and no other thing to multiply.
    """
    by_condition: dict[tuple[tuple[str, str], ...], dict[tuple[str, int], Cell]] = {}
    for cell in cells:
        if cell.experiment != EXPERIMENT or not {*_AXES} <= cell.parameters.keys():
            continue
        key = tuple(_facts(cell).items())
        by_condition.setdefault(key, {}).setdefault((cell.parameters["variant"], int(cell.parameters["n"])), cell)
    labels = _labels([dict(key) for key in by_condition])
    return [_group(members, label) for members, label in zip(by_condition.values(), labels, strict=True)]


def _group(members: dict[tuple[str, int], Cell], label: str) -> CellGroup:
    first = next(iter(members.values()))
    return CellGroup(label, _shared(first), first.mpi, first.environment, first.placement, first.copy, members)


def _shared(cell: Cell) -> dict[str, str]:
    """Effort may differ between sizes, and makes a cell no other thing."""
    return {name: value for name, value in cell.parameters.items() if name not in _AXES and not is_effort(ROLES, name)}


def _facts(cell: Cell) -> dict[str, str]:
    """All that two cells of one group share, by name."""
    about = {"mpi": cell.mpi or "", "environment": cell.environment, "placement": cell.placement}
    return {**_shared(cell), **about}


def _labels(keys: Sequence[Mapping[str, str]]) -> list[str]:
    """What sets each group apart from the others; `cannon` where there is but one."""
    names = dict.fromkeys(name for key in keys for name in key)
    varying = [name for name in names if len({key.get(name) for key in keys}) > 1]
    return [", ".join(_words(name, key.get(name)) for name in varying) or EXPERIMENT for key in keys]


def _words(name: str, value: str | None) -> str:
    if name in ("mpi", "environment", "placement"):
        return value or f"{name} not recorded"
    return f"{name}={value}"


Rounds = Mapping[int, tuple[int, Reduced]]  # round -> launch and what it measured
Measured = Mapping[tuple[int, str, str], Rounds]
Entries = Mapping[int, CellResult]  # cell -> its entry of results.json


@dataclass(frozen=True)
class Own:
    """What the launches say besides times, by cell.

    shared_cores: why not every rank has a core of its own; None: each has.
    clock: of the processors; in words: why it is not known.  remark: what the engine says of the cell.
    """

    shared_cores: str | None = None
    clock: Mapping[int, CannonClock | str] = field(default_factory=dict)
    remark: Mapping[int, str] = field(default_factory=dict)


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
    multiply_s = steady(entry, "multiply_s")
    if multiply_s is None:
        raise ValueError(f"cell {cell} was not measured")
    mine = rounds_of(measured, group, variant, n)
    ceiling = compare(mine, rounds_of(measured, group, CEILING, n), effect)
    reference = compare(rounds_of(measured, group, REFERENCE, n), mine, effect)
    alone = compare(rounds_of(measured, group, ALONE, n), mine, effect)
    share = steady(entry, "exposed_ratio")
    parts = _parts(entry)
    parts_s = {part: value.value for part, value in parts.items()}
    clock = own.clock.get(cell, NOT_REPORTED)
    exposed = steady(entry, "exposed_s")
    over_compute, why_no_ceiling = _ratio(ceiling, variant, CEILING)
    speed_up, why_no_reference = _ratio(reference, variant, REFERENCE)
    of_cores, why_no_cores = (None, own.shared_cores) if own.shared_cores else _ratio(alone, variant, ALONE)
    return CannonPoint(
        n=n,
        cell=cell,
        multiply_s=multiply_s,
        exposed_s=exposed.value if exposed else None,
        parts_s=parts_s,
        rate_flops_per_s=_rate(multiply_s, n),
        over_compute=over_compute,
        over_compute_reason=why_no_ceiling,
        speed_up=speed_up,
        speed_up_reason=why_no_reference,
        of_cores=of_cores,
        of_cores_reason=why_no_cores,
        exposed_ratio=share,
        exposed_ratio_reason=None if share else entry.absent.get("exposed_ratio", "no samples"),
        parts=parts,
        exposed=exposed,
        clock=None if isinstance(clock, str) else clock,
        clock_reason=clock if isinstance(clock, str) else None,
        remark=own.remark.get(cell),
    )


def steady(entry: CellResult, metric: str) -> Value | None:
    """The steady estimate of a metric as VALUE of docs/reference/results.md; None: the cell has none."""
    estimate = entry.estimate(metric, "steady")
    if estimate is None:
        return None
    kind, level = estimate.interval_kind, estimate.level
    return Value(
        value=estimate.value, interval=estimate.interval, interval_kind=kind, level=level, launches=estimate.launches
    )


def _parts(entry: CellResult) -> dict[str, Value]:
    by_part = {part: steady(entry, f"{part}_s") for number, part in PARTS.items() if number != TOTAL}
    return {part: value for part, value in by_part.items() if value}


def _rate(multiply_s: Value, n: int) -> Value:
    """2 n^3 floating-point operations over the time; the interval turns over with it."""
    operations = 2.0 * n**3
    interval = multiply_s.interval
    turned = (operations / interval[1], operations / interval[0]) if interval else None
    return msgspec.structs.replace(multiply_s, value=operations / multiply_s.value, interval=turned)


def _ratio(estimate: ContrastEstimate | None, variant: str, other: str) -> tuple[Value | None, str | None]:
    """The variant's ratio with the other one, or why there is none."""
    if variant == other:
        return None, "the baseline"
    if estimate is None:
        return None, f"no {other} in the same launches"
    return value_of(estimate), None


def value_of(estimate: ContrastEstimate) -> Value:
    """A ratio as VALUE of docs/reference/results.md."""
    return Value(
        value=estimate.ratio,
        interval=estimate.interval,
        interval_kind=estimate.kind,
        level=estimate.level,
        launches=estimate.n,
    )


def own_facts(
    group: CellGroup,
    launches_of: Mapping[int, Sequence[LaunchRecord]],
    repetitions_of: Mapping[int, Sequence[Repetitions]],
) -> Own:
    """Return what the launches say of the cells of the group.  Args: repetitions_of: as in cannon.observed."""
    numbers = [member.cell for member in group.cells.values()]
    first = next((launches[0] for cell in numbers if (launches := launches_of.get(cell))), None)
    shared = why_cores_are_shared(first.ranks) if first else None
    clock = {cell: clock_of(repetitions_of.get(cell, ())) for cell in numbers}
    return Own(shared, clock, _remarks(numbers, launches_of))


def _remarks(numbers: Sequence[int], launches_of: Mapping[int, Sequence[LaunchRecord]]) -> dict[int, str]:
    """What the engine says of a variant in the first launch that measured it."""
    remarks: dict[int, str] = {}
    for cell in numbers:
        notes = [note for launch in launches_of.get(cell, ())[:1] for note in launch.events.of(Note)]
        if remark := next((note.remark for note in notes if note.cell == cell and note.remark), None):
            remarks[cell] = remark
    return remarks
