# SPDX-License-Identifier: Apache-2.0
"""Metrics of the experiment first_use. Definitions: docs/reference/metrics.md. Pure.

Part 0 of the record is a whole use, the parts from 1 on are what it consists of. Phase `first` is the first use, once a
launch; `steady` are the later ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from slowpath.experiments.first_use.orders import peers_in_order
from slowpath.experiments.first_use.spans import Spans, spans
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.series import NS, PHASES, Absent, Derived, MetricSamples, SampleBlock
from slowpath.experiments.metric import Metric
from slowpath.stats.inputs import Floats

Derive = Callable[[Mapping[str, str], Sequence[SampleBlock], LaunchContext], Derived]


def _time(name: str, meaning: str) -> Metric:
    return Metric(name, "s", "lower", meaning)


INIT = (
    _time("start_s", "from the process's libraries being mapped to the end of the first communicators"),
    _time(
        "library_load_s",
        "processor time until the libraries are mapped and relocated; its elapsed time is known to 10 ms alone",
    ),
    _time("constructors_s", "constructors of the libraries, until MPI_Init is called"),
    _time("init_s", "MPI_Init, or MPI_Init_thread"),
    _time("first_duplicate_s", "the first MPI_Comm_dup, which sends the first messages"),
    _time("first_split_s", "the first MPI_Comm_split_type"),
)
PEER = (
    _time("peer_s", "one exchange of 8 B with one peer: the first one; later: with the 2nd, 3rd, ... peer"),
    _time("peers_s", "exchanges with all peers one after the other; later: the same again"),
)
COMMUNICATOR = (_time("communicator_s", "the first communicator made by this call; later: the 2nd, 3rd, ..."),)
COLLECTIVE = (_time("collective_first_s", "the first call on the communicator; later: the 2nd, 3rd, ..."),)
WINDOW = (
    _time("window_use_s", "making the window, and the program's first write to every page"),
    _time("window_s", "the call that makes the window (memory=program: mmap)"),
    _time("window_touch_s", "the program's first write to every page, after it"),
)
SHARED_WINDOW = (
    _time("shared_window_use_s", "making the window, and the program's first write to every page"),
    _time("shared_window_s", "MPI_Win_allocate_shared (memory=program: mmap)"),
    _time("shared_window_touch_s", "the program's first write to every page, after it"),
)
PERSISTENT = (
    _time("persistent_init_s", "the calls that make the requests"),
    _time("persistent_start_s", "the first start and its completion"),
)
PARTITIONED = (
    _time("partitioned_init_s", "MPI_Psend_init and MPI_Precv_init"),
    _time("partitioned_start_s", "the first start, all partitions and completion"),
    _time("partitioned_again_s", "the second start of the same requests"),
)
SPAWN = (_time("spawn_s", "MPI_Comm_spawn, until the processes are connected"),)
# What no other rank takes part in.
_ALONE = frozenset(
    ("start_s", "library_load_s", "constructors_s", "init_s", "window_touch_s", "shared_window_touch_s")
) | {"persistent_init_s", "partitioned_init_s"}


def by_parts(parts: Mapping[str, int]) -> Derive:
    """Metrics that are parts of a use each: name -> part."""

    def derive(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
        return {name: _phases(blocks, job, name, part) for name, part in parts.items()}

    return derive


def _phases(
    blocks: Sequence[SampleBlock], job: LaunchContext, name: str, part: int
) -> dict[str, MetricSamples] | Absent:
    found, reasons = {}, []
    for phase in PHASES:
        one = spans(blocks, job, phase, part)
        if isinstance(one, Absent):
            reasons.append(one)
        else:
            found[phase] = MetricSamples(one.longest_s if name in _ALONE else one.together_s, 1)
    return found or reasons[0]


def peers(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """The k-th peer of the first round, and whole rounds."""
    found: Derived = {"peers_s": _phases(blocks, job, "peers_s", 0)}
    contacts = spans(blocks, job, "first", 1)
    if isinstance(contacts, Absent):
        return {**found, "peer_s": contacts}
    each = pair_times(contacts, p.get("order", "ascending"))
    phases = {"first": MetricSamples(each[:1], 1)}
    if each.size > 1:
        phases["steady"] = MetricSamples(each[1:], 1)
    return {**found, "peer_s": phases}


def pair_times(contacts: Spans, order: str) -> Floats:
    """Of each place in the order the slowest pair's time: the shorter one of its two ranks, since the other one has
    waited for it. Shape (peers,), seconds.
    """
    size, places = contacts.duration_ns.shape
    orders = [peers_in_order(order, rank, size) for rank in range(size)]
    times = np.empty((size, places))
    for rank, peer_list in enumerate(orders):
        for place, peer in enumerate(peer_list):
            other = contacts.duration_ns[peer, orders[peer].index(rank)]
            times[rank, place] = min(contacts.duration_ns[rank, place], other) * NS
    found: Floats = times.max(axis=0)
    return found
