# SPDX-License-Identifier: Apache-2.0
"""The experiment `first_use` and its metrics: what the first use of a part of MPI costs, and the later ones. Pure.

Definitions: docs/reference/metrics.md. Part 0 of the record is a whole use, the parts from 1 on are what it consists
of. Phase `first` is the first use, once a launch; `steady` are the later ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowpath.core.engine_description import recorded_roles
from slowpath.experiments.experiment import Experiment, Pattern, timed
from slowpath.experiments.measured import (
    BLOCK_BYTES,
    EVENT_BYTES,
    NO_MATCH,
    NO_SAMPLES,
    NS,
    PHASES,
    SAMPLE_BYTES,
    Absent,
    Derived,
    LaunchContext,
    MetricSamples,
    SampleBlock,
    chosen,
)
from slowpath.stats.estimate import Floats

_NO_MATCH = Absent(NO_MATCH)


@dataclass(frozen=True)
class Spans:
    """One part of the uses of one phase. duration_ns: shape (ranks, uses). begin_ns: the same, on one clock; None: the
    ranks have several nodes' clocks, or begins were not recorded. batch: calls in each use.
    """

    duration_ns: NDArray[np.int64]
    begin_ns: NDArray[np.int64] | None
    batch: int

    @property
    def longest_s(self) -> Floats:
        """Of each use the time of the rank that took longest, shape (uses,)."""
        longest_s: Floats = self.duration_ns.max(axis=0).astype(np.float64) * (NS / self.batch)
        return longest_s

    @property
    def together_s(self) -> Floats:
        """Of each use the time from the last rank's begin to the last rank's end: no rank's wait for a late one is in
        it. Without a common clock the longest of a rank.
        """
        if self.begin_ns is None:
            return self.longest_s
        together_ns: NDArray[np.int64] = (self.begin_ns + self.duration_ns).max(axis=0) - self.begin_ns.max(axis=0)
        return together_ns.astype(np.float64) * (NS / self.batch)


def spans(blocks: Sequence[SampleBlock], job: LaunchContext, phase: str, part: int) -> Spans | Absent:
    """One part of a cell's uses in one phase: every rank has as many."""
    ranks = [[b for b in chosen(blocks, rank, phase) if b.part == part] for rank in range(job.size)]
    if not any(ranks):
        return NO_SAMPLES
    if len({tuple((b.seq0, b.batch, b.duration_ns.size) for b in rank) for rank in ranks}) > 1:
        return _NO_MATCH
    durations = np.array([np.concatenate([b.duration_ns for b in rank]) for rank in ranks])
    begins = [[b.start_ns for b in rank if b.start_ns is not None] for rank in ranks]
    reported = job.one_node and all(len(got) == len(rank) for got, rank in zip(begins, ranks, strict=True))
    begin_ns = np.array([np.concatenate(got) for got in begins]) if reported else None
    return Spans(durations, begin_ns, max(b.batch for b in ranks[0]))


def peers_in_order(order: str, rank: int, size: int) -> list[int]:
    """ascending: ranks 0, 1, 2, ...; xor: rank xor 1, rank xor 2, ..., as far as there are such ranks."""
    if order == "ascending":
        return [peer for peer in range(size) if peer != rank]
    steps = 1 << max(0, size - 1).bit_length()
    return [rank ^ step for step in range(1, steps) if rank ^ step < size]


Derive = Callable[[Mapping[str, str], Sequence[SampleBlock], LaunchContext], Derived]


# What no other rank takes part in.
_ALONE = frozenset(
    ("start_s", "library_load_s", "constructors_s", "init_s", "window_touch_s", "shared_window_touch_s")
) | {"call_own_s", "call_completion_s"}


def by_parts(parts: Mapping[str, int]) -> Derive:
    """Metrics that are parts of a use each: name -> part."""

    def derive(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
        return {name: _phases(blocks, job, name, part) for name, part in parts.items()}

    return derive


def _phases(
    blocks: Sequence[SampleBlock], job: LaunchContext, name: str, part: int
) -> dict[str, MetricSamples] | Absent:
    by_phase, reasons = {}, []
    for phase in PHASES:
        phase_spans = spans(blocks, job, phase, part)
        if isinstance(phase_spans, Absent):
            reasons.append(phase_spans)
        else:
            by_phase[phase] = (
                MetricSamples(
                    phase_spans.longest_s,
                    phase_spans.batch,
                    by_rank_s=np.array([centre(phase_spans.duration_ns, axis=1) for centre in (np.median, np.mean)])
                    * (NS / phase_spans.batch),
                )
                if name in _ALONE
                else MetricSamples(phase_spans.together_s, phase_spans.batch)
            )
    return by_phase or reasons[0]


def peers(p: Mapping[str, str], blocks: Sequence[SampleBlock], job: LaunchContext) -> Derived:
    """The k-th peer of the first round, and whole rounds."""
    spans_s: Derived = {"peers_s": _phases(blocks, job, "peers_s", 0)}
    contacts = spans(blocks, job, "first", 1)
    if isinstance(contacts, Absent):
        return {**spans_s, "peer_s": contacts}
    each = pair_times(contacts, p.get("order", "ascending"))
    phases = {"first": MetricSamples(each[:1], 1)}
    if each.size > 1:
        phases["steady"] = MetricSamples(each[1:], 1)
    return {**spans_s, "peer_s": phases}


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
    longest_s: Floats = times.max(axis=0)
    return longest_s


Parameters = Mapping[str, str]
_MOST_PARTS = 4
_IN_A_ROW = 20  # local calls


@dataclass(frozen=True)
class FirstUseCost:
    """Assumed speeds of a slow machine of 2 cores. pages_per_s: made and written, of all ranks of a node together."""

    cell_s: float = 0.003
    use_s: float = 0.0004  # a communicator, a request; ranks that share cores take turns
    called_s: float = 0.0004  # a cell of pattern=call, each of its uses, and each byte
    call_s: float = 0.00002
    byte_s: float = 1.5e-9
    release_s: float = 0.00005
    spawned_s: float = 0.3  # one process more
    pages_per_s: float = 0.8e6
    page_bytes: int = 4096
    checks: int = 2


_COST = FirstUseCost()


def first_use_seconds(p: Parameters, ranks: int) -> float:
    """Seconds that one cell takes in one launch."""
    pattern, uses = p["pattern"], int(p["uses"])
    if pattern == "init":
        return 0.0
    if pattern == "call":
        idle_s, pauses = float(p.get("idle_s", "0")), int(p.get("pauses", "0"))
        each_s = _COST.call_s + _COST.byte_s * int(p.get("message_bytes", "0"))
        return _COST.called_s + uses * each_s + (pauses * (idle_s + each_s) if idle_s > 0 else 0.0)
    each = _COST.use_s + _COST.release_s * ranks
    if pattern == "peer":
        each *= max(1, ranks - 1)
    if pattern == "spawn":
        each += _COST.spawned_s * int(p.get("processes", "1"))
    if pattern in ("window", "shared_window"):
        passes = 1 + (_COST.checks if p["validate"] == "on" else 0) / 4
        each += ranks * int(p["window_bytes"]) / _COST.page_bytes / _COST.pages_per_s * passes
    return _COST.cell_s + uses * each


def first_use_recorded_bytes(p: Parameters, ranks: int) -> int:
    """Upper estimate of what one cell writes in one launch, bytes."""
    in_a_row = _IN_A_ROW if p["pattern"] == "call" else 1
    samples = int(p["uses"]) * in_a_row + (ranks if p["pattern"] == "peer" else 0)
    return ranks * (2 * _MOST_PARTS * BLOCK_BYTES + _MOST_PARTS * samples * SAMPLE_BYTES + 2 * EVENT_BYTES)


EXPERIMENT = "first_use"
_CALL_PARTS = {"call_s": 0, "call_own_s": 0, "call_idle_s": 1, "call_completion_s": 2}


def _by_parts(pattern: str) -> Pattern:
    """A pattern whose metrics are parts of the record: the whole use, if it has one, then the others."""
    metrics = sorted(timed(EXPERIMENT, pattern), key=lambda metric: not metric.name.endswith("_use_s"))
    return Pattern(pattern, by_parts({metric.name: part for part, metric in enumerate(metrics)}), tuple(metrics))


FIRST_USE = Experiment(
    name=EXPERIMENT,
    patterns=(
        _by_parts("init"),
        Pattern("peer", peers, timed(EXPERIMENT, "peer")),
        _by_parts("communicator"),
        _by_parts("collective"),
        _by_parts("window"),
        _by_parts("shared_window"),
        _by_parts("spawn"),
        Pattern("call", by_parts(_CALL_PARTS), timed(EXPERIMENT, "call")),
    ),
    roles=recorded_roles(EXPERIMENT),
    seconds=first_use_seconds,
    recorded_bytes=first_use_recorded_bytes,
    views=("first_use",),
)
