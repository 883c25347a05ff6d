# SPDX-License-Identifier: Apache-2.0
"""Which environment variables a record keeps, and in which shape: the one list. Pure.

A variable that steers MPI and is not on the list, or whose value does not fit, is recorded by its name and the reason.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from slowpath.core.secrets import BY_NAME, BY_VALUE, has_credential, has_secret_name, looks_secret
from slowpath.mpi.libraries import BELOW_PREFIXES, PREFIXES

VARIABLES = "variables"  # of the machine, in run.json: name -> value
NOT_RECORDED = "variables_not_recorded"  # name -> why there is no value
NOT_LISTED = "not on the list of variables that are recorded"
NOT_FITTING = "its value is not a number, size, word, path, device or list of them"
LONGEST_VALUE = 4096

_NUMBER = r"[+-]?(?:0x[0-9A-Fa-f]{1,16}|\d{1,20}(?:\.\d{1,20})?(?:[eE][+-]?\d{1,3})?)"
_UNIT = r"(?:[kKmMgGtT]?i?[bB]?|[num]?s|%)"
_NAME = r"[A-Za-z_][\w.+-]{0,63}"
_PIECE = re.compile(rf"{_NUMBER}{_UNIT}|{_NUMBER}-{_NUMBER}{_UNIT}|\^?{_NAME}|[\w.-]{{1,40}}|\*|-|")
_SEPARATORS = re.compile(r"[\s,;:=|@!/()\[\]{}<>&~^\"']+")
_PATHS = re.compile(r"(?:[\w.-]+=)?[~.]{0,2}/[^\x00-\x1f]*|[\w.+-]+\.so[\d.]*")
_NODES = re.compile(r"[\w.,()\[\]-]+")
_DEVICES = re.compile(r"(?:GPU-|MIG-)?[\w.:/-]*(?:,(?:GPU-|MIG-)?[\w.:/-]+)*")
_IDENTIFIER = re.compile(r"[\w.\[\]-]{1,64}")


def _is_setting(value: str) -> bool:
    return all(_PIECE.fullmatch(piece) for piece in _SEPARATORS.split(value))


def _all_match(pattern: re.Pattern[str]) -> Callable[[str], bool]:
    return lambda value: pattern.fullmatch(value) is not None


class Shape(Enum):
    """What a value may look like: whether it fits, and whether its parts are looked at for randomness.

    Names of nodes and devices may hold anything, so they have their characters and the known credentials only.
    """

    NUMBER = ("a number or size", _all_match(re.compile(_NUMBER + _UNIT)), True)
    SETTING = ("numbers, sizes, words and lists of them", _is_setting, True)
    PATHS = ("paths", _all_match(_PATHS), True)
    TUNING = ("a setting or paths", lambda value: _is_setting(value) or bool(_PATHS.fullmatch(value)), True)
    NODES = ("names of nodes", _all_match(_NODES), False)
    DEVICES = ("numbers or identities of devices", _all_match(_DEVICES), False)
    IDENTIFIER = ("the name or number of a job, queue or account", _all_match(_IDENTIFIER), True)

    def __init__(self, title: str, fits: Callable[[str], bool], words: bool) -> None:
        self.title, self.fits, self.words = title, fits, words


@dataclass(frozen=True)
class RecordedVariable:
    """names: pattern of whole names.  shape: what a value must look like.  what: for people."""

    names: re.Pattern[str]
    shape: Shape
    what: str


def _row(names: str, shape: Shape, what: str) -> RecordedVariable:
    return RecordedVariable(re.compile(names), shape, what)


# PMIx has its tuning below PMIX_MCA_; what else begins with PMIX_ belongs to one job: addresses, name spaces, cookies.
_TUNING = tuple("PMIX_MCA_" if prefix == "PMIX_" else prefix for prefix in PREFIXES)
_LIBRARIES = "|".join(re.escape(prefix) for prefix in _TUNING)
# Words of names that are one job's own: where its daemons listen, and what its processes know one another by.
_ONE_JOB = re.compile(r"(?:^|_)(?:URI|URL|UUID|HNP|CONTACT)(?:_|$)|precondition_transports", re.IGNORECASE)

RECORDED: tuple[RecordedVariable, ...] = (
    _row(r"(?:CUDA|HIP|ROCR|NVIDIA)_VISIBLE_DEVICES|SLURM_(?:JOB|STEP)_GPUS", Shape.DEVICES, "devices"),
    _row(r"(?:UCX_NET_DEVICES|FI_\w+_IFACE|MPICH_OFI_NIC_\w+)", Shape.TUNING, "network devices"),
    _row(rf"(?:{_LIBRARIES})\w+", Shape.TUNING, "settings of MPI libraries, their launchers and transports"),
    _row(r"(?:CUDA|SLOWPATH|OMP|MALLOC|OPENBLAS|GOTO|BLIS|MKL)_\w+", Shape.TUNING, "threads, memory, GPU, BLAS"),
    _row(r"GLIBC_TUNABLES", Shape.SETTING, "the C library"),
    _row(r"LD_PRELOAD", Shape.PATHS, "preloaded libraries"),
    _row(
        r"SLURM_(?:JOB_|STEP_)?NODELIST|SLURMD_NODENAME|SLURM_SUBMIT_HOST|PBS_O_HOST", Shape.NODES, "nodes of the job"
    ),
    _row(
        r"SLURM_(?:NTASKS\w*|NPROCS|NNODES|JOB_NUM_NODES|STEP_NUM_\w+|STEP_TASKS_PER_NODE|CPUS_\w+|JOB_CPUS_\w+"
        r"|TASKS_PER_NODE|MEM_PER_\w+|THREADS_PER_CORE|CORE_SPEC|GPUS\w*|CPU_BIND\w*|MEM_BIND\w*|GPU_BIND|HINT"
        r"|DISTRIBUTION|MPI_TYPE|NETWORK|OVERCOMMIT|OVERSUBSCRIBE|EXACT|WHOLE|CPU_FREQ_REQ|TRES_PER_TASK"
        r"|PROCID|LOCALID|NODEID|PRIO_PROCESS|RESTART_COUNT|TOPOLOGY_ADDR\w*)",
        Shape.SETTING,
        "how Slurm places ranks",
    ),
    _row(
        r"SLURM_(?:JOB_?ID|STEP_?ID|JOB_(?:NAME|PARTITION|QOS|ACCOUNT|USER)|CLUSTER_NAME|ARRAY_(?:JOB|TASK)_ID)",
        Shape.IDENTIFIER,
        "the job",
    ),
    _row(r"SLURM_SUBMIT_DIR|SLURM_CONF|PBS_NODEFILE|PBS_O_WORKDIR", Shape.PATHS, "folders of the job"),
    _row(r"PBS_(?:JOBID|JOBNAME|QUEUE|O_QUEUE)|FLUX_JOB_ID", Shape.IDENTIFIER, "the job"),
    _row(
        r"PBS_(?:NP|NUM_NODES|NUM_PPN|NODENUM|TASKNUM|VNODENUM)|FLUX_(?:JOB_NNODES|JOB_SIZE|TASK_RANK|TASK_LOCAL_ID)",
        Shape.NUMBER,
        "how PBS and Flux place ranks",
    ),
)
# Variables that steer MPI, its transports, threads or the BLAS: without them a run can't be explained, so the name of
# each is recorded even where its value is not.
STEERING_PREFIXES = (
    *PREFIXES,
    *BELOW_PREFIXES,
    *("SLURM_", "PBS_", "FLUX_", "SLOWPATH_", "OMP_", "LD_PRELOAD"),
    *("OPENBLAS_", "GOTO_", "BLIS_", "MKL_"),
)


def why_not(name: str, value: str) -> str | None:
    """Why the value of a variable is not recorded; None: it is."""
    if has_secret_name(name):
        return BY_NAME
    row = next((recorded for recorded in RECORDED if recorded.names.fullmatch(name)), None)
    if row is None or _ONE_JOB.search(name):
        return NOT_LISTED
    return _unfit(row.shape, value)


def _unfit(shape: Shape, value: str) -> str | None:
    if looks_secret(value) if shape.words else has_credential(value):
        return BY_VALUE
    return None if value == "" or (len(value) <= LONGEST_VALUE and shape.fits(value)) else NOT_FITTING


def recorded_variables(environ: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables that steer MPI: those whose value is recorded, and the reason why each other one is not."""
    steering = {name: value for name, value in sorted(environ.items()) if name.startswith(STEERING_PREFIXES)}
    hidden = {name: reason for name, value in steering.items() if (reason := why_not(name, value))}
    return {name: value for name, value in steering.items() if name not in hidden}, hidden


def clean_machine(machine: Mapping[str, Any]) -> dict[str, Any]:
    """Return what run.json states of the machine, of a folder that may be older than the list, or made by someone
    else.
    """
    given = machine.get(VARIABLES)
    if not isinstance(given, dict):
        return dict(machine)
    kept, hidden = recorded_variables({str(name): str(value) for name, value in given.items()})
    before = machine.get(NOT_RECORDED)
    hidden = {**(before if isinstance(before, dict) else {}), **hidden}
    return {**machine, VARIABLES: kept, **({NOT_RECORDED: hidden} if hidden else {})}
