# SPDX-License-Identifier: Apache-2.0
"""Batch systems, one row each: how a job knows its nodes, which launcher starts its ranks, how a script asks for it."""

from __future__ import annotations

import functools
import itertools
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.core.units import whole_number
from slowpath.mpi.probe import output_of

# Lists of host names as batch systems and launchers write them.

MAX_HOSTS = 100_000  # a list that expands to more is damaged
MOST_CHOICES = 2 * MAX_HOSTS  # in the brackets of one name
_PART = re.compile(r"[^\[\]]+|\[[^\[\]]*\]")


def expand_hostlist(text: str) -> list[str]:
    """Names of `n[1-3,07],login` in their order, as Slurm and Flux write them.

    Raises: EnvironmentFailure: a bracket is open or a range runs backwards; the text is quoted.
    """
    names: list[str] = []
    for word in _split(text):
        parts = _PART.findall(word)
        if "".join(parts) != word:
            raise _damaged(text)
        choices: list[list[str]] = []
        for part in parts:
            choices.append(_choices(part, text))
            if sum(map(len, choices)) > MOST_CHOICES:
                raise _damaged(text)
        names += ("".join(parts) for parts in itertools.islice(itertools.product(*choices), MAX_HOSTS - len(names)))
    return names


def _split(text: str) -> list[str]:
    """Split at the commas outside of brackets."""
    words, depth, word = [], 0, ""
    for character in text.strip():
        depth += (character == "[") - (character == "]")
        if character == "," and depth == 0:
            words.append(word)
            word = ""
        else:
            word += character
    if depth != 0:
        raise _damaged(text)
    return [word.strip() for word in (*words, word) if word.strip()]


def _choices(part: str, text: str) -> list[str]:
    if not part.startswith("["):
        return [part]
    names: list[str] = []
    for item in part[1:-1].split(","):
        first, dash, last = item.partition("-")
        begin, end = whole_number(first), whole_number(last if dash else first)
        if begin is None or end is None or not 0 <= end - begin < MAX_HOSTS:
            raise _damaged(text)
        if len(names) > MOST_CHOICES:
            raise _damaged(text)
        names += [str(n).zfill(len(first)) for n in range(begin, end + 1)]
    return names


def _damaged(text: str) -> EnvironmentFailure:
    return EnvironmentFailure(
        f"'{text[:80]}' is not a list of hosts such as n[1-3,7]; is the job's variable truncated?"
    )


def names_in_file(lines: Iterable[str]) -> list[str]:
    """Return each host once, also this one under several names: `n1:2`, `n1 slots=2`; comments begin with #."""
    here = ("localhost", platform.node(), platform.node().partition(".")[0])
    names: dict[str, str] = {}
    for words in filter(None, (line.partition("#")[0].split() for line in lines)):
        name = words[0].partition(":")[0]
        names.setdefault("localhost" if name in here or name.startswith("127.") else name, name)
    return list(names.values())


ReadLines = Callable[[str], list[str]]
AskProgram = Callable[[Sequence[str], Mapping[str, str]], str | None]
# Without a batch system the launchers' own host files list the nodes.
HOST_FILES = (
    "HYDRA_HOST_FILE",
    "I_MPI_HYDRA_HOST_FILE",
    "PRTE_MCA_prte_default_hostfile",
    "OMPI_MCA_orte_default_hostfile",
)


@dataclass(frozen=True)
class NodeAllocation:
    """The nodes that a batch system gave.

    scheduler: name of the row in batch_systems.  job: its number there; None where there is none or it is not known.
    nodes: how many.  names: of the nodes, in the batch system's order; empty where it does not state them.
    launcher: name in launchers.LAUNCHERS of the batch system's own launcher; None if it has none.
    title: what the batch system calls itself.
    """

    scheduler: str
    job: str | None
    nodes: int
    names: tuple[str, ...] = ()
    launcher: str | None = None
    title: str = field(default="", compare=False)


ON_A_NODE = "start slowpath on a node of the job"


def read_lines(path: str) -> list[str]:
    """Read a file that the batch system names.  Raises: EnvironmentFailure: it can't be read."""
    try:
        return Path(path).read_text(errors="replace").splitlines()
    except OSError as error:
        raise EnvironmentFailure(f"{path}: cannot be read: {error.strerror}; {ON_A_NODE}") from error


def ask_once(argv: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """Ask as probe.output_of does, once for each environment: an allocation does not change while a run lasts."""
    return _answer(tuple(argv), tuple(sorted(environ.items())))


@functools.lru_cache(maxsize=16)
def _answer(argv: tuple[str, ...], variables: tuple[tuple[str, str], ...]) -> str | None:
    return output_of(argv, dict(variables))


@dataclass(frozen=True)
class Surroundings:
    """Where an allocation is looked for: the job's environment, files that it names, programs that know more."""

    environ: Mapping[str, str]
    read: ReadLines = read_lines
    ask: AskProgram = ask_once


Finder = Callable[[Surroundings], NodeAllocation | None]


def of_flux(around: Surroundings) -> NodeAllocation | None:
    """A batch script finds FLUX_URI alone: Flux unsets FLUX_JOB_ID and FLUX_JOB_NNODES, which are those of a task, and
    refers it to `flux getattr` (flux-environment(7), initial program environment).
    """
    environ = around.environ
    if not environ.get("FLUX_URI"):
        return None
    nodes = _number(environ, "FLUX_JOB_NNODES")
    if nodes is not None:
        return NodeAllocation("flux", environ.get("FLUX_JOB_ID"), nodes)
    # Several brokers on a node name it several times (flux-broker-attributes(7), hostlist).
    hosts = dict.fromkeys(expand_hostlist(around.ask(["flux", "getattr", "hostlist"], environ) or ""))
    job = (around.ask(["flux", "getattr", "jobid"], environ) or "").strip()
    return NodeAllocation("flux", job or None, len(hosts) or 1, tuple(hosts))


def of_slurm(around: Surroundings) -> NodeAllocation | None:
    """sbatch(1), "OUTPUT ENVIRONMENT VARIABLES"."""
    environ = around.environ
    job = environ.get("SLURM_JOB_ID") or environ.get("SLURM_JOBID")
    if not job:
        return None
    names = expand_hostlist(environ.get("SLURM_JOB_NODELIST") or environ.get("SLURM_NODELIST") or "")
    nodes = _number(environ, "SLURM_JOB_NUM_NODES") or _number(environ, "SLURM_NNODES") or len(names) or 1
    return NodeAllocation("slurm", job, nodes, tuple(names))


def of_pbs(around: Surroundings) -> NodeAllocation | None:
    """PBS_NODEFILE has a line for each MPI process of a chunk (PBS Professional User's Guide)."""
    environ = around.environ
    if not environ.get("PBS_JOBID"):
        return None
    names = names_in_file(around.read(environ["PBS_NODEFILE"])) if environ.get("PBS_NODEFILE") else []
    nodes = len(names) or _number(environ, "PBS_NUM_NODES") or 1
    return NodeAllocation("pbs", environ["PBS_JOBID"], nodes, tuple(names))


def of_lsf(around: Surroundings) -> NodeAllocation | None:
    """LSB_MCPU_HOSTS holds names and slots in turns. A first one with a single slot, of nodes that are alike, is the
    launch node of a job for jsrun, where the script runs and no rank (Summit user guide, "Login, Launch, and Compute
    Nodes").
    """
    environ = around.environ
    if not environ.get("LSB_JOBID"):
        return None
    words = environ.get("LSB_MCPU_HOSTS", "").split()
    slots = dict(zip(words[::2], words[1::2], strict=False))
    names = list(slots)
    of_others = {slots[name] for name in names[1:]}
    if slots.get(next(iter(names), "")) == "1" and len(of_others) == 1 and "1" not in of_others:
        names = names[1:]
    return NodeAllocation("lsf", environ["LSB_JOBID"], len(names) or 1, tuple(names))


def of_grid_engine(around: Surroundings) -> NodeAllocation | None:
    """qsub(1) has JOB_ID, a name that others use, too; every job also has variables that begin with SGE_. The lines of
    PE_HOSTFILE are `host slots queue processors` (sge_pe(5)).
    """
    environ = around.environ
    if not environ.get("JOB_ID") or not any(name.startswith("SGE_") for name in environ):
        return None
    names = names_in_file(around.read(environ["PE_HOSTFILE"])) if environ.get("PE_HOSTFILE") else []
    return NodeAllocation("grid engine", environ["JOB_ID"], len(names) or _number(environ, "NHOSTS") or 1, tuple(names))


def of_cobalt(around: Surroundings) -> NodeAllocation | None:
    """Return the allocation of the ALCF's Cobalt, used until 2023 ("Running Jobs on XC40"): names only where
    COBALT_NODEFILE lists them.
    """
    environ = around.environ
    if not environ.get("COBALT_JOBID"):
        return None
    names = names_in_file(around.read(environ["COBALT_NODEFILE"])) if environ.get("COBALT_NODEFILE") else []
    nodes = len(names) or _number(environ, "COBALT_JOBSIZE") or _number(environ, "COBALT_PARTSIZE") or 1
    return NodeAllocation("cobalt", environ["COBALT_JOBID"], nodes, tuple(names))


def of_host_file(around: Surroundings) -> NodeAllocation | None:
    """Return the allocation without a batch system: the host file that a launcher would read."""
    environ = around.environ
    path = next((environ[name] for name in HOST_FILES if environ.get(name)), None)
    if path is None:
        return None
    names = names_in_file(around.read(path))
    return NodeAllocation("host file", None, len(names) or 1, tuple(names))


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "")
    return whole_number(text)


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
        of_slurm,
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
                # Since Slurm 22.05 srun takes no --cpus-per-task from sbatch.
                "if [[ -n ${SLURM_CPUS_PER_TASK:-} ]]; then export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK; fi",
            ),
            verified="Slurm 22.05 (tests/slurm)",
        ),
    ),
    BatchSystem(
        "pbs",
        "PBS",
        of_pbs,
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
            before=('cd "$PBS_O_WORKDIR"',),
        ),
    ),
    BatchSystem(
        "lsf",
        "LSF",
        of_lsf,
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
        of_flux,
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
    BatchSystem("grid engine", "Grid Engine", of_grid_engine),
    BatchSystem("cobalt", "Cobalt", of_cobalt, "aprun"),
    BatchSystem(HOST_FILE, "host file of a launcher", of_host_file),
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
        if (allocation := system.find(around)) is not None:
            return replace(allocation, launcher=system.launcher, title=system.title)
    return None


def script_for(name: str) -> JobScript:
    """The job script of the batch system of this name.  Raises: UsageError."""
    for system in BATCH_SYSTEMS:
        if system.name == name and system.script:
            return system.script
    raise UsageError(f"--script {name}: unknown; choose from {', '.join(SCRIPTED)}")
