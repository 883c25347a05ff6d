# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path

from slowpath.experiments.measured import fixed_work
from slowpath.record.events import FixedWork, read_events

LINE = (
    '{"event": "fixed_work", "t_ns": 9, "rank": %d, "steps": 8192, "t0_ns": 1000, "visits": [2, 0, 1], '
    '"begins_ns": [0, 20, 400], "durations_ns": [11, 12, 90]}\n'
)


def test_every_sample_with_its_begin_and_visit(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    path.write_text(LINE % 1 + LINE % 0)
    first, second = fixed_work(read_events(path).of(FixedWork))
    assert (first.rank, second.rank, first.steps) == (0, 1, 8192)
    assert first.begin_ns.tolist() == [1000, 1020, 1400]
    assert first.duration_ns.tolist() == [11, 12, 90]
    assert first.visit.tolist() == [0, 0, 2]
