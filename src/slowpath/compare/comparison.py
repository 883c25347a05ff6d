# SPDX-License-Identifier: Apache-2.0
"""Comparison of two runs cell by cell: A is the reference of B. Unpaired, over launches, corrected for all rows. Pure.

A slower machine changes all cells alike. Where work without MPI changed as well, or the runs should be equal, rows are
relative to it. Source: Welch 1947, doi 10.1093/biomet/34.1-2.28; Benjamini and Hochberg 1995, doi
10.1111/j.2517-6161.1995.tb02031.x.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, Literal, NamedTuple

import msgspec

from slowpath.analyse.deviations import shared
from slowpath.analyse.reference import Judged, Reference, identity, items, scale_class
from slowpath.compare.read import RunSource, require_measured
from slowpath.core.cell_results import CellResult
from slowpath.core.errors import UsageError
from slowpath.core.machine import count_cpus, gpus, is_stated, memory, unlike
from slowpath.core.plan import is_effort
from slowpath.core.results import EnvironmentResult, PlacementResult, Results, RunResult
from slowpath.core.units import format_ratio
from slowpath.experiments.registry import ROLES, experiment_named
from slowpath.run.machine import stated_variables
from slowpath.stats.contrast import ContrastEstimate, benjamini_hochberg, judge, rank_sum_p, unpaired
from slowpath.stats.estimate import MeanWithT, welch
from slowpath.stats.launches import beyond_errors

SCHEMA = 4
FEWEST_LAUNCHES = 3  # on each side: two values show their spread too badly to decide (docs/internals/statistics.md)
FEWEST_CELLS = 5  # that show what all cells share
PHASES = ("first", "steady")
ALL = "all"
INCOMPLETE = "incomplete"
SHARED = "shared"
ACCEPTABLE: Final = ("hardware", "mpi", "engine", "placement", "settings", SHARED, INCOMPLETE)
MOST_NAMED = 3
_LEAST, _MOST = 1e-60, 1e60  # a ratio of values beyond is none of measurements, and may have no floating-point number
Side = Literal["a", "b"]


class RunDifference(msgspec.Struct, frozen=True):
    """A fact that differs between two runs. None means that the run does not state it."""

    fact: str
    a: str | None
    b: str | None


class Uncompared(msgspec.Struct, frozen=True):
    """A cell of one side, or a metric and phase of it, that was not compared."""

    side: Side
    cell: int
    label: str
    status: str
    reason: str


class Doubt(msgspec.Struct, frozen=True):
    """A reason why a comparison can't be decided. `kind` is one of ACCEPTABLE; `accepted`: the user judges anyway."""

    kind: str
    reason: str
    accepted: bool = False


class SharedFactor(msgspec.Struct, frozen=True):
    """The median of B over A of all short or all long cells, and that of the same work without MPI.

    is_removed: rows are relative to it, as both changed alike, or as the runs should be equal.  spread_ratio: by which
    cells differ among themselves beyond the spread of their launches; 1: not looked at.  cells: that show it.
    """

    size: Literal["short", "long"]
    ratio: float
    yardstick_ratio: float | None
    is_removed: bool
    spread_ratio: float = 1.0
    cells: int = 0

    def differs(self, least: float) -> bool:
        """Return whether it lies beyond 1 + `least`, in either direction."""
        return abs(math.log(self.ratio)) > math.log1p(least)

    @property
    def sentence(self) -> str:
        """`all short calls are 1.48x slower as a whole (flags without MPI: 1.40x slower)`."""
        subject, work = (
            ("messages of 16 KiB and more", "copies") if self.size == "long" else ("all short calls", "flags")
        )
        yardstick = _changed(self.yardstick_ratio) if self.yardstick_ratio else "not measured"
        return f"{subject} are {_changed(self.ratio)} as a whole ({work} without MPI: {yardstick})"

    @property
    def is_alike(self) -> bool:
        """Return whether work without MPI changed by half as much at least, and half as much again at most."""
        changes = math.log(self.yardstick_ratio or 1), math.log(self.ratio)
        return changes[1] != 0 and 0.5 <= changes[0] / changes[1] <= 1.5


def _changed(ratio: float) -> str:
    return f"{format_ratio(max(ratio, 1 / ratio))}x {'slower' if ratio > 1 else 'faster'}"


class ComparisonRow(msgspec.Struct, frozen=True):
    """The comparison of a cell's metric and phase. Values are in `unit`; a ratio above 1 means that B is worse.

    factor: that the machine changed by and the ratio is relative to; 1 unless it is known.
    """

    label: str
    experiment: str
    metric: str
    phase: str
    unit: str
    better: str
    a_cell: int
    b_cell: int
    a_value: float
    b_value: float
    a_launches: int
    b_launches: int
    factor: float
    ratio: float | None
    interval: tuple[float, float] | None
    interval_kind: str
    interval_90: tuple[float, float] | None  # what `same`, and a gate's pass, are judged by
    p_adjusted: float | None
    verdict: str  # faster | slower | same | undecided
    reason: str


class RunNote(msgspec.Struct, frozen=True):
    """The run on one side of a comparison."""

    path: str
    campaign: str
    started: str | None


class Comparison(msgspec.Struct, frozen=True):
    """The result of `slowpath compare`, and the format of its JSON."""

    schema: int
    kind: str
    a: RunNote
    b: RunNote
    caution: str  # what else a ratio between two runs contains
    minimum_effect: float
    differences: list[RunDifference]
    verdicts: dict[str, int]
    factors: list[SharedFactor]
    shared: list[str]  # what the slower cells have in common, a sentence each
    rows: list[ComparisonRow]
    doubts: list[Doubt]  # differences between the runs that may explain a ratio
    uncompared: list[Uncompared]
    set_aside: int  # cells that were not to be compared: skipped in both runs, or without the chosen metrics


def compare(
    a: RunSource,
    b: RunSource,
    minimum_effect: float,
    metrics: Collection[str] = (),
    phases: Sequence[str] = PHASES,
    by_parts: bool = False,
    expects_equal: bool = False,
) -> Comparison:
    """Compare run B with run A.

    Args:   minimum_effect: smallest relative difference that counts, 0 < x < 1.  metrics: names, or "all"; () takes
            each cell's first metric in seconds that both runs have.  phases: some of PHASES.  by_parts: where no metric
            is named, take all that an experiment names as its parts (Experiment.compared), as Cannon's computation.
            expects_equal: rows are relative to what all cells share, and one counts where it lies beyond what cells
            differ by among themselves: other work on the machine slows down most of them, each by another factor.
    Raises: UsageError: a and b are the same run or copies, have no cell in common, or no cell has such a metric.
            RecordError: a run holds no measurement.
    """
    _require_two(a, b)
    require_measured(a)
    require_measured(b)
    pairs, alone = match(a.results, b.results)
    if not pairs:
        raise UsageError(f"{a.path} and {b.path} have no cell or metric in common; compare runs of one campaign")
    series = [compared for pair in pairs for compared in _series(pair, metrics, phases, by_parts)]
    if not series and metrics:
        known = sorted({name for pair in pairs for name in pair.a.metrics.keys() & pair.b.metrics.keys()})
        raise UsageError(
            f"{a.path} and {b.path} have no {' or '.join(metrics)} of phase {' or '.join(phases)} in common; name "
            f"one of {', '.join(known) or 'nothing'}"
        )
    factors = _factors(pairs, series, minimum_effect, expects_equal)
    ticks = math.hypot(a.run.quantum_ns or 0.0, b.run.quantum_ns or 0.0) / math.sqrt(2) if expects_equal else 0.0
    rows = _judged(series, factors, minimum_effect, expects_equal, 1e-9 * ticks)
    uncompared, set_aside = _coverage(pairs, alone, metrics, phases)
    compared = [pair for pair in pairs if any(row.b_cell == pair.b.cell for row in rows)]
    facts = _facts(a.run, [pair.a for pair in compared]), _facts(b.run, [pair.b for pair in compared])
    return Comparison(
        schema=SCHEMA,
        kind="comparison",
        a=RunNote(str(a.path), a.run.campaign, a.run.started),
        b=RunNote(str(b.path), b.run.campaign, b.run.started),
        caution=f"Not interleaved: A began {a.run.started or 'at an unknown time'}, B {b.run.started or 'at another'}; "
        "intervals leave out what drifted between them.",
        minimum_effect=minimum_effect,
        differences=[
            RunDifference(fact, facts[0].get((kind, fact)), facts[1].get((kind, fact)))
            for kind, fact in dict.fromkeys([*facts[0], *facts[1]])
            if facts[0].get((kind, fact)) != facts[1].get((kind, fact))
        ],
        verdicts=_counted(rows),
        factors=factors,
        shared=_sentences(b.results, rows),
        rows=rows,
        doubts=[
            *_hardware(a.run, b.run),
            *_doubts(*facts),
            *_incomplete("A", a.results, uncompared),
            *_incomplete("B", b.results, uncompared),
        ],
        uncompared=uncompared,
        set_aside=set_aside,
    )


def _counted(rows: Sequence[ComparisonRow]) -> dict[str, int]:
    """Return the number of rows by verdict."""
    return {word: sum(row.verdict == word for row in rows) for word in ("slower", "faster", "same", "undecided")}


def merge(first: Comparison, again: Comparison, cells: Collection[int]) -> Comparison:
    """Return the first comparison with these cells of A as in `again`, and what that one says of the machine."""
    later = {(row.a_cell, row.metric, row.phase): row for row in again.rows if row.a_cell in cells}
    rows = [later.get((row.a_cell, row.metric, row.phase), row) for row in first.rows]
    doubts = list(dict.fromkeys([*first.doubts, *again.doubts]))
    return msgspec.structs.replace(
        first, rows=rows, verdicts=_counted(rows), factors=again.factors, shared=again.shared, doubts=doubts
    )


def _require_two(a: RunSource, b: RunSource) -> None:
    is_one = (a.folder or a.path).resolve() == (b.folder or b.path).resolve()
    is_one = is_one or (a.run.started is not None and (a.run.id, a.run.started) == (b.run.id, b.run.started))
    if is_one or (a.results.cells and a.results.cells == b.results.cells):
        raise UsageError(f"{a.path} and {b.path} are the same run; name two runs")


# Which cells are the same.


class CellPair(NamedTuple):
    """A cell that both runs have."""

    a: CellResult
    b: CellResult


def match(a: Results, b: Results) -> tuple[list[CellPair], list[Uncompared]]:
    """Return the pairs in the order of b's cells, and the cells without a partner.

    Cells match by their keys, else by what they are, first under the MPI of the same name, last without regard to how
    often and how carefully they were measured. What several cells of a run have matches none of them.
    """
    left, right, pairs = list(a.cells), list(b.cells), list[CellPair]()
    for name in _NAMES:
        mine, yours = _unique(left, name), _unique(right, name)
        pairs += [CellPair(mine[key], yours[key]) for key in mine.keys() & yours.keys()]
        taken = ({pair.a.cell for pair in pairs}, {pair.b.cell for pair in pairs})
        left, right = ([c for c in cells if c.cell not in t] for cells, t in zip((left, right), taken, strict=True))
    why = "not in the other run"
    alone = [*(_left_out("a", cell, why) for cell in left), *(_left_out("b", cell, why) for cell in right)]
    return sorted(pairs, key=lambda pair: pair.b.cell), alone


def _without_effort(cell: CellResult) -> str:
    parameters = {name: value for name, value in cell.parameters.items() if not is_effort(ROLES, name)}
    return identity(msgspec.structs.replace(cell, parameters=parameters))


_NAMES: tuple[Callable[[CellResult], Hashable], ...] = (
    lambda cell: cell.key,
    lambda cell: (identity(cell), cell.copy, cell.mpi),
    lambda cell: (identity(cell), cell.copy, cell.label.removeprefix(f"{cell.mpi}, ")),
    lambda cell: (identity(cell), cell.copy),
    lambda cell: (_without_effort(cell), cell.copy),
)


def _unique(cells: Sequence[CellResult], name: Callable[[CellResult], Hashable]) -> dict[Hashable, CellResult]:
    counts = Counter(map(name, cells))
    return {name(cell): cell for cell in cells if counts[name(cell)] == 1}


def chosen_metrics(cells: Sequence[CellResult], metrics: Collection[str]) -> list[str]:
    """Return the metrics that all `cells` have: the chosen ones, or the first in seconds (else the first)."""
    common = [name for name in cells[-1].metrics if all(name in cell.metrics for cell in cells)]
    if metrics:
        return [name for name in common if ALL in metrics or name in metrics]
    return next(([name] for name in common if cells[-1].metrics[name].unit == "s"), common[:1])


def _why_no_pair(pair: CellPair, metric: str, phase: str) -> str | None:
    a, b = pair.a.metrics[metric], pair.b.metrics[metric]
    if (a.unit, a.better) != (b.unit, b.better):
        return f"{metric}: {a.unit}, {a.better} is better in A; {b.unit}, {b.better} is better in B"
    if (in_a := a.phases[phase].location) != (in_b := b.phases[phase].location):
        return f"{metric}: quantile {in_a:g} in A, {in_b:g} in B"
    return None


def _coverage(
    pairs: Iterable[CellPair], alone: Iterable[Uncompared], metrics: Collection[str], phases: Sequence[str]
) -> tuple[list[Uncompared], int]:
    """Return what was not compared, and the number of cells that were not to be."""
    lacking = [cell for cell in alone if cell.status != "skipped"]
    aside = sum(cell.status == "skipped" for cell in alone)
    for pair in pairs:
        gaps = list(_gaps(pair, metrics, phases))
        lacking += gaps
        aside += not gaps and not any(_has(cell, *each) for cell in pair for each in _asked(pair, metrics, phases))
    return lacking, aside


def _asked(pair: CellPair, metrics: Collection[str], phases: Sequence[str]) -> list[tuple[str, str]]:
    names = dict.fromkeys(name for cell in pair for name in chosen_metrics([cell], metrics))
    return [(name, phase) for name in names for phase in _phases(pair, name, phases)]


def _phases(pair: CellPair, metric: str, phases: Sequence[str]) -> Sequence[str]:
    """The phases that are asked for; of what happens once in a launch, such as MPI_Init, the first."""
    once = all(metric in cell.metrics and {*cell.metrics[metric].phases} == {"first"} for cell in pair)
    return ("first",) if once else phases


def _has(cell: CellResult, metric: str, phase: str) -> bool:
    return metric in cell.metrics and phase in cell.metrics[metric].phases


def _gaps(pair: CellPair, metrics: Collection[str], phases: Sequence[str]) -> Iterator[Uncompared]:
    """Yield what one side has, or should have, and the other lacks, and metrics that can't be compared."""
    sides: tuple[tuple[Side, CellResult], ...] = (("b", pair.b), ("a", pair.a))
    statuses = {cell.status for cell in pair}
    if statuses == {"skipped"}:
        return
    if statuses & {"failed", "skipped"}:
        side, cell = next(each for each in sides if each[1].status in ("failed", "skipped"))
        yield _left_out(side, cell, f"{cell.status}: {cell.reason or 'see its report'}")
        return
    asked = [each for each in _asked(pair, metrics, phases) if any(_has(cell, *each) for cell in pair)]
    for name, phase in asked:
        for side, cell in sides:
            if not _has(cell, name, phase):
                why = cell.absent.get(name) or cell.reason or "see its report"
                yield _left_out(side, cell, f"no value of {name}, {phase}: {why}")
        if all(_has(cell, name, phase) for cell in pair) and (reason := _why_no_pair(pair, name, phase)):
            yield _left_out("b", pair.b, reason)
    for side, cell in sides:
        if asked or cell.witnessed or (cell.metrics and metrics):
            continue
        why = next(iter(cell.absent.values()), cell.reason or "use --phase all")
        yield _left_out(side, cell, f"no value of phase {' or '.join(phases)}: {why}")


def _left_out(side: Side, cell: CellResult, reason: str) -> Uncompared:
    return Uncompared(side, cell.cell, cell.label, cell.status, reason)


# The verdict on each row.


class _Series(NamedTuple):
    """Launch values of one metric and phase in both runs, larger is worse; or why there is no ratio of them."""

    pair: CellPair
    metric: str
    phase: str
    a: Sequence[float]
    b: Sequence[float]
    problem: str | None

    @property
    def size(self) -> Literal["short", "long"]:
        return "long" if scale_class({"experiment": "", **self.pair.b.parameters})[1] == "long" else "short"

    def estimate(self, factor: SharedFactor, minimum_effect: float, tick_s: float) -> ContrastEstimate:
        is_rounded = self.pair.b.metrics[self.metric].unit == "s" and len({*self.a, *self.b}) > 1
        rounding = is_rounded * tick_s / math.sqrt(12) * math.hypot(1 / min(self.a), 1 / min(self.b))
        spread = MeanWithT(0.0, None, math.hypot(math.log(factor.spread_ratio), rounding), factor.cells - 1)
        return unpaired(self.a, [b / factor.ratio for b in self.b], minimum_effect, spread=spread)

    def p_slower(self, factor: SharedFactor, estimate: ContrastEstimate, p: float) -> float:
        """Return one-sided p: by t that B is not slower, or by ranks that it is so by what does not count at most.

        Among hundreds of cells t asks for many standard errors of a noisy one; ranks do not mind a few slow launches.
        """
        if (limit := max(1 + estimate.minimum_effect, factor.spread_ratio**4)) < estimate.ratio:
            p = min(p, rank_sum_p([limit * factor.ratio * value for value in self.a], self.b))
        return p / 2 if estimate.ratio > 1 else 1 - p / 2


def _series(pair: CellPair, metrics: Collection[str], phases: Sequence[str], by_parts: bool) -> Iterator[_Series]:
    parts = experiment_named(pair.b.experiment).compared if by_parts and not metrics else ()
    for metric in chosen_metrics(pair, metrics or parts):
        in_a, in_b = (cell.metrics[metric] for cell in pair)
        for phase in _phases(pair, metric, phases):
            if phase not in in_a.phases or phase not in in_b.phases or _why_no_pair(pair, metric, phase):
                continue
            a, b = in_a.phases[phase].launch_values, in_b.phases[phase].launch_values
            if not a or not b:
                yield _Series(pair, metric, phase, a, b, "no value on a side")
            elif not all(_LEAST < value < _MOST for value in (*a, *b)):
                why = "a value that gives no ratio"
                yield _Series(pair, metric, phase, a, b, why)
            elif in_b.better == "higher":
                yield _Series(pair, metric, phase, [1 / value for value in a], [1 / value for value in b], None)
            else:
                yield _Series(pair, metric, phase, a, b, None)


_YARDSTICKS: Mapping[str, str] = {"short": "flag", "long": "copy_across"}


def _factors(
    pairs: Sequence[CellPair], series: Sequence[_Series], minimum_effect: float, expects_equal: bool
) -> list[SharedFactor]:
    """Return by what factor the steady times of all short and all long cells changed.

    Unless the runs should be equal, only factors beyond the minimum effect are returned, and they are removed where
    work without MPI changed alike.
    """
    factors = list[SharedFactor]()
    steady = [each for each in series if (each.phase, each.problem) == ("steady", None)]
    sizes: tuple[Literal["short", "long"], ...] = ("short", "long")
    for size in sizes:
        here = [each for each in steady if each.size == size]
        here = steady if expects_equal and 0 < len(here) < FEWEST_CELLS else here
        if len(here) < FEWEST_CELLS:
            continue
        changes = [welch([math.log(a) for a in each.a], [math.log(b) for b in each.b]) for each in here]
        shift = statistics.median(change.value for change in changes)
        same = {(each.pair.a.cell, each.pair.b.cell) for each in here}
        without_mpi = [
            floor_b.time_s / floor_a.time_s
            for a, b in pairs
            if (a.cell, b.cell) in same
            for floor_a in a.floors
            for floor_b in b.floors
            if floor_a.name == floor_b.name == _YARDSTICKS[size] and floor_a.time_s and floor_b.time_s
        ]
        yardstick = statistics.median(without_mpi) if without_mpi else None
        apart = [(change.value - shift, change.se) for change in changes if change.se]
        spread = beyond_errors(apart) if expects_equal else 0
        factor = SharedFactor(size, math.exp(shift), yardstick, True, math.exp(spread), len(here))
        if expects_equal or factor.differs(minimum_effect):
            factors.append(msgspec.structs.replace(factor, is_removed=expects_equal or factor.is_alike))
    return factors


def _judged(
    series: Sequence[_Series], factors: Sequence[SharedFactor], minimum_effect: float, is_gate: bool, tick_s: float
) -> list[ComparisonRow]:
    """Args: tick_s: of the clock, by whose rounding all launches of a run are wrong alike."""
    by_size = {factor.size: factor for factor in factors if factor.is_removed}
    estimates, p_values = list[ContrastEstimate | None](), dict[int, float]()
    for n, each in enumerate(series):
        factor = by_size.get(each.size, SharedFactor(each.size, 1.0, None, is_removed=False, cells=FEWEST_CELLS))
        estimate = None if each.problem else each.estimate(factor, minimum_effect, tick_s)
        estimates.append(estimate)
        # Rows of too few launches for a verdict don't make the others' corrections larger.
        if estimate and estimate.n >= FEWEST_LAUNCHES and estimate.p is not None:
            p_values[n] = each.p_slower(factor, estimate, estimate.p) if is_gate else estimate.p
    adjusted = dict(zip(p_values, benjamini_hochberg(list(p_values.values())), strict=True)) if p_values else {}
    return [
        _row(entry, estimate, float(adjusted[n]) if n in adjusted else None,
             by_size[entry.size].ratio if entry.size in by_size else 1.0)
        for n, (entry, estimate) in enumerate(zip(series, estimates, strict=True))
    ]  # fmt: skip


def _row(series: _Series, estimate: ContrastEstimate | None, p_adjusted: float | None, factor: float) -> ComparisonRow:
    in_a, in_b = (cell.metrics[series.metric] for cell in series.pair)
    verdict, reason = "undecided", series.problem or ""
    if estimate is not None and estimate.n < FEWEST_LAUNCHES:
        reason = f"{estimate.n} of {FEWEST_LAUNCHES} launches on a side"
    elif estimate is not None:
        judged = judge(estimate, p_adjusted)
        verdict, reason = judged.word, judged.reason
    inner = estimate.equivalence if estimate else None
    return ComparisonRow(
        label=series.pair.b.label,
        experiment=series.pair.b.experiment,
        metric=series.metric,
        phase=series.phase,
        unit=in_b.unit,
        better=in_b.better,
        a_cell=series.pair.a.cell,
        b_cell=series.pair.b.cell,
        a_value=in_a.phases[series.phase].value,
        b_value=in_b.phases[series.phase].value,
        a_launches=len(series.a),
        b_launches=len(series.b),
        factor=factor,
        ratio=estimate.ratio if estimate else None,
        interval=estimate.interval if estimate else None,
        interval_kind=estimate.kind if estimate else reason,
        interval_90=(inner.low, inner.high) if inner else None,
        p_adjusted=p_adjusted,
        verdict=verdict,
        reason=reason,
    )


def _sentences(b: Results, rows: Iterable[ComparisonRow]) -> list[str]:
    """Return what the slower times of B share. A time is judged by its row: only a slower one has a limit to exceed."""
    known = {(item.cell, item.metric, item.phase): item for item in items(b.cells)}
    judged = []
    for row in rows:
        item = known.get((row.b_cell, row.metric, row.phase))
        if item is None or row.ratio is None or row.interval is None:
            continue
        a = row.a_value * row.factor
        low, high = row.interval
        limit = a if row.verdict == "slower" else math.inf
        judged.append(
            Judged(replace(item, value=a * row.ratio, interval=(a * low, a * high)), Reference(a, a, a, 1, "A"), limit)
        )
    groups = shared(judged) if judged else []
    return [
        group.compared_with("in A") for group in groups if len({deviation.item.cell for deviation in group.slow}) > 1
    ]


# What else differs between the two runs.

_Facts = Mapping[tuple[str, str], str | None]  # kind of ACCEPTABLE, or "" for what says nothing against a comparison


def _facts(run: RunResult, cells: Sequence[CellResult]) -> _Facts:
    machine, load = run.machine, run.machine.get("load")
    named_mpis = {cell.mpi for cell in cells}
    mpis = [mpi for mpi in run.mpis if mpi.mpi in named_mpis] or [run.mpi]
    engines = [mpi.engine or machine.get("engine") for mpi in mpis]
    builds = [str(engine["key"]) for engine in engines if isinstance(engine, dict) and engine.get("key")]
    names = (
        "host",
        "processor",
        "processors",
        "processors_allowed",
        "distribution",
        "kernel",
        "huge_pages",
        "governor",
    )
    facts: dict[tuple[str, str], object] = {
        ("", "campaign"): run.campaign,
        **{("", name.replace("_", " ")): machine.get(name) for name in names},
        ("", "memory"): memory(machine),
        ("", "GPUs"): gpus(machine),
        ("", "load"): f"{load[0]:.0f}" if isinstance(load, list) and load else None,  # whole processes
        ("mpi", MPI): _listed(" ".join(filter(None, (mpi.name, mpi.version))) for mpi in mpis),
        ("mpi", LIBRARY): _listed(mpi.library for mpi in mpis),
        ("", "MPI launcher"): _listed(mpi.mpiexec for mpi in mpis),
        ("engine", "engine"): "another program's logs" if run.imported else run.engine,
        ("engine", BUILD): None if run.imported else _listed(builds),
        ("", "slowpath"): run.slowpath,
        ("", "clock quantum, ns"): run.quantum_ns,
        ("", "began"): run.started,
        ("", "status"): run.status,
    }
    for cell in {cell.placement: cell for cell in cells}.values():
        placed = _placed(run.placement_of(cell.placement))
        facts |= {("placement", f"{cell.placement}, {name}"): fact for name, fact in placed.items()}
    for cell in {cell.environment: cell for cell in cells}.values():
        alike = (each for each in run.environments if each.name == cell.environment and each.mpi in (None, cell.mpi))
        facts["settings", f"environment {cell.environment}"] = _set(next(alike, None))
    facts |= {("", f"variable {name}"): value for name, value in sorted(stated_variables(machine).items())}
    return {name: None if value is None else str(value) for name, value in facts.items()}


MPI, LIBRARY, BUILD = "MPI", "version string of the MPI library", "engine build"


def _listed(words: Iterable[str | None]) -> str | None:
    return ", ".join(dict.fromkeys(word for word in words if word)) or None


def _placed(placement: PlacementResult | None) -> dict[str, object]:
    seen = placement.observed if placement else []
    widths = sorted({count_cpus(rank.cpus_allowed) or 0 for rank in seen})
    return {
        "binding": placement.bind if placement else None,
        "nodes": len({rank.host for rank in seen}) or None,
        "ranks": len(seen) or None,
        "processors of each rank": " or ".join(map(str, widths)) if any(widths) else None,
        "place of ranks": "another than asked" if placement and placement.differs else "as asked",
    }


def _set(environment: EnvironmentResult | None) -> str | None:
    if environment is None or environment.setting:
        return environment.setting if environment else None
    given = {**environment.variables, **(environment.stated or {})}
    words = [f"{name}={value}" for name, value in sorted(given.items())]
    return " ".join([*words, *(f"unset {name}" for name in sorted(environment.unset))]) or "no variables"


def _hardware(a: RunResult, b: RunResult) -> Iterator[Doubt]:
    if silent := [name for name, run in (("A", a), ("B", b)) if not is_stated(run.machine)]:
        yield Doubt("hardware", f"machine not stated in {' and '.join(silent)}")
        return
    for fact in unlike(a.machine, b.machine):
        yield Doubt("hardware", f"{fact.fact}: {fact.a} in A, {fact.b} in B")
    in_a, in_b = gpus(a.machine), gpus(b.machine)
    if (in_a is None) != (in_b is None) and "none" not in (in_a, in_b):
        yield Doubt("hardware", f"GPUs: {in_a or 'not stated'} in A, {in_b or 'not stated'} in B")


def _doubts(a: _Facts, b: _Facts) -> Iterator[Doubt]:
    """Yield a doubt for each fact of a kind in which the runs differ, and for an MPI that neither states."""
    is_same_mpi = a["mpi", MPI] == b["mpi", MPI]
    for kind, fact in dict.fromkeys([*a, *b]):
        in_a, in_b = a.get((kind, fact)), b.get((kind, fact))
        if fact in (LIBRARY, BUILD) and not is_same_mpi:
            continue  # another library changes both
        if fact == LIBRARY and None in (in_a, in_b):
            continue
        if kind and (in_a != in_b or (fact == MPI and in_a is None)):
            yield Doubt(kind, f"{fact}: {in_a or 'not stated'} in A, {in_b or 'not stated'} in B")


def _incomplete(name: str, results: Results, uncompared: Sequence[Uncompared]) -> Iterator[Doubt]:
    count, cells, status = results.run.launches, results.cells, results.run.status
    of_cells = f"{len(cells)} cells of {name}"
    if status in ("running", "interrupted"):
        yield Doubt(INCOMPLETE, f"{name} is {status}: {count.done} of {count.planned} launches")
    elif count.done < count.planned:
        yield Doubt(INCOMPLETE, f"{name} is incomplete: {count.done} of {count.planned} launches")
    elif cut := [cell for cell in cells if cell.status == "partial"]:
        yield Doubt(INCOMPLETE, f"{len(cut)} of {of_cells} incomplete: {named(cell.label for cell in cut)}")
    if wrong := [cell for cell in cells if cell.wrong_bytes]:
        yield Doubt(INCOMPLETE, f"{len(wrong)} of {of_cells} with wrong bytes: {named(cell.label for cell in wrong)}")
    if alone := [cell for cell in uncompared if cell.side == name.lower()]:
        yield Doubt(INCOMPLETE, f"{len(alone)} of {of_cells} not compared: {named(cell.label for cell in alone)}")


def named(names: Iterable[str]) -> str:
    """Return the first names, each once, and how many more there are."""
    labels = list(dict.fromkeys(names))
    return "; ".join(labels[:MOST_NAMED]) + (f"; {len(labels) - MOST_NAMED} more" if len(labels) > MOST_NAMED else "")
