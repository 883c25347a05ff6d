# SPDX-License-Identifier: Apache-2.0
"""The part `cannon` of results.json (docs/reference/results.md), with its one sentence of advice. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from slowpath.core.cell_results import CellResult
from slowpath.core.plan import Plan
from slowpath.core.results import SkippedRow
from slowpath.core.study_results import (
    CannonBest,
    CannonBlas,
    CannonDistribution,
    CannonGrid,
    CannonGroup,
    CannonKernel,
    CannonKernels,
    CannonMissing,
    CannonPoint,
    CannonResults,
    CannonTimeline,
    CannonVariant,
    GroupRepetitions,
    TimelineInterval,
    TimelineWait,
    Value,
)
from slowpath.core.units import format_ratio
from slowpath.experiments.cannon.critical import critical_n, scaling, with_moves
from slowpath.experiments.cannon.observed import EXPERIMENT, Observed, Timeline, computation
from slowpath.experiments.cannon.points import (
    CellGroup,
    Entries,
    Measured,
    Own,
    compare,
    groups,
    own_facts,
    point,
    rounds_of,
    steady,
    value_of,
)
from slowpath.experiments.cannon.runs import ACROSS_NODES, CEILING, REFERENCE, YARDSTICKS, clock_of
from slowpath.experiments.measured import UNSTATED, LaunchRecord, Measurements, why_cores_are_shared
from slowpath.record.events import Note
from slowpath.stats.contrast import ContrastEstimate, benjamini_hochberg, judge
from slowpath.stats.estimate import estimate_over_launches

Best = Sequence[CannonBest]  # entries of `best` (docs/reference/results.md), ascending n
Points = Mapping[tuple[str, int], CannonPoint]  # (variant, n) -> POINT
Grid = CannonGrid | None

NEEDED = 3  # launches: fewer give no interval, and nothing can be distinguished


def advice(
    best: Best, across: Best, points: Points, grid: Grid, shared_cores: str | None = None
) -> tuple[str | None, str | None]:
    """The sentence, or why there is none.

    Args: best, across: of all variants; of those that run with ranks on several nodes.
          shared_cores: why not every rank has a core of its own; None: each has.
    """
    if grid is not None and grid.steps == 1:
        return None, "one rank: nothing moves"
    if shared_cores is not None:
        return None, f"no advice: {shared_cores}"
    chosen = _chosen(best, points)
    if chosen is None:
        return None, "no communicating variant at the largest n"
    styles = {name for name, _ in points if name not in YARDSTICKS}
    if styles == {REFERENCE}:
        return None, f"only {REFERENCE} was measured"
    variant, start = chosen
    sizes = [entry.n for entry in best if entry.n >= start]
    launches = points[variant, sizes[-1]].multiply_s.launches
    if launches < NEEDED:
        return None, f"fewer than {NEEDED} rounds"
    smallest = ", the smallest measured" if start == best[0].n else ""
    from_there = f"n = {start} on{_blocks(start, grid)}{smallest}"
    gain = _gain(points, variant, sizes)
    if gain is None:
        return f"No style is decidedly faster than {REFERENCE} from {from_there}{_below(best, start)}.", None
    parts = [f"Take {variant} from {from_there}: {gain}", _at_the_end(best[-1], points[variant, sizes[-1]], variant)]
    return "".join([*parts, _below(best, start), _across(across, points, variant)]) + ".", None


def _equal(entry: CannonBest) -> list[str]:
    """The best variant at one n and those that can't be distinguished from it, the fastest first."""
    return [entry.variant, *entry.same] if entry.variant else []


def _chosen(best: Best, points: Points) -> tuple[str, int] | None:
    """The variant that is best, or not distinguishable from it, over the longest range of n up to the largest, and
    where that range begins; of several the one that is fastest over it.
    """
    if not best or not _equal(best[-1]):
        return None
    reach = {variant: _start(best, variant) for variant in _equal(best[-1])}
    start = min(reach.values())
    sizes = [entry.n for entry in best if entry.n >= start]

    def time(variant: str) -> float:
        return sum(math.log(points[variant, n].multiply_s.value) for n in sizes)

    return min((variant for variant, n in reach.items() if n == start), key=time), start


def _start(best: Best, variant: str) -> int:
    """The smallest n from which on the variant is among the best without a gap."""
    start = best[-1].n
    for entry in reversed(best):
        if variant not in _equal(entry):
            break
        start = entry.n
    return int(start)


def _blocks(n: int, grid: Grid) -> str:
    return f" (blocks of {n // grid.rows} x {n // grid.columns})" if grid else ""


def _value(ratio: Value) -> str:
    """`1.12 [1.10, 1.14]`."""
    interval = ratio.interval
    half = (interval[1] - interval[0]) / 2 if interval else None
    ends = f" [{format_ratio(interval[0], half)}, {format_ratio(interval[1], half)}]" if interval else ""
    return format_ratio(ratio.value, half) + ends


def _gain(points: Points, variant: str, sizes: Sequence[int]) -> str | None:
    """How much faster than the reference, where it gains most and at the largest n; None where it nowhere is."""
    ratios = {n: points[variant, n].speed_up for n in sizes}
    decided = {n: r.value for n, r in ratios.items() if r and r.level and r.interval and r.interval[0] > 1}
    if variant == REFERENCE or (any(ratios.values()) and not decided):
        return None
    if not decided:
        return f"the fastest of those measured, without {REFERENCE}"
    most = max(decided, key=lambda n: decided[n])
    shown = [(n, ratio) for n in dict.fromkeys((most, sizes[-1])) if (ratio := ratios[n])]
    first, *more = [f"{_value(ratio)} times%s at n = {n}" for n, ratio in shown]
    return " and ".join([first % f" as fast as {REFERENCE}", *(other % "" for other in more)])


def _at_the_end(last: CannonBest, point: CannonPoint, variant: str) -> str:
    """At the largest n: how far from the ceiling, and what can't be distinguished from it."""
    parts = []
    if point.over_compute:
        parts.append(f"{_value(point.over_compute)}x the time of {CEILING}")
    if others := [name for name in _equal(last) if name != variant]:
        parts.append(f"not distinguishable from {', '.join(others)}")
    return f", {' and '.join(parts)}" if parts else ""


def _below(best: Best, start: int) -> str:
    below = [f"{entry.variant} at n = {entry.n}" for entry in best if entry.n < start and entry.variant]
    return f"; below, {', '.join(below)}" if below else ""


def _across(across: Best, points: Points, variant: str) -> str:
    """Another one, where the variant needs all ranks on one node."""
    other = _chosen(across, points)
    if other is None or any(variant in _equal(entry) for entry in across):
        return ""
    point = points[other[0], across[-1].n]
    gain = f" ({_value(point.speed_up)} times at n = {point.n})" if point.speed_up else ""
    return f"; on several nodes {other[0]} from n = {other[1]} on{gain}"


IN_PLACE = "in_place"
PARTS = ("distribute", "gather")


def distribution(
    groups: Sequence[CellGroup],
    ranks_of: Callable[[str], int],
    measured: Measured,
    entries: Entries,
    effect: float,
) -> list[CannonDistribution]:
    """Cells whose inputs are moved, each with its twin whose inputs are not. ranks_of: placement -> ranks."""
    twins = {_facts(group, IN_PLACE): group for group in groups if _source(group) == IN_PLACE}
    rows = []
    for group in groups:
        source, ranks = _source(group), ranks_of(group.placement)
        twin = twins.get(_facts(group, IN_PLACE))
        if source == IN_PLACE or twin is None:
            continue
        for variant, n in group.cells:
            if (variant, n) in twin.cells and "multiply_s" in entries[group.cells[variant, n].cell].metrics:
                rows.append(_one(group, twin, variant, n, ranks, measured, entries, effect))
    return sorted(rows, key=lambda row: (row.source, row.variant, row.n))


def _one(
    group: CellGroup,
    twin: CellGroup,
    variant: str,
    n: int,
    ranks: int,
    measured: Measured,
    entries: Entries,
    effect: float,
) -> CannonDistribution:
    cell, in_place_cell = group.cells[variant, n].cell, twin.cells[variant, n].cell
    ratio = compare(rounds_of(measured, group, variant, n), rounds_of(measured, twin, variant, n), effect)
    parts_s = [_steady_s(entries, cell, f"{part}_s") for part in PARTS]
    whole_s = _steady_s(entries, in_place_cell, "multiply_s")
    moved_s = None if None in parts_s else sum(value for value in parts_s if value is not None)
    return CannonDistribution(
        source=_source(group),
        variant=variant,
        n=n,
        ranks=ranks,
        mpi=group.mpi,
        environment=group.environment,
        placement=group.placement,
        cell=cell,
        moved_ratio=None if moved_s is None or whole_s is None else moved_s / whole_s,
        over_in_place=value_of(ratio) if ratio else None,
        over_in_place_reason=None if ratio else f"no launch measured it with source={IN_PLACE} as well",
    )


def _steady_s(entries: Entries, cell: int, metric: str) -> float | None:
    estimate = entries[cell].estimate(metric, "steady")
    return estimate.value if estimate else None


def _source(group: CellGroup) -> str:
    return group.parameters.get("source", IN_PLACE)


def _facts(group: CellGroup, source: str) -> tuple[object, ...]:
    """All that a cell and its twin share."""
    parameters = tuple(sorted({**group.parameters, "source": source}.items()))
    return (parameters, group.mpi, group.environment, group.placement)


BASE = "loop_O3"  # what the others are compared with
METRIC = "dgemm_s"


def kernels(groups: Sequence[CellGroup], measured: Measured, entries: Entries, effect: float) -> list[CannonKernels]:
    """One entry for each n at which groups differ in `kernel` alone: computation time by kernel.

    Args: effect: smallest relative difference that counts.
    """
    alike: dict[tuple[object, ...], list[CellGroup]] = {}
    for group in groups:
        others = tuple(sorted((name, value) for name, value in group.parameters.items() if name != "kernel"))
        alike.setdefault((others, group.mpi, group.environment, group.placement, group.copy), []).append(group)
    rows = []
    for members in alike.values():
        by_kernel = {group.parameters["kernel"]: group for group in members if "kernel" in group.parameters}
        for n in sorted({n for group in members for n in group.n}):
            having = {name: group for name, group in by_kernel.items() if (CEILING, n) in group.cells}
            variant = CEILING if having else REFERENCE
            made = _at(by_kernel, variant, n, measured, entries, effect)
            if len(made) > 1:
                first = members[0]
                rows.append(
                    CannonKernels(
                        n=n,
                        variant=variant,
                        base=BASE,
                        mpi=first.mpi,
                        environment=first.environment,
                        placement=first.placement,
                        kernels=made,
                    )
                )
    return rows


def _at(
    by_kernel: dict[str, CellGroup], variant: str, n: int, measured: Measured, entries: Entries, effect: float
) -> list[CannonKernel]:
    base = by_kernel.get(BASE)
    rows = []
    for name, group in by_kernel.items():
        cell = group.cells.get((variant, n))
        time = steady(entries[cell.cell], METRIC) if cell else None
        if cell is None or time is None:
            continue
        ratio = None
        if base is not None and name != BASE:
            ratio = compare(
                rounds_of(measured, group, variant, n, METRIC), rounds_of(measured, base, variant, n, METRIC), effect
            )
        why = "the baseline" if name == BASE else f"no {BASE} with it"
        rows.append(
            CannonKernel(
                kernel=name,
                cell=cell.cell,
                dgemm_s=time,
                over_base=value_of(ratio) if ratio else None,
                over_base_reason=None if ratio else why,
            )
        )
    return rows


COMMUNICATION = ("issue", "wait", "copy", "synchronise", "skew", "distribute", "gather")
BLOCKING = ("wait", "synchronise")
LEAST = 0.02  # of the whole multiplication: shorter waits are left out


def waits(
    intervals: Sequence[TimelineInterval], grid: tuple[int, int] | None, least: float = LEAST
) -> list[TimelineWait]:
    """The waits of one repetition, by rank and time.

    Args:
        intervals: one repetition of a TIMELINE (docs/reference/results.md) on one clock.
        grid: rows and columns of the ranks, in row-major order; None: not known, then every rank is a candidate.
        least: share of the repetition below which a wait is left out.
    """
    inside = [interval for interval in intervals if interval.part not in ("generate", "total")]
    if not inside:
        return []
    length_s = max(interval.end_s for interval in inside) - min(interval.begin_s for interval in inside)
    came: dict[tuple[int, int], float] = {}
    for interval in inside:
        if interval.part in COMMUNICATION:
            key = interval.rank, interval.step
            came[key] = min(came.get(key, interval.begin_s), interval.begin_s)
    ranks = sorted({interval.rank for interval in inside})
    waits_seen = []
    for interval in inside:
        if interval.part not in BLOCKING:
            continue
        candidates = _candidates(interval.rank, interval.part, ranks, grid)
        arrivals = [(came[rank, interval.step], rank) for rank in candidates if (rank, interval.step) in came]
        # Whoever came after the wait was over was not waited for.
        until_s, last = max((a for a in arrivals if a[0] <= interval.end_s), default=(interval.begin_s, interval.rank))
        if until_s - interval.begin_s >= least * length_s:
            waits_seen.append(
                TimelineWait(
                    rank=interval.rank, last=last, step=interval.step, begin_s=interval.begin_s, until_s=until_s
                )
            )
    return waits_seen


def _candidates(rank: int, part: str, ranks: Sequence[int], grid: tuple[int, int] | None) -> list[int]:
    others = [other for other in ranks if other != rank]
    if grid is None or part == "synchronise" or grid[0] * grid[1] != len(ranks):
        return others
    rows, columns = grid
    row, column = divmod(rank, columns)
    around = {((row + i) % rows) * columns + (column + j) % columns for i, j in ((0, 1), (0, -1), (1, 0), (-1, 0))}
    return sorted(around - {rank})


def best_at(group: CellGroup, n: int, variants: Sequence[str], measured: Measured, effect: float) -> CannonBest:
    """One entry of `best` (docs/reference/results.md).

    Args: variants: those that compete.  effect: smallest relative difference that counts.
    """
    times_s = {}
    for variant in variants:
        rounds = rounds_of(measured, group, variant, n)
        if variant not in YARDSTICKS and rounds:
            times_s[variant] = estimate_over_launches([reduced.centre_s for _, reduced in rounds.values()]).value
    if not times_s:
        return CannonBest(n=n, variant=None, same=[], reason="none measured")
    first = min(times_s, key=lambda variant: times_s[variant])
    mine = rounds_of(measured, group, first, n)
    others = {v: compare(rounds_of(measured, group, v, n), mine, effect) for v in times_s if v != first}
    slower = _slower(others)
    same = sorted((v for v in others if v not in slower), key=lambda variant: times_s[variant])
    return CannonBest(n=n, variant=first, same=same, reason=None)


def _slower(others: dict[str, ContrastEstimate | None]) -> set[str]:
    """Variants that are decidedly slower."""
    known = {
        variant: estimate for variant, estimate in others.items() if estimate is not None and estimate.p is not None
    }
    p_values = [estimate.p for estimate in known.values() if estimate.p is not None]
    if not p_values:
        return set()
    adjusted = benjamini_hochberg(p_values)
    return {
        variant
        for (variant, estimate), p in zip(known.items(), adjusted, strict=True)
        if judge(estimate, float(p)).word == "slower"
    }


def with_hidden(variants: Sequence[CannonVariant], reference: str, shared_cores: str | None) -> list[CannonVariant]:
    """The variants with hidden_ratio and moved_ratio in each point.

    Args: reference: variant that the others are compared with.  shared_cores: why exposed shares don't count; None:
          each rank has a core of its own.
    """
    exposed_s = {p.n: p.exposed_s for variant in variants if variant.variant == reference for p in variant.points}
    return [
        replace(variant, points=[_point(point, exposed_s.get(point.n), shared_cores) for point in variant.points])
        for variant in variants
    ]


def _point(point: CannonPoint, reference_s: float | None, shared_cores: str | None) -> CannonPoint:
    ratio, reason = None, shared_cores
    if shared_cores is None:
        if point.exposed_s is None or not reference_s:
            reason = "no reference"
        else:
            ratio = 1 - point.exposed_s / reference_s
    return replace(point, hidden_ratio=ratio, hidden_ratio_reason=reason, moved_ratio=_moved(point))


def _moved(point: CannonPoint) -> float | None:
    parts = point.parts_s
    moved_s = parts.get("distribute", 0.0) + parts.get("gather", 0.0)
    return moved_s / parts["dgemm"] if parts.get("dgemm") else None


def build_cannon(
    plan: Plan, measurements: Measurements, cells: Sequence[CellResult], skipped: Sequence[SkippedRow]
) -> CannonResults | None:
    """None: the run has no cells of this experiment.

    Args: cells, skipped: as in results.json.
    """
    cell_groups = groups(plan.cells)
    entries = {cell.cell: cell for cell in cells}
    whys = {row.cell: row.reason for row in reversed(skipped)}
    if not cell_groups:
        return None
    made = [_group(group, plan, measurements, entries, whys) for group in cell_groups]
    by_series, effect = measurements.by_series, plan.minimum_effect
    return CannonResults(
        groups=made,
        distribution=distribution(cell_groups, plan.ranks_of, by_series, entries, effect),
        kernels=kernels(cell_groups, by_series, entries, effect),
        scaling=scaling(cell_groups, made, plan.placements, by_series, effect),
    )


def _group(
    group: CellGroup, plan: Plan, measurements: Measurements, entries: Entries, whys: Mapping[int | None, str]
) -> CannonGroup:
    measured, effect = measurements.by_series, plan.minimum_effect
    observed = measurements.observers.get(EXPERIMENT)
    observed = observed if isinstance(observed, Observed) else Observed()
    own = own_facts(group, measurements.launches_of, observed.repetitions_of)
    variants = [_variant(group, variant, measured, entries, whys, effect, own) for variant in group.variants]
    points = {(variant.variant, p.n): p for variant in variants for p in variant.points}
    across = [variant for variant in group.variants if ACROSS_NODES.get(variant)]
    best = [best_at(group, n, group.variants, measured, effect) for n in group.n]
    best_across = [best_at(group, n, across, measured, effect) for n in group.n]
    events = [event for cell in group.cells.values() for event in observed.repetitions_of.get(cell.cell, ())]
    clock = clock_of(events)
    setup = _setup(group, measurements.launches_of)
    critical = critical_n(group, measured, [points[REFERENCE, n] for n in group.n if (REFERENCE, n) in points])
    hiding = with_hidden(variants, REFERENCE, setup.shared_cores)
    sentence, why_silent = advice(best, best_across, points, setup.grid, setup.shared_cores if points else None)
    return CannonGroup(
        label=group.label,
        parameters=group.parameters,
        mpi=group.mpi,
        environment=group.environment,
        placement=group.placement,
        copy=group.copy,
        ranks=plan.ranks_of(group.placement),
        grid=setup.grid,
        blas=setup.blas,
        setup_reason=setup.reason,
        ranks_have_cores=setup.shared_cores is None,
        ranks_have_cores_reason=setup.shared_cores,
        repetitions=_repetitions(entries[cell.cell] for cell in group.cells.values()),
        n=group.n,
        reference=REFERENCE,
        ceiling=CEILING,
        variants=with_moves(hiding, critical, group, measured),
        critical_n=critical,
        best=best,
        best_across_nodes=best_across,
        advice=sentence,
        advice_reason=why_silent,
        clock=None if isinstance(clock, str) else clock,
        clock_reason=clock if isinstance(clock, str) else None,
        computation=computation(group.cells, observed.computations),
        timelines=_timelines(group, observed.timelines, setup.grid),
    )


def _variant(
    group: CellGroup,
    variant: str,
    measured: Measured,
    entries: Entries,
    whys: Mapping[int | None, str],
    effect: float,
    own: Own,
) -> CannonVariant:
    points: list[CannonPoint] = []
    missing: list[CannonMissing] = []
    for n in group.n:
        if (variant, n) not in group.cells:
            continue
        entry = entries[group.cells[variant, n].cell]
        if "multiply_s" in entry.metrics:
            points.append(point(group, variant, n, measured, entries, effect, own))
        else:
            reason = entry.absent.get("multiply_s") or whys.get(entry.cell) or entry.reason or "not measured"
            missing.append(CannonMissing(n=n, cell=entry.cell, reason=reason))
    return CannonVariant(variant=variant, across_nodes=ACROSS_NODES.get(variant), points=points, missing=missing)


class _Setup(NamedTuple):
    """reason: why grid or blas is None.  shared_cores: why not every rank has a core of its own; None: each has."""

    grid: CannonGrid | None
    blas: CannonBlas | None
    reason: str | None
    shared_cores: str | None


def _setup(group: CellGroup, launches_of: Mapping[int, Sequence[LaunchRecord]]) -> _Setup:
    """What a launch that measured some cell of the group says of ranks, grid and BLAS."""
    numbers = {cell.cell for cell in group.cells.values()}
    launch = next((launches[0] for cell in numbers if (launches := launches_of.get(cell))), None)
    notes = [note for note in launch.events.of(Note) if note.cell in numbers] if launch else []
    shared = why_cores_are_shared(launch.ranks) if launch else "no launch measured any of its cells"
    grid = next((CannonGrid(**msgspec.structs.asdict(note.grid)) for note in notes if note.grid), None)
    blas = next((CannonBlas(**msgspec.structs.asdict(note.blas)) for note in notes if note.blas), None)
    lacking = [name for name, value in (("grid", grid), ("BLAS", blas)) if value is None]
    reason = UNSTATED.format(" and ".join(lacking)) if lacking else None
    return _Setup(grid, blas, reason, shared)


def _repetitions(cells: Iterable[CellResult]) -> GroupRepetitions | None:
    """Of the cells that report how many were clean; a cell that was not measured has no multiply_s to stand for."""
    known = [
        (counts.all, counts.clean)
        for cell in cells
        if "multiply_s" in cell.metrics and (counts := cell.repetitions) and counts.clean is not None
    ]
    if not known:
        return None
    return GroupRepetitions(all=sum(every for every, _ in known), clean=sum(clean for _, clean in known))


def _timelines(group: CellGroup, timelines: Mapping[int, Timeline], grid: CannonGrid | None) -> list[CannonTimeline]:
    """Each variant's, for the largest n and for one in the middle."""
    shape = (grid.rows, grid.columns) if grid else None
    sizes = sorted({group.n[-1], group.n[(len(group.n) - 1) // 2]})
    selected = []
    for (variant, n), cell in group.cells.items():
        if n in sizes and (timeline := timelines.get(cell.cell)):
            selected.append(
                CannonTimeline(
                    variant=variant,
                    n=n,
                    cell=cell.cell,
                    launch=timeline.launch,
                    repetition=timeline.repetition,
                    multiply_s=timeline.length_s,
                    clock_hz=timeline.clock_hz,
                    one_clock=timeline.one_clock,
                    intervals=timeline.intervals,
                    waits=tuple(waits(timeline.intervals, shape)) if timeline.one_clock else (),
                    reason=timeline.reason,
                )
            )
    return sorted(selected, key=lambda timeline: timeline.n)
