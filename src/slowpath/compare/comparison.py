# SPDX-License-Identifier: Apache-2.0
"""Comparison of two runs cell by cell: unpaired, over launches, corrected for the number of comparisons. Pure.

Source: Welch 1947, doi 10.1093/biomet/34.1-2.28; Benjamini and Hochberg 1995, doi 10.1111/j.2517-6161.1995.tb02031.x.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

import msgspec

from slowpath.compare.read import RunSource, environment_of, mpi_of, placement_of, require_measured
from slowpath.core.cell_results import CellResult, MetricEstimate
from slowpath.core.errors import UsageError
from slowpath.core.machine import count_cpus, gpus, is_stated, memory, unlike
from slowpath.core.plan import is_effort
from slowpath.core.results import EnvironmentResult, MpiResult, PlacementResult, Results, RunResult
from slowpath.experiments.registry import ROLES, experiment_named
from slowpath.run.machine import stated_variables
from slowpath.stats.contrast import ContrastEstimate, benjamini_hochberg, judge, unpaired


class RunDifference(msgspec.Struct, frozen=True):
    """A fact that differs between two runs. None means that the run does not state it."""

    what: str
    a: str | None
    b: str | None


def _machine(key: str) -> Callable[[RunResult], str | None]:
    return lambda run: _words(run.machine.get(key))


def _words(value: Any) -> str | None:
    return None if value is None else str(value)


def _load(run: RunResult) -> str | None:
    """Return the load average over the last minute, rounded to whole processes, which shows other work."""
    load = run.machine.get("load")
    first = load[0] if isinstance(load, list) and load else None
    return f"{first:.0f}" if isinstance(first, int | float) else None


def _of_mpis(fact: Callable[[MpiResult], str | None]) -> Callable[[RunResult], str | None]:
    def of_all(run: RunResult) -> str | None:
        every = [fact(mpi) for mpi in run.mpis or [run.mpi]]
        return ", ".join(dict.fromkeys(word for word in every if word)) or None

    return of_all


def mpi_identity(mpi: MpiResult) -> str:
    """Return library and version, or "" if an old or imported run does not state them."""
    return " ".join(filter(None, (mpi.name, mpi.version)))


def engine_build(run: RunResult, mpi: str | None) -> dict[str, Any]:
    """Return key, compiler and path of the engine that the run used for this MPI, or {} if it does not state them."""
    engine = mpi_of(run, mpi).engine or run.machine.get("engine")
    return engine if isinstance(engine, dict) else {}


def _builds(run: RunResult) -> str | None:
    keys = [engine_build(run, mpi.mpi).get("key") for mpi in run.mpis or [run.mpi]]
    return ", ".join(dict.fromkeys(str(key) for key in keys if key)) or None


def _bindings(run: RunResult) -> str | None:
    found = [
        f"{p.name}: {' '.join(str(rank.cpus_allowed) for rank in p.observed)}" for p in run.placements if p.observed
    ]
    return "; ".join(found) or None


FACTS: tuple[tuple[str, Callable[[RunResult], str | None]], ...] = (
    ("campaign", lambda run: run.campaign),
    ("host", _machine("host")),
    ("processor", _machine("processor")),
    ("processors allowed", _machine("processors_allowed")),
    ("memory", lambda run: memory(run.machine)),
    ("GPUs", lambda run: gpus(run.machine)),
    ("distribution", _machine("distribution")),
    ("kernel", _machine("kernel")),
    ("huge pages", _machine("huge_pages")),
    ("frequency governor", _machine("governor")),
    ("load at the start", _load),
    ("MPI", _of_mpis(mpi_identity)),
    ("MPI library", _of_mpis(lambda mpi: mpi.library)),
    ("MPI launcher", _of_mpis(lambda mpi: mpi.mpiexec)),
    ("engine", lambda run: run.engine),
    ("engine build", _builds),
    ("slowpath", lambda run: run.slowpath),
    ("clock quantum, ns", lambda run: _words(run.quantum_ns)),
    ("binding of ranks", _bindings),
    ("began", lambda run: run.started),
    ("status", lambda run: run.status),
)


def differences(a: RunResult, b: RunResult) -> list[RunDifference]:
    """Return all differences in the order of FACTS, followed by the user's own MPI variables."""
    found = [RunDifference(what, fact(a), fact(b)) for what, fact in FACTS]
    mine, yours = (stated_variables(run.machine) for run in (a, b))
    found += [RunDifference(f"variable {n}", mine.get(n), yours.get(n)) for n in sorted({*mine, *yours})]
    return [difference for difference in found if difference.a != difference.b]


ALL = "all"
_LEAST, _MOST = 1e-60, 1e60  # a ratio of values beyond is none of measurements, and may have no floating-point number


def chosen_metrics(cells: Sequence[CellResult], metrics: Collection[str]) -> list[str]:
    """Return the metrics that all `cells` have: the chosen ones, or the first in seconds (else the first)."""
    shared = [name for name in cells[-1].metrics if all(name in cell.metrics for cell in cells)]
    if metrics:
        return [name for name in shared if ALL in metrics or name in metrics]
    return next(([name] for name in shared if cells[-1].metrics[name].unit == "s"), shared[:1])


def why_no_pair(a: CellResult, b: CellResult, metric: str, phase: str) -> str | None:
    """Return why the two cells' values of a metric and phase can't be compared, or None if they can."""
    mine, yours = a.metrics[metric], b.metrics[metric]
    if (mine.unit, mine.better) != (yours.unit, yours.better):
        return (
            f"{metric} is in {mine.unit} ({mine.better} is better) in A and in {yours.unit} ({yours.better} is better) "
            "in B"
        )
    quantile_a, quantile_b = mine.phases[phase].location, yours.phases[phase].location
    if quantile_a != quantile_b:
        return f"{metric}: a launch is represented by its quantile {quantile_a:g} in A and {quantile_b:g} in B"
    return None


def has_ratio(value: float) -> bool:
    """Return whether ratios and logarithms of the value can be computed. A file may state any number."""
    return _LEAST < value < _MOST


class CellPair(msgspec.Struct, frozen=True):
    """A cell that both runs have. `differs` lists differences between the two cells, none if matched by key."""

    a: CellResult
    b: CellResult
    by: str  # key | label
    differs: list[RunDifference]


class Unmatched(msgspec.Struct, frozen=True):
    """A cell that only one run has, and the reason."""

    cell: int
    label: str
    status: str
    reason: str


class Matching(msgspec.Struct, frozen=True):
    """The cells of both runs: pairs, and cells without a partner."""

    pairs: list[CellPair]
    only_a: list[Unmatched]
    only_b: list[Unmatched]


def match(a: Results, b: Results) -> Matching:
    """Return the pairs in the order of b's cells. A name that several cells of a run have matches none of them."""
    left, right = list(a.cells), list(b.cells)
    pairs: list[CellPair] = []
    for by, name in _PASSES:
        mine, yours = _unique(left, name), _unique(right, name)
        for key in mine.keys() & yours.keys():
            cell_a, cell_b = mine[key], yours[key]
            if by == "key" or not differing_parts(cell_a, cell_b):
                pairs.append(
                    CellPair(cell_a, cell_b, by, [] if by == "key" else _cell_differences(a.run, cell_a, b.run, cell_b))
                )
        taken_a, taken_b = {p.a.cell for p in pairs}, {p.b.cell for p in pairs}
        left = [cell for cell in left if cell.cell not in taken_a]
        right = [cell for cell in right if cell.cell not in taken_b]
    pairs.sort(key=lambda pair: pair.b.cell)
    return Matching(pairs, _alone(left, b.cells), _alone(right, a.cells))


def plain_label(cell: CellResult) -> str:
    """Return the label without the MPI's name, which labels contain only in runs with several MPIs."""
    return cell.label.removeprefix(f"{cell.mpi}, ") if cell.mpi else cell.label


def _label(cell: CellResult) -> Hashable:
    return cell.experiment, plain_label(cell), cell.environment, cell.placement, cell.copy


_PASSES: tuple[tuple[str, Callable[[CellResult], Hashable]], ...] = (
    ("key", lambda cell: cell.key),
    ("label", lambda cell: (_label(cell), cell.mpi)),
    ("label", _label),
)


def _unique(cells: Iterable[CellResult], name: Callable[[CellResult], Hashable]) -> dict[Hashable, CellResult]:
    cells = list(cells)
    counts = Counter(map(name, cells))
    return {name(cell): cell for cell in cells if counts[name(cell)] == 1}


def differing_parts(a: CellResult, b: CellResult) -> list[str]:
    """Return a line for each parameter that both cells have with different values.

    Parameters of effort are ignored: how often and how carefully a cell is measured does not make it another cell.
    """
    shared = {name for name in a.parameters.keys() & b.parameters.keys() if not is_effort(ROLES, name)}
    return [
        f"{name} is {a.parameters[name]} against {b.parameters[name]}"
        for name in sorted(shared)
        if a.parameters[name] != b.parameters[name]
    ]


def _cell_differences(run_a: RunResult, a: CellResult, run_b: RunResult, b: CellResult) -> list[RunDifference]:
    found = [
        RunDifference("MPI", mpi_identity(mpi_of(run_a, a.mpi)) or None, mpi_identity(mpi_of(run_b, b.mpi)) or None)
    ]
    set_a, set_b = environment_of(run_a, a), environment_of(run_b, b)
    mine, yours = set_a.variables if set_a else {}, set_b.variables if set_b else {}
    found += [RunDifference(f"variable {n}", mine.get(n), yours.get(n)) for n in sorted({*mine, *yours})]
    at_a, at_b = placement_of(run_a, a), placement_of(run_b, b)
    found.append(RunDifference("binding", at_a.bind if at_a else None, at_b.bind if at_b else None))
    ranks_a, ranks_b = (str(len(at.observed)) if at and at.observed else None for at in (at_a, at_b))
    found.append(RunDifference("ranks", ranks_a, ranks_b))
    names = sorted({*a.parameters, *b.parameters})
    found += [RunDifference(f"parameter {n}", a.parameters.get(n), b.parameters.get(n)) for n in names]
    return [difference for difference in found if difference.a != difference.b]


def _alone(cells: Sequence[CellResult], others: Sequence[CellResult]) -> list[Unmatched]:
    return [Unmatched(cell.cell, cell.label, cell.status, _why(cell, others)) for cell in cells]


def _why(cell: CellResult, others: Sequence[CellResult]) -> str:
    same = [other for other in others if _label(other) == _label(cell)]
    if not same:
        return "the other run has no cell of this label, experiment, environment and placement"
    if len(same) > 1:
        return f"{len(same)} cells of the other run have this label"
    different = differing_parts(cell, same[0])
    return (
        f"another cell in the other run: {'; '.join(different)}" if different else "several cells here have this label"
    )


Side = Literal["a", "b"]


class Uncompared(msgspec.Struct, frozen=True):
    """A cell of one side, or a metric and phase of it, that was not compared."""

    side: Side
    cell: int
    label: str
    status: str
    reason: str


class UncomparedCells(msgspec.Struct, frozen=True):
    """All uncompared cells of two runs, and the number of cells of both sides that were set aside."""

    uncompared: list[Uncompared]
    set_aside: int


def coverage(
    a: Results, b: Results, matching: Matching, metrics: Collection[str], phases: Sequence[str]
) -> UncomparedCells:
    """Return which cells of two runs are not compared.  Args: metrics, phases: those of `compare`."""
    known: dict[Side, dict[int, str]] = {"a": _reasons(a), "b": _reasons(b)}
    found: list[Uncompared] = []
    aside = 0
    for pair in matching.pairs:
        gaps = list(_gaps(pair, metrics, phases))
        found += gaps
        if not gaps and not _has_row(pair, metrics, phases):
            silent = list(_silent(pair, metrics, phases))
            found += silent
            aside += not silent
    alone: tuple[tuple[Side, list[Unmatched]], ...] = (("a", matching.only_a), ("b", matching.only_b))
    for side, cells in alone:
        found += [Uncompared(side, c.cell, c.label, c.status, c.reason) for c in cells if c.status != "skipped"]
        aside += sum(c.status == "skipped" for c in cells)
    named = [
        msgspec.structs.replace(cell, reason=f"{cell.status}: {known[cell.side][cell.cell]}")
        if cell.status in ("failed", "skipped") and cell.cell in known[cell.side]
        else cell
        for cell in found
    ]
    return UncomparedCells(named, aside)


def _reasons(results: Results) -> dict[int, str]:
    """Return, by cell, why its launches gave no value: the first reason that a launch states."""
    return {row.cell: row.reason for row in reversed(results.skipped) if row.cell is not None}


def _gaps(pair: CellPair, metrics: Collection[str], phases: Sequence[str]) -> Iterator[Uncompared]:
    """Yield what one side has, or should have, and the other lacks, and metrics that can't be compared."""
    a, b = pair.a, pair.b
    if "failed" in (a.status, b.status) or (a.status == "skipped") != (b.status == "skipped"):
        yield _of("b", b, _why_not(b)) if b.status in ("failed", "skipped") else _of("a", a, _why_not(a))
        return
    for name in dict.fromkeys([*chosen_metrics([a], metrics), *chosen_metrics([b], metrics)]):
        for phase in phases:
            in_a, in_b = (name in cell.metrics and phase in cell.metrics[name].phases for cell in (a, b))
            if in_a and in_b:
                if reason := why_no_pair(a, b, name, phase):
                    yield _of("b", b, reason)
            elif in_a:
                yield _of("b", b, _lacks(b, name, phase))
            elif in_b:
                yield _of("a", a, _lacks(a, name, phase))


def _silent(pair: CellPair, metrics: Collection[str], phases: Sequence[str]) -> Iterator[Uncompared]:
    """Yield the sides of a pair without a value to compare, unless the user left them out."""
    sides: tuple[tuple[Side, CellResult], ...] = (("a", pair.a), ("b", pair.b))
    for side, cell in sides:
        others = list(dict.fromkeys(phase for metric in cell.metrics.values() for phase in metric.phases))
        if cell.status == "skipped" or cell.witnessed or (cell.metrics and metrics):
            continue
        if cell.metrics:
            words = f"has no value of phase {' or '.join(phases)}, only of {' and '.join(others)}: use --phase all"
            yield _of(side, cell, words)
        elif not cell.is_measured:
            why = next(iter(cell.absent.values()), cell.reason or "its launches hold no samples")
            yield _of(side, cell, f"has no value: {why}")


def _of(side: Side, cell: CellResult, reason: str) -> Uncompared:
    return Uncompared(side, cell.cell, cell.label, cell.status, reason)


def _lacks(cell: CellResult, metric: str, phase: str) -> str:
    why = cell.absent.get(metric) or cell.reason or "see its report"
    return f"has no value of {metric}, {phase}, but the other run has one: {why}"


def _has_row(pair: CellPair, metrics: Collection[str], phases: Sequence[str]) -> bool:
    return any(
        phase in cell.metrics[name].phases
        for cell in (pair.a, pair.b)
        for name in chosen_metrics([cell], metrics)
        for phase in phases
    )


def _why_not(cell: CellResult) -> str:
    return f"{cell.status}: {cell.reason or 'see its report'}"


ACCEPTABLE: Final = ("hardware", "mpi", "engine", "placement", "settings", "incomplete")
MOST_NAMED = 3
Fact = TypeVar("Fact")


class Doubt(msgspec.Struct, frozen=True):
    """A reason why a comparison can't be decided. `kind` is one of ACCEPTABLE; `accepted`: the user judges anyway."""

    kind: str
    reason: str
    accepted: bool = False


def doubts(a: Results, b: Results, pairs: Sequence[CellPair], uncompared: Sequence[Uncompared]) -> list[Doubt]:
    """Return all doubts in the order of ACCEPTABLE.  Args: pairs: the pairs of cells that are compared."""
    found: list[Doubt] = []
    for kind, reasons in (
        ("hardware", _hardware(a.run, b.run)),
        ("mpi", _mpis(a, b, pairs)),
        ("engine", _engines(a.run, b.run, pairs)),
        ("placement", _placements(a.run, b.run, pairs)),
        ("settings", _settings(a, b, pairs)),
        ("incomplete", _incomplete(a, b, uncompared)),
    ):
        found += [Doubt(kind, reason) for reason in dict.fromkeys(reasons)]
    return found


def _hardware(a: RunResult, b: RunResult) -> Iterator[str]:
    if silent := [name for name, run in (("A", a), ("B", b)) if not is_stated(run.machine)]:
        yield f"{' and '.join(silent)} {_do(silent)} not state the machine (processor, processors, memory)"
        return
    for fact in unlike(a.machine, b.machine):
        yield f"{fact.what}: {fact.a} in A, {fact.b} in B"
    mine, yours = gpus(a.machine), gpus(b.machine)
    if (mine is None) != (yours is None) and "none" not in (mine, yours):
        yield f"GPUs: {mine or 'not stated'} in A, {yours or 'not stated'} in B"


def _mpis(a: Results, b: Results, pairs: Iterable[CellPair]) -> Iterator[str]:
    for mine, yours in _each(a.run, b.run, pairs, lambda run, cell: mpi_of(run, cell.mpi)):
        name_a, name_b = mpi_identity(mine), mpi_identity(yours)
        if not name_a or not name_b:
            silent = [name for name, words in (("A", name_a), ("B", name_b)) if not words]
            yield f"{' and '.join(silent)} {_do(silent)} not state the MPI library"
        elif name_a != name_b:
            yield f"{name_a} in A, {name_b} in B"
        elif mine.library and yours.library and mine.library != yours.library:
            yield f"the library's version string is '{mine.library}' in A, '{yours.library}' in B"


def _engines(a: RunResult, b: RunResult, pairs: Iterable[CellPair]) -> Iterator[str]:
    """Yield differences between engines, unless the MPI differs, which changes the engine as well."""
    if a.imported and b.imported:
        return
    if a.imported or b.imported:
        yield f"{'A' if a.imported else 'B'} was imported from another program's logs, but the other was measured here"
        return
    if a.engine != b.engine:
        yield f"engine {a.engine or 'not stated'} in A, {b.engine or 'not stated'} in B"
        return
    for mine, yours in _each(a, b, pairs, lambda run, cell: mpi_of(run, cell.mpi)):
        key_a, key_b = engine_build(a, mine.mpi).get("key"), engine_build(b, yours.mpi).get("key")
        if mpi_identity(mine) == mpi_identity(yours) and key_a != key_b:
            yield f"engine build {key_a or 'not stated'} in A, {key_b or 'not stated'} in B"


def _placements(a: RunResult, b: RunResult, pairs: Iterable[CellPair]) -> Iterator[str]:
    for mine, yours in _each(a, b, pairs, placement_of):
        for what, fact in _PLACED:
            fact_a, fact_b = fact(mine), fact(yours)
            if fact_a != fact_b:
                name = next((each.name for each in (mine, yours) if each), "?")
                yield f"placement {name}: {what} {fact_a or 'not stated'} in A, {fact_b or 'not stated'} in B"


def _nodes(placement: PlacementResult | None) -> str | None:
    seen = placement.observed if placement else []
    return str(len({rank.host for rank in seen})) if seen else None


def _ranks(placement: PlacementResult | None) -> str | None:
    return str(len(placement.observed)) if placement and placement.observed else None


def _astray(placement: PlacementResult | None) -> str | None:
    return "elsewhere than asked" if placement and placement.differs else "as asked"


def _widths(placement: PlacementResult | None) -> str | None:
    found = sorted({count_cpus(rank.cpus_allowed) or 0 for rank in placement.observed} if placement else ())
    return " or ".join(map(str, found)) if any(found) else None


_PLACED: tuple[tuple[str, Callable[[PlacementResult | None], str | None]], ...] = (
    ("binding", lambda placement: placement.bind if placement else None),
    ("nodes", _nodes),
    ("ranks", _ranks),
    ("processors of each rank", _widths),
    ("ranks", _astray),
)


def _settings(a: Results, b: Results, pairs: Iterable[CellPair]) -> Iterator[str]:
    for mine, yours in _each(a.run, b.run, pairs, environment_of):
        if mine and yours and mine.setting and mine.setting == yours.setting:
            continue  # a setting that is independent of the library: other MPIs use other variables for it
        set_a, set_b = (_set(each) for each in (mine, yours))
        if set_a != set_b:
            name = next((each.name for each in (mine, yours) if each), "?")
            yield f"environment {name}: {set_a} in A, {set_b} in B"


def _set(environment: EnvironmentResult | None) -> str:
    """Return the environment as text."""
    if environment is None:
        return "not stated"
    given = {**environment.variables, **(environment.stated or {})}
    words = [f"{name}={value}" for name, value in sorted(given.items())]
    return " ".join([*words, *(f"unset {name}" for name in sorted(environment.unset))]) or "no variables"


def _incomplete(a: Results, b: Results, uncompared: Sequence[Uncompared]) -> Iterator[str]:
    for name, results in (("A", a), ("B", b)):
        count = results.run.launches
        cut = [cell for cell in results.cells if cell.status == "partial"]
        if results.run.status in ("running", "interrupted"):
            yield f"{name} is {results.run.status}: {count.done} of {count.planned} launches succeeded"
        elif count.done < count.planned:
            yield f"{name} lacks launches: {count.done} of {count.planned} succeeded"
        elif cut:
            yield f"{_counted(cut, results)} {name} were not measured in every round: {_named(cut)}"
        if wrong := [cell for cell in results.cells if cell.wrong_bytes]:
            yield f"{_counted(wrong, results)} {name} had messages with wrong bytes: {_named(wrong)}"
        if alone := [each for each in uncompared if each.side == name.lower()]:
            yield f"{_counted(alone, results)} {name} were not compared: {_named(alone)}"


def _counted(some: Sequence[object], whole: Results) -> str:
    return f"{len(some)} of {len(whole.cells)} cells of"


def _named(cells: Sequence[CellResult] | Sequence[Uncompared]) -> str:
    labels = list(dict.fromkeys(cell.label for cell in cells))
    return "; ".join(labels[:MOST_NAMED]) + (f"; {len(labels) - MOST_NAMED} more" if len(labels) > MOST_NAMED else "")


def _each(
    a: RunResult, b: RunResult, pairs: Iterable[CellPair], fact: Callable[[RunResult, CellResult], Fact]
) -> list[tuple[Fact, Fact]]:
    """Return the distinct pairs of a fact about the two cells of each pair."""
    found = ((fact(a, pair.a), fact(b, pair.b)) for pair in pairs)
    return list({(id(fact_a), id(fact_b)): (fact_a, fact_b) for fact_a, fact_b in found}.values())


def _do(subjects: Sequence[str]) -> str:
    return "do" if len(subjects) > 1 else "does"


SCHEMA = 1
FEWEST_LAUNCHES = 3  # on each side: two values show their spread too badly to decide (docs/internals/statistics.md)
PHASES = ("first", "steady")


class ComparisonRow(msgspec.Struct, frozen=True):
    """The comparison of a cell's metric and phase, B over A. Values are in `unit`; a ratio above 1 means B is worse."""

    label: str
    experiment: str
    metric: str
    phase: str
    unit: str
    better: str
    a_cell: int
    b_cell: int
    matched_by: str  # key | label
    differs: list[RunDifference]
    a_value: float
    b_value: float
    a_launches: int
    b_launches: int
    ratio: float | None
    interval: tuple[float, float] | None
    interval_kind: str
    level: float | None
    interval_90: tuple[float, float] | None  # what `same`, and a gate's pass, are judged by
    p: float | None
    p_adjusted: float | None
    family: str
    family_size: int
    verdict: str  # faster | slower | same | undecided
    reason: str
    more_launches: int | None  # on each side, where undecided


class RunNote(msgspec.Struct, frozen=True):
    """The run on one side of a comparison."""

    id: str
    path: str
    campaign: str
    started: str | None
    status: str


class Comparison(msgspec.Struct, frozen=True):
    """The result of `slowpath compare`, and the format of its JSON."""

    schema: int
    kind: str
    a: RunNote
    b: RunNote
    interleaved: bool
    caution: str  # what else a ratio between two runs contains
    minimum_effect: float
    metrics: list[str]  # as asked for; []: each cell's first one in seconds
    phases: list[str]
    differences: list[RunDifference]
    verdicts: dict[str, int]
    common_ratio: float | None  # median of all ratios, a slowdown common to all cells; null with fewer than 5
    rows: list[ComparisonRow]
    only_a: list[Unmatched]
    only_b: list[Unmatched]
    doubts: list[Doubt]  # differences between the runs that may explain a ratio
    uncompared: list[Uncompared]
    set_aside: int  # cells that were not to be compared: skipped in both runs, or without the chosen metrics
    notes: list[str]


@dataclass(frozen=True)
class _ComparedMetric:
    pair: CellPair
    metric: str
    phase: str
    a: MetricEstimate
    b: MetricEstimate
    estimate: ContrastEstimate | str  # or why there is none

    @property
    def family(self) -> str:
        return f"{self.pair.b.experiment} {self.metric}"


def compare(
    a: RunSource,
    b: RunSource,
    minimum_effect: float,
    metrics: Collection[str] = (),
    phases: Sequence[str] = PHASES,
    by_parts: bool = False,
) -> Comparison:
    """Compare run B with run A.

    Args:   minimum_effect: smallest relative difference that counts, 0 < x < 1.  metrics: names, or "all"; () takes
            each cell's first metric in seconds that both runs have.  phases: some of PHASES.  by_parts: where no metric
            is named, take all that an experiment names as its parts (Experiment.compared), as Cannon's computation.
    Raises: UsageError: a and b are the same run or copies, have no cell in common, or no cell has such a metric.
            RecordError: a run holds no measurement.
    """
    _check(a, b)
    require_measured(a)
    require_measured(b)
    matching = match(a.results, b.results)
    if not matching.pairs:
        raise UsageError(_nothing_shared(a, b, matching))
    found = [compared for pair in matching.pairs for compared in _pair(pair, minimum_effect, metrics, phases, by_parts)]
    if not found and metrics:
        raise UsageError(_no_metric(matching.pairs, metrics, phases))
    compared_pairs = list({id(compared.pair): compared.pair for compared in found}.values())
    rows, lacking = _judged(found), coverage(a.results, b.results, matching, metrics, phases)
    return Comparison(
        schema=SCHEMA,
        kind="comparison",
        a=_note(a),
        b=_note(b),
        interleaved=False,
        caution=_caution(a, b),
        minimum_effect=minimum_effect,
        metrics=list(metrics),
        phases=list(phases),
        differences=differences(a.run, b.run),
        verdicts={word: sum(row.verdict == word for row in rows) for word in ("slower", "faster", "same", "undecided")},
        common_ratio=_common(rows),
        rows=rows,
        only_a=matching.only_a,
        only_b=matching.only_b,
        doubts=doubts(a.results, b.results, compared_pairs, lacking.uncompared),
        uncompared=lacking.uncompared,
        set_aside=lacking.set_aside,
        notes=[*a.notes, *b.notes],
    )


def _check(a: RunSource, b: RunSource) -> None:
    same_folder = a.folder is not None and b.folder is not None and a.folder.resolve() == b.folder.resolve()
    if same_folder or a.path.resolve() == b.path.resolve():
        raise UsageError(f"{a.path} and {b.path} are the same run; name two runs")
    same_start = a.run.started is not None and (a.run.id, a.run.started) == (b.run.id, b.run.started)
    if same_start or (a.results.cells and a.results.cells == b.results.cells):
        raise UsageError(f"{b.path} is a copy of {a.path}: the same launches; name two runs")


def _pair(
    pair: CellPair, minimum_effect: float, metrics: Collection[str], phases: Sequence[str], by_parts: bool
) -> Iterator[_ComparedMetric]:
    parts = experiment_named(pair.b.experiment).compared if by_parts and not metrics else ()
    for metric in chosen_metrics((pair.a, pair.b), metrics or parts):
        mine, yours = pair.a.metrics[metric], pair.b.metrics[metric]
        for phase in phases:
            if phase in mine.phases and phase in yours.phases and not why_no_pair(pair.a, pair.b, metric, phase):
                a, b = mine.phases[phase], yours.phases[phase]
                yield _ComparedMetric(
                    pair, metric, phase, a, b, _estimate(a, b, mine.better == "higher", minimum_effect)
                )


def _estimate(
    a: MetricEstimate, b: MetricEstimate, higher_is_better: bool, minimum_effect: float
) -> ContrastEstimate | str:
    values = (a.launch_values, b.launch_values)
    if not all(values):
        return "a side has no launch with a value"
    if not all(has_ratio(value) for side in values for value in side):
        return "a launch has a value that is zero, negative or not finite, so no ratio exists"
    values_a, values_b = ([1 / v for v in side] if higher_is_better else side for side in values)
    return unpaired(values_a, values_b, minimum_effect)


def _judged(found: Sequence[_ComparedMetric]) -> list[ComparisonRow]:
    families: dict[str, list[_ComparedMetric]] = {}
    for compared in found:
        if _p(compared) is not None:
            families.setdefault(compared.family, []).append(compared)
    adjusted: dict[int, float] = {}
    for family in families.values():
        p_values = [p for p in map(_p, family) if p is not None]
        for compared, value in zip(family, benjamini_hochberg(p_values), strict=True):
            adjusted[id(compared)] = float(value)
    return [
        _comparison_row(compared, adjusted.get(id(compared)), len(families.get(compared.family, ())))
        for compared in found
    ]


def _p(compared: _ComparedMetric) -> float | None:
    """Return the p value, or None if there is none or too few launches for a verdict. Such rows don't join a family."""
    few = min(len(compared.a.launch_values), len(compared.b.launch_values)) < FEWEST_LAUNCHES
    return None if few or isinstance(compared.estimate, str) else compared.estimate.p


def _comparison_row(compared: _ComparedMetric, p_adjusted: float | None, family_size: int) -> ComparisonRow:
    pair, found = compared.pair, compared.estimate
    verdict, reason, more = _verdict(compared, p_adjusted)
    known = None if isinstance(found, str) else found
    inner = known.equivalence if known else None
    return ComparisonRow(
        label=pair.b.label,
        experiment=pair.b.experiment,
        metric=compared.metric,
        phase=compared.phase,
        unit=pair.b.metrics[compared.metric].unit,
        better=pair.b.metrics[compared.metric].better,
        a_cell=pair.a.cell,
        b_cell=pair.b.cell,
        matched_by=pair.by,
        differs=pair.differs,
        a_value=compared.a.value,
        b_value=compared.b.value,
        a_launches=len(compared.a.launch_values),
        b_launches=len(compared.b.launch_values),
        ratio=known.ratio if known else None,
        interval=known.interval if known else None,
        interval_kind=found if isinstance(found, str) else found.kind,
        level=known.level if known else None,
        interval_90=(inner.low, inner.high) if inner else None,
        p=known.p if known else None,
        p_adjusted=p_adjusted,
        family=compared.family,
        family_size=family_size,
        verdict=verdict,
        reason=reason,
        more_launches=more,
    )


def _verdict(compared: _ComparedMetric, p_adjusted: float | None) -> tuple[str, str, int | None]:
    found = compared.estimate
    if isinstance(found, str):
        return "undecided", found, None
    fewest = min(len(compared.a.launch_values), len(compared.b.launch_values))
    judged = judge(found, p_adjusted)
    if fewest < FEWEST_LAUNCHES:
        return "undecided", f"{fewest} launches on a side, at least {FEWEST_LAUNCHES} are needed", judged.more_pairs
    return judged.word, judged.reason, judged.more_pairs


def _common(rows: Sequence[ComparisonRow]) -> float | None:
    ratios = [row.ratio for row in rows if row.ratio is not None]
    return statistics.median(ratios) if len(ratios) >= 5 else None


def _caution(a: RunSource, b: RunSource) -> str:
    when = f"A began {a.run.started or 'at an unknown time'}, B {b.run.started or 'at an unknown time'}"
    return (
        f"Not interleaved: {when}. The ratios, but not their intervals, include everything else that changed "
        "between the runs, such as drift."
    )


def _note(source: RunSource) -> RunNote:
    run = source.run
    return RunNote(run.id, str(source.path), run.campaign, run.started, run.status)


def _nothing_shared(a: RunSource, b: RunSource, matching: Matching) -> str:
    example = next((f" (for example '{cell.label}': {cell.reason})" for cell in matching.only_b), "")
    return f"{a.path} and {b.path} have no cell in common{example}; compare runs of one campaign"


def _no_metric(pairs: Sequence[CellPair], metrics: Collection[str], phases: Sequence[str]) -> str:
    known = sorted({name for pair in pairs for name in pair.a.metrics.keys() & pair.b.metrics.keys()})
    asked = " or ".join(metrics)
    return (
        f"the runs share no cell with {asked} in phase {' or '.join(phases)}; they have: "
        f"{', '.join(known) or 'nothing'}"
    )
