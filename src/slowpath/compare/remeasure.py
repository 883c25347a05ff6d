# SPDX-License-Identifier: Apache-2.0
"""Measuring the flagged cells of a gate again: the plan, its launches and their results.

If the baseline's MPI or engine differs from the run's and is still there, both are launched again in interleaved pairs,
which removes all drift between the two dates. Otherwise fresh launches of the run's side are compared with the
baseline's old values.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from slowpath.compare.comparison import ComparisonRow
from slowpath.compare.facts import engine_build
from slowpath.compare.gate import LAUNCHES, Remeasurement, excluded
from slowpath.compare.read import RunSource, environment_of, mpi_of, placement_of
from slowpath.core.cell_results import CellResult
from slowpath.core.errors import EnvironmentFailure, SlowpathError, UsageError
from slowpath.core.files import read_bytes
from slowpath.core.machine_kind import alike, hardware
from slowpath.core.plan import PLAN_SCHEMA, Cell, Contrast, Environment, Placement, Plan, PlannedMpi, Side
from slowpath.core.results import PlacementResult, Results
from slowpath.run.engine.meter import Tell
from slowpath.run.find_again import engine_again, mpi_again, stated
from slowpath.run.libraries import Library
from slowpath.run.limits import RunLimits
from slowpath.run.machine import machine_facts
from slowpath.run.measure import create, measure_prepared
from slowpath.run.prepare import new_seed, prepare_plan
from slowpath.run.progress import Progress
from slowpath.run.reopen import recorded_plan
from slowpath.run.trust import choosing_code, require_hosts, require_names, require_no_code
from slowpath.stats import multiplicity
from slowpath.stats.contrast import ContrastEstimate, paired, unpaired
from slowpath.stats.estimate import estimate_over_launches
from slowpath.stats.verdict import judge

BASELINE, NOW = "baseline", "now"


def mpi_name(side: str, mpi: str | None) -> str:
    """Return the plan's name for the MPI of a side."""
    return f"{side} {mpi}" if mpi else side


def remeasure_plan(
    rows: Sequence[ComparisonRow],
    run: Results,
    baseline: Results | None,
    identities: Mapping[str, str],
    ranks: int,
    seed: int,
    minimum_effect: float,
) -> Plan:
    """Return a plan of the flagged cells in LAUNCHES rounds. `run.prepare.prepare_plan` adds the launches.

    Args: rows: flagged rows, with the baseline as A.  baseline: None if its side can't be measured again.
          identities: `mpi_name` -> identity of each MPI.
    """
    cells: list[Cell] = []
    numbers: dict[tuple[str, int], int] = {}
    for side, results, wanted in _sides(rows, run, baseline):
        for cell in results.cells:
            if cell.cell in wanted:
                numbers[side, cell.cell] = len(cells)
                cells.append(_cell(len(cells), side, cell))
    environments = [e for side, results, wanted in _sides(rows, run, baseline) for e in _set(side, results, wanted)]
    contrasts = [_contrast(i, row, numbers) for i, row in enumerate(rows)] if baseline else []
    return Plan(
        schema=PLAN_SCHEMA,
        campaign="gate",
        title="Flagged cells, measured again",
        ranks=ranks,
        rounds=LAUNCHES,
        seed=seed,
        minimum_effect=minimum_effect,
        environments=environments,
        placements=_placements(rows, run, baseline),
        cells=cells,
        contrasts=contrasts,
        launches=[],
        mpis=[PlannedMpi(name, identity) for name, identity in identities.items()],
    )


def _sides(
    rows: Sequence[ComparisonRow], run: Results, baseline: Results | None
) -> list[tuple[str, Results, set[int]]]:
    sides = [(NOW, run, {row.b_cell for row in rows})]
    return sides + ([(BASELINE, baseline, {row.a_cell for row in rows})] if baseline else [])


def _cell(number: int, side: str, cell: CellResult) -> Cell:
    return Cell(
        cell=number,
        key=cell.key,
        group=cell.group,
        label=f"{side}, {cell.label}",
        experiment=cell.experiment,
        parameters=dict(cell.parameters),
        environment=cell.environment,
        placement=cell.placement,
        copy=cell.copy,
        mpi=mpi_name(side, cell.mpi),
    )


def _set(side: str, results: Results, wanted: set[int]) -> list[Environment]:
    """Return the environments of the wanted cells, each under the plan's name for its MPI."""
    found: dict[tuple[str, str], Environment] = {}
    for cell in results.cells:
        if cell.cell in wanted:
            under, given = mpi_name(side, cell.mpi), environment_of(results.run, cell)
            variables, unset = (dict(given.variables), list(given.unset)) if given else ({}, [])
            found[cell.environment, under] = Environment(cell.environment, variables, mpi=under, unset=unset)
    return list(found.values())


def _placements(rows: Sequence[ComparisonRow], run: Results, baseline: Results | None) -> list[Placement]:
    found: dict[str, Placement] = {}
    for _, results, wanted in _sides(rows, run, baseline):
        for cell in results.cells:
            given = placement_of(results.run, cell)
            if cell.cell in wanted and cell.placement not in found:
                found[cell.placement] = _placement(cell.placement, given)
    return list(found.values())


def _placement(name: str, given: PlacementResult | None) -> Placement:
    """Return the placement that was asked for, with defaults for facts that an older run does not state."""
    if given is None:
        return Placement(name)
    return Placement(
        name,
        given.bind or "core",
        given.spread,
        given.nodes,
        given.ranks_per_node,
        given.hosts or [],
        ranks=given.ranks,
    )


def _contrast(i: int, row: ComparisonRow, numbers: Mapping[tuple[str, int], int]) -> Contrast:
    a = Side(numbers[BASELINE, row.a_cell], row.phase, BASELINE)
    b = Side(numbers[NOW, row.b_cell], row.phase, NOW)
    return Contrast(f"flagged-{i}", "flagged", "Is it slower than in the baseline?", "mpi", row.metric, a, b)


def confirm(
    rows: Sequence[ComparisonRow],
    fresh: Mapping[int, tuple[Sequence[float], Sequence[float]]],
    interleaved: bool,
    least: float,
) -> dict[int, Remeasurement]:
    """Judge flagged rows by fresh launches, corrected by Holm over all flagged rows.

    Args: fresh: position in rows -> (launch values of the baseline, of the run), pairs when interleaved.
          least: minimum effect.
    """
    found = {i: (paired if interleaved else unpaired)(a, b, least) for i, (a, b) in fresh.items()}
    p_values = {i: estimate.p for i, estimate in found.items() if estimate.p is not None}
    p_holm: dict[int, float] = {}
    if p_values:
        p_holm = dict(zip(p_values, map(float, multiplicity.holm(list(p_values.values()))), strict=True))
    return {i: _again(estimate, fresh[i], p_holm.get(i), interleaved) for i, estimate in found.items()}


def _again(
    found: ContrastEstimate,
    values: tuple[Sequence[float], Sequence[float]],
    p_holm: float | None,
    interleaved: bool,
) -> Remeasurement:
    judged = judge(found, p_holm)
    inner = (found.equivalence.low, found.equivalence.high) if found.equivalence else None
    outcome, reason = (
        ("regression", judged.reason) if judged.word == "slower" else excluded(inner, found.n, found.minimum_effect)
    )
    return Remeasurement(
        interleaved=interleaved,
        ratio=found.ratio,
        interval=found.interval,
        interval_kind=found.kind,
        a_value=estimate_over_launches(values[0]).value,
        b_value=estimate_over_launches(values[1]).value,
        launches=found.n,
        p_holm=p_holm,
        verdict=judged.word,
        outcome=outcome,
        reason=f"measured again: {reason}",
    )


@dataclass(frozen=True)
class RemeasuredSides:
    """The MPIs and engines that measure flagged cells again, by `mpi_name`.

    Args: baseline: whether its side is included.  note: why not.  refused: why nothing is launched, or None.
    """

    libraries: Mapping[str, Library]
    baseline: bool
    note: str | None
    refused: str | None = None


def find_sides(
    rows: Sequence[ComparisonRow],
    run: RunSource,
    baseline: RunSource,
    environ: Mapping[str, str],
    tell: Tell,
    mpi: str | None = None,
) -> RemeasuredSides:
    """Find the MPIs and engines of this machine that measure `rows` again.

    The baseline states names, versions and keys. Paths are never taken from it.

    Args: mpi: value of --mpi, for MPIs that the search doesn't find.
    Raises: UsageError: RUN was not made by slowpath run.  EnvironmentFailure: this is another machine than RUN's,
            or its MPI or engine is gone.
    """
    if run.folder is None or run.run.imported:
        raise UsageError(f"{run.path}: can't be measured again: name the folder of a run that slowpath made itself")
    here = machine_facts(environ)
    if not alike(here, run.run.machine):
        raise EnvironmentFailure(
            f"{run.path}: was measured on another machine ({_words(run.run.machine)}), not on this one "
            f"({_words(here)}); measure again there"
        )
    now = _libraries(NOW, run, {row.b_cell for row in rows}, environ, tell, mpi)
    try:
        before = _libraries(BASELINE, baseline, {row.a_cell for row in rows}, environ, tell, mpi)
    except SlowpathError as error:
        return RemeasuredSides(now, False, None, f"not measured again, because the baseline's side is missing: {error}")
    if _same(rows, run, baseline, now, before):
        return RemeasuredSides(
            now, False, "baseline and run have the same MPI and engine, so only the run's side was launched"
        )
    return RemeasuredSides({**now, **before}, True, None)


def plan_again(
    rows: Sequence[ComparisonRow], run: RunSource, baseline: RunSource, sides: RemeasuredSides, minimum_effect: float
) -> Plan:
    """Return the plan of the flagged cells, without launches.  Raises: RecordError: RUN has no readable plan."""
    assert run.folder is not None  # find_sides() refused it
    return remeasure_plan(
        rows,
        run.results,
        baseline.results if sides.baseline else None,
        {name: library.identity for name, library in sides.libraries.items()},
        recorded_plan(run.folder).ranks,
        new_seed(),
        minimum_effect,
    )


def refusal(plan: Plan, environ: Mapping[str, str]) -> str | None:
    """Return why the plan must not run, because its files would choose which programs run, or None if it may."""
    where = "not measured again"
    try:
        require_names(plan, where)
        require_hosts(plan, environ, where)
        require_no_code(
            choosing_code(plan.environments, {}), where, "measure it by its campaign: slowpath run CAMPAIGN"
        )
    except SlowpathError as error:
        return str(error)
    return None


def measure_again(
    plan: Plan,
    run: RunSource,
    baseline: RunSource,
    sides: RemeasuredSides,
    out: Path | None,
    limits: RunLimits,
    progress: Progress,
    environ: Mapping[str, str],
) -> Path:
    """Run the plan, and return its run folder.

    Raises: as `slowpath.run.measure.measure`.
    """
    assert run.folder is not None  # find_sides() refused it
    campaign = read_bytes(run.folder / "campaign.toml")
    notes = [f"cells of {run.path} that slowpath gate flagged against {baseline.path}, measured again"]
    prepared = prepare_plan(plan, campaign, list(sides.libraries.values()), environ, notes)
    folder = create(prepared, out, ["slowpath", *sys.argv[1:]])
    measure_prepared(folder, prepared, limits, progress)
    return folder


def judge_again(
    rows: Sequence[ComparisonRow], results: Results, baseline: RunSource, interleaved: bool, minimum_effect: float
) -> dict[int, Remeasurement]:
    """Judge `rows` by fresh launches. Return results by position in `rows`, without rows that have no fresh values.

    Args: results: results of the fresh launches.
    """
    values = _pairs(results) if interleaved else _old_and_new(rows, results, baseline)
    return confirm(rows, values, interleaved, minimum_effect)


def _pairs(results: Results) -> dict[int, tuple[list[float], list[float]]]:
    return {
        int(contrast.id.rpartition("-")[2]): ([a for a, _ in contrast.pairs], [b for _, b in contrast.pairs])
        for contrast in results.contrasts
        if contrast.pairs
    }


def _old_and_new(
    rows: Sequence[ComparisonRow], results: Results, baseline: RunSource
) -> dict[int, tuple[list[float], list[float]]]:
    fresh = {cell.label: cell for cell in results.cells}
    before = {cell.cell: cell.metrics for cell in baseline.results.cells}
    found = {}
    for i, row in enumerate(rows):
        estimate = fresh[f"{NOW}, {row.label}"].estimate(row.metric, row.phase)
        if estimate is not None:
            found[i] = (before[row.a_cell][row.metric].phases[row.phase].launch_values, estimate.launch_values)
    return found


def _libraries(
    side: str, source: RunSource, wanted: set[int], environ: Mapping[str, str], tell: Tell, mpi: str | None
) -> dict[str, Library]:
    """Return a library for each MPI of the wanted cells.  Raises: EnvironmentFailure, UsageError: one is missing."""
    names = dict.fromkeys(cell.mpi for cell in source.results.cells if cell.cell in wanted)
    return {
        called: _library(source, name, called, environ, tell, mpi)
        for name in names
        for called in (mpi_name(side, name),)
    }


def _library(
    source: RunSource, name: str | None, called: str, environ: Mapping[str, str], tell: Tell, option: str | None
) -> Library:
    facts = {**msgspec.to_builtins(mpi_of(source.run, name)), "engine": engine_build(source.run, name)}
    was = stated(facts, str(source.path))
    if was.name is None:
        raise EnvironmentFailure(f"{source.path}: does not state its MPI; measure it again")
    mpi = mpi_again(was, str(source.path), environ, option, trust=None)
    engine = engine_again(was, mpi, environ, tell)
    if engine is None:
        raise EnvironmentFailure(
            f"{source.path}: was measured with the engine {was.engine_key}, which is not in this machine's cache; "
            "measure it again"
        )
    return Library(called, f"{called}: {mpi.identity}", mpi, engine)


def _same(
    rows: Sequence[ComparisonRow],
    run: RunSource,
    baseline: RunSource,
    now: Mapping[str, Library],
    before: Mapping[str, Library],
) -> bool:
    """Return whether MPI, engine and variables are equal on both sides of every row."""
    cells_now = {cell.cell: cell for cell in run.results.cells}
    cells_before = {cell.cell: cell for cell in baseline.results.cells}

    def setting(source: RunSource, side: str, libraries: Mapping[str, Library], cell: CellResult) -> object:
        environment = environment_of(source.run, cell)
        library = libraries[mpi_name(side, cell.mpi)]
        started = library.mpi.mpiexec.resolve(), library.engine.program.resolve()
        return started, environment and dict(environment.variables)

    return all(
        setting(run, NOW, now, cells_now[row.b_cell]) == setting(baseline, BASELINE, before, cells_before[row.a_cell])
        for row in rows
    )


def _words(machine: Mapping[str, Any]) -> str:
    return ", ".join(part or "unknown" for part in hardware(machine))
