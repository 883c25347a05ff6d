# SPDX-License-Identifier: Apache-2.0
"""Shapes of cells: what of a simulated record stands in results.json."""

from __future__ import annotations

import pytest

from support.series import every, nothing, simulated

LENGTHS = {8: 8e-7, 65536: 7e-6, 1048576: 8e-5}


def test_a_planted_stall_has_its_period_times_and_interval() -> None:
    for length, shapes in simulated(LENGTHS, every(64, 2e-4)).items():
        period = shapes.period
        assert period is not None
        assert (period.every, period.slow) == (64, 1)
        assert period.slow_s - period.fast_s == pytest.approx(2e-4, rel=0.05)
        assert period.fast_s == pytest.approx(LENGTHS[length], rel=0.05)
        assert period.interval is not None
        assert period.interval[0] < 1 + 2e-4 / LENGTHS[length] < period.interval[1] * 1.02
        assert period.mean_interval is not None
        assert period.mean_interval[0] < 1 + 2e-4 / 64 / LENGTHS[length] < period.mean_interval[1] * 1.02
        assert period.between_s == pytest.approx(64 * LENGTHS[length] + 2e-4, rel=0.2)


def test_what_stalls_take_of_all_time() -> None:
    shapes = simulated({8: 1e-6}, every(64, 1e-4))[8]
    lost = 1e-4 / (1e-4 + 64e-6)
    assert shapes.stalls.lost_ratio == pytest.approx(lost, rel=0.05)
    assert shapes.stalls.lost_interval is not None
    assert shapes.stalls.lost_interval[0] <= shapes.stalls.lost_ratio <= shapes.stalls.lost_interval[1]
    assert shapes.stalls.mean_ratio == pytest.approx(1 / (1 - lost), rel=0.05)
    assert shapes.stalls.share == pytest.approx(1 / 64, rel=0.2)
    assert shapes.stalls.length_s == pytest.approx(1e-4, rel=0.05)


def test_the_tail_falls_from_the_median_to_the_slowest() -> None:
    tail = simulated({8: 1e-6}, every(64, 1e-4))[8].tail
    assert tail[0].share == 0.5
    assert tail[-1].share == 0.0
    assert [one.share for one in tail] == sorted((one.share for one in tail), reverse=True)
    assert [one.time_s for one in tail] == sorted(one.time_s for one in tail)
    assert simulated({8: 1e-6}, messages=50)[8].tail == []


@pytest.mark.needs("minutes")
def test_clean_runs_have_no_period() -> None:
    """60 runs of three cells on a machine with bursts of a millisecond."""
    found = [
        shapes.period
        for seed in range(60)
        for shapes in simulated(LENGTHS, nothing, seed=seed, messages=199, burst_s=1e-3).values()
    ]
    assert found == [None] * 180
