# SPDX-License-Identifier: Apache-2.0
"""Experiments: ends of messages, roles of parameters."""

from __future__ import annotations

import numpy as np
import pytest

from slowpath.core.cell_results import CellResult
from slowpath.core.plan import is_effort
from slowpath.experiments.measured import LaunchContext, MetricSamples, SampleBlock
from slowpath.experiments.messages import allocation_bytes, ends, one_way, ping_pong, polling, splits
from slowpath.experiments.p2p import p2p_seconds
from slowpath.experiments.registry import EXPERIMENTS, ROLES
from slowpath.findings.laws import sweeps
from support.results import a_cell, a_metric, an_estimate

JOB = LaunchContext(3, True, hosts=("a", "a", "a"))
FULL = {
    "pattern": "one_way",
    "memory": "host",
    "message_bytes": "64",
    "buffer_bytes": "message",
    "overalloc_bytes": "0",
    "allocations": "1",
    "messages": "10",
    "samples": "10",
    "touch": "write",
    "validate": "on",
    "in_flight": "64",
}


def block(rank: int, begin_ns: int, length_ns: int, part: int = 0) -> SampleBlock:
    begins = np.array([begin_ns], dtype=np.int64)
    return SampleBlock(rank, "steady", 0, 1, 1, np.array([length_ns], dtype=np.int64), begins, part)


def value_s(derived: object) -> float:
    assert isinstance(derived, dict)
    series: MetricSamples = derived["steady"]
    assert series.values_s.size == 1
    return float(series.values_s[0])


@pytest.mark.parametrize(
    ("given", "pair"),
    [
        ({}, (0, 2)),
        ({"peer": "1"}, (0, 1)),
        ({"direction": "reverse"}, (2, 0)),
        ({"direction": "reverse", "peer": "1"}, (1, 0)),
        ({"pattern": "polling"}, (2, 0)),
        ({"pattern": "polling", "direction": "reverse", "peer": "1"}, (0, 1)),
    ],
)
def test_who_sends_and_who_receives(given: dict[str, str], pair: tuple[int, int]) -> None:
    assert ends(given, 3) == pair


def test_a_reversed_message_is_timed_from_the_last_rank_to_rank_0() -> None:
    p = {"pattern": "one_way", "direction": "reverse"}
    blocks = [block(2, 100, 40), block(0, 90, 110)]
    derived = one_way(p, blocks, JOB)
    assert value_s(derived["one_way_s"]) == pytest.approx(100e-9)  # 90 + 110 - 100
    assert value_s(derived["send_s"]) == pytest.approx(40e-9)
    assert value_s(derived["receive_s"]) == pytest.approx(110e-9)
    shares = splits(p, blocks, JOB)
    assert isinstance(shares, dict)
    assert shares["steady"].both == pytest.approx(0.4)
    assert value_s(ping_pong(p, [block(2, 0, 80)], JOB)["half_round_trip_latency_s"]) == pytest.approx(40e-9)


def test_a_poll_is_timed_where_it_is_made() -> None:
    blocks = [block(0, 0, 70), block(2, 0, 5)]
    assert value_s(polling({"pattern": "polling"}, blocks, JOB)["poll_s"]) == pytest.approx(70e-9)
    reverse = polling({"pattern": "polling", "direction": "reverse"}, blocks, JOB)
    assert value_s(reverse["poll_s"]) == pytest.approx(5e-9)


def test_partitions_lie_side_by_side_on_both_sides() -> None:
    windowed = {**FULL, "pattern": "windowed", "message_bytes": "100", "in_flight": "8"}
    assert [allocation_bytes(windowed, side) for side in (0, 1)] == [100, 7 * 128 + 100]
    assert [allocation_bytes({**windowed, "requests": "partitioned"}, side) for side in (0, 1)] == [800, 800]


def test_the_messages_of_a_window_lie_apart_or_in_one_place_of_each_thread() -> None:
    windowed = {**FULL, "pattern": "windowed", "message_bytes": "100", "in_flight": "8", "threads": "2"}
    in_one_place = {**windowed, "places": "one"}
    assert [allocation_bytes(windowed, side) for side in (0, 1)] == [100, 15 * 128 + 100]
    assert [allocation_bytes(in_one_place, side) for side in (0, 1)] == [100, 128 + 100]
    assert [allocation_bytes({**in_one_place, "direction": "both"}, side) for side in (0, 1)] == [228, 228]


def test_idle_time_and_lines_are_in_the_estimate() -> None:
    assert p2p_seconds({**FULL, "idle_s": "0.01"}, 2) == pytest.approx(p2p_seconds(FULL, 2) + 0.1)
    assert p2p_seconds({**FULL, "cache": "cold", "message_bytes": "1000000"}, 2) > p2p_seconds(
        {**FULL, "message_bytes": "1000000"}, 2
    )


PUT = {"pattern": "burst", "message_bytes": "8", "window": "allocate", "instructions": "16", "samples": "200"}


def put(number: int, **changed: str) -> CellResult:
    metrics = {"time_per_put_s": a_metric(an_estimate(1e-6 * (number + 1)))}
    return a_cell(number, experiment="put", parameters={**PUT, **changed}, metrics=metrics)


def test_every_parameter_has_a_role_of_three() -> None:
    roles = {role for experiment in EXPERIMENTS for role in experiment.roles.values()}
    assert roles == {"setting", "covariate", "effort"}
    assert is_effort(ROLES, "samples")
    assert not is_effort(ROLES, "puts")
    assert not is_effort(ROLES, "what no experiment has")


def varied(cells: list[CellResult]) -> list[list[str]]:
    """What varies in each sweep of the cells."""
    return [sorted(sweep.varied()) for sweep in sweeps(cells, ROLES)]


def test_effort_is_no_covariate_and_splits_no_sweep() -> None:
    lengths = ("8", "64", "512")
    alike = [put(i, message_bytes=length) for i, length in enumerate(lengths)]
    other = [put(i, message_bytes=length, instructions=str(i), samples="9") for i, length in enumerate(lengths)]
    assert varied(alike) == varied(other) == [["message_bytes"]]
