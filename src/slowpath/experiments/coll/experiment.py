# SPDX-License-Identifier: Apache-2.0
"""The experiment `coll`: collectives, and what the library's other calls make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowpath.core.cell_results import RepetitionCounts
from slowpath.core.engine_description import recorded_roles
from slowpath.experiments.coll.calls import callers, calls
from slowpath.experiments.coll.metrics import (
    by_communicator,
    call_by_call,
    in_loop,
    overlap,
)
from slowpath.experiments.experiment import Experiment, Pattern
from slowpath.experiments.measured.launch_context import LaunchContext
from slowpath.experiments.measured.recorded import BLOCK_BYTES, EVENT_BYTES, SAMPLE_BYTES
from slowpath.experiments.measured.reduce import ENOUGH_CLEAN
from slowpath.experiments.measured.series import PHASES, Absent, SampleBlock
from slowpath.experiments.metric import timed

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


_NOT_RECORDED = "the engine did not record when the ranks were to enter"


@dataclass(frozen=True)
class _Launch:
    calls: int
    clean: int
    enough: bool  # clean calls to stand for the launch alone


class LateStarts:
    """By cell, gathered launch by launch; first and later calls together."""

    def __init__(self) -> None:
        self._launches: dict[int, list[_Launch]] = {}

    def add(self, cell: int, launch: int, blocks: Sequence[SampleBlock], job: LaunchContext) -> None:
        """One launch's blocks of a cell of this experiment."""
        members = {"members": str(1 + max((block.rank for block in blocks), default=0))}
        masks = []
        for phase in PHASES:
            found = calls(members, blocks, job, phase)
            if not isinstance(found, Absent) and found.clean is not None:
                masks.append(found.clean)
        if masks:
            clean = int(sum(mask.sum() for mask in masks))
            enough = int(masks[-1].sum()) >= ENOUGH_CLEAN
            self._launches.setdefault(cell, []).append(_Launch(sum(mask.size for mask in masks), clean, enough))

    def repetitions(self, cell: int) -> tuple[RepetitionCounts | None, str | None]:
        """`repetitions` and `repetitions_reason` of a cell (docs/reference/results.md)."""
        known = self._launches.get(cell)
        if not known:
            return None, _NOT_RECORDED
        every, clean = sum(launch.calls for launch in known), sum(launch.clean for launch in known)
        found = RepetitionCounts(
            all=every,
            clean=clean,
            switched=None,
            loaded=None,
            late=every - clean,
            launches_of_clean=sum(launch.enough for launch in known),
            launches=len(known),
        )
        return found, "of a collective late starts are counted, and nothing else that disturbs it"


EXPERIMENT = "coll"

COLL = Experiment(
    name=EXPERIMENT,
    patterns=(
        Pattern("calls", call_by_call, timed(EXPERIMENT, "calls")),
        Pattern("counted", call_by_call, timed(EXPERIMENT, "counted")),
        Pattern("communicators", by_communicator, timed(EXPERIMENT, "communicators")),
        Pattern("messages", lambda parameters, blocks, launch: {}, ()),
        Pattern("overlap", overlap, timed(EXPERIMENT, "overlap")),
        Pattern("after_barrier", in_loop, timed(EXPERIMENT, "after_barrier")),
        Pattern("back_to_back", in_loop, timed(EXPERIMENT, "back_to_back")),
    ),
    roles=recorded_roles(EXPERIMENT),
    seconds=coll_seconds,
    across_s=coll_across_s,
    recorded_bytes=coll_recorded_bytes,
    observer=LateStarts,
    views=("coll", "scaling"),
    brief={"samples": "60", "time_limit_s": "0.01", "warmup_s": "0.003"},
)
