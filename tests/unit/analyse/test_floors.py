# SPDX-License-Identifier: Apache-2.0
"""What the same bytes cost without MPI: which way is the floor, and how far a message lies above it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slowpath.analyse.floors import (
    NOT_MEASURED,
    WAYS,
    CellFloors,
    TimedMessage,
    floors,
    lowest,
    message_of,
)
from slowpath.core.plan import Cell, Twins
from slowpath.experiments.measured import LaunchRecord, Measurements
from slowpath.record.events import FixedWork, LaunchEvents, Yardstick
from slowpath.record.folder import LaunchInfo

KIB = 1024
HOST = TimedMessage(64 * KIB, ("host", "host"), 0, 1, "half_round_trip_latency_s")


def yardstick(name: str, each_ns: int, length: int = 64 * KIB, **more: Any) -> Yardstick:
    operations = more.pop("operations", 4)
    samples = tuple(each_ns * operations + jitter for jitter in (700, 0, 900))  # the least counts
    more = {"samples_ns": samples, "reason": None} | more
    return Yardstick(t_ns=1, rank=0, peer=1, name=name, bytes=length, operations=operations, **more)


def launch(number: int, *yardsticks: Yardstick | FixedWork) -> LaunchRecord:
    info = LaunchInfo(launch=number, round=number, environment="default", placement="bound")
    return LaunchRecord(info, Path(), LaunchEvents(tuple(yardsticks)), None, ())


def cell(**parameters: str) -> Cell:
    known = {"pattern": "ping_pong", "message_bytes": str(64 * KIB), **parameters}
    return Cell(3, "key", "group", "label", "p2p", known, "default", "bound")


def judged(
    one: Cell,
    launches: Sequence[LaunchRecord],
    seconds: Sequence[float],
    metric: str = "half_round_trip_latency_s",
) -> CellFloors:
    measurements = Measurements(Twins(frozenset(), {}))
    taken = [SimpleNamespace(centre_s=s, tails=SimpleNamespace(min=s / 2)) for s in seconds]
    rounds = {r.info.round: (r.info.launch, reduced) for r, reduced in zip(launches, taken, strict=True)}
    measurements.by_series[one.cell, metric, "steady"] = rounds  # type: ignore[assignment]
    return floors(one, measurements, launches)


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
    one = launch(
        0,
        yardstick("flag", flag_ns, 0),
        yardstick("copy_across", across_ns),
        yardstick("process_vm_readv", kernel_ns),
        yardstick("memcpy", 1),  # within a process: there to compare with
    )
    found = lowest(HOST, one)
    assert found is not None
    assert found[1] == floor[0]
    assert found[0] == pytest.approx(floor[1])


def test_the_ratio_is_taken_launch_by_launch() -> None:
    """A machine that is slower by half in one launch is slower with and without MPI."""
    launches = [
        launch(i, yardstick("flag", 60, 0), yardstick("copy_across", round(1000 * slower)))
        for i, slower in enumerate((1, 1.5, 1, 2, 1, 1.2))
    ]
    times = [4.0e-6 * slower for slower in (1, 1.5, 1, 2, 1, 1.2)]
    found = judged(cell(), launches, times)
    assert found.over is not None
    assert found.over.ratio == pytest.approx(4.0, rel=0.01)
    assert found.over.fastest_ratio == pytest.approx(2.0, rel=0.01)
    assert found.over.calm_launches == 6
    assert found.over.interval is not None
    assert found.over.interval[1] - found.over.interval[0] < 0.1
    assert (found.over.floor, found.over.launches) == ("copy_across", 6)
    by_name = {one.name: one for one in found.floors}
    assert by_name["flag"].time_s == pytest.approx(60e-9)
    assert by_name["copy_across"].launches == 6


def test_a_put_has_the_floor_of_the_message_that_would_carry_its_bytes() -> None:
    launches = [launch(i, yardstick("flag", 60, 0), yardstick("copy_across", 80, 8)) for i in range(6)]
    puts = {"design": "mpi", "window": "allocate", "message_bytes": "8", "puts": "200"}
    one = Cell(3, "key", "group", "label", "put", puts, "default", "bound")
    found = judged(one, launches, [16e-6] * 6, "time_per_put_s")
    assert found.over is not None
    assert (found.over.floor, found.over.metric) == ("copy_across", "time_per_put_s")
    assert found.over.ratio == pytest.approx(200.0, rel=0.01)
    assert found.over.fastest_ratio == pytest.approx(100.0, rel=0.01)
    longer = Cell(3, "key", "group", "label", "put", puts | {"message_bytes": "4096"}, "default", "bound")
    assert judged(longer, launches, [16e-6] * 6, "time_per_put_s").reason == NOT_MEASURED


def test_launches_that_others_disturb_do_not_count_for_the_fastest() -> None:
    busy = FixedWork(1, 0, 8192, 0, (4,), (0, 1, 2, 3), (10, 10, 10, 4000))
    calm = FixedWork(1, 0, 8192, 0, (4,), (0, 1, 2, 3), (10, 10, 10, 12))
    ways = (yardstick("flag", 60, 0), yardstick("copy_across", 1000))
    launches = [launch(0, *ways, busy), launch(1, *ways, calm), launch(2, *ways, busy)]
    found = judged(cell(), launches, [1e-3, 4e-6, 1e-3]).over
    assert found is not None
    assert (found.launches, found.calm_launches) == (3, 1)
    assert found.fastest_ratio == pytest.approx(2.0, rel=0.01)
    none_calm = judged(cell(), launches[::2], [1e-3, 1e-3]).over
    assert none_calm is not None
    assert (none_calm.fastest_ratio, none_calm.calm_launches) == (None, 0)


@pytest.mark.parametrize(
    ("parameters", "why"),
    [
        ({"pattern": "windowed"}, "pattern=windowed: several messages are under way at once"),
        ({"message_bytes": "0"}, "the message is empty"),
        ({"memory": "managed"}, "memory=managed: its pages move"),
        ({"pattern": "one_way", "posted": "after"}, "the sample holds more than the message"),
    ],
)
def test_what_has_no_floor_says_why(parameters: dict[str, str], why: str) -> None:
    found = judged(cell(**parameters), [launch(0, yardstick("flag", 60, 0))], [1e-6])
    assert (found.floors, found.over, found.reason) == ([], None, why)


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
