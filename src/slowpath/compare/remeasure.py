# SPDX-License-Identifier: Apache-2.0
"""Measures flagged cells again, through the same machinery as a run: the shell around `remeasure_plan`."""

from __future__ import annotations

import hashlib
import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from slowpath.compare.comparison import Row
from slowpath.compare.facts import engine_build, hardware, mpi_identity
from slowpath.compare.gate import Again
from slowpath.compare.read import Cell, Run, Source
from slowpath.compare.remeasure_plan import BASELINE, NOW, confirm, mpi_name, remeasure_plan
from slowpath.core.errors import EnvironmentFailure, SlowpathError, UsageError
from slowpath.core.files import read_bytes, write_atomically
from slowpath.core.version import __version__
from slowpath.mpi.find import find_mpi
from slowpath.mpi.mpi import Mpi
from slowpath.record.folder import RUN_SCHEMA, RunInfo, create_run_folder, write_run
from slowpath.record.plan_files import read_plan, write_plan
from slowpath.run.cores import allocated_nodes, allowed_cores
from slowpath.run.engine.build import engine_for
from slowpath.run.execute import Limitations
from slowpath.run.launching import Starter, Starters
from slowpath.run.libraries import Tell, mpi_facts
from slowpath.run.machine import machine_facts
from slowpath.run.progress import Progress
from slowpath.run.session import measure
from slowpath.run.space import require_space


@dataclass(frozen=True)
class Setup:
    """One MPI of one side: what is started, and what run.json says of it."""

    mpi: Mpi
    engine: Path
    engine_facts: dict[str, Any]

    @property
    def started(self) -> tuple[Path, Path]:
        """What makes two setups the same."""
        return self.mpi.mpiexec.resolve(), self.engine.resolve()


@dataclass(frozen=True)
class Prepared:
    """Setups by `mpi_name`. baseline: whether its side is among them; note: why not."""

    setups: Mapping[str, Setup]
    baseline: bool
    note: str | None


def prepare(rows: Sequence[Row], run: Source, baseline: Source, environ: Mapping[str, str], tell: Tell) -> Prepared:
    """Which MPIs and engines measure `rows` again.

    Raises: UsageError: RUN is no run folder of slowpath's own.  EnvironmentFailure: this is another machine than RUN's,
            or its MPI or engine is gone.
    """
    if run.folder is None or run.run.imported:
        raise UsageError(
            f"{run.path}: cannot be measured again: name the run folder of a run that slowpath made itself"
        )
    here = Run("", "", "", "", machine=machine_facts(environ))
    if hardware(here) != hardware(run.run):
        raise EnvironmentFailure(
            f"{run.path}: was measured on another machine ({_machine(run.run)}) than this one ({_machine(here)}); "
            "measure again there"
        )
    now = _setups(NOW, run, {row.b_cell for row in rows}, environ, tell)
    try:
        before = _setups(BASELINE, baseline, {row.a_cell for row in rows}, environ, tell)
    except SlowpathError as error:
        return Prepared(now, False, f"the baseline's side was not measured again: {error}")
    if _same(rows, run, baseline, now, before):
        return Prepared(
            now, False, "baseline and run have the same MPI and engine, so only the run's side was launched"
        )
    return Prepared({**now, **before}, True, None)


def measure_again(
    rows: Sequence[Row],
    run: Source,
    baseline: Source,
    prepared: Prepared,
    out: Path | None,
    minimum_effect: float,
    limits: Limitations,
    progress: Progress,
    environ: Mapping[str, str],
) -> Path:
    """Runs the reduced plan. Returns its run folder, which holds a record like any other.

    Raises: as `slowpath.run.session.measure`.
    """
    assert run.folder is not None  # prepare() refused it
    identities = {name: f"{name}: {setup.mpi.identity}" for name, setup in prepared.setups.items()}
    plan = remeasure_plan(
        rows,
        run.results,
        baseline.results if prepared.baseline else None,
        identities,
        read_plan(run.folder / "plan.json").ranks,
        secrets.randbits(31),
        minimum_effect,
    )
    campaign = read_bytes(run.folder / "campaign.toml")
    folder = create_run_folder("gate", out)
    require_space(folder, plan)
    write_atomically(folder / "campaign.toml", campaign)
    write_plan(folder / "plan.json", plan)
    notes = [f"cells that slowpath gate flagged in {run.path} against {baseline.path}, measured again"]
    write_run(folder, _run_info(folder, prepared, plan.seed, plan.ranks, campaign, environ, notes))
    cores = allowed_cores() * allocated_nodes(environ)
    starters = {name: Starter(s.mpi, s.engine, dict(environ), cores) for name, s in prepared.setups.items()}
    measure(folder, plan, Starters(starters), limits, progress)
    return folder


def judge_again(
    rows: Sequence[Row], results: Mapping[str, Any], baseline: Source, interleaved: bool, minimum_effect: float
) -> dict[int, Again]:
    """Position in `rows` -> what the fresh launches say; rows that gave no values there are left out.

    Args: results: of the fresh launches, as build_results gives them.
    """
    values = _pairs(results) if interleaved else _old_and_new(rows, results, baseline)
    return confirm(rows, values, interleaved, minimum_effect)


def _pairs(results: Mapping[str, Any]) -> dict[int, tuple[list[float], list[float]]]:
    return {
        int(contrast["id"].rpartition("-")[2]): ([a for a, _ in contrast["pairs"]], [b for _, b in contrast["pairs"]])
        for contrast in results["contrasts"]
        if contrast["pairs"]
    }


def _old_and_new(
    rows: Sequence[Row], results: Mapping[str, Any], baseline: Source
) -> dict[int, tuple[list[float], list[float]]]:
    fresh = {cell["label"]: cell["metrics"] for cell in results["cells"]}
    before = {cell.cell: cell.metrics for cell in baseline.results.cells}
    found = {}
    for i, row in enumerate(rows):
        phase = fresh[f"{NOW}, {row.label}"].get(row.metric, {}).get("phases", {}).get(row.phase)
        if phase is not None:
            found[i] = (before[row.a_cell][row.metric].phases[row.phase].launch_values, list(phase["launch_values"]))
    return found


def _setups(side: str, source: Source, wanted: set[int], environ: Mapping[str, str], tell: Tell) -> dict[str, Setup]:
    """A setup for each MPI of the wanted cells.  Raises: EnvironmentFailure, UsageError: one is not there any more."""
    names = dict.fromkeys(cell.mpi for cell in source.results.cells if cell.cell in wanted)
    return {mpi_name(side, name): _setup(source, name, environ, tell) for name in names}


def _setup(source: Source, name: str | None, environ: Mapping[str, str], tell: Tell) -> Setup:
    facts, engine = source.run.mpi_of(name), engine_build(source.run, name)
    if not facts.get("mpiexec"):
        raise EnvironmentFailure(f"{source.path}: doesn't say which MPI it was measured with; measure it anew")
    mpi = find_mpi(str(facts["mpiexec"]), environ)
    if (mpi.name, mpi.version) != (facts.get("name"), facts.get("version")):
        raise EnvironmentFailure(
            f"{source.path}: was measured with {mpi_identity(facts)}, but {mpi.mpiexec} is now {mpi.identity}"
        )
    path = Path(str(engine.get("path", "")))
    if engine.get("path") and path.is_file():
        return Setup(mpi, path, engine)
    built = engine_for(mpi, environ, tell)
    if built.note.key != engine.get("key"):
        raise EnvironmentFailure(f"{source.path}: the engine {engine.get('key')} that it was measured with is gone")
    return Setup(mpi, built.program, engine | {"path": str(built.program)})


def _same(
    rows: Sequence[Row], run: Source, baseline: Source, now: Mapping[str, Setup], before: Mapping[str, Setup]
) -> bool:
    """Whether no row has anything to tell its two sides apart by: MPI, engine, variables."""
    cells_now = {cell.cell: cell for cell in run.results.cells}
    cells_before = {cell.cell: cell for cell in baseline.results.cells}

    def told(source: Source, side: str, setups: Mapping[str, Setup], cell: Cell) -> object:
        environment = source.run.environment_of(cell)
        return setups[mpi_name(side, cell.mpi)].started, environment and dict(environment.variables)

    return all(
        told(run, NOW, now, cells_now[row.b_cell]) == told(baseline, BASELINE, before, cells_before[row.a_cell])
        for row in rows
    )


def _machine(run: Run) -> str:
    return ", ".join(part or "unknown" for part in hardware(run))


def _run_info(
    folder: Path,
    prepared: Prepared,
    seed: int,
    ranks: int,
    campaign: bytes,
    environ: Mapping[str, str],
    notes: list[str],
) -> RunInfo:
    every = [{"short_name": n, **mpi_facts(s.mpi), "engine": s.engine_facts} for n, s in prepared.setups.items()]
    return RunInfo(
        schema=RUN_SCHEMA,
        id=folder.absolute().name,
        campaign="gate",
        title="Flagged cells, measured again",
        campaign_sha256=hashlib.sha256(campaign).hexdigest(),
        slowpath=__version__,
        started=datetime.now().astimezone().isoformat(timespec="seconds"),
        seed=seed,
        ranks=ranks,
        command=["slowpath", *sys.argv[1:]],
        mpi={key: value for key, value in every[0].items() if key not in ("short_name", "engine")},
        machine=machine_facts(environ) | {"engine": every[0]["engine"]},
        notes=notes,
        mpis=every,
    )
