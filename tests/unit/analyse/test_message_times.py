# SPDX-License-Identifier: Apache-2.0
"""Who pays for a message, what overlaps, shapes over a launch, floors, and pairs of nodes."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import planted
import pytest

from slowpath.analyse.build import build_results
from slowpath.analyse.contrasts import node_pairs, pair_lines
from slowpath.analyse.floors import (
    NOT_MEASURED,
    WAYS,
    CellFloors,
    TimedMessage,
    floors,
    lowest,
    message_of,
)
from slowpath.core.plan import Cell, Environment, Placement, Plan, Twins
from slowpath.core.results import NodePairs
from slowpath.experiments.measured import (
    Absent,
    Derived,
    LaunchContext,
    LaunchRecord,
    Measurements,
    SampleBlock,
)
from slowpath.experiments.messages import MessageMetrics, split, statement
from slowpath.experiments.p2p import P2P
from slowpath.record.events import FixedWork, LaunchEvents, Yardstick
from slowpath.record.folder import LaunchInfo
from slowpath.report.cells import pairs_matrix


def messages(send: tuple[int, int], receive: tuple[int, int]) -> MessageMetrics:
    return MessageMetrics(*(np.array([end], dtype=np.int64) for end in (*send, *receive)))


@pytest.mark.parametrize(
    ("send", "receive", "alone", "both", "receiver", "neither"),
    [
        ((0, 100), (0, 100), 0.0, 1.0, 0.0, 0.0),
        ((0, 10), (0, 100), 0.0, 0.1, 0.9, 0.0),  # a short message: copied away, the receiver goes on
        ((0, 100), (50, 100), 0.5, 0.5, 0.0, 0.0),  # the receiver is late
        ((0, 10), (60, 100), 0.1, 0.0, 0.4, 0.5),  # sent before the receiver came
        ((0, 120), (-50, 100), 0.0, 1.0, 0.0, 0.0),  # what lies outside of one_way_s does not count
    ],
)
def test_the_four_parts(
    send: tuple[int, int], receive: tuple[int, int], alone: float, both: float, receiver: float, neither: float
) -> None:
    parts = split(messages(send, receive))
    assert parts is not None
    assert astuple(parts)[:4] == pytest.approx((alone, both, receiver, neither))
    assert parts.receiver_early_s == pytest.approx((send[0] - receive[0]) * 1e-9)
    assert parts.sender_after_s == pytest.approx((send[1] - receive[1]) * 1e-9)


def test_the_statement_counts_every_launch_and_names_both_sides() -> None:
    parts = [split(messages((0, 10), (0, 100))), split(messages((0, 30), (0, 100)))]
    said = statement([part for part in parts if part], 1e-3)
    assert said.both_ratio == pytest.approx(0.2)
    assert said.sender_s == pytest.approx(0.2e-3)
    assert said.receiver_s == pytest.approx(1e-3)
    assert said.launches == 2
    assert "20 % in MPI_Send, 100 % in MPI_Recv" in said.text


def test_planted_messages(tmp_path: Path) -> None:
    """The sender is through at half of the time, the receiver begins 100 ns after the sender."""
    cells = build_results(planted.make_run(tmp_path / "run")).cells
    late = 100 / planted.FIRST_NS
    first = cells[3].who_pays["first"]
    assert first.sender_alone_ratio == pytest.approx(late, rel=0.1)
    assert first.both_ratio == pytest.approx(0.5, abs=0.01)
    assert first.receiver_early_s == pytest.approx(-100e-9)
    assert cells[3].who_pays["steady"].receiver_alone_ratio == pytest.approx(0.5, abs=0.02)
    assert cells[3].who_pays_reason is None
    assert cells[0].who_pays is None
    assert cells[0].who_pays_reason == "only pattern=one_way times both sides"


BATCH = 4


def block(rank: int, part: int, ns: list[int], phase: str = "steady", seq0: int = 5, start: int = 0) -> SampleBlock:
    begins = np.arange(len(ns), dtype=np.int64) * 1000 + start
    return SampleBlock(
        rank, phase, 0, 1 if phase == "first" else BATCH, seq0, np.array(ns, dtype=np.int64), begins, part
    )


def launch(alone: int, computing: int, both: int, rank: int = 1) -> list[SampleBlock]:
    """Rank 0 is the slower end when it computes, the other one in all else; both times vary by a quarter."""
    noise = [0, 4, -4, 8, -8]
    blocks = [block(0, 0, [90], "first", 0), block(rank, 0, [100], "first", 0)]
    for part, length, slower in ((0, alone, rank), (1, computing, 0), (2, both, rank)):
        for number in (0, rank):
            less = 0 if number == slower else 40
            blocks.append(block(number, part, [BATCH * length + n - less for n in noise]))
    return blocks


def values(derived: Derived, metric: str, phase: str = "steady") -> list[float]:
    series = derived[metric]
    assert not isinstance(series, Absent), series.reason
    return [float(v) for v in series[phase].values_s]


@pytest.mark.parametrize(("both", "ratio"), [(2000, 1.0), (1500, 0.5), (2200, 1.2)])
def test_what_is_exposed(both: int, ratio: float) -> None:
    derived = P2P.derive({"pattern": "overlap"}, launch(1000, 1000, both), LaunchContext(2, True))
    assert values(derived, "communication_s")[0] == pytest.approx(1000e-9), "of the slower end"
    assert values(derived, "communication_s", "first") == pytest.approx([100e-9])
    assert values(derived, "compute_s")[0] == pytest.approx(1000e-9)
    assert values(derived, "overlapped_s")[0] == pytest.approx(both * 1e-9)
    assert values(derived, "exposed_s") == pytest.approx([(both - 1000) * 1e-9])
    assert values(derived, "exposed_communication_ratio") == pytest.approx([ratio])


def test_hidden_communication_is_no_zero() -> None:
    derived = P2P.derive({"pattern": "overlap"}, launch(1000, 1000, 999), LaunchContext(2, True))
    for metric in ("exposed_s", "exposed_communication_ratio"):
        reason = derived[metric]
        assert isinstance(reason, Absent)
        assert "hidden: " in reason.reason
    assert values(derived, "overlapped_s")


def test_the_peer_is_asked() -> None:
    parameters = {"pattern": "overlap", "peer": "1"}
    derived = P2P.derive(parameters, launch(1000, 1000, 1500), LaunchContext(4, True))
    assert values(derived, "exposed_s") == pytest.approx([500e-9])
    pair = [block(0, 0, [50], start=0), block(2, 0, [70], start=30)]
    hosts = ("a", "a", "a", "b")
    near = P2P.derive({"pattern": "one_way", "peer": "2"}, pair, LaunchContext(4, False, hosts=hosts))
    assert values(near, "one_way_s") == pytest.approx([100e-9])
    far = P2P.derive({"pattern": "one_way", "peer": "3"}, pair, LaunchContext(4, False, hosts=hosts))
    assert isinstance(far["one_way_s"], Absent)


KIB = 1024
HOST = TimedMessage(64 * KIB, ("host", "host"), 0, 1, "half_round_trip_latency_s")


def yardstick(name: str, each_ns: int, length: int = 64 * KIB, **more: Any) -> Yardstick:
    operations = more.pop("operations", 4)
    samples = tuple(each_ns * operations + jitter for jitter in (700, 0, 900))  # the least counts
    more = {"samples_ns": samples, "reason": None} | more
    return Yardstick(t_ns=1, rank=0, peer=1, name=name, bytes=length, operations=operations, **more)


def launch_of_floors(number: int, *yardsticks: Yardstick | FixedWork) -> LaunchRecord:
    info = LaunchInfo(launch=number, round=number, environment="default", placement="bound")
    return LaunchRecord(info, Path(), LaunchEvents(tuple(yardsticks)), None, ())


def cell(**parameters: str) -> Cell:
    known = {"pattern": "ping_pong", "message_bytes": str(64 * KIB), **parameters}
    return Cell(3, "key", "group", "label", "p2p", known, "default", "bound")


def judged(
    made: Cell,
    launches: Sequence[LaunchRecord],
    seconds: Sequence[float],
    metric: str = "half_round_trip_latency_s",
) -> CellFloors:
    measurements = Measurements(Twins(frozenset(), {}))
    taken = [SimpleNamespace(centre_s=s, tails=SimpleNamespace(min=s / 2)) for s in seconds]
    rounds = {r.info.round: (r.info.launch, reduced) for r, reduced in zip(launches, taken, strict=True)}
    measurements.by_series[made.cell, metric, "steady"] = rounds  # type: ignore[assignment]
    return floors(made, measurements, launches)


@pytest.mark.parametrize(
    ("flag_ns", "across_ns", "kernel_ns", "floor"),
    [
        (60, 50, 1300, ("flag", 60e-9)),  # no message is faster than a hand-over
        (60, 900, 1300, ("copy_across", 900e-9)),
        (60, 900, 800, ("process_vm_readv", 800e-9)),  # the fastest copy is the limit
    ],
)
def test_the_floor_is_the_fastest_copy_and_no_less_than_a_flag(
    flag_ns: int, across_ns: int, kernel_ns: int, floor: tuple[str, float]
) -> None:
    floor_launch = launch_of_floors(
        0,
        yardstick("flag", flag_ns, 0),
        yardstick("copy_across", across_ns),
        yardstick("process_vm_readv", kernel_ns),
        yardstick("memcpy", 1),  # within a process: there to compare with
    )
    fastest = lowest(HOST, floor_launch)
    assert fastest is not None
    assert fastest[1] == floor[0]
    assert fastest[0] == pytest.approx(floor[1])


def test_the_ratio_is_taken_launch_by_launch() -> None:
    """A machine that is slower by half in one launch is slower with and without MPI."""
    launches = [
        launch_of_floors(i, yardstick("flag", 60, 0), yardstick("copy_across", round(1000 * slower)))
        for i, slower in enumerate((1, 1.5, 1, 2, 1, 1.2))
    ]
    times = [4.0e-6 * slower for slower in (1, 1.5, 1, 2, 1, 1.2)]
    cell_floors = judged(cell(), launches, times)
    assert cell_floors.over is not None
    assert cell_floors.over.ratio == pytest.approx(4.0, rel=0.01)
    assert cell_floors.over.interval is not None
    assert cell_floors.over.interval[1] - cell_floors.over.interval[0] < 0.1
    assert (cell_floors.over.floor, cell_floors.over.launches) == ("copy_across", 6)
    by_name = {floor.name: floor for floor in cell_floors.floors}
    assert by_name["flag"].time_s == pytest.approx(60e-9)
    assert by_name["copy_across"].launches == 6


def test_a_put_has_the_floor_of_the_message_that_would_carry_its_bytes() -> None:
    launches = [launch_of_floors(i, yardstick("flag", 60, 0), yardstick("copy_across", 80, 8)) for i in range(6)]
    puts = {"design": "mpi", "window": "allocate", "message_bytes": "8", "puts": "200"}
    cell_here = Cell(3, "key", "group", "label", "put", puts, "default", "bound")
    cell_floors = judged(cell_here, launches, [16e-6] * 6, "time_per_put_s")
    assert cell_floors.over is not None
    assert (cell_floors.over.floor, cell_floors.over.metric) == ("copy_across", "time_per_put_s")
    assert cell_floors.over.ratio == pytest.approx(200.0, rel=0.01)
    longer = Cell(3, "key", "group", "label", "put", puts | {"message_bytes": "4096"}, "default", "bound")
    assert judged(longer, launches, [16e-6] * 6, "time_per_put_s").reason == NOT_MEASURED


@pytest.mark.parametrize(
    "parameters",
    [
        {"pattern": "windowed"},  # several messages are under way at once
        {"message_bytes": "0"},
        {"memory": "managed"},  # its pages move
        {"pattern": "one_way", "posted": "after"},  # the sample holds more than the message
    ],
)
def test_what_has_no_floor_has_none(parameters: dict[str, str]) -> None:
    cell_floors = judged(cell(**parameters), [launch_of_floors(0, yardstick("flag", 60, 0))], [1e-6])
    assert (cell_floors.floors, cell_floors.over, cell_floors.reason) == ([], None, "no lower bound is known for it")


def test_the_ways_follow_the_memory_of_both_ends() -> None:
    def names(memory: str) -> set[str]:
        message = message_of({"pattern": "one_way", "message_bytes": "8", "memory": memory}, (0, None))
        assert isinstance(message, TimedMessage)
        return {way.name for way in message.ways()}

    assert names("device:device_pool") == {"flag", "gpu_copy", "gpu_peer_copy"}
    assert names("device:pinned_host") == {"flag", "gpu_to_host"}
    assert names("host:device") == {"flag", "gpu_from_host"}
    assert names("pinned_host") == names("host") == {"flag", "copy_across", "process_vm_readv", "memcpy", "memcpy_cold"}
    assert len({way.name for way in WAYS}) == len(WAYS)


METRIC = "half_round_trip_latency_s"


def planted_of_node_pairs(
    nodes: int, slow: Mapping[tuple[str, str], float], rounds: int = 6, noise: float = 0.01
) -> list[NodePairs]:
    """Matrices of a network of `nodes` in which the pairs of `slow` take so many times as long."""
    generator = np.random.default_rng(7)
    names = [f"n{number}" for number in range(1, nodes + 1)]
    pairs = list(itertools.combinations(names, 2))
    placements = [Placement(f"pair {a} {b}", nodes=2, ranks_per_node=1, hosts=[a, b], of="pair") for a, b in pairs]
    cells = [
        Cell(i, f"k{i}", "latency", f"8 B, {place.name}", "p2p", {"message_bytes": "8"}, "default", place.name)
        for i, place in enumerate(placements)
    ]
    plan = Plan(1, "pairs", "Pairs", 2, rounds, 1, 0.05, [Environment("default")], placements, cells, [], [])
    measured: dict[Any, Any] = {}
    drift = np.exp(generator.normal(0, 0.3, rounds))  # of the whole network, common to all pairs of a round
    for cell, pair in zip(cells, pairs, strict=True):
        times = 2e-6 * slow.get(pair, 1.0) * drift * np.exp(generator.normal(0, noise, rounds))
        measured[cell.cell, METRIC, "steady"] = {
            r: (r, SimpleNamespace(centre_s=float(time))) for r, time in enumerate(times)
        }
    return node_pairs(plan, measured, {cell.cell: cell.label for cell in cells})


def slow_pairs(matrices: list[NodePairs]) -> set[tuple[str, str]]:
    (matrix,) = matrices
    return {(pair.a, pair.b) for pair in matrix.pairs if pair.verdict == "slower"}


def test_a_bad_link_is_named_with_its_ratio() -> None:
    planted_pairs = planted_of_node_pairs(4, {("n2", "n4"): 3.0})
    assert slow_pairs(planted_pairs) == {("n2", "n4")}
    (line,) = pair_lines(planted_pairs)
    assert line.level == "slow"
    assert "the link between n2 and n4" in line.text
    pair = next(pair for pair in planted_pairs[0].pairs if (pair.a, pair.b) == ("n2", "n4"))
    low, high = pair.ratio_interval
    assert low < 3.0 < high
    assert planted_pairs[0].label == "8 B"


def test_a_bad_node_is_named_rather_than_its_links() -> None:
    slow = {(a, b): 2.0 for a, b in itertools.combinations([f"n{i}" for i in range(1, 6)], 2) if "n3" in (a, b)}
    planted_pairs = planted_of_node_pairs(5, slow)
    assert slow_pairs(planted_pairs) == set(slow)
    assert "every link of n3" in pair_lines(planted_pairs)[0].text


def test_a_quiet_network_has_no_slow_link() -> None:
    planted_pairs = planted_of_node_pairs(6, {})
    assert slow_pairs(planted_pairs) == set()
    assert pair_lines(planted_pairs)[0].level == "ok"


@pytest.mark.parametrize("nodes", [2])
def test_too_few_pairs_are_shown_and_not_judged(nodes: int) -> None:
    planted_pairs = planted_of_node_pairs(nodes, {})
    (pair,) = planted_pairs[0].pairs
    assert (pair.ratio, pair.verdict) == (None, None)
    assert "fewer than 2 other pairs" in pair.reason
    assert pair.value_s == pytest.approx(2e-6, rel=1)
    assert pair_lines(planted_pairs) == []


def test_the_picture_frames_the_bad_link_and_numbers_every_pair() -> None:
    matrix = pairs_matrix(planted_of_node_pairs(4, {("n2", "n4"): 3.0})[0])
    assert [place for place, square in matrix.squares.items() if square.marked] == [(1, 3), (3, 1)]  # both halves
    assert matrix.words == "4 nodes. Slow: n2 and n4."
    assert all(square.words.endswith("×") for square in matrix.squares.values())
    assert len(matrix.squares) == 12
    assert matrix.table is not None
    assert (matrix.table.rows[0][0], matrix.table.rows[0][-1]) == ("n2 and n4", "slower")
