# SPDX-License-Identifier: Apache-2.0
"""The batch system's allocation that this process stands in, from its environment."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure
from slowpath.mpi.hostlist import expand_hostlist, names_in_file
from slowpath.mpi.probe import output_of

ReadLines = Callable[[str], list[str]]
AskProgram = Callable[[Sequence[str], Mapping[str, str]], str | None]
# Without a batch system the launchers' own host files say which nodes there are.
HOST_FILES = (
    "HYDRA_HOST_FILE",
    "I_MPI_HYDRA_HOST_FILE",
    "PRTE_MCA_prte_default_hostfile",
    "OMPI_MCA_orte_default_hostfile",
)


TITLES = {
    "flux": "Flux",
    "slurm": "Slurm",
    "pbs": "PBS",
    "lsf": "LSF",
    "grid engine": "Grid Engine",
    "cobalt": "Cobalt",
    "host file": "host file of a launcher",
}


@dataclass(frozen=True)
class Allocation:
    """scheduler: a key of TITLES.  job: its number there; None for a host file, and where it can't be told.

    nodes: how many.  names: of the nodes, in the batch system's order; empty where it does not tell.
    launcher: name in launchers.LAUNCHERS of the batch system's own launcher; None if it has none.
    """

    scheduler: str
    job: str | None
    nodes: int
    names: tuple[str, ...] = ()
    launcher: str | None = None

    @property
    def title(self) -> str:
        """The scheduler's own name for itself."""
        return TITLES[self.scheduler]


def read_lines(path: str) -> list[str]:
    """Raises EnvironmentFailure where the file that a batch system names can't be read."""
    try:
        return Path(path).read_text(errors="replace").splitlines()
    except OSError as error:
        raise EnvironmentFailure(
            f"{path}: the list of this job's nodes cannot be read: {error.strerror}; is this the job's own node?"
        ) from error


def ask_once(argv: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """As probe.output_of, asked once for each environment: an allocation does not change while a run lasts."""
    return _answer(tuple(argv), tuple(sorted(environ.items())))


@functools.lru_cache(maxsize=16)
def _answer(argv: tuple[str, ...], variables: tuple[tuple[str, str], ...]) -> str | None:
    return output_of(argv, dict(variables))


def find_allocation(
    environ: Mapping[str, str], read: ReadLines = read_lines, ask: AskProgram = ask_once
) -> Allocation | None:
    """The innermost allocation; None outside of any.

    Raises: EnvironmentFailure: the batch system's list of nodes is damaged or can't be read.
    """
    # Flux before Slurm, since a Flux instance often runs inside a Slurm job.
    found = _flux(environ, ask)
    for finder in (_slurm, _pbs, _lsf, _grid_engine, _cobalt, _host_file):
        found = found or finder(environ, read)
    return found


def _flux(environ: Mapping[str, str], ask: AskProgram) -> Allocation | None:
    """A batch script finds FLUX_URI alone: Flux unsets FLUX_JOB_ID and FLUX_JOB_NNODES, which are those of a task, and
    refers it to `flux getattr` (flux-environment(7), initial program environment).
    """
    if not environ.get("FLUX_URI"):
        return None
    nodes = _number(environ, "FLUX_JOB_NNODES")
    if nodes is not None:
        return Allocation("flux", environ.get("FLUX_JOB_ID"), nodes, launcher="flux")
    # Several brokers on a node name it several times (flux-broker-attributes(7), hostlist).
    hosts = dict.fromkeys(expand_hostlist(ask(["flux", "getattr", "hostlist"], environ) or ""))
    job = (ask(["flux", "getattr", "jobid"], environ) or "").strip()
    return Allocation("flux", job or None, len(hosts) or 1, tuple(hosts), "flux")


def _slurm(environ: Mapping[str, str], read: ReadLines) -> Allocation | None:
    job = environ.get("SLURM_JOB_ID") or environ.get("SLURM_JOBID")
    if not job:
        return None
    names = expand_hostlist(environ.get("SLURM_JOB_NODELIST") or environ.get("SLURM_NODELIST") or "")
    nodes = _number(environ, "SLURM_JOB_NUM_NODES") or _number(environ, "SLURM_NNODES") or len(names) or 1
    return Allocation("slurm", job, nodes, tuple(names), "srun")


def _pbs(environ: Mapping[str, str], read: ReadLines) -> Allocation | None:
    if not environ.get("PBS_JOBID"):
        return None
    names = names_in_file(read(environ["PBS_NODEFILE"])) if environ.get("PBS_NODEFILE") else []
    nodes = len(names) or _number(environ, "PBS_NUM_NODES") or 1
    return Allocation("pbs", environ["PBS_JOBID"], nodes, tuple(names), "aprun")


def _lsf(environ: Mapping[str, str], read: ReadLines) -> Allocation | None:
    """LSB_MCPU_HOSTS holds names and slots in turns. A first one with a single slot, of nodes that are alike, is the
    launch node of a job for jsrun, where the script runs and no rank (Summit user guide, "Login, Launch, and Compute
    Nodes").
    """
    if not environ.get("LSB_JOBID"):
        return None
    words = environ.get("LSB_MCPU_HOSTS", "").split()
    slots = dict(zip(words[::2], words[1::2], strict=False))
    names = list(slots)
    of_others = {slots[name] for name in names[1:]}
    if slots.get(next(iter(names), "")) == "1" and len(of_others) == 1 and "1" not in of_others:
        names = names[1:]
    return Allocation("lsf", environ["LSB_JOBID"], len(names) or 1, tuple(names), "jsrun")


def _grid_engine(environ: Mapping[str, str], read: ReadLines) -> Allocation | None:
    """qsub(1) has JOB_ID, a name that others use, too; every job also has variables that begin with SGE_. The lines of
    PE_HOSTFILE are `host slots queue processors` (sge_pe(5)).
    """
    if not environ.get("JOB_ID") or not any(name.startswith("SGE_") for name in environ):
        return None
    names = names_in_file(read(environ["PE_HOSTFILE"])) if environ.get("PE_HOSTFILE") else []
    return Allocation("grid engine", environ["JOB_ID"], len(names) or _number(environ, "NHOSTS") or 1, tuple(names))


def _cobalt(environ: Mapping[str, str], read: ReadLines) -> Allocation | None:
    """Of the ALCF's machines until 2023 ("Running Jobs on XC40"): names only where COBALT_NODEFILE tells them."""
    if not environ.get("COBALT_JOBID"):
        return None
    names = names_in_file(read(environ["COBALT_NODEFILE"])) if environ.get("COBALT_NODEFILE") else []
    nodes = len(names) or _number(environ, "COBALT_JOBSIZE") or _number(environ, "COBALT_PARTSIZE") or 1
    return Allocation("cobalt", environ["COBALT_JOBID"], nodes, tuple(names), "aprun")


def _host_file(environ: Mapping[str, str], read: ReadLines) -> Allocation | None:
    path = next((environ[name] for name in HOST_FILES if environ.get(name)), None)
    if path is None:
        return None
    names = names_in_file(read(path))
    return Allocation("host file", None, len(names) or 1, tuple(names))


def _number(environ: Mapping[str, str], name: str) -> int | None:
    text = environ.get(name, "")
    return int(text) if text.isdigit() else None
