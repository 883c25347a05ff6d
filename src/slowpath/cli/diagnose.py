# SPDX-License-Identifier: Apache-2.0
"""slowpath diagnose"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.options import DURATION, cell_timeout_option, dry_run_option, full_option, quiet_option, teller
from slowpath.core.errors import exclude

if TYPE_CHECKING:
    from slowpath.diagnose.bench import Bench
    from slowpath.diagnose.ranks import Job
    from slowpath.diagnose.tasks import ProgramUse
    from slowpath.run.prepare import Library

GPU_PROOF_S = 30.0  # a library that hangs over GPU memory is given up after so long


@click.command("diagnose", epilog="Example: slowpath diagnose --budget 5min --mpi openmpi")
@click.option("--budget", type=DURATION, default="2m", show_default=True, help="Time limit (90s, 5m, 1h).")
@click.option(
    "--only",
    multiple=True,
    metavar="WHAT",
    help="Only this rule (SP013) or question ('page kind'); repeatable.",
)
@click.option(
    "--for",
    "watch",
    type=click.Path(path_type=Path),
    metavar="WATCH",
    help="Measure only what this watched program uses.",
)
@click.option(
    "--ranks",
    type=int,
    help="Ranks of your job.  [default: 2, with --for the program's]",
)
@click.option("--mpi", help="Path of mpiexec, a prefix, mpich, craympich, ..., embedded, cuda.  [default: PATH]")
@click.option("--out", type=click.Path(path_type=Path), help="Folder.  [default: slowpath-runs/diagnosis-DATE]")
@click.option("--resume", "resumed", type=click.Path(path_type=Path), help="Continue this folder.")
@click.option("--trust", is_flag=True, help="Allow the commands that the folder names.")
@cell_timeout_option()
@click.option("--name-only", is_flag=True, help="No proofs (half a minute).")
@dry_run_option()
@quiet_option()
@full_option()
@click.option("--panel", is_flag=True, help="Compare each kind of call with healthy runs.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def diagnose_command(
    budget: float,
    only: tuple[str, ...],
    watch: Path | None,
    ranks: int | None,
    mpi: str | None,
    out: Path | None,
    resumed: Path | None,
    trust: bool,
    cell_timeout: float,
    name_only: bool,
    dry_run: bool,
    quiet: bool,
    full: bool,
    panel: bool,
    as_json: bool,
) -> int:
    """Find slow paths, explain them, and prove what helps.

    Compares your settings with a clean state and a panel of MPI calls with healthy runs, then tries remedies.
    """
    from slowpath.cli.options import exit_code_of
    from slowpath.core.errors import UsageError
    from slowpath.diagnose.page import render, render_brief, render_panel, write_derived
    from slowpath.diagnose.ranks import PAIR, crowded_lines
    from slowpath.diagnose.session import begin, behind_place, own_mpi, ranks_of, require_resumable, resume
    from slowpath.diagnose.session import dry_run as planned
    from slowpath.diagnose.session import place_faults as wrong_place
    from slowpath.diagnose.tasks import FILE, with_program
    from slowpath.run.ownership import owned
    from slowpath.run.prepare import one_library

    if watch is not None and (only or resumed is not None):
        raise exclude("--for", "--only" if only else "--resume")
    if resumed is not None and out is not None:
        raise exclude("--out", "--resume")
    if trust and resumed is None:
        raise UsageError("--trust needs --resume FOLDER")
    if resumed is not None:
        require_resumable(resumed)  # at once, before anything is compiled
        ranks = ranks_of(resumed, ranks)
        mpi = mpi or own_mpi(resumed, os.environ, trust)
    program = _program(watch) if watch is not None else None
    if program is not None and ranks is None:
        ranks = max(PAIR, program.ranks)
    job = _job(ranks)
    built = one_library(mpi, os.environ, teller(quiet), dry_run)
    begun_s = time.monotonic()  # of the budget, which compiling the engine once is no part of: nothing would be left
    explicit = click.get_current_context().get_parameter_source("budget") != click.core.ParameterSource.DEFAULT
    bench = replace(_bench(built, cell_timeout, quiet, dry_run, trust, job, budget, begun_s), program=program)
    wrong = with_program(program, wrong_place(bench))
    if dry_run:
        for line in planned(bench, only):
            click.echo(line)
        return 0
    with ExitStack() as held:
        held.enter_context(behind_place(wrong))
        if resumed:
            held.enter_context(owned(resumed, "slowpath diagnose", bench.tell))
            session = resume(resumed, bench, budget if explicit else None, budget, name_only, only, begun_s)
        else:
            session = begin(bench, budget, out, name_only, only, begun_s)
            held.enter_context(owned(session.folder, "slowpath diagnose"))
            for line in (*crowded_lines(bench.job), *(fault.sentence for fault in wrong)):
                bench.tell(line)
        try:
            diagnosis = session.run()
        finally:
            write_derived(session.folder, session.diagnosis)
    if as_json:
        click.echo((session.folder / FILE).read_text(encoding="utf-8").rstrip("\n"))
    else:
        text = render_panel if panel else render if full else render_brief
        click.echo(text(diagnosis, str(session.folder)).rstrip("\n"))
    return exit_code_of(*session.results)


def _program(watch: Path) -> ProgramUse:
    """Return what a watched program does with MPI.  Raises: RecordError, UsageError: it did nothing."""
    from slowpath.core.errors import UsageError
    from slowpath.watch.messages import program_use
    from slowpath.watch.results import read_watch_results

    program = program_use(read_watch_results(watch))
    if not program.spent:
        raise UsageError(f"--for {watch}: no message was recorded; watch it again")
    return program


def _job(ranks: int | None) -> Job:
    """Return the ranks of the job and where they can run here.  Raises: UsageError: too many ranks to diagnose."""
    from slowpath.diagnose.ranks import PAIR, Job, require_possible
    from slowpath.mpi.place import processor_groups
    from slowpath.run.prepare import allocated_nodes, allowed_cores

    several = [level for level, groups in processor_groups().items() if level != "core" and len(groups) > 1]
    job = Job(PAIR if ranks is None else ranks, allowed_cores(), allocated_nodes(os.environ), tuple(several))
    require_possible(job)
    return job


def _bench(
    built: Library, cell_timeout: float, quiet: bool, dry: bool, trust: bool, job: Job, budget_s: float, begun_s: float
) -> Bench:
    """Return the MPI, its engine and the resources of this machine.  Args: begun_s: from which on the budget counts."""
    from slowpath.analyse.references import load_references
    from slowpath.core.plan import AS_ESTIMATED
    from slowpath.diagnose.bench import Bench
    from slowpath.diagnose.steps.survey import GPU_PACE
    from slowpath.run.engine.describe import describe
    from slowpath.run.machine import others_now
    from slowpath.run.prepare import inherited_processors
    from slowpath.run.progress import choose

    tell, mine = teller(quiet), inherited_processors()
    tell(built.line)
    description = describe(built.engine, built.mpi.environ(os.environ))
    gpus, launch_s = _gpus(built, tell, dry)
    return Bench(
        built=built,
        description=description,
        environ=dict(os.environ),
        gpus=gpus,
        cores=job.cores,
        tell=tell,
        progress=lambda: choose(quiet),
        cell_timeout_s=cell_timeout,
        command=["slowpath", *sys.argv[1:]],
        trust=trust,
        job=job,
        budget_s=max(0.0, budget_s - (time.monotonic() - begun_s)),
        launch_s=launch_s,
        pace=GPU_PACE if gpus else AS_ESTIMATED,
        others=None if dry else others_now(mine),
        healthy=load_references(os.environ),
    )


def _gpus(built: Library, tell: Callable[[str], None], dry: bool) -> tuple[int, float | None]:
    """Return the number of GPUs whose memory this MPI takes, and the seconds that a job takes to start and end here;
    None: no job was timed.

    One job tests it, because cells crash where it doesn't, and one is timed: with a GPU a library takes a second and
    more to initialise (1.3 s with UCX on one H200), which decides how many launches fit a survey.
    """
    from slowpath.doctor.gpu import gpu_count, transfer

    count = gpu_count()[0]
    if not count or dry:
        return count, None
    proof = transfer(built.mpi, built.engine, "device", os.environ, limit_s=GPU_PROOF_S)
    if proof.bytes_per_s is not None:
        begun = time.monotonic()  # of a second one: the first also loads what no launch has used yet
        transfer(built.mpi, built.engine, "device", os.environ, limit_s=GPU_PROOF_S)
        return count, time.monotonic() - begun
    tell(f"GPU memory is left out: {built.identity}: {proof.reason}; see slowpath doctor --gpu")
    return 0, None
