# SPDX-License-Identifier: Apache-2.0
"""Environment variables that make a launcher, a rank or a library load or start something. Pure.

A plan may come from anybody. Variables in it that choose what is loaded or started are taken from a campaign file that
the user names, never from a folder (slowpath.run.trust). The table is no complete list, and can't be one; so a value
that names a file or folder is refused as well, whatever the variable is called.

Sources "in X" state the version in whose program or library the name was read (strings(1), ompi_info --all).
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

# What the C library is asked to do with memory that MPI libraries take and free.

TUNABLES = "GLIBC_TUNABLES"
# malloc takes no mapping of its own for long blocks, and gives nothing back to the system.
KEEP_FREED = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=18446744073709551615"


@dataclass(frozen=True)
class CodeVariables:
    """Variables of one reader that choose code. names: * stands for any letters.  source: who states it."""

    reader: str
    names: tuple[str, ...]
    does: str
    source: str


CODE_VARIABLES: tuple[CodeVariables, ...] = (
    CodeVariables(
        "the dynamic linker",
        ("LD_*", "GLIBC_TUNABLES"),
        "loads libraries from the places in its value, or searches them",
        "ld.so(8)",
    ),
    CodeVariables(
        "the C library",
        (
            *("GCONV_PATH", "LOCPATH", "NLSPATH", "GETCONF_DIR", "HOSTALIASES", "LOCALDOMAIN", "NIS_PATH"),
            *("RESOLV_HOST_CONF", "RES_OPTIONS", "MALLOC_TRACE", "TZDIR", "TMPDIR"),
        ),
        "loads modules or reads and writes files there",
        "glibc: what set-user-ID programs drop, sysdeps/generic/unsecvars.h; iconv(1), GCONV_PATH",
    ),
    CodeVariables(
        "shells and interpreters",
        (
            *("PATH", "HOME", "SHELL", "ENV", "BASH_ENV", "BASH_FUNC_*", "BASHOPTS", "SHELLOPTS", "IFS", "PS4"),
            *("PROMPT_COMMAND", "CDPATH", "PYTHON*", "PERL*", "RUBY*", "NODE_OPTIONS", "TCL*", "JAVA_TOOL_OPTIONS"),
            "XDG_*",
        ),
        "chooses the programs and settings of processes that launchers start",
        "bash(1); python(1); perlrun(1); Open MPI reads $HOME/.openmpi/mca-params.conf",
    ),
    CodeVariables(
        "ssh and rsh",
        ("SSH_*", "RSH*", "GIT_*", "DISPLAY"),
        "chooses what a remote shell starts",
        "ssh(1), ENVIRONMENT",
    ),
    CodeVariables(
        "Slowpath",
        (
            *("SLOWPATH_MPI", "SLOWPATH_ENGINE", "SLOWPATH_CACHE_DIR", "SLOWPATH_DATA_DIR", "SLOWPATH_JOB"),
            *("SLOWPATH_*_DRIVER", "SLOWPATH_PAD_REPORT"),
        ),
        "chooses engines and drivers",
        "docs/reference/launching.md; engine/memory/cuda_driver.cpp, hip_driver.cpp",
    ),
    CodeVariables(
        "Hydra, the launcher of MPICH and MVAPICH",
        ("HYDRA_*", "MPIEXEC_*", "PMI_*", "PMI2_*", "MV2_MPIRUN*", "MV2_CKPT*"),
        "starts the programs that it names (HYDRA_LAUNCHER_EXEC, HYDRA_RMK, HYDRA_USE_VALGRIND)",
        "in mpiexec.hydra of MPICH 5.0.2",
    ),
    CodeVariables(
        "MPICH and Cray MPICH",
        ("*QMPI_TOOL_LIST", "*_JSON_FILE", "*NAMESERV_FILE_PUBDIR", "*NAMEPUB_DIR", "*COORDINATES_FILE", "*_DUMP"),
        "attaches tools, or reads and writes files there",
        "in libmpi of MPICH 5.0.2",
    ),
    CodeVariables(
        "Intel MPI",
        (
            *("I_MPI_HYDRA_*", "I_MPI_GTOOL*", "I_MPI_*LIBRARY*", "I_MPI_*LIB", "I_MPI_JOB_*_LIBS", "I_MPI_*ROOT*"),
            *(
                "I_MPI_*PATH",
                "I_MPI_*_DIR",
                "I_MPI_*DIRECTORY",
                "I_MPI_*_FILE",
                "I_MPI_*LOGFILE",
                "I_MPI_*PREFIX*",
                "I_MPI_*PROFILE",
            ),
            *("I_MPI_PTRACER", "I_MPI_EXTRA_FILESYSTEM*", "I_MPI_*TOPOLIB", "I_MPI_SUBSTITUTE_INSTALLDIR", "VT_*"),
        ),
        "starts programs around ranks (I_MPI_GTOOL), or loads libraries (I_MPI_OFI_LIBRARY)",
        "in libmpi and mpiexec.hydra of Intel MPI 2021.18; Intel MPI Developer Reference",
    ),
    CodeVariables(
        "Open MPI and Spectrum MPI",
        (
            *("OPAL_*", "OMPI_*_path*", "OMPI_*path", "OMPI_*file*", "OMPI_*_dir", "OMPI_*directory*", "OMPI_*prefix*"),
            *("OMPI_*env_list*", "OMPI_*envar*", "OMPI_*agent*", "OMPI_*launch*", "OMPI_*_rsh_*", "OMPI_*_ssh_*"),
            *("OMPI_MCA_plm*", "OMPI_MCA_orte*", "OMPI_MCA_ess*", "OMPI_MCA_schizo*", "OMPI_MCA_crs*", "OMPI_MCA_dl*"),
            *("OMPI_MCA_filem*", "OMPI_MCA_hook*", "OMPI_CC", "OMPI_CXX", "OMPI_FC", "OMPI_*FLAGS", "OMPI_LIBS"),
            *("MPI_ROOT", "PAMI_*"),
        ),
        "loads components from there, starts a remote shell, or sets further variables (mca_base_env_list)",
        "ompi_info --all of Open MPI 5.0.11; of version 4 orte_fork_agent and plm_rsh_agent",
    ),
    CodeVariables(
        "PRRTE and PMIx",
        ("PRTE_*", "PMIX_*"),
        "loads components from there, or starts what prte_fork_agent and plm_ssh_agent name",
        "in libpmix 4.2 (PMIX_PREFIX and the other folders); PRRTE has no parameter that a measurement needs",
    ),
    CodeVariables(
        "ParaStation and Fujitsu MPI",
        ("PSP_PLUGINDIR", "PSI_*", "PLE_*", "FLIB_*"),
        "loads plug-ins from there, or steers the launcher",
        "pscom's source, ENV_PLUGINDIR; the rest is the launchers' own, not read one by one",
    ),
    CodeVariables(
        "UCX, UCC, HCOLL and SHARP",
        (
            *("UCX_MODULE*", "UCX_CONFIG*", "UCX_GDB_COMMAND", "UCX_ERROR_MAIL*", "UCX_*FILE*", "UCX_*_DEST"),
            *("UCX_DLOPEN*", "UCX_VFS*", "UCC_COMPONENT*", "UCC_CONFIG*", "UCC_*FILE*", "HCOLL_*", "HPCX_*", "OCOMS_*"),
            "SHARP_*",
        ),
        "loads modules from there, or starts a program (UCX_GDB_COMMAND)",
        "in libucs of MPICH 5.0.2's package; UCC's own error message names UCC_COMPONENT_PATH",
    ),
    CodeVariables(
        "libfabric, libibverbs and hwloc",
        (
            *("FI_PROVIDER_PATH", "FI_HOOK*", "FI_*_PATH", "IBV_*", "RDMAV_*", "MLX*_*", "HWLOC_PLUGINS*"),
            *("HWLOC_COMPONENTS", "HWLOC_XMLFILE", "HWLOC_FSROOT", "HWLOC_*_DIR", "HWLOC_*_PATH"),
        ),
        "loads providers or plug-ins from there",
        "fabric(7), FI_PROVIDER_PATH; in libhwloc 2.9",
    ),
    CodeVariables(
        "the GPU's runtime",
        (
            *("CUDA_INJECTION*", "NVTX_INJECTION*", "CUDA_CACHE_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"),
            *("CUDA_*LIB*", "CUPTI_*", "NSYS_*", "CUDNN_*", "NVSHMEM_*", "GDRCOPY_*"),
            *("HSA_TOOLS_*", "HSA_*_LIB*", "ROCP*", "ROCTRACER*", "ROCM_*", "HIP_PATH", "HIP_*_LIB*"),
            *("ZE_*", "ZET_*", "ZES_*", "OCL_*", "OPENCL_*", "SYCL_*", "ONEAPI_*LIB*"),
        ),
        "loads tools or drivers from there",
        "CUPTI's documentation, CUDA_INJECTION64_PATH; ROCprofiler-SDK's, ROCP_TOOL_LIBRARIES; Level Zero's loader",
    ),
    CodeVariables(
        "NCCL and RCCL",
        ("*NCCL_*PLUGIN*", "*NCCL_CONF_FILE", "*NCCL_*FILE", "*NCCL_*PATH*", "NCCL_NET", "RCCL_*PLUGIN*"),
        "loads plug-ins",
        "NCCL's documentation, NCCL_NET_PLUGIN and NCCL_TUNER_PLUGIN",
    ),
    CodeVariables(
        "OpenMP, BLAS and profilers",
        (
            *("OMP_TOOL*", "KMP_*LIB*", "MKLROOT", "MKL_*LIB*", "LTTNG_*", "VALGRIND_*", "TAU_*", "SCOREP_*"),
            *("DARSHAN_*", "OPENSSL_*", "SSL_*", "MALLOC_CONF", "ASAN_*", "UBSAN_*", "LSAN_*", "TSAN_*", "INTEL_*"),
        ),
        "loads tools, or reads and writes files there",
        "OpenMP 5.2 section 21.3.2, OMP_TOOL_LIBRARIES; each tool's manual",
    ),
    CodeVariables(
        "batch systems and their launchers",
        (
            *("SLURM_*", "SRUN_*", "SBATCH_*", "SALLOC_*", "SPANK_*", "PBS_*", "FLUX_*", "LSB_*", "LSF_*"),
            *("PALS_*", "ALPS_*", "APRUN_*", "JSM_*", "SGE_*", "PE_HOSTFILE", "COBALT_*", "CRAY_*", "PMI_CRAY*"),
        ),
        "starts the programs that it names (SLURM_TASK_PROLOG), or changes the job",
        "srun(1), INPUT ENVIRONMENT VARIABLES; flux-environment(7)",
    ),
)


def reader_of(name: str) -> CodeVariables | None:
    """Return who takes code from the variable of this name; None: nobody who is known."""
    return next((row for row in CODE_VARIABLES if any(fnmatchcase(name, pattern) for pattern in row.names)), None)


# What looks like such a variable and makes the library read less than it would.
_READS_NOTHING = {("OMPI_MCA_mca_base_param_files", "none"), (TUNABLES, KEEP_FREED)}


def why_code(name: str, value: str) -> str | None:
    """Why a variable that a folder sets may choose what is run here; None: it is not known to.

    A value with a slash, or one that a shell would expand to a home, names a file: nothing that a setting needs.
    """
    if (name, value) in _READS_NOTHING:
        return None
    if (row := reader_of(name)) is not None:
        return f"{row.reader} {row.does}"
    if "/" in value or value.startswith(("~", ".")):
        return "it names a file or folder"
    return None
