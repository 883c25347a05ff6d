# SPDX-License-Identifier: Apache-2.0
"""Measures flagged cells again, through the same machinery as a run: the shell around `remeasure_plan`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from slowpath.compare.comparison import Row
from slowpath.compare.facts import engine_build
from slowpath.compare.gate import Again
from slowpath.compare.read import Source, environment_of, mpi_of
from slowpath.compare.remeasure_plan import BASELINE, NOW, confirm, mpi_name, remeasure_plan
from slowpath.core.cell_results import CellResult
from slowpath.core.errors import EnvironmentFailure, SlowpathError, UsageError
from slowpath.core.files import read_bytes
from slowpath.core.machine_kind import alike, hardware
from slowpath.core.plan import Plan
from slowpath.core.results import Results
from slowpath.run.engine.meter import Tell
from slowpath.run.execute import RunLimits
from slowpath.run.find_again import engine_again, mpi_again, stated
from slowpath.run.libraries import Library
from slowpath.run.machine import machine_facts
from slowpath.run.measure import create, measure_prepared
from slowpath.run.prepare import new_seed, prepare_plan
from slowpath.run.progress import Progress
from slowpath.run.reopen import recorded_plan
from slowpath.run.trust import choosing_code, require_hosts, require_names, require_no_code


@dataclass(frozen=True)
class RemeasuredSides:
    """What measures flagged cells again: libraries by `mpi_name`.

    baseline: whether its side is among them.  note: why not.  refused: why nothing is launched at all; None: it is.
    """

    libraries: Mapping[str, Library]
    baseline: bool
    note: str | None
    refused: str | None = None


def find_sides(
    rows: Sequence[Row], run: Source, baseline: Source, environ: Mapping[str, str], tell: Tell, mpi: str | None = None
) -> RemeasuredSides:
    """Which MPIs and engines of this machine measure `rows` again.

    The baseline states names, versions and keys; where they lie is never taken from it. What is not here is not run.

    Args: mpi: as --mpi, where no search finds those of the two runs.
    Raises: UsageError: RUN is no run folder of slowpath's own.  EnvironmentFailure: this is another machine than RUN's,
            or its MPI or engine is gone.
    """
    if run.folder is None or run.run.imported:
        raise UsageError(
            f"{run.path}: cannot be measured again: name the run folder of a run that slowpath made itself"
        )
    here = machine_facts(environ)
    if not alike(here, run.run.machine):
        raise EnvironmentFailure(
            f"{run.path}: was measured on another machine ({_words(run.run.machine)}) than this one ({_words(here)}); "
            "measure again there"
        )
    now = _libraries(NOW, run, {row.b_cell for row in rows}, environ, tell, mpi)
    try:
        before = _libraries(BASELINE, baseline, {row.a_cell for row in rows}, environ, tell, mpi)
    except SlowpathError as error:
        return RemeasuredSides(now, False, None, f"not measured again, the baseline's side is not here: {error}")
    if _same(rows, run, baseline, now, before):
        return RemeasuredSides(
            now, False, "baseline and run have the same MPI and engine, so only the run's side was launched"
        )
    return RemeasuredSides({**now, **before}, True, None)


def plan_again(
    rows: Sequence[Row], run: Source, baseline: Source, sides: RemeasuredSides, minimum_effect: float
) -> Plan:
    """The reduced plan, without launches.  Raises: RecordError: RUN has no readable plan."""
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
    """Why this plan is not carried out: it comes from files, and would choose what is run here; None: it is."""
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
    run: Source,
    baseline: Source,
    sides: RemeasuredSides,
    out: Path | None,
    limits: RunLimits,
    progress: Progress,
    environ: Mapping[str, str],
) -> Path:
    """Runs the reduced plan. Returns its run folder, which holds a record like any other.

    Raises: as `slowpath.run.measure.measure`.
    """
    assert run.folder is not None  # find_sides() refused it
    campaign = read_bytes(run.folder / "campaign.toml")
    notes = [f"cells that slowpath gate flagged in {run.path} against {baseline.path}, measured again"]
    prepared = prepare_plan(plan, campaign, list(sides.libraries.values()), environ, notes)
    folder = create(prepared, out, ["slowpath", *sys.argv[1:]])
    measure_prepared(folder, prepared, limits, progress)
    return folder


def judge_again(
    rows: Sequence[Row], results: Results, baseline: Source, interleaved: bool, minimum_effect: float
) -> dict[int, Again]:
    """Position in `rows` -> what the fresh launches show; rows without values there are left out.

    Args: results: of the fresh launches.
    """
    values = _pairs(results) if interleaved else _old_and_new(rows, results, baseline)
    return confirm(rows, values, interleaved, minimum_effect)


def _pairs(results: Results) -> dict[int, tuple[list[float], list[float]]]:
    return {
        int(contrast.id.rpartition("-")[2]): ([a for a, _ in contrast.pairs], [b for _, b in contrast.pairs])
        for contrast in results.contrasts
        if contrast.pairs
    }


def _old_and_new(rows: Sequence[Row], results: Results, baseline: Source) -> dict[int, tuple[list[float], list[float]]]:
    fresh = {cell.label: cell for cell in results.cells}
    before = {cell.cell: cell.metrics for cell in baseline.results.cells}
    found = {}
    for i, row in enumerate(rows):
        one = fresh[f"{NOW}, {row.label}"].estimate(row.metric, row.phase)
        if one is not None:
            found[i] = (before[row.a_cell][row.metric].phases[row.phase].launch_values, one.launch_values)
    return found


def _libraries(
    side: str, source: Source, wanted: set[int], environ: Mapping[str, str], tell: Tell, mpi: str | None
) -> dict[str, Library]:
    """A library for each MPI of the wanted cells.  Raises: EnvironmentFailure, UsageError: one is gone."""
    names = dict.fromkeys(cell.mpi for cell in source.results.cells if cell.cell in wanted)
    return {
        called: _library(source, name, called, environ, tell, mpi)
        for name in names
        for called in (mpi_name(side, name),)
    }


def _library(
    source: Source, name: str | None, called: str, environ: Mapping[str, str], tell: Tell, option: str | None
) -> Library:
    facts = {**msgspec.to_builtins(mpi_of(source.run, name)), "engine": engine_build(source.run, name)}
    was = stated(facts, str(source.path))
    if was.name is None:
        raise EnvironmentFailure(f"{source.path}: doesn't state which MPI it was measured with; measure it anew")
    mpi = mpi_again(was, str(source.path), environ, option, trust=None)
    engine = engine_again(was, mpi, environ, tell)
    if engine is None:
        raise EnvironmentFailure(
            f"{source.path}: was measured with the engine {was.engine_key}, which is not in this machine's cache; "
            "measure it anew"
        )
    return Library(called, f"{called}: {mpi.identity}", mpi, engine)


def _same(
    rows: Sequence[Row], run: Source, baseline: Source, now: Mapping[str, Library], before: Mapping[str, Library]
) -> bool:
    """Whether no row has anything to tell its two sides apart by: MPI, engine, variables."""
    cells_now = {cell.cell: cell for cell in run.results.cells}
    cells_before = {cell.cell: cell for cell in baseline.results.cells}

    def setting(source: Source, side: str, libraries: Mapping[str, Library], cell: CellResult) -> object:
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
