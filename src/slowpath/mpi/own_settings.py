# SPDX-License-Identifier: Apache-2.0
"""The user's own settings: every variable and line of a parameter file that reaches the MPI library, what lies below
it, or its launcher, and which of them can be taken away. Pure: variables and files' texts in, a list out.

Found by prefix, so a variable that no table knows is on the list as well. What is left in: what a launch needs to start
at all, and what chooses devices or code.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from slowpath.mpi.code_variables import reader_of
from slowpath.mpi.libraries import BELOW_PREFIXES, PREFIXES, of_another
from slowpath.mpi.recorded_variables import why_not

# What makes Open MPI read no parameter file. Its launcher reads them as well and hands their lines to the ranks as
# variables, so these are taken out there, too (run.commands). Seen with Open MPI 5.0.11: `mpirun -n 1 env`, ompi_info.
NO_FILES: Mapping[str, str] = {"OMPI_MCA_mca_base_param_files": "none"}

# Names below these belong to no library but reach how ranks are started.
_STARTS_PREFIXES = ("PMI_", "PMI2_", "SLURM_MPI_", "SLURM_PMIX", "SLURM_PMI")
# Patterns of names that the launcher, the job or the installation needs; all that code_variables knows as well.
_STARTS = (
    *("HYDRA_*", "PMI_*", "PMI2_*", "PMIX_*", "PRTE_*", "SLURM_*", "CRAY_*", "I_MPI_HYDRA_*", "I_MPI_PMI*"),
    *("OMPI_COMM_*", "OMPI_UNIVERSE_*", "OMPI_ALLOW_RUN_AS_ROOT*", "OMPI_MCA_plm*", "OMPI_MCA_ess*", "OMPI_MCA_ras*"),
    *("MPICH_ENV_DISPLAY", "MPICH_VERSION_DISPLAY", "GTL_*"),
)
_VERSIONS = ("*_VERSION",)  # container images state what they hold
_DEVICES = ("*_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MPS_*")
# Known as choosing code or files, and yet safe to take away: then the library takes its own.
_MAY_GO = (
    "GLIBC_TUNABLES",
    "UCX_CONFIG_DIR",
    "OMPI_MCA_mca_base_param_file*",
    "MLX4_*",
    "MLX5_*",
    "RDMAV_*",
    "GDRCOPY_*",
)

_STARTING = "the launcher or the job needs it to start ranks"
_CHOOSING = "it chooses devices, and so what is measured"
_STATING = "it states a version; no library reads it"
_FILES = "the lines of its files are examined one by one"
# Read by a library of collectives between GPUs alone: MPICH and UCC load it for memory of a GPU.
_OF_GPU_COLLECTIVES = ("NCCL_*", "RCCL_*")
_NO_GPU = "a library for GPU memory reads it, but no GPU memory is measured here"


@dataclass(frozen=True)
class OwnSetting:
    """One setting of the user's.

    name      of the variable; of a line in a file: the variable that would say the same
    value     None: it is not recorded (mpi.recorded_variables), `why_no_value` has the reason
    file, line  where it stands; None, 0: in the environment, where a shell, a job script or a module put it
    left_in   why it is not taken away; None: it can be
    """

    name: str
    value: str | None
    file: str | None = None
    line: int = 0
    why_no_value: str | None = None
    left_in: str | None = None

    @property
    def where(self) -> str:
        """`your environment`, or `line 3 of /home/me/.openmpi/mca-params.conf`."""
        return f"line {self.line} of {self.file}" if self.file else "your environment"

    @property
    def words(self) -> str:
        """`UCX_TLS=tcp`, or `btl_sm_eager_limit (line 3 of ...)`; without the value where it is not recorded."""
        what = self.name if self.value is None else f"{self.name}={self.value}"
        return f"{what} ({self.where})" if self.file else what


@dataclass(frozen=True)
class ParameterFile:
    """A file of parameters. prefix: of the variable that says the same as a line.  left_in: why it stays in."""

    path: str
    text: str
    prefix: str
    left_in: str | None = None


def own_settings(
    environ: Mapping[str, str],
    needed: Iterable[str] = (),
    files: Sequence[ParameterFile] = (),
    library: str = "unknown",
    has_gpus: bool = True,
) -> tuple[OwnSetting, ...]:
    """Return all of them, variables by name first, then lines of files in their order.

    Args: needed: names that this MPI needs to start here.  library: name of the MPI; a variable of another one stays
          in, since it can change nothing.  has_gpus: whether messages from GPU memory are asked about.
    """
    without = frozenset(needed)

    def why(name: str) -> str | None:
        no_gpu = _NO_GPU if not has_gpus and _is_one_of(name, _OF_GPU_COLLECTIVES) else None
        return _why_left_in(name, without) or of_another(name, library) or no_gpu

    of_environment = [_own(name, value, why(name)) for name, value in sorted(environ.items()) if _reaches(name)]
    found = {setting.name: setting for setting in of_environment}
    lines: list[OwnSetting] = []
    for file in files:
        of_file = _lines(file, found)
        found |= {setting.name: setting for setting in of_file if setting.name not in found}
        lines += of_file
    return (*of_environment, *lines)


def removable(settings: Iterable[OwnSetting]) -> tuple[OwnSetting, ...]:
    """Return the settings that can be taken away."""
    return tuple(setting for setting in settings if setting.left_in is None)


# What chooses the path of messages, or names what GPU memory takes.
_OF_GPUS = (
    *("UCX_*", "FI_*", "CUDA_*", "HIP_*", "HSA_*", "ROCR_*", "GDRCOPY_*", "*CUDA*", "*GPU*", "*ROCM*", "*_IPC_*"),
    *("*ACCELERATOR*", "*OFFLOAD*", "OMPI_MCA_PML*", "OMPI_MCA_BTL", "OMPI_MCA_MTL*", "I_MPI_FABRICS*", "PSM*"),
    *("MPIR_CVAR_NO*LOCAL", "MPIR_CVAR_CH4_NETMOD", "MPIR_CVAR_CH4_OFI_*"),
)


def may_concern_gpus(setting: OwnSetting) -> bool:
    """Return whether it may change how messages from GPU memory go, by its name."""
    return _is_one_of(setting.name.upper(), _OF_GPUS)


def _reaches(name: str) -> bool:
    return name.startswith((*PREFIXES, *BELOW_PREFIXES, *_STARTS_PREFIXES))


def _own(name: str, value: str, left_in: str | None, file: str | None = None, line: int = 0) -> OwnSetting:
    hidden = why_not(name, value)
    return OwnSetting(name, None if hidden else value, file, line, hidden, left_in)


def _why_left_in(name: str, needed: frozenset[str]) -> str | None:
    if name in needed:
        return "this MPI does not start here without it"
    rows = ((_STARTS, _STARTING), (_DEVICES, _CHOOSING), (_VERSIONS, _STATING), (tuple(NO_FILES), _FILES))
    known = next((why for patterns, why in rows if _is_one_of(name, patterns)), None)
    if known is not None or _is_one_of(name, _MAY_GO):
        return known
    return reader_of(name)


def _is_one_of(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


# "btl_sm_eager_limit = 4096", "-mca btl self,sm" is the form of --tune files and not read here.
_LINE = re.compile(r"\s*([A-Za-z_][\w]*)\s*=\s*(.*?)\s*")


def _lines(file: ParameterFile, given: Mapping[str, OwnSetting]) -> list[OwnSetting]:
    """Lines of a file. One that can't be given as a variable instead keeps the whole file in.

    Args: given: what overrides them, by name.
    """
    found: dict[str, OwnSetting] = {}
    for number, text in enumerate(file.text.splitlines(), start=1):
        match = None if text.lstrip().startswith("#") else _LINE.fullmatch(text)
        if match is None:
            continue
        bare = match[1].removeprefix(file.prefix)
        name, value = f"{file.prefix}{bare}", match[2].strip("\"'")
        left_in = file.left_in or (f"{given[name].where} overrides it" if name in given else None)
        found[name] = _own(name, value, left_in or _why_left_in(name, frozenset()), file.path, number)
    lines = list(found.values())
    stuck = next(
        (setting for setting in lines if setting.why_no_value or (setting.left_in and setting.name not in given)), None
    )
    if stuck is None:
        return lines
    why = stuck.left_in or f"its value is not recorded: {stuck.why_no_value}"
    if file.left_in is None:
        why = f"line {stuck.line} of the file can't be left out ({stuck.name}: {why}), so no other line can"
    return [_left(setting, why) for setting in lines]


def _left(setting: OwnSetting, why: str) -> OwnSetting:
    return OwnSetting(
        setting.name, setting.value, setting.file, setting.line, setting.why_no_value, setting.left_in or why
    )


@dataclass(frozen=True)
class Without:
    """An environment without some of the settings. unset: names that are taken out.  variables: that are set."""

    unset: tuple[str, ...]
    variables: Mapping[str, str]


def without(settings: Sequence[OwnSetting], gone: Iterable[OwnSetting]) -> Without:
    """The environment that lacks `gone` and holds all other `settings`.

    A line of a file goes by leaving all files out and giving the other lines as variables.
    """
    away = tuple(gone)
    unset = list(dict.fromkeys(setting.name for setting in away))
    if not any(setting.file for setting in away):
        return Without(tuple(unset), {})
    lines = [setting for setting in settings if setting.file and setting.left_in is None and setting not in away]
    kept = {setting.name: setting.value or "" for setting in lines}
    return Without(tuple(name for name in unset if name not in kept and name not in NO_FILES), {**kept, **NO_FILES})


def unset_in_ranks(library: str, unset: Iterable[str], variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names that an environment takes out and that the launcher would still hand to the ranks."""
    if library != "openmpi" or not NO_FILES.items() <= variables.items():
        return ()
    return tuple(name for name in unset if name.startswith("OMPI_MCA_"))
