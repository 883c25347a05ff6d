# SPDX-License-Identifier: Apache-2.0
"""All alternatives, and those that may change something in a job. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from slowpath.mpi.alternatives.alternative import (
    ANY_JOB,
    DEVICE,
    EVERY_CALL,
    GPU,
    INSIDE,
    NODES,
    ONE_NODE,
    Alternative,
    Operation,
    PlaceFacts,
    Where,
)
from slowpath.mpi.alternatives.cray_mpich import CRAY_MPICH
from slowpath.mpi.alternatives.intel_mpi import INTEL_MPI
from slowpath.mpi.alternatives.mpich import MPICH
from slowpath.mpi.alternatives.open_mpi import OPEN_MPI
from slowpath.mpi.applies import AppliesTo

_UCX = "https://openucx.readthedocs.io/en/master/faq.html"
_FABRIC = "https://ofiwg.github.io/libfabric/main/man/fabric.7.html"
_PROTOCOLS = "UCX_PROTO_INFO=y prints the protocol and transport of each length"
_LONG: tuple[Operation, ...] = ("long messages", "one-sided")
_BETWEEN: tuple[Operation, ...] = ("messages between nodes",)
_BY_UCX = AppliesTo(None, "", "ucx")


def _ucx(
    name: str,
    variables: dict[str, str],
    does: str,
    operations: tuple[Operation, ...] = EVERY_CALL,
    where: Where = ANY_JOB,
) -> Alternative:
    variables = {f"UCX_{key}": value for key, value in variables.items()}
    return Alternative(f"ucx {name}", _BY_UCX, variables, does, operations, where, _PROTOCOLS, _UCX, known="documented")


UCX: tuple[Alternative, ...] = (
    _ucx("shm", {"TLS": "self,sm"}, "messages take shared memory and no NIC; one node", where=ONE_NODE),
    _ucx("posix and cma", {"TLS": "self,posix,cma"}, "shared memory of shm_open, and CMA", where=ONE_NODE),
    _ucx("sysv and cma", {"TLS": "self,sysv,cma"}, "shared memory of shmget, and CMA", where=ONE_NODE),
    _ucx("without cma", {"TLS": "^cma"}, "no message inside a node is copied by CMA", _LONG, ONE_NODE),
    _ucx("without xpmem", {"TLS": "^xpmem"}, "no message inside a node is copied by XPMEM", _LONG, ONE_NODE),
    _ucx("tcp", {"TLS": "self,sm,tcp"}, "messages between nodes take TCP", _BETWEEN, NODES),
    _ucx("one rail", {"MAX_RNDV_RAILS": "1"}, "a long message takes one NIC or path", _LONG),
    _ucx("two rails", {"MAX_RNDV_RAILS": "2"}, "a long message takes two NICs or paths", _LONG),
    _ucx("one eager rail", {"MAX_EAGER_RAILS": "1"}, "an eager message takes one NIC", INSIDE),
    _ucx(f"device {DEVICE}", {"NET_DEVICES": DEVICE}, "one network device carries all messages", _BETWEEN, NODES),
    _ucx("protocols v1", {"PROTO_ENABLE": "n"}, "protocols are chosen by thresholds"),
    _ucx("protocols v2", {"PROTO_ENABLE": "y"}, "protocols are chosen by a model of their cost"),
    _ucx("memory types not kept", {"MEMTYPE_CACHE": "n"}, "each message asks the GPU's driver about its buffer"),
    _ucx("memory types kept", {"MEMTYPE_CACHE": "y"}, "what the GPU's driver says of a buffer is kept"),
    _ucx("rendezvous by get", {"RNDV_SCHEME": "get_zcopy"}, "the receiver reads long messages", _LONG),
    _ucx("rendezvous by put", {"RNDV_SCHEME": "put_zcopy"}, "the sender writes long messages", _LONG),
    _ucx("rendezvous from 64 KiB", {"RNDV_THRESH": "65536"}, "messages up to 64 KiB are eager", INSIDE),
    _ucx("rendezvous from 8 KiB", {"RNDV_THRESH": "8192"}, "messages from 8 KiB on go by rendezvous", INSIDE),
    _ucx(
        "GPU handles not kept",
        {"CUDA_IPC_CACHE": "n"},
        "mappings of GPU memory are made anew for each message",
        ("GPU memory",),
        GPU,
    ),
    _ucx(
        "registrations not kept",
        {"RCACHE_ENABLE": "n"},
        "memory is registered anew for each long message",
        _LONG,
    ),
)

LIBFABRIC: tuple[Alternative, ...] = tuple(
    Alternative(
        name=f"{title} provider {provider}",
        applies=applies,
        variables={**variables, "FI_PROVIDER": provider},
        does=f"messages between nodes go by libfabric's provider {provider}",
        operations=_BETWEEN,
        where=NODES,
        seen="FI_LOG_LEVEL=info prints the provider that was opened",
        source=_FABRIC,
        needs=needs,
        known="documented",
    )
    for title, applies, variables, needs in (
        ("ofi", AppliesTo("mpich", ">=4"), {"MPIR_CVAR_CH4_NETMOD": "ofi"}, ("MPIR_CVAR_CH4_NETMOD",)),
        ("mtl ofi", AppliesTo("openmpi", ">=4"), {"OMPI_MCA_pml": "cm"}, ("mtl_ofi_priority",)),
    )
    for provider in ("tcp", "verbs", "psm3", "cxi", "efa")
)


ALTERNATIVES: tuple[Alternative, ...] = (*OPEN_MPI, *MPICH, *INTEL_MPI, *CRAY_MPICH, *UCX, *LIBFABRIC)


@dataclass(frozen=True)
class Applicable:
    """rows: that may change something.  left_out: name of a row of this library -> why it can't."""

    rows: tuple[Alternative, ...]
    left_out: Mapping[str, str] = field(default_factory=dict)


def alternatives_of(
    library: str | None,
    version: str | None,
    transport: str | None,
    facts: PlaceFacts,
    environ: Mapping[str, str],
    measured: Collection[Operation],
) -> Applicable:
    """The alternatives of one library in one job.

    Args: environ: what the user has set stays as it is.  measured: operations that are looked at.
    """
    rows, left_out = list[Alternative](), dict[str, str]()
    for row in ALTERNATIVES:
        if not row.applies.fits(library, version, transport):
            continue
        why = row.why_not(facts) or _why_unseen(row, measured) or _why_users(row, environ)
        if why is None:
            rows += row.on_devices(facts.devices)
        else:
            left_out[row.name] = why
    return Applicable(tuple(rows), left_out)


def _why_unseen(row: Alternative, measured: Collection[Operation]) -> str | None:
    unseen = not set(row.operations) & set(measured)
    return f"nothing that is measured would show it: {', '.join(row.operations)}" if unseen else None


def _why_users(row: Alternative, environ: Mapping[str, str]) -> str | None:
    own = next((name for name in row.variables if name in environ), None)
    return f"you set {own} yourself" if own else None
