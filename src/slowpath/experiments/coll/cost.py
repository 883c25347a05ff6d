# SPDX-License-Identifier: Apache-2.0
"""What a cell of the experiment `coll` costs, in time and in bytes. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from slowpath.experiments.coll.calls import callers
from slowpath.experiments.measured.recorded import BLOCK_BYTES, EVENT_BYTES, SAMPLE_BYTES

Parameters = Mapping[str, str]

PARTS = 2  # the call, and how late the rank was

# Of all others each rank has a block for each other one: the bytes of a call grow with the ranks.
_ONE_MESSAGE = ("barrier", "bcast", "reduce", "allreduce", "scan", "exscan")


@dataclass(frozen=True)
class CollCost:
    """Assumed speeds of a slow machine of 2 cores, as in `P2pCost`."""

    cell_s: float = 0.004  # a fresh communicator, agreement, gathering, the record
    communicator_s: float = 0.0005  # one more
    step_s: float = 5e-6  # a message between two ranks that run
    turn_s: float = 20e-6  # until a rank that shares a core runs again
    cores: int = 2
    bytes_per_s: float = 1e9
    released_s: float = 20e-6  # a barrier of our own, and waiting for the deadline
    check_s_per_byte: float = 2e-9
    fewest_samples: int = 8
    fewest_warmup: int = 8
    fewest_counted: int = 24
    fewest_communicators: int = 16
    fewest_on_each: int = 8
    crossing_s: float = 60e-6  # a message between two nodes, over TCP
    crossing_bytes_per_s: float = 1e9
    agreements: int = 10  # of all ranks, around the calls of a cell
    counted_s: float = 0.03  # of a cell of counted messages: known messages, the log
    late_s: float = 0.009  # of each of its calls: one rank sleeps, and all others get a core before it is back
    late_by_rank: int = 2  # such calls


_COST = CollCost()


def coll_seconds(p: Parameters, ranks: int) -> float:
    """Seconds that one cell takes in one launch, all ranks on one node."""
    return _cell_s(p, ranks, 1)


def coll_across_s(p: Parameters, ranks: int, nodes: int) -> float:
    """Seconds that it takes more where its ranks are on several nodes."""
    return _cell_s(p, ranks, nodes) - _cell_s(p, ranks, 1)


def _cell_s(p: Parameters, ranks: int, nodes: int) -> float:
    size = callers(p, ranks)
    one_s = _call_s(p, size, nodes) + _released_s(ranks, nodes)
    checked_s = _bytes(p, size) * _COST.check_s_per_byte if p["validate"] == "on" else 0.0
    agreed_s = _COST.agreements * _crossings(nodes) * _COST.crossing_s
    made_s = _COST.communicator_s + 2 * _crossings(nodes) * _COST.crossing_s
    around_s = _COST.cell_s + agreed_s + checked_s + int(p["duplicates"]) * (made_s + _COST.fewest_warmup * one_s)
    if p["pattern"] == "messages":
        return around_s + _COST.counted_s + _COST.late_by_rank * size * (_COST.late_s + one_s)
    limit_s, calls = float(p["time_limit_s"]), int(p["calls"])
    if p["pattern"] == "counted":
        return around_s + _limited_s(one_s, calls, _COST.fewest_counted, limit_s)
    if p["pattern"] == "overlap":
        one_s *= 4  # alone, as long computing, and at worst one after the other
    warmup_s = max(_COST.fewest_warmup * one_s, float(p["warmup_s"]))
    if p["pattern"] == "communicators":
        on_each_s = _limited_s(one_s, int(p["samples"]), _COST.fewest_on_each, limit_s)
        each_s = made_s + _COST.fewest_warmup * one_s + on_each_s
        all_s = calls * (limit_s + float(p["warmup_s"]))
        return around_s + _limited_s(each_s, calls, _COST.fewest_communicators, all_s)
    return around_s + warmup_s + _limited_s(one_s, int(p["samples"]), _COST.fewest_samples, limit_s)


def _limited_s(each_s: float, number: int, fewest: int, limit_s: float) -> float:
    """What `number` of them take, or fewer that end after the limit, but `fewest` at least."""
    return min(number * each_s, max(fewest * each_s, limit_s))


def coll_recorded_bytes(p: Parameters, ranks: int) -> int:
    """Upper estimate of what one cell writes in one launch, bytes."""
    blocks = int(p["calls"]) if p["pattern"] == "communicators" else 2
    samples = int(p["calls"]) if p["pattern"] == "counted" else int(p["samples"]) * blocks
    parts = PARTS + 2 if p["pattern"] == "overlap" else PARTS
    return ranks * (parts * (blocks * BLOCK_BYTES + (samples + 1) * SAMPLE_BYTES) + 2 * EVENT_BYTES)


def _call_s(p: Parameters, size: int, nodes: int) -> float:
    """One call by a tree, each part of a mock-up one more."""
    steps = max(1, (size - 1).bit_length())
    parts = 1 + p["way"].count("+")
    turns = _COST.turn_s if size > _COST.cores else 0.0
    crossed_s = _crossings(nodes) * _COST.crossing_s
    if nodes > 1:
        crossed_s += _bytes(p, size) / _COST.crossing_bytes_per_s
    return parts * (steps * (_COST.step_s + turns) + _bytes(p, size) / _COST.bytes_per_s + crossed_s)


def _released_s(ranks: int, nodes: int) -> float:
    steps = max(1, (ranks - 1).bit_length())
    turns_s = steps * _COST.turn_s if ranks > _COST.cores else 0.0
    return _COST.released_s + turns_s + _crossings(nodes) * _COST.crossing_s


def _crossings(nodes: int) -> int:
    """Messages between nodes one after the other, by a tree."""
    return (nodes - 1).bit_length()


def _bytes(p: Parameters, size: int) -> int:
    """That all ranks together receive, at least."""
    message = int(p["message_bytes"])
    blocks = size if p["collective"] in _ONE_MESSAGE else size * size
    return message * blocks
