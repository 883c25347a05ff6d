# SPDX-License-Identifier: Apache-2.0
"""Remedies that are environment variables. Which variables those are, library by library, only `slowpath.mpi` knows:
a row of mpi.settings is a state to leave, a row of mpi.tunings something to switch on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from slowpath.findings.remedies.remedy import Control, Remedy
from slowpath.mpi.settings import SETTINGS, Setting
from slowpath.mpi.tunings import TUNINGS

EAGER = Control(
    "an 8-byte message is eager in every library, so a setting for long messages can't change it",
    parameters={"pattern": "ping_pong", "message_bytes": "8"},
    metric="half_round_trip_latency_s",
)
ALONE = Control(
    "ranks that multiply matrices send no message, so no way of sending them can change it",
    experiment="cannon",
    parameters={"variant": "compute_only", "n": "256", "repetitions": "12", "quiet_wait_s": "0"},
    metric="multiply_s",
)
ONE_BUFFER = Control(
    "one live buffer on each side takes one cache entry, whatever the cache holds",
    parameters={"pattern": "ping_pong", "memory": "device", "message_bytes": "4194304", "live_buffers": "1"},
    metric="half_round_trip_latency_s",
)

# What leaving a state is good for: rules, the end of the sentence, the control.
_STATES: Mapping[str, tuple[tuple[str, ...], str, Control]] = {
    "single_copy_off": (("SP009",), "let messages inside a node be copied once", EAGER),
    "network_path": (("SP010",), "let messages inside a node take the library's shared memory", ALONE),
}

# What tunings of each purpose have in common, whatever the library.
_PURPOSES: Mapping[str, Remedy] = {
    "asynchronous progress": Remedy(
        "asynchronous progress",
        "Switch on asynchronous progress: a thread of the library makes progress while the program computes.",
        ("SP017",),
        ("progress",),
        control=ALONE,
        side_effects=("a core for each rank's thread", "latency of short messages, since calls take a lock"),
        cores_per_rank=2,
    ),
    "larger handle cache": Remedy(
        "larger handle cache",
        "Enlarge the library's cache of IPC handles to the number of buffers.",
        ("SP003",),
        ("live_buffers",),
        control=ONE_BUFFER,
        side_effects=("address space and driver memory of each open handle",),
    ),
    "no mapping of GPU memory": Remedy(
        "no mapping of GPU memory",
        "Switch off IPC: no process maps the other's GPU memory, so that no first message pays for it.",
        ("SP001", "SP002"),
        ("phase", "overalloc_bytes"),
        control=EAGER,
        side_effects=("every later message from GPU memory, which then takes the long way",),
    ),
    "later opening": Remedy(
        "later opening",
        "Where communicators are freed after few calls, let collectives not set up shared memory: all calls then take "
        "the path of the first ones.",
        ("SP040",),
        ("call",),
        control=ALONE,
        side_effects=("collectives on communicators that live long: each call takes the slower path",),
    ),
    "logarithmic algorithms": Remedy(
        "logarithmic algorithms",
        "Force the library's algorithms whose rounds grow with the logarithm of the number of ranks.",
        ("SP039",),
        ("algorithm",),
        control=ALONE,
        side_effects=("long messages of the same collective, for which another algorithm may be faster",),
    ),
    "allreduce by bytes": Remedy(
        "allreduce by bytes",
        "Force an algorithm of MPI_Allreduce that splits messages by bytes, and not by elements.",
        ("SP038",),
        ("shape",),
        control=ALONE,
        side_effects=("an MPI_Allreduce of many elements, for which the library's own choice may be faster",),
    ),
    "more memory for collectives": Remedy(
        "more memory for collectives",
        "Allow more shared memory for the collectives of live communicators.",
        ("SP041",),
        ("communicator",),
        control=ALONE,
        side_effects=("shared memory of each node",),
    ),
    "handle cache": Remedy(
        "handle cache",
        "Switch on UCX's cache of IPC handles.",
        ("SP003", "SP024"),
        ("live_buffers", "phase"),
        control=EAGER,
        side_effects=("driver memory of each open handle",),
    ),
}


def _leaving(row: Setting) -> Remedy:
    """The remedy that takes away the variables which put a library into a state."""
    rules, text, control = _STATES[row.name]
    names = tuple(row.variables)
    return Remedy(
        name=f"unset {' '.join(names)} ({row.name.replace('_', ' ')})",
        text=f"Unset {', '.join(names)}: {text}.",
        rules=rules,
        axes=("environment",),
        control=control,
        side_effects=("memory of the library's shared segments", "latency of short messages"),
        sources=(f"docs/reference/launching.md, {row.verified}",),
        applies=row.applies,
        unset=names,
    )


def of_states() -> tuple[Remedy, ...]:
    """One for each row of mpi.settings that a rule is about."""
    return tuple(_leaving(row) for row in SETTINGS if row.name in _STATES)


def of_tunings() -> tuple[Remedy, ...]:
    """One for each row of mpi.tunings."""
    return tuple(
        replace(
            _PURPOSES[row.purpose],
            name=row.name,
            applies=row.applies,
            variables=row.variables,
            sources=(row.source,),
            only=row.only,
            phrase=row.phrase,
        )
        for row in TUNINGS
    )


MORE = (
    Remedy(
        "thread level funneled",
        "Ask MPI_Init_thread for MPI_THREAD_FUNNELED where only one thread calls MPI.",
        ("SP016", "SP042"),
        ("environment",),
        control=ALONE,
        sources=("MPI-4.1 section 11.6.2",),
        variables={"SLOWPATH_THREAD_LEVEL": "funneled"},
        code="int provided;\nMPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);",
        phrase="MPI_THREAD_FUNNELED",
    ),
)
