# SPDX-License-Identifier: Apache-2.0
"""Single NCCL calls, matched over the ranks of a communicator. Pure.

A collective's kernel runs on each rank from when that rank came to it until the data is there, by the rank's own GPU
timer. All end at nearly the same moment, so the rank with the shortest time came last, and what the others took
longer they waited. No two clocks are compared.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from slowpath.watch.nccl.record import Member, NcclRecord, WholeCommunicator

MOST_TIMES: Final = 8_000_000  # of one communicator, over all ranks
LEAST_SPAN_S: Final = 1.0  # in which a timer's rate is seen to be another
MOST_RATE: Final = 1000.0  # no timer is so slow
NEAR: Final = 0.02  # a rate that is so near 1 is 1
_ALL_KEPT: Final = 2**64 - 1

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class MatchedCalls:
    """Calls of which each side's time is known. took_s: shape (calls, sides).  row: of the first side's record.

    members: whose times the columns are.
    """

    took_s: Floats
    row: Ints
    members: tuple[Member, ...]

    @property
    def work_s(self) -> Floats:
        """Of the side that came last, shape (calls,)."""
        return np.asarray(self.took_s.min(axis=1))

    @property
    def last(self) -> Ints:
        """Column of the side that came last, shape (calls,)."""
        return np.asarray(self.took_s.argmin(axis=1))

    @property
    def waits_for_last_s(self) -> Floats:
        """Of the other sides on average, shape (calls,)."""
        sides = self.took_s.shape[1]
        return np.asarray((self.took_s.sum(axis=1) - sides * self.work_s) / max(sides - 1, 1))

    @property
    def wait_s(self) -> Floats:
        """Of a side on average, the last one included, shape (calls,)."""
        return np.asarray(self.took_s.mean(axis=1) - self.took_s.min(axis=1))


def timer_rate(record: NcclRecord) -> float:
    """Seconds of the host in a second of the GPU's timer, of which NCCL's is 1; others may count in other units."""
    samples = record.samples
    timed = samples[samples["gpu_end_ns"] > 0]
    if timed.size < 2:
        return 1.0
    first, last = timed[np.argmin(timed["seen_ns"])], timed[np.argmax(timed["seen_ns"])]
    host_ns = int(last["seen_ns"]) - int(first["seen_ns"])
    gpu_ns = int(last["gpu_end_ns"]) - int(first["gpu_end_ns"])
    if host_ns < LEAST_SPAN_S * 1e9 or gpu_ns <= 0:
        return 1.0
    rate = host_ns / gpu_ns
    return 1.0 if abs(rate - 1) <= NEAR or not 1 / MOST_RATE <= rate <= MOST_RATE else rate


def matched_collectives(communicator: WholeCommunicator, rates: dict[int, float]) -> MatchedCalls | None:
    """Collectives with a kernel of their own, kept by all ranks, but for first calls; None: not all left a record.

    Args: rates: of each record's timer, by id of the record.
    """
    if not communicator.is_whole or communicator.ranks < 2:
        return None
    sides = [_collectives(member) for member in communicator.members]
    numbers = sides[0]["number"]
    for side in sides[1:]:
        numbers = np.intersect1d(numbers, side["number"])
    step = -(-numbers.size * len(sides) // MOST_TIMES)
    numbers = numbers[:: max(step, 1)]
    kept = [side[np.searchsorted(side["number"], numbers)] for side in sides]
    alike = np.ones(numbers.size, dtype=bool)
    first = _names(communicator.members[0], kept[0])
    for member, side in zip(communicator.members, kept, strict=True):
        alike &= _names(member, side) == first
    took = [
        (side["gpu_end_ns"] - side["gpu_start_ns"]).astype(np.float64) * 1e-9 * rates[id(member.record)]
        for member, side in zip(communicator.members, kept, strict=True)
    ]
    return MatchedCalls(np.stack(took, axis=1)[alike], kept[0]["row"].astype(np.int64)[alike], communicator.members)


def _collectives(member: Member) -> NDArray[Any]:
    """By number, each once."""
    rows, samples = member.record.rows, member.samples
    own = (samples["peer"] < 0) & (samples["gpu_end_ns"] > 0) & (samples["number"] > 0)
    own &= rows["group_calls"][samples["row"]] <= 1
    own &= samples["start_ns"] != rows["first_start_ns"][samples["row"]]
    _, at = np.unique(samples["number"][own], return_index=True)
    found: NDArray[Any] = samples[own][at]
    return found


def _names(member: Member, samples: NDArray[Any]) -> NDArray[np.bytes_]:
    found: NDArray[np.bytes_] = member.record.rows["function"][samples["row"]]
    return found


def matched_messages(communicator: WholeCommunicator, rates: dict[int, float]) -> list[MatchedCalls]:
    """The n-th send of a rank to another and that one's n-th receive from it, where all calls of both were kept."""
    if not communicator.is_whole:
        return []
    lists: dict[tuple[bytes, int, int], tuple[Member, NDArray[Any]]] = {}
    for member in communicator.members:
        if int(member.record.header["sampled_below"]) != _ALL_KEPT:
            return []
        samples = member.samples
        samples = samples[samples["peer"] >= 0]
        functions = member.record.rows["function"][samples["row"]]
        for function, peer in set(zip(functions.tolist(), samples["peer"].tolist(), strict=True)):
            its = samples[(functions == function) & (samples["peer"] == peer)]
            lists[function, member.rank, peer] = (member, its[np.argsort(its["number"], kind="stable")])
    found = []
    for (function, rank, peer), (sender, sends) in lists.items():
        receiver, receives = lists.get((b"Recv", peer, rank), (None, None))
        if function != b"Send" or receiver is None or receives is None or receives.size != sends.size:
            continue
        timed = (sends["gpu_end_ns"] > 0) & (receives["gpu_end_ns"] > 0)
        for member, side in ((sender, sends), (receiver, receives)):
            timed &= side["start_ns"] != member.record.rows["first_start_ns"][side["row"]]
        took = [
            (side["gpu_end_ns"] - side["gpu_start_ns"])[timed].astype(np.float64) * 1e-9 * rates[id(member.record)]
            for member, side in ((sender, sends), (receiver, receives))
        ]
        for number, (member, side) in enumerate(((sender, sends), (receiver, receives))):
            columns = np.stack(took if number == 0 else took[::-1], axis=1)
            found.append(MatchedCalls(columns, side["row"][timed].astype(np.int64), (member,)))
    return found


def by_row(matched: MatchedCalls) -> list[tuple[int, MatchedCalls]]:
    """Split by row of the first side."""
    order = np.argsort(matched.row, kind="stable")
    rows, starts = np.unique(matched.row[order], return_index=True)
    bounds = [*starts.tolist(), order.size]
    return [
        (row, MatchedCalls(matched.took_s[order[low:high]], matched.row[order[low:high]], matched.members))
        for row, (low, high) in zip(rows.tolist(), itertools.pairwise(bounds), strict=True)
    ]
