# SPDX-License-Identifier: Apache-2.0
"""Library-neutral settings -> environment variables, per library and version. Pure.

How "verified" was found out: two ranks on one node exchange ten 16 MiB ping-pongs (335 544 320 bytes) under
`strace -ff -e trace=process_vm_readv,process_vm_writev,sendto,sendmsg,writev,write`; the bytes that these calls
returned are counted. CMA is Linux cross-memory attach: process_vm_readv(2).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

Resolved = tuple[dict[str, str], str | None]


@dataclass(frozen=True)
class Setting:
    """One way to put one library into one state. It holds for versions in [first, below).

    transport: holds only where all messages go through it (Mpi.transport); None: only where the library goes its own
    way.  networked: the library refuses to start in this state where no network but the loopback is up.
    """

    name: str
    library: str
    variables: Mapping[str, str]
    does: str
    verified: str
    first: tuple[int, ...] = (0,)
    below: tuple[int, ...] | None = None
    transport: str | None = None
    networked: bool = False


@dataclass(frozen=True)
class Refusal:
    """A state that a library can't be put into, and why."""

    name: str
    library: str
    reason: str
    first: tuple[int, ...] = (0,)
    below: tuple[int, ...] | None = None
    transport: str | None = None


SETTINGS: tuple[Setting, ...] = (
    Setting(
        "single_copy_off",
        "mpich",
        {"MPIR_CVAR_CH4_CMA_ENABLE": "0"},
        "messages inside a node go through shared memory in two copies instead of one CMA copy",
        "MPICH 5.0.2: CMA bytes 335544416 -> 96, no socket bytes",
        first=(4, 2),
    ),
    Setting(
        "single_copy_off",
        "openmpi",
        {"OMPI_MCA_smsc": "^cma,xpmem,knem"},
        "messages inside a node go through shared memory in two copies instead of one CMA, XPMEM or KNEM copy",
        "Open MPI 5.0.11: CMA bytes 335544384 -> 64, no socket bytes. The name of version 4 is accepted and ignored.",
        first=(5,),
    ),
    Setting(
        "single_copy_off",
        "openmpi",
        {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"},
        "messages inside a node go through shared memory in two copies instead of one CMA, XPMEM or KNEM copy",
        "Open MPI 4.1.4: by its bandwidth only",
        first=(2,),
        below=(5,),
    ),
    Setting(
        "network_path",
        "mpich",
        # Without UCX_TLS, UCX finds that both ranks are on one node and takes shared memory and CMA of its own.
        {"MPIR_CVAR_NO_LOCAL": "1", "UCX_TLS": "^sm"},
        "messages inside a node take the network module, and that module no shared memory: a network card, or TCP",
        "MPICH 5.0.2, ucx netmod, 14 ping-pongs: CMA bytes 469762048 -> 0, socket bytes 473088082",
        first=(3, 4),
        networked=True,
    ),
    Setting(
        "network_path",
        "openmpi",
        {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"},
        "messages inside a node take TCP",
        "Open MPI 5.0.11: CMA bytes 335544384 -> 0, socket bytes 335550062",
        first=(2,),
    ),
    Setting(
        "single_copy_off",
        "openmpi",
        {"UCX_TLS": "^cma,xpmem,knem"},
        "messages inside a node go through UCX's shared memory in two copies instead of one CMA, XPMEM or KNEM copy",
        "Open MPI 5.0.11 on UCX 1.22, host memory, 13 ping-pongs: CMA bytes 438304832 -> 64, no socket bytes",
        first=(5,),
        transport="ucx",
    ),
    Setting(
        "network_path",
        "openmpi",
        {"UCX_TLS": "self,tcp,cuda_copy"},
        "messages inside a node take TCP; those from GPU memory are copied to the host first",
        "Open MPI 5.0.11 on UCX 1.22, host memory, 13 ping-pongs: CMA bytes 438304832 -> 64, socket bytes 439437796",
        first=(5,),
        transport="ucx",
    ),
    Setting(
        "network_path",
        "intelmpi",
        {"I_MPI_FABRICS": "ofi", "FI_PROVIDER": "tcp"},
        "messages inside a node take libfabric's tcp provider",
        "Intel MPI 2021.18.1: socket bytes 335545929, CMA bytes 0",
        first=(2019,),
    ),
)

REFUSALS: tuple[Refusal, ...] = (
    Refusal(
        "single_copy_off",
        "intelmpi",
        # Intel MPI 2021.18.1 by default: 16 bytes by CMA (a probe), no socket bytes; I_MPI_SHM_CMA=1 changes nothing.
        "Intel MPI moves messages inside a node through shared memory in two copies by default, so there is "
        "no single copy to switch off",
    ),
)

NAMES = tuple(dict.fromkeys(setting.name for setting in SETTINGS))


def version_tuple(version: str | None) -> tuple[int, ...] | None:
    """ "5.0.2rc1" -> (5, 0, 2); None if it does not begin with a number."""
    found = re.match(r"\d+(?:\.\d+)*", version or "")
    return tuple(int(part) for part in found.group().split(".")) if found else None


def resolve(
    name: str, library: str, version: str | None, transport: str | None = None, network: bool = True
) -> Resolved:
    """Variables that put `library` into the state `name`, and None; or no variables and why there are none.

    network: whether a network other than the loopback is up (launch.network).
    """
    if name not in NAMES:
        return {}, f"unknown setting {name}; known are {', '.join(NAMES)}"
    number = version_tuple(version)
    for refusal in REFUSALS:
        if _is_for(refusal, name, library, transport) and _holds(number, refusal.first, refusal.below):
            return {}, refusal.reason
    rows = [row for row in SETTINGS if _is_for(row, name, library, transport)]
    if not rows:
        return {}, f"no way is known to put {_named(library, version)} into the state {name}"
    for row in rows:
        if _holds(number, row.first, row.below):
            if row.networked and not network:
                return (
                    {},
                    f"{_named(library, version)} starts in this state only where a network is up; here is lo",
                )
            return dict(row.variables), None
    return (
        {},
        f"no way is known to put {_named(library, version)} into the state {name}; known for {_ranges(rows)}",
    )


def resolver(
    library: str, version: str | None, transport: str | None = None, network: bool = True
) -> Callable[[str], Resolved]:
    """`resolve` for one library, as the planner wants it."""
    return lambda name: resolve(name, library, version, transport, network)


def _is_for(row: Setting | Refusal, name: str, library: str, transport: str | None) -> bool:
    return (row.name, row.library, row.transport) == (name, library, transport)


def _holds(number: tuple[int, ...] | None, first: tuple[int, ...], below: tuple[int, ...] | None) -> bool:
    return number is not None and number >= first and (below is None or number < below)


def _named(library: str, version: str | None) -> str:
    return f"{library} {version or 'of unknown version'}"


def _ranges(rows: list[Setting]) -> str:
    def text(number: tuple[int, ...]) -> str:
        return ".".join(map(str, number))

    return ", ".join(
        f"{row.library} from {text(row.first)}" + (f" below {text(row.below)}" if row.below else "") for row in rows
    )
