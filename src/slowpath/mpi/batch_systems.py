# SPDX-License-Identifier: Apache-2.0
"""Batch systems, one row each: how a job knows its nodes, which launcher starts its ranks, how a script asks for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from slowpath.core.errors import UsageError
from slowpath.mpi import allocation
from slowpath.mpi.allocation import AskProgram, Finder, NodeAllocation, ReadLines, Surroundings, ask_once, read_lines

HOST_FILE = "host file"


@dataclass(frozen=True)
class JobScript:
    """How a job script asks for nodes, ranks on each, and time; nothing is ever submitted.

    submit      the command that takes the script, named in it and looked for on the PATH; slowpath never calls it
    directives  may hold {job}, {nodes}, {per_node}, {ranks}, {hours_minutes}, {minutes}
    job         shell expression for the job's number
    before      lines before all others
    verified    with what a script was run; "not run": from the documentation alone
    """

    submit: str
    directives: tuple[str, ...]
    job: str
    before: tuple[str, ...] = ()
    verified: str = "not run"


@dataclass(frozen=True)
class BatchSystem:
    """One batch system.

    title     as it calls itself
    find      the allocation of the job that an environment is in; None outside of any
    launcher  name in launchers.LAUNCHERS of its own launcher; None: it has none
    script    None: no script is written for it
    nested    its jobs often run inside another system's job, so it is looked for first
    """

    name: str
    title: str
    find: Finder
    launcher: str | None = None
    script: JobScript | None = None
    nested: bool = False


BATCH_SYSTEMS: tuple[BatchSystem, ...] = (
    BatchSystem(
        "slurm",
        "Slurm",
        allocation.of_slurm,
        "srun",
        script=JobScript(
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
    ),
    BatchSystem(
        "pbs",
        "PBS",
        allocation.of_pbs,
        "aprun",
        script=JobScript(
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
    ),
    BatchSystem(
        "lsf",
        "LSF",
        allocation.of_lsf,
        "jsrun",
        script=JobScript(
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
    ),
    BatchSystem(
        "flux",
        "Flux",
        allocation.of_flux,
        "flux",
        script=JobScript(
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
        nested=True,
    ),
    BatchSystem("grid engine", "Grid Engine", allocation.of_grid_engine),
    BatchSystem("cobalt", "Cobalt", allocation.of_cobalt, "aprun"),
    BatchSystem(HOST_FILE, "host file of a launcher", allocation.of_host_file),
)
SCRIPTED = tuple(system.name for system in BATCH_SYSTEMS if system.script)


def find_allocation(
    environ: Mapping[str, str], read: ReadLines = read_lines, ask: AskProgram = ask_once
) -> NodeAllocation | None:
    """The innermost allocation; None outside of any.

    Raises: EnvironmentFailure: the batch system's list of nodes is damaged or can't be read.
    """
    around = Surroundings(environ, read, ask)
    for system in sorted(BATCH_SYSTEMS, key=lambda system: not system.nested):
        if (found := system.find(around)) is not None:
            return replace(found, launcher=system.launcher, title=system.title)
    return None


def script_for(name: str) -> JobScript:
    """The job script of the batch system of this name.  Raises: UsageError."""
    for system in BATCH_SYSTEMS:
        if system.name == name and system.script:
            return system.script
    raise UsageError(f"--script {name}: unknown; choose from {', '.join(SCRIPTED)}")
