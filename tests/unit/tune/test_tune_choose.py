# SPDX-License-Identifier: Apache-2.0
"""Planted times of ways: which one is tried."""

from __future__ import annotations

import pytest

from slowpath.diagnose.tune.cells import CollectiveCell, WayTrial, picks

CELL = CollectiveCell("bcast", 2, 1024)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([WayTrial("algorithm", "ring", 0.96)], None),
        ([WayTrial("algorithm", "ring", 0.80)], ("algorithm", "ring")),
        ([WayTrial("algorithm", "ring", 0.80), WayTrial("mockup", "scatter+allgather", 0.79)], ("algorithm", "ring")),
        (
            [WayTrial("algorithm", "ring", 0.80), WayTrial("mockup", "scatter+allgather", 0.50)],
            ("mockup", "scatter+allgather"),
        ),
        (
            [WayTrial("algorithm", "ring", 1.10), WayTrial("mockup", "scatter+allgather", 0.50)],
            ("mockup", "scatter+allgather"),
        ),
        ([], None),
    ],
)
def test_what_is_tried(others: list[WayTrial], expected: tuple[str, str] | None) -> None:
    found = picks({CELL: [WayTrial(None, "", 1.0), *others]})
    assert [(one.kind, one.name) for one in found] == ([] if expected is None else [expected])


def test_nothing_is_tried_where_the_default_was_not_measured() -> None:
    assert picks({CELL: [WayTrial("algorithm", "ring", 0.1)]}) == []
