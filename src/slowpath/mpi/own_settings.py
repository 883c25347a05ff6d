# SPDX-License-Identifier: Apache-2.0
"""The user's own settings: every variable and line of a parameter file that reaches the MPI library, what lies below
it, or its launcher, and which of them can be taken away. Pure: variables and files' texts in, a list out.

Found by prefix, so a variable that no table knows is on the list as well. What is left in: what a launch needs to start
at all, and what chooses devices or code.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from slowpath.core.guard import why_secret
from slowpath.core.run_results import MessagePath
from slowpath.core.units import whole_number
from slowpath.mpi.libraries import BELOW_PREFIXES, PREFIXES, TITLES, of_another
from slowpath.mpi.message_path import Layer

VARIABLES = "variables"  # of the machine, in run.json: name -> value
NOT_RECORDED = "variables_not_recorded"  # name -> why there is no value
NOT_LISTED = "not among the recorded variables"
NOT_FITTING = "its value is not one printable line"
LONGEST_VALUE = 4096

# PMIx has its tuning below PMIX_MCA_; what else begins with PMIX_ belongs to one job: addresses, name spaces, cookies.
_LIBRARIES = "|".join(re.escape("PMIX_MCA_" if prefix == "PMIX_" else prefix) for prefix in PREFIXES)
# Words of names that are one job's own: where its daemons listen, and what its processes know one another by.
_ONE_JOB = re.compile(r"(?:^|_)(?:URI|URL|UUID|HNP|CONTACT)(?:_|$)|precondition_transports", re.IGNORECASE)
_RECORDED = re.compile(
    rf"(?:{_LIBRARIES})\w+|(?:CUDA|SLOWPATH|OMP|MALLOC|OPENBLAS|GOTO|BLIS|MKL)_\w+|GLIBC_TUNABLES|LD_PRELOAD"
    r"|(?:CUDA|HIP|ROCR|NVIDIA)_VISIBLE_DEVICES|UCX_NET_DEVICES|FI_\w+_IFACE|MPICH_OFI_NIC_\w+"
    r"|SLURM_(?:(?:JOB|STEP)_GPUS|(?:JOB_|STEP_)?NODELIST|SUBMIT_HOST|SUBMIT_DIR|CONF|NTASKS\w*|NPROCS|NNODES"
    r"|JOB_NUM_NODES|STEP_NUM_\w+|STEP_TASKS_PER_NODE|CPUS_\w+|JOB_CPUS_\w+|TASKS_PER_NODE|MEM_PER_\w+"
    r"|THREADS_PER_CORE|CORE_SPEC|GPUS\w*|CPU_BIND\w*|MEM_BIND\w*|GPU_BIND|HINT|DISTRIBUTION|MPI_TYPE|NETWORK"
    r"|OVERCOMMIT|OVERSUBSCRIBE|EXACT|WHOLE|CPU_FREQ_REQ|TRES_PER_TASK|PROCID|LOCALID|NODEID|PRIO_PROCESS"
    r"|RESTART_COUNT|TOPOLOGY_ADDR\w*|JOB_?ID|STEP_?ID|JOB_(?:NAME|PARTITION|QOS|ACCOUNT|USER)|CLUSTER_NAME"
    r"|ARRAY_(?:JOB|TASK)_ID)|SLURMD_NODENAME"
    r"|PBS_(?:O_HOST|NODEFILE|O_WORKDIR|JOBID|JOBNAME|QUEUE|O_QUEUE|NP|NUM_NODES|NUM_PPN|NODENUM|TASKNUM|VNODENUM)"
    r"|FLUX_(?:JOB_ID|JOB_NNODES|JOB_SIZE|TASK_RANK|TASK_LOCAL_ID)"
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
    if secret := why_secret(name, value):
        return secret
    if _ONE_JOB.search(name) or not _RECORDED.fullmatch(name):
        return NOT_LISTED
    return None if len(value) <= LONGEST_VALUE and value.isprintable() else NOT_FITTING


def recorded_variables(environ: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the variables that steer MPI: those whose value is recorded, and the reason why each other one is not."""
    steering = {name: value for name, value in sorted(environ.items()) if name.startswith(STEERING_PREFIXES)}
    hidden = {name: reason for name, value in steering.items() if (reason := why_not(name, value))}
    return {name: value for name, value in steering.items() if name not in hidden}, hidden


# What the C library is asked to do with memory that MPI libraries take and free.

TUNABLES = "GLIBC_TUNABLES"
# malloc takes no mapping of its own for long blocks, and gives nothing back to the system.
KEEP_FREED = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=18446744073709551615"

# Names, with * for any letters, by which a linker, shell, launcher, library or batch system takes programs, libraries
# or files from a value.
_CODE_NAMES = """
    LD_* GLIBC_TUNABLES GCONV_PATH LOCPATH NLSPATH GETCONF_DIR HOSTALIASES LOCALDOMAIN NIS_PATH RESOLV_HOST_CONF
    RES_OPTIONS MALLOC_TRACE TZDIR TMPDIR PATH HOME SHELL ENV BASH_ENV BASH_FUNC_* BASHOPTS SHELLOPTS IFS PS4
    PROMPT_COMMAND CDPATH PYTHON* PERL* RUBY* NODE_OPTIONS TCL* JAVA_TOOL_OPTIONS XDG_* SSH_* RSH* GIT_* DISPLAY
    SLOWPATH_MPI SLOWPATH_ENGINE SLOWPATH_CACHE_DIR SLOWPATH_DATA_DIR SLOWPATH_JOB SLOWPATH_*_DRIVER
    SLOWPATH_PAD_REPORT HYDRA_* MPIEXEC_* PMI_* PMI2_* MV2_MPIRUN* MV2_CKPT* *QMPI_TOOL_LIST *_JSON_FILE
    *NAMESERV_FILE_PUBDIR *NAMEPUB_DIR *COORDINATES_FILE *_DUMP I_MPI_HYDRA_* I_MPI_GTOOL* I_MPI_*LIBRARY* I_MPI_*LIB
    I_MPI_JOB_*_LIBS I_MPI_*ROOT* I_MPI_*PATH I_MPI_*_DIR I_MPI_*DIRECTORY I_MPI_*_FILE I_MPI_*LOGFILE I_MPI_*PREFIX*
    I_MPI_*PROFILE I_MPI_PTRACER I_MPI_EXTRA_FILESYSTEM* I_MPI_*TOPOLIB I_MPI_SUBSTITUTE_INSTALLDIR VT_* OPAL_*
    OMPI_*_path* OMPI_*path OMPI_*file* OMPI_*_dir OMPI_*directory* OMPI_*prefix* OMPI_*env_list* OMPI_*envar*
    OMPI_*agent* OMPI_*launch* OMPI_*_rsh_* OMPI_*_ssh_* OMPI_MCA_plm* OMPI_MCA_orte* OMPI_MCA_ess* OMPI_MCA_schizo*
    OMPI_MCA_crs* OMPI_MCA_dl* OMPI_MCA_filem* OMPI_MCA_hook* OMPI_CC OMPI_CXX OMPI_FC OMPI_*FLAGS OMPI_LIBS MPI_ROOT
    PAMI_* PRTE_* PMIX_* PSP_PLUGINDIR PSI_* PLE_* FLIB_* UCX_MODULE* UCX_CONFIG* UCX_GDB_COMMAND UCX_ERROR_MAIL*
    UCX_*FILE* UCX_*_DEST UCX_DLOPEN* UCX_VFS* UCC_COMPONENT* UCC_CONFIG* UCC_*FILE* HCOLL_* HPCX_* OCOMS_* SHARP_*
    FI_PROVIDER_PATH FI_HOOK* FI_*_PATH IBV_* RDMAV_* MLX*_* HWLOC_PLUGINS* HWLOC_COMPONENTS HWLOC_XMLFILE
    HWLOC_FSROOT HWLOC_*_DIR HWLOC_*_PATH CUDA_INJECTION* NVTX_INJECTION* CUDA_CACHE_PATH CUDA_HOME CUDA_PATH
    CUDA_ROOT CUDA_*LIB* CUPTI_* NSYS_* CUDNN_* NVSHMEM_* GDRCOPY_* HSA_TOOLS_* HSA_*_LIB* ROCP* ROCTRACER* ROCM_*
    HIP_PATH HIP_*_LIB* ZE_* ZET_* ZES_* OCL_* OPENCL_* SYCL_* ONEAPI_*LIB* *NCCL_*PLUGIN* *NCCL_CONF_FILE *NCCL_*FILE
    *NCCL_*PATH* NCCL_NET RCCL_*PLUGIN* OMP_TOOL* KMP_*LIB* MKLROOT MKL_*LIB* LTTNG_* VALGRIND_* TAU_* SCOREP_*
    DARSHAN_* OPENSSL_* SSL_* MALLOC_CONF ASAN_* UBSAN_* LSAN_* TSAN_* INTEL_* SLURM_* SRUN_* SBATCH_* SALLOC_*
    SPANK_* PBS_* FLUX_* LSB_* LSF_* PALS_* ALPS_* APRUN_* JSM_* SGE_* PE_HOSTFILE COBALT_* CRAY_* PMI_CRAY*
"""
_CODE = tuple(_CODE_NAMES.split())

# What looks like such a variable and makes the library read less than it would.
_READS_NOTHING = {("OMPI_MCA_mca_base_param_files", "none"), (TUNABLES, KEEP_FREED)}


def chooses_code(name: str, value: str) -> bool:
    """Whether a variable that a folder sets may choose what is run here.

    A value with a slash, or one that a shell would expand to a home, names a file: nothing that a setting needs.
    """
    if (name, value) in _READS_NOTHING:
        return False
    return "/" in value or value.startswith(("~", ".")) or _is_one_of(name, _CODE)


# What makes Open MPI read no parameter file. Its launcher reads them as well and hands their lines to the ranks as
# variables, so these are taken out there, too (run.prepare). Seen with Open MPI 5.0.11: `mpirun -n 1 env`, ompi_info.
NO_FILES: Mapping[str, str] = {"OMPI_MCA_mca_base_param_files": "none"}

# Names below these belong to no library but reach how ranks are started.
_STARTS_PREFIXES = ("PMI_", "PMI2_", "SLURM_MPI_", "SLURM_PMIX", "SLURM_PMI")
# Patterns of names that the launcher, the job or the installation needs, or that choose devices.
_STARTS = (
    *("HYDRA_*", "PMI_*", "PMI2_*", "PMIX_*", "PRTE_*", "SLURM_*", "CRAY_*", "I_MPI_HYDRA_*", "I_MPI_PMI*"),
    *("OMPI_COMM_*", "OMPI_UNIVERSE_*", "OMPI_ALLOW_RUN_AS_ROOT*", "OMPI_MCA_plm*", "OMPI_MCA_ess*", "OMPI_MCA_ras*"),
    *("MPICH_ENV_DISPLAY", "MPICH_VERSION_DISPLAY", "GTL_*"),
    *("*_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_MPS_*"),
    "*_VERSION",  # container images state what they hold
)
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

STARTS_RANKS = "it controls how ranks start, or which code and devices they use"
_FILES = "each line of its files is tried instead"
_OF_GPU_COLLECTIVES = ("NCCL_*", "RCCL_*")  # read by NCCL and RCCL alone
_NO_GPU_COLLECTIVES = "Slowpath does not measure collectives of NCCL and RCCL"


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
        setting = self.name if self.value is None else f"{self.name}={self.value}"
        return f"{setting} ({self.where})" if self.file else setting


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
    asks_gpu_collectives: bool = True,
) -> tuple[OwnSetting, ...]:
    """Return all of them, variables by name first, then lines of files in their order.

    Args: needed: names that this MPI needs to start here.  library: name of the MPI; a variable of another one stays
          in, since it can change nothing.  asks_gpu_collectives: whether it may go by NCCL or RCCL.
    """
    without = frozenset(needed)

    def why(name: str) -> str | None:
        idle = None if asks_gpu_collectives or not _is_one_of(name, _OF_GPU_COLLECTIVES) else _NO_GPU_COLLECTIVES
        return _why_left_in(name, without) or of_another(name, library) or idle

    reaching = (*PREFIXES, *BELOW_PREFIXES, *_STARTS_PREFIXES)
    every = sorted((name, value) for name, value in environ.items() if name.startswith(reaching))
    of_environment = [_own(name, value, why(name)) for name, value in every]
    by_name = {setting.name: setting for setting in of_environment}
    lines: list[OwnSetting] = []
    for file in files:
        of_file = _lines(file, by_name)
        by_name |= {setting.name: setting for setting in of_file if setting.name not in by_name}
        lines += of_file
    return (*of_environment, *lines)


def removable(settings: Iterable[OwnSetting]) -> tuple[OwnSetting, ...]:
    """Return the settings that can be taken away."""
    return tuple(setting for setting in settings if setting.left_in is None)


def _own(name: str, value: str, left_in: str | None, file: str | None = None, line: int = 0) -> OwnSetting:
    hidden = why_not(name, value)
    return OwnSetting(name, None if hidden else value, file, line, hidden, left_in)


def _why_left_in(name: str, needed: frozenset[str]) -> str | None:
    if name in needed:
        return "this MPI does not start here without it"
    if name in NO_FILES:
        return _FILES
    of_code = _is_one_of(name, _CODE) and not _is_one_of(name, _MAY_GO)
    return STARTS_RANKS if of_code or _is_one_of(name, _STARTS) else None


def _is_one_of(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


# "btl_sm_eager_limit = 4096", "-mca btl self,sm" is the form of --tune files and not read here.
_LINE = re.compile(r"\s*([A-Za-z_][\w]*)\s*=\s*(.*?)\s*")


def _lines(file: ParameterFile, given: Mapping[str, OwnSetting]) -> list[OwnSetting]:
    """Lines of a file. One that can't be given as a variable instead keeps the whole file in.

    Args: given: what overrides them, by name.
    """
    by_name: dict[str, OwnSetting] = {}
    for number, text in enumerate(file.text.splitlines(), start=1):
        match = None if text.lstrip().startswith("#") else _LINE.fullmatch(text)
        if match is None:
            continue
        bare = match[1].removeprefix(file.prefix)
        name, value = f"{file.prefix}{bare}", match[2].strip("\"'")
        left_in = file.left_in or (f"{given[name].where} overrides it" if name in given else None)
        by_name[name] = _own(name, value, left_in or _why_left_in(name, frozenset()), file.path, number)
    lines = list(by_name.values())
    stuck = next(
        (setting for setting in lines if setting.why_no_value or (setting.left_in and setting.name not in given)), None
    )
    if stuck is None:
        return lines
    why = file.left_in or f"line {stuck.line} of its file has to stay ({stuck.left_in or stuck.why_no_value})"
    return [replace(setting, left_in=setting.left_in or why) for setting in lines]


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


Value = bool | int | float | str | Sequence[int | float] | None

_SWITCHES = ({"0", "no", "false", "off", "n", "f"}, {"1", "yes", "true", "on", "y", "t"})
_MPICH = ("MPIR_CVAR_", "MPIR_PARAM_")  # MPICH's maint/extractcvars.in
# MPICH's other names of variables that MPI_T lists by one; None: read by themselves, and never listed.
# Source: names in libmpi.so.12 of MPICH 5.0.2 less those of its MPI_T.
_MPICH_UNLISTED: Mapping[str, str | None] = {
    "NO_LOCAL": "NOLOCAL",
    **dict.fromkeys(("EVEN_ODD_CLIQUES", "INTERFACE_HOSTNAME", "NETWORK_IFACE", "PORTRANGE", "PORT_RANGE")),
    **dict.fromkeys(("CH4_UCC_ENABLE", "CH4_UCC_ENABLE_DEBUG", "CH4_UCC_VERBOSITY_LEVEL", "NAMEPUB_DIR")),
    **dict.fromkeys(("DEBUG_PROGRESS_TIMEOUT", "ALLTOALL_PAIRWISE_NEW", "ALLTOALLW_PAIRWISE_NEW")),
}
_MPI_T_PREFIX = {"mpich": "MPIR_CVAR_", "openmpi": "OMPI_MCA_"}
# "unused environment variable: UCX_TLZ (maybe: UCX_TLS?)", "unused environment variables: UCX_A; UCX_B" of UCX 1.20.
_UNUSED = re.compile(r"unused environment variables?: (.+)")
_ONE_UNUSED = re.compile(r"(UCX_\w+)(?: \(maybe: ([^)]*)\))?")


def unused_by_ucx(output: str) -> dict[str, str]:
    """Return what UCX says that nothing reads, and what it takes each for; "": it has no guess."""
    unused: dict[str, str] = {}
    for line in _UNUSED.findall(output):
        unused |= {name: (guess or "").rstrip("?") for name, guess in _ONE_UNUSED.findall(line)}
    return unused


def why_ignored(
    setting: OwnSetting, library: str, control_variables: Mapping[str, Value], unused: Mapping[str, str]
) -> str | None:
    """Why the library does not do what the setting says; None: that is not known, or it does.

    Args: library: name of the MPI.  control_variables: MPI_T's names and values under the user's environment; empty:
          not read.  unused: as `unused_by_ucx`.
    """
    if setting.name in unused:
        guess = unused[setting.name]
        return f"ignored: nothing in UCX reads it here{f'; nearest: {guess}' if guess else ''}"
    if other := of_another(setting.name, library):
        return f"ignored: {other}"
    more = _MPI_T_PREFIX["openmpi"] if library == "openmpi" else ""
    known = {f"{more}{name}": value for name, value in control_variables.items()}
    name = _in_mpi_t(setting.name, library)
    if name in known:
        return _read_as(setting.value, known[name])
    if not known or name is None or not _is_complete(name, library, known):
        return None
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return f"ignored: {TITLES[library]} has no such variable{f'; nearest: {near[0]}' if near else ''}"


def _in_mpi_t(name: str, library: str) -> str | None:
    """The setting's name as MPI_T's variables would be set by; None: its prefix has others as well."""
    prefix = _MPI_T_PREFIX.get(library)
    if prefix is None:
        return None
    if library == "mpich":
        bare = next((name.removeprefix(prefix) for prefix in _MPICH if name.startswith(prefix)), None)
        known = None if bare is None else _MPICH_UNLISTED.get(bare, bare)
        return None if known is None else f"{prefix}{known}"
    return name if name.startswith(prefix) else None


def _is_complete(name: str, library: str, known: Iterable[str]) -> bool:
    """Whether all variables next to this one are listed: MPICH's are; Open MPI's are those of opened components."""
    if library == "mpich":
        return True
    component = "_".join(name.split("_")[:4]) + "_"  # OMPI_MCA_btl_sm_
    return name.count("_") > 3 and any(variable.startswith(component) for variable in known)


def _read_as(given: str | None, value: Value) -> str | None:
    """Return where what MPI_T reads back is a number or a switch and another one than was set."""
    if given is None or isinstance(value, (str, type(None), Sequence)):
        return None
    word = given.strip().lower()
    if isinstance(value, bool) or value in (0, 1):
        known = next((index for index, words in enumerate(_SWITCHES) if word in words), None)
        if known is not None:
            return None if known == int(value) else f"not applied: the library reports {value}"
    number = whole_number(given)
    return None if number is None or number == value else f"not applied: the library reports {value}"


LAYER_TITLES: Mapping[Layer, str] = {"ucx": "UCX", "ofi": "libfabric"}
_PREFIXES: Mapping[str, Layer] = {"UCX_": "ucx", "FI_": "ofi"}
# Of what acts whoever carries the messages: logs, statistics, hooks of the allocator, where modules are.
_OTHER_WORK = (
    *("UCX_LOG_*", "UCX_PROTO_INFO", "UCX_WARN_*", "UCX_HANDLE_ERRORS", "UCX_ERROR_*", "UCX_DEBUG_*", "UCX_GDB_*"),
    *("UCX_STATS_*", "UCX_PROFILE_*", "UCX_VFS_*", "UCX_MEM_*", "UCX_MODULE*", "UCX_CONFIG_DIR", "UCX_MEMTRACK_*"),
    *("FI_LOG_*", "FI_HOOK", "FI_PROVIDER_PATH", "FI_PERF_*", "FI_MR_*", "FI_HMEM*"),
)
# What has the library carry its messages by a layer, where it was built with it.
_CHOOSES: Mapping[tuple[str, Layer], str] = {
    ("openmpi", "ucx"): "OMPI_MCA_pml=ucx",
    ("openmpi", "ofi"): "OMPI_MCA_pml=cm and OMPI_MCA_mtl=ofi",
    ("mpich", "ucx"): "MPIR_CVAR_CH4_NETMOD=ucx",
    ("mpich", "ofi"): "MPIR_CVAR_CH4_NETMOD=ofi",
}


def layer_of(name: str) -> Layer | None:
    """Return the layer that a variable is for, as far as it can only change how messages go; None: no such one."""
    if any(fnmatchcase(name, pattern) for pattern in _OTHER_WORK):
        return None
    return next((layer for prefix, layer in _PREFIXES.items() if name.startswith(prefix)), None)


def is_idle(layer: Layer, paths: Sequence[MessagePath]) -> bool:
    """Whether it is known that this layer carries no message: the layer of each path is known, and is another one.

    A provider of libfabric may itself go through UCX (mlx), so below libfabric UCX is not known to be idle.
    """
    if not paths or any(path.layer in (None, layer) for path in paths):
        return False
    return not (layer == "ucx" and any(path.layer == "ofi" for path in paths))


def idle_settings(
    settings: Sequence[OwnSetting], paths: Sequence[MessagePath], blamed: Collection[str] = ()
) -> dict[Layer, list[OwnSetting]]:
    """Return the user's settings that change nothing about messages, by their layer.

    Args: blamed: names of settings that a finding names as what makes something slower; they are left out.
    """
    by_layer: dict[Layer, list[OwnSetting]] = {}
    for setting in settings:
        layer = layer_of(setting.name)
        if layer is not None and setting.name not in blamed and is_idle(layer, paths):
            by_layer.setdefault(layer, []).append(setting)
    return by_layer


def what_chooses(library: str, layer: Layer) -> str | None:
    """Return what to set so that messages go by the layer, `OMPI_MCA_pml=ucx`; None: that is not known."""
    return _CHOOSES.get((library, layer))
