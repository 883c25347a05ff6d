# SPDX-License-Identifier: Apache-2.0
"""Launches beyond the plan are noted and not used; launches at the same time are noted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
from planted import SLOW_NS, add_launch, events, make_run, ping_pong

from slowpath.analyse.build import _at_once, build_results
from slowpath.record.folder import LaunchInfo

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_second_launch_of_a_round_changes_nothing_and_is_noted(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    before = build_results(run)
    for number, round_ in ((16, 0), (17, 1)):
        slow = ping_pong(np.random.default_rng(9), number, 1, 6 * SLOW_NS)
        add_launch(run, number, round_, "other", slow, events([1]))
    after = build_results(run)
    assert after.cells == before.cells
    assert after.contrasts == before.contrasts
    (note,) = [note for note in after.notes if note not in before.notes]
    assert note == (
        "measured beyond the plan and not used: 2 cells in launches 16 and 17; of several launches that measured a "
        "cell in one round the one with the lowest number counts"
    )


def launch(number: int, begin_s: float, end_s: float, wall_s: float | None = None) -> LaunchInfo:
    begin, end = (BEGIN + timedelta(seconds=at) for at in (begin_s, end_s))
    wall_s = end_s - begin_s if wall_s is None else wall_s
    return LaunchInfo(number, 0, "e", "p", started=begin.isoformat(), finished=end.isoformat(), wall_s=wall_s)


def test_launches_at_the_same_time_are_named() -> None:
    (note,) = _at_once([launch(1, 0, 10), launch(2, 10, 20), launch(3, 12, 18), launch(4, 21, 30)])
    assert note.startswith("launches 2 and 3 ran at the same time, so two processes measured into this folder")
