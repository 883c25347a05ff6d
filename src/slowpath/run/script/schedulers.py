# SPDX-License-Identifier: Apache-2.0
"""Batch systems as tables: how a script asks each for nodes, ranks on each, and time. Pure; nothing is submitted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from slowpath.core.errors import UsageError


@dataclass(frozen=True)
class Scheduler:
    """One batch system. directives may hold {job}, {nodes}, {per_node}, {ranks}, {hours_minutes}, {minutes}.

    submit    the command that takes the script, named in it and looked for on the PATH; slowpath never calls it
    job       shell expression for the job's number
    before    lines before all others
    verified  with what a script was run; "not run": from the documentation alone
    """

    name: str
    submit: str
    directives: tuple[str, ...]
    job: str
    before: tuple[str, ...] = ()
    verified: str = "not run"


SCHEDULERS = (
    Scheduler(
        name="slurm",
        submit="sbatch",
        directives=(
            "#SBATCH --job-name={job}",
            "#SBATCH --nodes={nodes}",
            "#SBATCH --ntasks-per-node={per_node}",
            "#SBATCH --time={hours_minutes}:00",
            "#SBATCH --exclusive",
            "#SBATCH --output=slowpath-%j.log",
        ),
        job="$SLURM_JOB_ID",
        before=(
            "# Since Slurm 22.05 srun takes no --cpus-per-task from sbatch.",
            "if [[ -n ${SLURM_CPUS_PER_TASK:-} ]]; then export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK; fi",
        ),
        verified="Slurm 22.05 (tests/slurm)",
    ),
    Scheduler(
        name="pbs",
        submit="qsub",
        directives=(
            "#PBS -N {job}",
            "#PBS -l select={nodes}:ncpus={per_node}:mpiprocs={per_node}",
            "#PBS -l place=scatter:excl",
            "#PBS -l walltime={hours_minutes}:00",
            "#PBS -j oe",
        ),
        job="${PBS_JOBID%%.*}",
        before=("# PBS starts scripts in the home folder.", 'cd "$PBS_O_WORKDIR"'),
    ),
    Scheduler(
        name="lsf",
        submit="bsub <",
        directives=(
            "#BSUB -J {job}",
            "#BSUB -n {ranks}",
            '#BSUB -R "span[ptile={per_node}]"',
            "#BSUB -W {hours_minutes}",
            "#BSUB -x",
            "#BSUB -o slowpath-%J.log",
        ),
        job="$LSB_JOBID",
    ),
    Scheduler(
        name="flux",
        submit="flux batch",
        directives=(
            "#flux: --job-name={job}",
            "#flux: --nodes={nodes}",
            "#flux: --exclusive",
            "#flux: --time-limit={minutes}m",
            "#flux: --output=slowpath-{{{{id}}}}.log",
        ),
        job="$(flux getattr jobid)",
    ),
)


def scheduler_named(name: str) -> Scheduler:
    """The batch system of this name.  Raises: UsageError."""
    for scheduler in SCHEDULERS:
        if scheduler.name == name:
            return scheduler
    raise UsageError(f"--scheduler {name}: unknown; choose from {', '.join(one.name for one in SCHEDULERS)}")


def scheduler_here(is_command: Callable[[str], bool]) -> Scheduler:
    """The batch system whose command to submit is there.  Raises: UsageError where none is."""
    for scheduler in SCHEDULERS:
        if is_command(scheduler.submit.split()[0]):
            return scheduler
    looked = ", ".join(one.submit.split()[0] for one in SCHEDULERS)
    raise UsageError(f"no batch system is known from the PATH ({looked}); say for which with --scheduler slurm")
