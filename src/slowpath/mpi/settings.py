# SPDX-License-Identifier: Apache-2.0
"""Library-neutral settings -> environment variables, per library and version. Pure.

How "verified" was found out: two ranks on one node exchange ten 16 MiB ping-pongs (335 544 320 bytes) under
`strace -ff -e trace=process_vm_readv,process_vm_writev,sendto,sendmsg,writev,write`; the bytes that these calls
returned are counted. CMA is Linux cross-memory attach: process_vm_readv(2).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from slowpath.mpi.applies import AppliesTo
from slowpath.mpi.tunings import OPEN_MPI_LOGARITHMIC, OPEN_MPI_UNSPLIT_ALLREDUCE

Resolved = tuple[dict[str, str], str | None]


@dataclass(frozen=True)
class Setting:
    """One way to put a library into one state.

    networked: the library refuses to start in this state where no network but the loopback is up.
    of_gpus: it is the same as any other state where there is no GPU's driver.
    slow: messages are slower in it than they could be; False: one of several good ways, or a state to count in.
    """

    name: str
    applies: AppliesTo
    variables: Mapping[str, str]
    does: str
    verified: str
    networked: bool = False
    of_gpus: bool = False
    slow: bool = True


@dataclass(frozen=True)
class Refusal:
    """A state that a library can't be put into, and why."""

    name: str
    applies: AppliesTo
    reason: str


def _gpus(
    state: str, library: str, since: str, value: str, verified: str, more: str = "", transport: str | None = None
) -> Setting:
    """GPU support on or off; value: `VARIABLE=VALUE`."""
    off = "no message asks the GPU's driver about its buffer; no message from GPU memory is possible"
    does = off if state == "off" else f"messages from GPU memory are possible{more}"
    name, _, word = value.partition("=")
    applies = AppliesTo(library, since, transport)
    return Setting(f"gpu_support_{state}", applies, {name: word}, does, verified, of_gpus=True, slow=False)


_PDPOTRF = "not run; on GH200 pdpotrf from host memory took 0.218 s with it and 4.34 s without (CSCS)"
_REFUSED = "MPICH 5 built with CUDA, on H200: a message from GPU memory ends in process_vm_readv failed (errno 14)"
_UCX_GPU = "Open MPI 5.0.11 on UCX 1.22, H100: campaign gpu-support"
_BUILT = " where the library was built for GPUs; the library's default"
_GTL = "; the program has to be linked with the GTL, as CC does where a craype-accel module is loaded"

_WINDOWS = tuple(
    Setting(f"windows_by_{module}", AppliesTo("openmpi", ">=5"), {"OMPI_MCA_osc": module}, does, verified, slow=False)
    for module, does, verified in (
        ("sm", "windows are shared memory", "Open MPI 5.0.11: refuses dynamic windows"),
        ("rdma", "windows go by the BTL's puts and gets", "Open MPI 5.0.11: MPI_Accumulate 56 ns, by sm 16 ns"),
        ("ucx", "windows go by UCX", "Open MPI 5.0.11 without UCX's network: refuses each window"),
    )
)

SETTINGS: tuple[Setting, ...] = (
    _gpus("off", "craympich", ">=8", "MPICH_GPU_SUPPORT_ENABLED=0", _PDPOTRF),
    _gpus("on", "craympich", ">=8", "MPICH_GPU_SUPPORT_ENABLED=1", "not run; CSCS's documentation of it", _GTL),
    _gpus("off", "mpich", ">=4", "MPIR_CVAR_ENABLE_GPU=0", _REFUSED),
    _gpus("on", "mpich", ">=4", "MPIR_CVAR_ENABLE_GPU=1", "MPICH 5 built with CUDA, on H200: they arrive", _BUILT),
    _gpus("off", "openmpi", ">=5", "OMPI_MCA_accelerator=null", "5.0.11: ompi_info names it; not run with a GPU"),
    _gpus("off", "openmpi", ">=4", "UCX_TLS=^cuda", _UCX_GPU, transport="ucx"),
    _gpus("on", "openmpi", ">=4", "UCX_TLS=all", _UCX_GPU, _BUILT, "ucx"),
    Setting(
        "single_copy_off",
        AppliesTo("mpich", ">=4.2"),
        {"MPIR_CVAR_CH4_CMA_ENABLE": "0"},
        "messages inside a node go through shared memory in two copies instead of one CMA copy",
        "MPICH 5.0.2: CMA bytes 335544416 -> 96, no socket bytes",
    ),
    Setting(
        "single_copy_off",
        AppliesTo("openmpi", ">=5"),
        {"OMPI_MCA_smsc": "^cma,xpmem,knem"},
        "messages inside a node go through shared memory in two copies instead of one CMA, XPMEM or KNEM copy",
        "Open MPI 5.0.11: CMA bytes 335544384 -> 64, no socket bytes. The name of version 4 is accepted and ignored.",
    ),
    Setting(
        "single_copy_off",
        AppliesTo("openmpi", ">=2,<5"),
        {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"},
        "messages inside a node go through shared memory in two copies instead of one CMA, XPMEM or KNEM copy",
        "Open MPI 4.1.4: by its bandwidth only",
    ),
    Setting(
        "network_path",
        AppliesTo("mpich", ">=3.4"),
        # Without UCX_TLS, UCX finds that both ranks are on one node and takes shared memory and CMA of its own.
        {"MPIR_CVAR_NO_LOCAL": "1", "UCX_TLS": "^sm"},
        "messages inside a node take the network module, and that module no shared memory: a network card, or TCP",
        "MPICH 5.0.2, ucx netmod, 14 ping-pongs: CMA bytes 469762048 -> 0, socket bytes 473088082",
        networked=True,
    ),
    Setting(
        "network_path",
        AppliesTo("openmpi", ">=2"),
        {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"},
        "messages inside a node take TCP",
        "Open MPI 5.0.11: CMA bytes 335544384 -> 0, socket bytes 335550062",
    ),
    Setting(
        "single_copy_off",
        AppliesTo("openmpi", ">=5", "ucx"),
        {"UCX_TLS": "^cma,xpmem,knem"},
        "messages inside a node go through UCX's shared memory in two copies instead of one CMA, XPMEM or KNEM copy",
        "Open MPI 5.0.11 on UCX 1.22, host memory, 13 ping-pongs: CMA bytes 438304832 -> 64, no socket bytes",
    ),
    Setting(
        "network_path",
        AppliesTo("openmpi", ">=5", "ucx"),
        {"UCX_TLS": "self,tcp,cuda_copy"},
        "messages inside a node take TCP; those from GPU memory are copied to the host first",
        "Open MPI 5.0.11 on UCX 1.22, host memory, 13 ping-pongs: CMA bytes 438304832 -> 64, socket bytes 439437796",
    ),
    Setting(
        "network_path",
        AppliesTo("intelmpi", ">=2019"),
        {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp"},
        "messages inside a node take libfabric's tcp provider",
        "Intel MPI 2021.18.1: socket bytes 335545929, CMA bytes 0",
    ),
    Setting(
        "messages_by_sockets",
        AppliesTo("mpich", ">=3.4"),
        {
            "MPIR_CVAR_NO_LOCAL": "1",
            "UCX_TLS": "tcp,self",
            "FI_PROVIDER": "tcp",
            # A rank that waits sleeps now and then: with more ranks than cores the others get one. Nothing is timed.
            "MPIR_CVAR_CH4_PROGRESS_THROTTLE": "1",
            "MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT": "64",
        },
        "every message, those inside collectives too, goes through TCP, where it can be counted",
        "MPICH 5.0.2, ucx netmod, 2 to 16 ranks: each message of a collective is one write to a socket",
        networked=True,
        slow=False,
    ),
    Setting(
        "messages_by_sockets",
        AppliesTo("openmpi", ">=2"),
        {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"},
        "every message, those inside collectives too, goes through TCP, where it can be counted",
        "Open MPI 5.0.11, 2 to 16 ranks: each message of a collective is one write to a socket",
        slow=False,
    ),
    Setting(
        "logarithmic_by_sockets",
        AppliesTo("openmpi", ">=4"),
        {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp", **OPEN_MPI_LOGARITHMIC},
        "messages_by_sockets, and collectives that are linear in the ranks take their logarithmic algorithms",
        "Open MPI 5.0.11, 8 ranks: rounds of scan 7 -> 3, of exscan 7 -> 3, of barrier at 7 ranks 12 -> 4",
        slow=False,
    ),
    *_WINDOWS,
    Setting(
        "messages_by_sockets",
        AppliesTo("intelmpi", ">=2019"),
        {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp", "I_MPI_COLL_INTRANODE": "pt2pt"},
        "every message, those inside collectives too, goes through TCP, where it can be counted",
        "Intel MPI 2021.18.1, 2 to 16 ranks: each message of a collective is one write to a socket; without the last "
        "variable barriers, broadcasts and reductions send none",
        slow=False,
    ),
    Setting(
        "single_copy_off",
        AppliesTo("craympich", ">=8"),
        {"MPICH_SMP_SINGLE_COPY_MODE": "NONE"},
        "messages inside a node go through shared memory in two copies instead of one XPMEM or CMA copy",
        "not run; WarpX's job scripts for LUMI set it; 8.1.17 prints the variable (MPICH_ENV_DISPLAY=1)",
    ),
    Setting(
        "single_copy_cma",
        AppliesTo("craympich", ">=8"),
        {"MPICH_SMP_SINGLE_COPY_MODE": "CMA"},
        "messages inside a node are copied once, by CMA; its XPMEM is off anyway where GPU support is on",
        "not run; what CSCS's reproducer of slow pinned memory was measured with on GH200",
        slow=False,
    ),
    Setting(
        "single_copy_cma",
        AppliesTo("mpich", ">=4.2"),
        {"MPIR_CVAR_CH4_XPMEM_ENABLE": "0"},
        "messages inside a node are copied once, by CMA, also where the library has XPMEM",
        "MPICH 5.0.2, which has no XPMEM: 7 messages of 4 MiB, 15 calls of process_vm_readv, as without it",
        slow=False,
    ),
    Setting(
        "single_copy_cma",
        AppliesTo("openmpi", ">=5"),
        {"OMPI_MCA_smsc": "cma"},
        "messages inside a node are copied once, by CMA, also where the library has XPMEM or KNEM",
        "Open MPI 5.0.11, which has neither: 7 messages of 4 MiB, 7 calls of process_vm_readv, as without it",
        slow=False,
    ),
    Setting(
        "single_copy_xpmem",
        AppliesTo("craympich", ">=8"),
        # With GPU support on, XPMEM is off, whatever the first variable says (CSCS's reproducer, on GH200).
        {"MPICH_SMP_SINGLE_COPY_MODE": "XPMEM", "MPICH_GPU_SUPPORT_ENABLED": "0"},
        "messages inside a node are copied once, by XPMEM; GPU support excludes it and is off, and with it messages "
        "from GPU memory",
        "not run; what 8.1.17 prints as its default (MPICH_ENV_DISPLAY=1); set with 9.1.0 (OpenSn's scripts)",
        slow=False,
    ),
    Setting(
        "network_path",
        AppliesTo("craympich", ">=8"),
        {"MPICH_NO_LOCAL": "1"},
        "messages inside a node take libfabric and a network card, one for the whole node",
        "not run; on GH200 128 MiB of pinned memory took 5.8 instead of 19 ms with it (CSCS's reproducer), and the "
        "library warns that it is meant for debugging",
    ),
    Setting(
        "single_copy_off",
        AppliesTo("mvapich", ">=2,<3"),
        {"MV2_SMP_USE_CMA": "0", "MV2_SMP_USE_LIMIC2": "0"},
        "messages inside a node go through shared memory in two copies instead of one CMA or LiMIC2 copy",
        "not run; MVAPICH2 user guide",
    ),
    Setting(
        "single_copy_off",
        AppliesTo("mvapich", ">=3"),
        # The second one is MPICH's own shared memory, under which MVAPICH's device is not built.
        {"MVP_SMP_USE_CMA": "0", "MPIR_CVAR_CH4_CMA_ENABLE": "0"},
        "messages inside a node go through shared memory in two copies instead of one CMA copy",
        "not run; control variables in the source of MVAPICH 3.0 and MPICH",
    ),
    Setting(
        "network_path",
        AppliesTo("mvapich", ">=2,<3"),
        {"MV2_USE_SHARED_MEM": "0"},
        "messages inside a node take the network card",
        "not run; MVAPICH2 user guide",
    ),
    Setting(
        "single_copy_off",
        AppliesTo("openmpi", ">=4,<5", "ucx"),
        # Open MPI 4 takes UCX only where it finds a card that it knows, and its own shared memory otherwise.
        {"UCX_TLS": "^cma,xpmem,knem", "OMPI_MCA_btl_vader_single_copy_mechanism": "none"},
        "messages inside a node go through shared memory in two copies instead of one CMA, XPMEM or KNEM copy",
        "HPC-X not run; UCX as above",
    ),
    Setting(
        "network_path",
        AppliesTo("openmpi", ">=4,<5", "ucx"),
        {"UCX_TLS": "^sm", "OMPI_MCA_btl": "^vader"},
        "messages inside a node take the network card, or TCP",
        "HPC-X not run; UCX as above",
    ),
    Setting(
        "collectives_open_later",
        AppliesTo("mpich", ">=4.2"),
        {"MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD": "9"},
        "collectives go through shared memory from the ninth call of a communicator on, not from the fifth",
        "MPICH 5.0.2, MPI_Allreduce of 8 bytes on 2 ranks: the set-up of 45 us is at call 9, not at call 5",
        slow=False,
    ),
    Setting(
        "collectives_never_open",
        AppliesTo("mpich", ">=4.2"),
        {"MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD": "1000000"},
        "collectives do not go through shared memory of their own, which each communicator would have to set up",
        "MPICH 5.0.2, MPI_Allreduce of 8 bytes on 2 ranks: no set-up in 64 calls, which take 1.1 us each, not 0.3 us",
        slow=False,
    ),
    Setting(
        "collective_memory_half",
        AppliesTo("mpich", ">=4.2"),
        {"MPIR_CVAR_COLL_SHM_LIMIT_PER_NODE": "32768"},
        "half as many live communicators as by default have shared memory for collectives",
        "MPICH 5.0.2, 2 ranks: communicators 1 to 328 have it, by default 1 to 655",
        slow=False,
    ),
    Setting(
        "collective_memory_double",
        AppliesTo("mpich", ">=4.2"),
        {"MPIR_CVAR_COLL_SHM_LIMIT_PER_NODE": "131072"},
        "twice as many live communicators as by default have shared memory for collectives",
        "MPICH 5.0.2, 2 ranks: all of 750 communicators have it, by default 1 to 655",
        slow=False,
    ),
    Setting(
        "yield_when_idle",
        AppliesTo("openmpi", ">=2"),
        {"OMPI_MCA_mpi_yield_when_idle": "1"},
        "ranks that wait call sched_yield",
        "Open MPI 5.0.11, two ranks on one core, MPI_Allreduce of 8 bytes: 4000 us -> 1.8 us",
        slow=False,
    ),
    Setting(
        "yield_when_idle",
        AppliesTo("intelmpi", ">=2019"),
        {"I_MPI_WAIT_MODE": "1"},
        "ranks that wait sleep until a message comes",
        "Intel MPI 2021.18.1, two ranks on one core, MPI_Allreduce of 8 bytes: 8000 us -> 3.5 us",
        slow=False,
    ),
    Setting(
        "yield_when_idle",
        AppliesTo("mpich", ">=4.2"),
        {"MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD": "1000000"},
        "collectives wait in the library's progress, which yields, and not in their shared memory, which spins",
        "MPICH 5.0.2, two ranks on one core, MPI_Allreduce of 8 bytes: 5300 us -> 24 us",
        slow=False,
    ),
    Setting(
        "allreduce_algorithm_without_splitting",
        AppliesTo("openmpi", ">=5"),
        OPEN_MPI_UNSPLIT_ALLREDUCE,
        "MPI_Allreduce is a reduce and a broadcast, which split messages by bytes and not by elements",
        "Open MPI 5.0.11, 2 ranks, 64 KiB: one element 42.9 us -> 22.7 us, many elements 17.9 us -> 22.7 us",
        slow=False,
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "logarithmic_by_sockets",
        AppliesTo("mpich"),
        "short collectives of this library were not seen to be linear in the ranks, so no algorithm is forced",
    ),
    Refusal(
        "logarithmic_by_sockets",
        AppliesTo("intelmpi"),
        "short collectives of this library were not seen to be linear in the ranks, so no algorithm is forced",
    ),
    Refusal(
        "single_copy_off",
        AppliesTo("intelmpi"),
        # Intel MPI 2021.18.1 by default: 16 bytes by CMA (a probe), no socket bytes; I_MPI_SHM_CMA=1 changes nothing.
        "Intel MPI already uses two copies through shared memory inside a node, so there is no single copy",
    ),
)

NAMES = tuple(dict.fromkeys(setting.name for setting in SETTINGS))


def resolve(
    name: str,
    library: str,
    version: str | None,
    transport: str | None = None,
    network: bool = True,
    gpus: bool = True,
) -> Resolved:
    """Variables that put `library` into the state `name`, and None; or no variables and why there are none.

    network: whether a network other than the loopback is up (mpi.network).  gpus: whether a GPU's driver is there.
    """
    if name not in NAMES:
        return {}, f"unknown setting {name}; known are {', '.join(NAMES)}"
    for refusal in REFUSALS:
        if refusal.name == name and refusal.applies.fits(library, version, transport):
            return {}, refusal.reason
    rows = [row for row in SETTINGS if row.name == name and row.applies.is_for(library, transport)]
    if not rows:
        return {}, f"no way is known to put {_named(library, version)} into the state {name}"
    for row in rows:
        if row.applies.holds(version):
            if row.networked and not network:
                return (
                    {},
                    f"{_named(library, version)} starts in this state only with a network that is up; this node "
                    "has only lo",
                )
            if row.of_gpus and not gpus:
                return {}, "this node has no GPU driver, so GPU support changes nothing"
            return dict(row.variables), None
    ranges = ", ".join(row.applies.range_text for row in rows)
    return {}, f"no way is known to put {_named(library, version)} into the state {name}; known for {ranges}"


def resolver(
    library: str, version: str | None, transport: str | None = None, network: bool = True, gpus: bool = True
) -> Callable[[str], Resolved]:
    """`resolve` for one library, as the planner wants it."""
    return lambda name: resolve(name, library, version, transport, network, gpus)


def _named(library: str, version: str | None) -> str:
    return f"{library} {version or 'of unknown version'}"
