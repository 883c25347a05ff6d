# SPDX-License-Identifier: Apache-2.0
"""Remedies that are environment variables. Those that leave a state are made from launch.settings, the only table of
variables that force one; the others stand here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.findings.remedies.remedy import Control, Remedy
from slowpath.mpi.settings import SETTINGS, Setting

EAGER = Control(
    "a message of 8 bytes is copied at once by every library, so that how long messages go can't change it",
    parameters={"pattern": "ping_pong", "message_bytes": "8"},
    metric="half_round_trip_latency_s",
)
ALONE = Control(
    "each rank multiplying matrices by itself sends no message, so that no way of sending them can change it",
    experiment="cannon",
    parameters={"variant": "compute_only", "n": "256", "repetitions": "12", "quiet_wait_s": "0"},
    metric="multiply_s",
)
ONE_BUFFER = Control(
    "one live buffer on each side fills one entry of the cache, however many it may hold",
    parameters={"pattern": "ping_pong", "memory": "device", "message_bytes": "4194304", "live_buffers": "1"},
    metric="half_round_trip_latency_s",
)
_STATES: Mapping[str, tuple[tuple[str, ...], str, Control]] = {
    "single_copy_off": (("SP009",), "let messages inside a node be copied once", EAGER),
    "network_path": (("SP010",), "let messages inside a node take the library's shared memory", ALONE),
}


@dataclass(frozen=True)
class Forced:
    """A variable in the user's environment that puts the library into a slow state."""

    state: str
    name: str
    value: str


def leaving(state: str, names: tuple[str, ...], row: Setting | None = None) -> Remedy:
    """The remedy that takes variables away which put a library into `state`."""
    rules, text, control = _STATES.get(state, ((), "leave the library at its default", EAGER))
    return Remedy(
        name=f"unset {' '.join(names)} ({state.replace('_', ' ')})",
        text=f"Unset {', '.join(names)}: {text}.",
        rules=rules,
        control=control,
        side_effects=("memory of the library's shared segments", "latency of short messages"),
        sources=((f"docs/reference/launching.md, {row.verified}",) if row else ()),
        library=row.library if row else None,
        first=row.first if row else (0,),
        below=row.below if row else None,
        transport=row.transport if row else None,
        unset=names,
    )


def of_states() -> tuple[Remedy, ...]:
    """One for each row of launch.settings that a rule is about."""
    return tuple(leaving(row.name, tuple(row.variables), row) for row in SETTINGS if row.name in _STATES)


def forced_states(environ: Mapping[str, str], library: str, version: str | None, transport: str | None) -> list[Forced]:
    """The user's own variables that the table knows to force a slow state of this library, in the table's order."""
    found: dict[str, Forced] = {}
    for row, remedy in ((row, leaving(row.name, tuple(row.variables), row)) for row in SETTINGS if row.name in _STATES):
        if not remedy.fits(library, version, transport):
            continue
        for name, value in row.variables.items():
            if name in environ and forces(name, environ[name], value):
                found.setdefault(name, Forced(row.name, name, environ[name]))
    return list(found.values())


_SHARED = frozenset({"posix", "sysv"})
_ALL = _SHARED | {"cma"}
_COMPONENTS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("all", "sm", "shm", "vader"), _ALL),
    "mm": _SHARED,
    **{name: frozenset({name}) for name in _ALL},
}
_LISTS = ("UCX_TLS", "OMPI_MCA_btl", "OMPI_MCA_smsc")


def forces(name: str, given: str, slow: str) -> bool:
    """Whether a value does what the table's slow value does: equal as a word, a switch or a list of components."""
    off, on = {"0", "no", "false", "off", "n", "f", "none"}, {"1", "yes", "true", "on", "y", "t"}
    one, other = given.strip().lower(), slow.strip().lower()
    if one == other or any(one in words and other in words for words in (off, on)):
        return True
    return name in _LISTS and _copies(name, one) == _copies(name, other)


def _copies(name: str, components: str) -> int:
    """How often a list of components has a message copied inside a node: once (CMA), twice, or 0: not by shared memory.

    "^" leaves out what follows (Open MPI and UCX alike). CMA alone carries no short messages.
    """
    named = frozenset().union(*(_COMPONENTS.get(one, frozenset()) for one in components.removeprefix("^").split(",")))
    left = _ALL - named if components.startswith("^") else named
    if name != "OMPI_MCA_smsc" and not left & _SHARED:
        return 0
    return 1 if "cma" in left else 2


MORE = (
    Remedy(
        "asynchronous progress of MPICH",
        "Let a thread of the library make progress while the program computes.",
        ("SP017",),
        control=ALONE,
        side_effects=("a core for each rank's thread", "latency of short messages, since calls take a lock"),
        sources=("MPICH: MPIR_CVAR_ASYNC_PROGRESS",),
        library="mpich",
        first=(3, 2),
        variables={"MPIR_CVAR_ASYNC_PROGRESS": "1"},
    ),
    Remedy(
        "asynchronous progress of Intel MPI",
        "Let a thread of the library make progress while the program computes.",
        ("SP017",),
        control=ALONE,
        side_effects=("a core for each rank's thread", "latency of short messages, since calls take a lock"),
        sources=("Intel MPI Library Developer Reference, Asynchronous Progress Control",),
        library="intelmpi",
        first=(2019,),
        variables={"I_MPI_ASYNC_PROGRESS": "1"},
    ),
    Remedy(
        "thread level funneled",
        "Ask MPI_Init_thread for MPI_THREAD_FUNNELED where only one thread calls MPI.",
        ("SP016",),
        control=ALONE,
        sources=("MPI-4.1 section 11.6.2",),
        variables={"SLOWPATH_THREAD_LEVEL": "funneled"},
        code="int provided;\nMPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);",
    ),
    Remedy(
        "larger cache of GPU handles in MPICH",
        "Let the library keep as many opened handles as there are buffers.",
        ("SP003",),
        control=ONE_BUFFER,
        side_effects=("address space and driver memory of each open handle",),
        sources=("MPICH: MPIR_CVAR_CH4_IPC_GPU_MAX_CACHE_ENTRIES",),
        library="mpich",
        first=(4, 2),
        variables={"MPIR_CVAR_CH4_IPC_GPU_MAX_CACHE_ENTRIES": "1024"},
    ),
    Remedy(
        "handle cache of UCX",
        "Let UCX keep the handles that it opened.",
        ("SP003", "SP024"),
        control=EAGER,
        side_effects=("driver memory of each open handle",),
        sources=("UCX: UCX_CUDA_IPC_CACHE",),
        library="openmpi",
        transport="ucx",
        variables={"UCX_CUDA_IPC_CACHE": "y"},
    ),
)
