# SPDX-License-Identifier: Apache-2.0
"""A run held against reference runs: is a value within what runs on such machines showed? Pure.

A reference is a run that somebody added; there are none that come with Slowpath. What is compared is like with like:
the same processor model, number of processors and memory, the same library by name, and the same cell. A range is the
lowest and the highest value of the reference runs. A run that is no different lies outside of it by chance: above all
of n runs once in n + 1, so that a range of fewer than MINIMUM_RUNS runs says nothing, and `slower` also takes an
interval beyond the range by the minimum effect.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from typing import Literal

import msgspec

from slowpath.compare.read import Source, environment_of, mpi_of, placement_of
from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.engine_description import is_effort
from slowpath.core.machine_kind import alike, hardware
from slowpath.core.result import Interval
from slowpath.experiments.registry import ROLES

MINIMUM_RUNS = 5
PHASE = "steady"
Word = Literal["within", "slower", "faster", "undecided", "no reference"]


class Held(msgspec.Struct, frozen=True):
    """One metric of one cell. low, high: of the reference runs, in `unit`.  ratio: to the nearer end where outside."""

    label: str
    metric: str
    unit: str
    value: float
    interval: Interval | None
    runs: int
    low: float | None
    high: float | None
    word: Word
    ratio: float | None
    reason: str | None


class Reference(msgspec.Struct, frozen=True):
    """A run held against references. machine: the processor, as in words.  reason: why there is no row at all."""

    run: str
    machine: str
    used: list[str]
    rows: list[Held]
    reason: str | None


def hold(run: Source, references: Sequence[Source], minimum_effect: float) -> Reference:
    """Every time of the run's cells in its later messages.

    Args: references: any runs; those of other machines, and the run itself, are left out.
    """
    machine = hardware(run.run.machine)
    usable = [one for one in references if alike(one.run.machine, run.run.machine) and one.run.id != run.run.id]
    words = str(machine[0] or "unknown processor")
    if not usable:
        others = sorted({str(hardware(one.run.machine)[0]) for one in references} - {words})
        there = f"; there are references of {', '.join(others)}" if others else ""
        reason = f"no reference for this processor ({words}, {machine[1]} processors){there}"
        return Reference(run.run.id, words, [], [], reason)
    known = [_values(one) for one in usable]
    rows = [_held(run, cell, known, minimum_effect) for cell in run.results.cells if cell.copy == 1]
    return Reference(run.run.id, words, [one.run.id for one in usable], [one for one in rows if one is not None], None)


def _held(run: Source, cell: CellResult, known: Sequence[dict[Hashable, float]], minimum_effect: float) -> Held | None:
    found = _first_time(cell)
    if found is None:
        return None
    metric, estimate = found
    there = [values[_name(run, cell)] for values in known if _name(run, cell) in values]
    word, ratio, reason = _judge(estimate, there, minimum_effect)
    low, high = (min(there), max(there)) if there else (None, None)
    return Held(cell.label, metric, "s", estimate.value, estimate.interval, len(there), low, high, word, ratio, reason)


def _judge(
    estimate: MetricEstimate, there: Sequence[float], minimum_effect: float
) -> tuple[Word, float | None, str | None]:
    if len(there) < MINIMUM_RUNS:
        return "no reference", None, f"{len(there)} of {MINIMUM_RUNS} reference runs have this cell"
    low, high = min(there), max(there)
    if low <= estimate.value <= high:
        return "within", None, None
    end = high if estimate.value > high else low
    ratio = estimate.value / end
    if estimate.interval is None:
        return "undecided", ratio, "outside of the range, and too few launches for an interval"
    if estimate.interval[0] > high * (1 + minimum_effect):
        return "slower", ratio, None
    if estimate.interval[1] < low / (1 + minimum_effect):
        return "faster", ratio, None
    return "undecided", ratio, "outside of the range by less than its interval and the minimum effect"


def _values(run: Source) -> dict[Hashable, float]:
    """What a reference run says of each cell."""
    return {_name(run, cell): found[1].value for cell in run.results.cells if (found := _first_time(cell)) is not None}


def _first_time(cell: CellResult) -> tuple[str, MetricEstimate] | None:
    """The first metric that is a time, in the later messages."""
    times = ((name, cell.estimate(name, PHASE)) for name, metric in cell.metrics.items() if metric.unit == "s")
    return next(((name, estimate) for name, estimate in times if estimate is not None), None)


def _name(run: Source, cell: CellResult) -> Hashable:
    """What makes a cell the same over versions of a library and over campaigns that call it differently."""
    return tuple(_parts(run, cell))


def _parts(run: Source, cell: CellResult) -> Iterator[str]:
    environment, placement = environment_of(run.run, cell), placement_of(run.run, cell)
    yield cell.experiment
    yield mpi_of(run.run, cell.mpi).name or ""
    yield json.dumps({k: v for k, v in cell.parameters.items() if not is_effort(ROLES, k)}, sort_keys=True)
    yield json.dumps([environment.variables, environment.unset, environment.witness] if environment else None)
    yield json.dumps([placement.bind, placement.spread, len(placement.observed)] if placement else None)
    yield str(cell.copy)
