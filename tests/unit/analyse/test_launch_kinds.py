# SPDX-License-Identifier: Apache-2.0
"""Two kinds of launches in results.json, and what keeps a slow machine out of the findings."""

from __future__ import annotations

import pytest

from slowpath.core.study_results import LaunchKinds
from slowpath.slowpaths.order_and_time.sp029_launch_lottery import launch_lotteries
from support.results import a_cell
from support.series import lottery

BASES = (8e-7, 7e-6, 8e-5)
CELLS = {number: a_cell(number) for number in range(3)}
SLOW = (1, 2, 5, 8, 9, 13, 14, 15, 19, 22)


def named(kinds: list[LaunchKinds]) -> bool:
    return bool(launch_lotteries(CELLS, kinds, 0.03))


def test_which_launches_are_slow_and_by_how_much() -> None:
    (kinds,) = lottery(BASES, 2e-5, slow=SLOW)
    assert [place for place, slow in enumerate(kinds.slow) if slow] == list(SLOW)
    assert kinds.launches == list(range(1, 25))
    assert kinds.asked == 3
    top = kinds.cells[0]
    assert top.cell == 0
    assert top.ratio == pytest.approx(26, rel=0.1)
    assert top.interval is not None
    assert top.interval[0] < 26 < top.interval[1]
    assert kinds.fixed_work_ratio == pytest.approx(1.0, abs=0.02)
    assert named([kinds])


def test_a_machine_that_is_slow_in_the_same_launches_is_not_named() -> None:
    work = [5e-5 if launch in SLOW else 1e-5 for launch in range(24)]
    kinds = lottery(BASES, 2e-5, slow=SLOW, work_s=work)
    assert kinds[0].fixed_work_ratio == pytest.approx(5.0)
    assert not named(kinds)


def test_a_slow_half_of_the_run_is_not_named() -> None:
    kinds = lottery(BASES, 2e-5, slow=range(12, 24))
    assert kinds
    assert not named(kinds)
