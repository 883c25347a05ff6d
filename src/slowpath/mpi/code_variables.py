# SPDX-License-Identifier: Apache-2.0
"""Environment variables that make a launcher, a rank or a library load or start something. Pure.

A plan may come from anybody. Variables in it that choose what is loaded or started are taken from a campaign file that
the user names, never from a folder (slowpath.run.trust). The table is no complete list, and can't be one; so a value
that names a file or folder is refused as well, whatever the variable is called.

Names are from the manuals of their readers, and from the programs of MPICH 5.0.2, Open MPI 5.0.11, Intel MPI 2021.18
(strings(1), ompi_info --all).
"""

from __future__ import annotations

from fnmatch import fnmatchcase

# What the C library is asked to do with memory that MPI libraries take and free.

TUNABLES = "GLIBC_TUNABLES"
# malloc takes no mapping of its own for long blocks, and gives nothing back to the system.
KEEP_FREED = "glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=18446744073709551615"

# Who reads the variables and what it does -> their names, with * for any letters.
CODE_VARIABLES: dict[str, str] = {
    "the dynamic linker loads libraries from the places in its value, or searches them": "LD_* GLIBC_TUNABLES",
    "the C library loads modules or reads and writes files there": """
        GCONV_PATH LOCPATH NLSPATH GETCONF_DIR HOSTALIASES LOCALDOMAIN NIS_PATH RESOLV_HOST_CONF RES_OPTIONS
        MALLOC_TRACE TZDIR TMPDIR
    """,
    "shells and interpreters choose the programs and settings of processes that launchers start": """
        PATH HOME SHELL ENV BASH_ENV BASH_FUNC_* BASHOPTS SHELLOPTS IFS PS4 PROMPT_COMMAND CDPATH PYTHON* PERL* RUBY*
        NODE_OPTIONS TCL* JAVA_TOOL_OPTIONS XDG_*
    """,
    "ssh and rsh choose what a remote shell starts": "SSH_* RSH* GIT_* DISPLAY",
    "Slowpath chooses engines and drivers": """
        SLOWPATH_MPI SLOWPATH_ENGINE SLOWPATH_CACHE_DIR SLOWPATH_DATA_DIR SLOWPATH_JOB SLOWPATH_*_DRIVER
        SLOWPATH_PAD_REPORT
    """,
    "Hydra, the launcher of MPICH and MVAPICH, starts the programs that it names (HYDRA_LAUNCHER_EXEC)": """
        HYDRA_* MPIEXEC_* PMI_* PMI2_* MV2_MPIRUN* MV2_CKPT*
    """,
    "MPICH and Cray MPICH attach tools, or read and write files there": """
        *QMPI_TOOL_LIST *_JSON_FILE *NAMESERV_FILE_PUBDIR *NAMEPUB_DIR *COORDINATES_FILE *_DUMP
    """,
    "Intel MPI starts programs around ranks (I_MPI_GTOOL), or loads libraries (I_MPI_OFI_LIBRARY)": """
        I_MPI_HYDRA_* I_MPI_GTOOL* I_MPI_*LIBRARY* I_MPI_*LIB I_MPI_JOB_*_LIBS I_MPI_*ROOT* I_MPI_*PATH I_MPI_*_DIR
        I_MPI_*DIRECTORY I_MPI_*_FILE I_MPI_*LOGFILE I_MPI_*PREFIX* I_MPI_*PROFILE I_MPI_PTRACER I_MPI_EXTRA_FILESYSTEM*
        I_MPI_*TOPOLIB I_MPI_SUBSTITUTE_INSTALLDIR VT_*
    """,
    "Open MPI loads components from there, starts a remote shell, or sets further variables": """
        OPAL_* OMPI_*_path* OMPI_*path OMPI_*file* OMPI_*_dir OMPI_*directory* OMPI_*prefix* OMPI_*env_list*
        OMPI_*envar* OMPI_*agent* OMPI_*launch* OMPI_*_rsh_* OMPI_*_ssh_* OMPI_MCA_plm* OMPI_MCA_orte* OMPI_MCA_ess*
        OMPI_MCA_schizo* OMPI_MCA_crs* OMPI_MCA_dl* OMPI_MCA_filem* OMPI_MCA_hook* OMPI_CC OMPI_CXX OMPI_FC OMPI_*FLAGS
        OMPI_LIBS MPI_ROOT PAMI_*
    """,
    "PRRTE and PMIx load components from there, or start what prte_fork_agent and plm_ssh_agent name": """
        PRTE_* PMIX_*
    """,
    "ParaStation and Fujitsu MPI load plug-ins from there, or steer the launcher": "PSP_PLUGINDIR PSI_* PLE_* FLIB_*",
    "UCX, UCC, HCOLL and SHARP load modules from there, or start a program (UCX_GDB_COMMAND)": """
        UCX_MODULE* UCX_CONFIG* UCX_GDB_COMMAND UCX_ERROR_MAIL* UCX_*FILE* UCX_*_DEST UCX_DLOPEN* UCX_VFS*
        UCC_COMPONENT* UCC_CONFIG* UCC_*FILE* HCOLL_* HPCX_* OCOMS_* SHARP_*
    """,
    "libfabric, libibverbs and hwloc load providers or plug-ins from there": """
        FI_PROVIDER_PATH FI_HOOK* FI_*_PATH IBV_* RDMAV_* MLX*_* HWLOC_PLUGINS* HWLOC_COMPONENTS HWLOC_XMLFILE
        HWLOC_FSROOT HWLOC_*_DIR HWLOC_*_PATH
    """,
    "the GPU's runtime loads tools or drivers from there": """
        CUDA_INJECTION* NVTX_INJECTION* CUDA_CACHE_PATH CUDA_HOME CUDA_PATH CUDA_ROOT CUDA_*LIB* CUPTI_* NSYS_* CUDNN_*
        NVSHMEM_* GDRCOPY_* HSA_TOOLS_* HSA_*_LIB* ROCP* ROCTRACER* ROCM_* HIP_PATH HIP_*_LIB* ZE_* ZET_* ZES_* OCL_*
        OPENCL_* SYCL_* ONEAPI_*LIB*
    """,
    "NCCL and RCCL load plug-ins": "*NCCL_*PLUGIN* *NCCL_CONF_FILE *NCCL_*FILE *NCCL_*PATH* NCCL_NET RCCL_*PLUGIN*",
    "OpenMP, BLAS and profilers load tools, or read and write files there": """
        OMP_TOOL* KMP_*LIB* MKLROOT MKL_*LIB* LTTNG_* VALGRIND_* TAU_* SCOREP_* DARSHAN_* OPENSSL_* SSL_* MALLOC_CONF
        ASAN_* UBSAN_* LSAN_* TSAN_* INTEL_*
    """,
    "batch systems and their launchers start the programs that they name (SLURM_TASK_PROLOG), or change the job": """
        SLURM_* SRUN_* SBATCH_* SALLOC_* SPANK_* PBS_* FLUX_* LSB_* LSF_* PALS_* ALPS_* APRUN_* JSM_* SGE_* PE_HOSTFILE
        COBALT_* CRAY_* PMI_CRAY*
    """,
}


def reader_of(name: str) -> str | None:
    """Return who takes code from the variable of this name, and what it does; None: nobody who is known."""
    return next(
        (does for does, names in CODE_VARIABLES.items() if any(fnmatchcase(name, one) for one in names.split())), None
    )


# What looks like such a variable and makes the library read less than it would.
_READS_NOTHING = {("OMPI_MCA_mca_base_param_files", "none"), (TUNABLES, KEEP_FREED)}


def why_code(name: str, value: str) -> str | None:
    """Why a variable that a folder sets may choose what is run here; None: it is not known to.

    A value with a slash, or one that a shell would expand to a home, names a file: nothing that a setting needs.
    """
    if (name, value) in _READS_NOTHING:
        return None
    names_file = "/" in value or value.startswith(("~", "."))
    return reader_of(name) or ("it names a file or folder" if names_file else None)
