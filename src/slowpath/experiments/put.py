# SPDX-License-Identifier: Apache-2.0
"""The experiment `put`: bursts of one-sided operations, who puts, and the part `put` of results.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from slowpath.core.cell_results import CellResult, InstructionRegion, MetricEstimate
from slowpath.core.engine_description import recorded_roles
from slowpath.core.plan import Roles, is_effort
from slowpath.core.results import ContrastResult
from slowpath.core.study_results import PutCondition, PutPart, PutResults, PutRow, PutSplit, RateShare
from slowpath.experiments.experiment import Concluded, Experiment, Pattern, SideEffect, Study, counted, timed
from slowpath.experiments.measured import (
    NO_SAMPLES,
    Absent,
    Derived,
    LaunchContext,
    MetricSamples,
    SampleBlock,
    per_operation,
    recorded_bytes,
)

Kind = Literal["library", "layer", "limit"]
EMPTY_CALLS = {8: "empty_call", 5: "empty_call_5"}  # by the number of arguments


@dataclass(frozen=True, slots=True)
class Design:
    """One value of the parameter `design`. arguments: of its call, which decide the empty call it is compared with."""

    name: str
    kind: Kind
    arguments: int


DESIGNS: tuple[Design, ...] = (
    Design("mpi", "library", 8),
    Design("openshmem_put", "library", 5),
    Design("openshmem_p", "library", 5),
    Design("complex", "layer", 8),
    Design("simple", "layer", 8),
    Design("small_args", "layer", 5),
    Design("shmem_put", "layer", 5),
    Design("shmem_p", "layer", 5),
    Design("empty_call", "limit", 8),
    Design("empty_call_5", "limit", 5),
    Design("memcpy", "limit", 5),
    Design("load_store", "limit", 5),
    Design("store", "limit", 5),
    Design("unrolled_stores", "limit", 5),
    Design("fenced_store", "limit", 5),
)
ORDER = {design.name: place for place, design in enumerate(DESIGNS)}
_BY_NAME = {design.name: design for design in DESIGNS}


def design_of(name: str) -> Design:
    """The design of this name; one that a newer engine has stands among the layers."""
    return _BY_NAME.get(name) or Design(name, "layer", 8)


ROLES: Roles = recorded_roles("put")


EXPERIMENT = "put"
METRIC = "time_per_put_s"
_NOT_SET = ("design", "call", "checks", "pattern")


def build_put(cells: Sequence[CellResult], contrasts: Sequence[ContrastResult]) -> PutResults | None:
    """None: the run has no measured cell of this experiment."""
    measured = [cell for cell in cells if cell.experiment == EXPERIMENT and steady(cell)]
    if not measured:
        return None
    conditions = _conditions(measured, contrasts)
    by_number = {cell.cell: cell for cell in measured}
    return PutResults(
        cells=[cell.cell for cell in measured],
        conditions=conditions,
        splits=_splits([row for condition in conditions for row in condition.rows], by_number),
    )


def steady(cell: CellResult) -> MetricEstimate | None:
    """The steady time of a put."""
    return cell.estimate(METRIC, "steady")


def puts(cell: CellResult) -> InstructionRegion | None:
    """The instructions of the puts; None: they were not counted."""
    return cell.instructions.put if cell.instructions else None


def _inside(cell: CellResult) -> float | None:
    """Median of the instructions inside a call; None: not counted, or nothing is called."""
    counted = puts(cell)
    return counted.per_call.stepped.median if counted and counted.per_call.stepped else None


def _with_loop(cell: CellResult) -> float | None:
    counted = puts(cell)
    if counted is None or counted.loop_per_put is None:
        return None
    return counted.loop_per_put + (_inside(cell) or 0)


def _settings(cell: CellResult) -> dict[str, str]:
    given = {
        name: value for name, value in cell.parameters.items() if name not in _NOT_SET and not is_effort(ROLES, name)
    }
    return {**given, "environment": cell.environment, "placement": cell.placement}


def _who(cell: CellResult) -> tuple[str, ...]:
    """What tells designs apart: a limit is the same whatever `call` and `checks` are, a layer is not."""
    given = cell.parameters
    design = design_of(given.get("design", "mpi"))
    if design.kind == "layer":
        return design.name, given.get("call", "library"), given.get("checks", "on")
    return (design.name,)


def _conditions(cells: Sequence[CellResult], contrasts: Sequence[ContrastResult]) -> list[PutCondition]:
    """Every set of cells in which at least two designs meet; the one with most designs first. Copies are left out."""
    by_settings: dict[tuple[tuple[str, str], ...], list[CellResult]] = {}
    for cell in cells:
        if cell.copy == 1:
            by_settings.setdefault(tuple(sorted(_settings(cell).items())), []).append(cell)
    several = [members for members in by_settings.values() if _designs(members) > 1]
    several.sort(key=lambda members: -_designs(members))
    usual = _settings(several[0][0]) if several else {}
    return [_condition(members, usual, contrasts) for members in several]


def _designs(cells: Sequence[CellResult]) -> int:
    return len({_who(cell) for cell in cells})


def _condition(cells: Sequence[CellResult], usual: dict[str, str], contrasts: Sequence[ContrastResult]) -> PutCondition:
    settings = _settings(cells[0])
    differs = {name: value for name, value in settings.items() if usual.get(name) != value}
    return PutCondition(settings=settings, differs=differs, rows=_rows(cells, contrasts))


def _rows(cells: Sequence[CellResult], contrasts: Sequence[ContrastResult]) -> list[PutRow]:
    same: dict[tuple[str | None, tuple[str, ...]], list[CellResult]] = {}
    for cell in cells:
        same.setdefault((cell.mpi, _who(cell)), []).append(cell)
    rows = []
    for (mpi, _), alike in same.items():
        design = design_of(alike[0].parameters.get("design", "mpi"))
        empty = same.get((mpi, (EMPTY_CALLS[design.arguments],)), [])
        shares = {cell.cell: _of_empty(cell, empty, contrasts) for cell in alike}
        exact = {number for number, share in shares.items() if share is not None and share.interval is not None}
        best = max(alike, key=lambda cell: (cell.cell in exact, puts(cell) is not None))
        rows.append((best, _row(best, shares[best.cell])))
    return [row for _, row in sorted(rows, key=lambda row: _place(*row))]


def _row(cell: CellResult, share: RateShare | None) -> PutRow:
    return PutRow(
        design=cell.parameters.get("design", "mpi"),
        mpi=cell.mpi,
        cell=cell.cell,
        instructions_with_loop=_with_loop(cell),
        of_empty=share,
    )


def _place(cell: CellResult, row: PutRow) -> tuple[int, bool, bool, int]:
    """Rows that differ in the MPI alone follow one another; called before inlined, checked before unchecked."""
    given = cell.parameters
    order = ORDER.get(row.design, len(ORDER))
    return order, given.get("call") == "inlined", given.get("checks") == "off", row.cell


def _of_empty(cell: CellResult, empty: Sequence[CellResult], contrasts: Sequence[ContrastResult]) -> RateShare | None:
    """The rate over the empty call's: from a contrast of the same launches, else of the two values alone."""
    numbers = {row.cell for row in empty}
    if cell.cell in numbers or not empty:
        return None
    for contrast in contrasts:
        if contrast.metric == METRIC and contrast.ratio and contrast.a.phase == "steady":
            if contrast.b.cell == cell.cell and contrast.a.cell in numbers:
                return _share(contrast, turned=True)
            if contrast.a.cell == cell.cell and contrast.b.cell in numbers:
                return _share(contrast, turned=False)
    own, other = steady(cell), steady(empty[0])
    if own is None or other is None:
        return None
    return RateShare(ratio=other.value / own.value, interval=None, interval_kind="not a contrast")


def _share(contrast: ContrastResult, turned: bool) -> RateShare:
    """The contrast's ratio of times as a ratio of rates. turned: its b is the design, its a the empty call."""
    ratio, interval = contrast.ratio or 1.0, contrast.interval
    ends = interval if interval and all(interval) else None
    if turned:
        ratio, ends = 1 / ratio, (1 / ends[1], 1 / ends[0]) if ends else None
    kind = contrast.interval_kind or contrast.reason or "no interval"
    return RateShare(ratio=ratio, interval=ends, interval_kind=kind)


def _splits(rows: Sequence[PutRow], cells: dict[int, CellResult]) -> list[PutSplit]:
    """Of each library, the first row that has been counted function by function."""
    by_design: dict[tuple[str, str | None], PutSplit] = {}
    for row in rows:
        counted = puts(cells[row.cell])
        if counted is None or not counted.shares or design_of(row.design).kind != "library":
            continue
        total = sum(share.per_call for share in counted.shares)
        parts = [
            PutPart(
                library=share.library,
                function=share.function,
                per_call=share.per_call,
                ratio=share.per_call / total if total else None,
            )
            for share in counted.shares
        ]
        by_design.setdefault(
            (row.design, row.mpi), PutSplit(design=row.design, mpi=row.mpi, cell=row.cell, parts=parts)
        )
    return list(by_design.values())


Parameters = Mapping[str, str]


@dataclass(frozen=True)
class PutCost:
    """Assumed speeds of a slow machine, as in `P2pCost`."""

    cell_s: float = 0.0015  # the window, agreement, gathering, comparing
    layer_s: float = 5e-9  # one put by a layer or a limit
    put_s: float = 60e-9  # one put of a library
    datatype_s: float = 300e-9  # added by blocks and gaps
    separate_memory_s: float = 1.5e-6  # added by windows over memory that only the target has: create, dynamic
    synchronisation_s: float = 5e-6
    bytes_per_s: float = 4e9
    counted_instruction_s: float = 30e-6
    fewest_samples: int = 8
    shortest_sample_s: float = 10e-6


def put_seconds(parameters: Parameters, ranks: int) -> float:
    """Seconds that one cell takes in one launch."""
    cost = PutCost()
    one_s = _one_put_s(parameters, cost)
    burst_s = int(parameters["puts"]) * one_s + cost.synchronisation_s
    if parameters["window"] in ("create", "dynamic"):
        burst_s += float(parameters.get("target_busy_s", "0"))  # it may have to wait for the target's next call
    sample_s = max(burst_s, cost.shortest_sample_s)
    sampled_s = int(parameters["samples"]) * sample_s
    part_s = max(cost.fewest_samples * sample_s, min(float(parameters["time_limit_s"]), sampled_s))
    warmup_s = max(4 * burst_s, float(parameters["warmup_s"]))
    counted_s = int(parameters["instructions"]) * _instructions(parameters) * cost.counted_instruction_s
    return cost.cell_s + warmup_s + 2 * part_s + counted_s  # whole bursts, then split ones


def _one_put_s(parameters: Parameters, cost: PutCost) -> float:
    moved_s = int(parameters["message_bytes"]) / cost.bytes_per_s
    if parameters["design"] != "mpi":
        return cost.layer_s + moved_s
    separate = parameters["window"] in ("create", "dynamic")
    typed = parameters["datatype"] in ("vector", "indexed")
    return cost.put_s + moved_s + separate * cost.separate_memory_s + typed * cost.datatype_s


def _instructions(parameters: Parameters) -> int:
    """Of one put, roughly."""
    if parameters["design"] != "mpi":
        return 100
    if parameters["datatype"] in ("vector", "indexed"):
        return 4000
    return 1300 if parameters["window"] in ("create", "dynamic") else 700


WHOLE, PUTS, SYNCHRONISATION = 0, 1, 2

# Other processes only ever add to a burst of some 10 us. Under load a lower quantile repeats from launch to launch
# where the median does not; the minimum would be the luckiest burst instead of a usual one.
LOCATION = 0.25


def burst(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """Bursts, timed on the origin, rank 0."""
    puts = int(p.get("puts", "1000"))

    def part(number: int, operations: int) -> dict[str, MetricSamples] | Absent:
        mine = [b for b in blocks if b.allocation == number]
        return per_operation(mine, 0, operations, location=LOCATION, batches=True) or NO_SAMPLES

    return {
        "time_per_put_s": part(WHOLE, puts),
        "put_call_s": part(PUTS, puts),
        "synchronisation_s": part(SYNCHRONISATION, 1),
    }


# no_locks promises that no lock is taken, so that it has only the synchronisations that take none.
_HARMED = SideEffect(
    axes=("window", "window_info", "synchronise"),
    parameters={"operation": ["get", "accumulate"]},
    metric="time_per_put_s",
    safe_values=("no_locks",),
)
_PARTS = 3  # whole bursts, puts alone, synchronisation alone


def _study(concluded: Concluded) -> PutResults | None:
    return build_put(concluded.cells, concluded.contrasts)


PUT = Experiment(
    name=EXPERIMENT,
    patterns=(Pattern("burst", burst, timed(EXPERIMENT, "burst")),),
    counted=counted(EXPERIMENT),
    roles=ROLES,
    seconds=put_seconds,
    recorded_bytes=partial(recorded_bytes, parts=_PARTS),
    synchronisation=SYNCHRONISATION,
    study=Study("put", _study, lambda concluded, cells: []),
    views=("put",),
    brief={"samples": "40", "time_limit_s": "0.004", "warmup_s": "0.001", "instructions": "0", "puts": "200"},
    side_effects=(_HARMED,),
)
