# SPDX-License-Identifier: Apache-2.0
"""What a run could not have seen follows from its own spread."""

from __future__ import annotations

import made_results
import msgspec
import numpy as np
import pytest

from slowpath.core.cell_results import CellResult, MetricResult
from slowpath.diagnose.page import NOTHING, unseen_paragraph, unseen_rows
from slowpath.findings.facts import ratio_of
from slowpath.findings.finding import LeastSeen, least_seen

EFFECT = 0.03


def cells(times_s: np.ndarray, group: str = "lengths", phase: str = "steady") -> list[CellResult]:
    """One for each column of times, shape (launches, cells)."""
    made = []
    for number, column in enumerate(times_s.T):
        times = made_results.estimate(column.tolist())
        metric = MetricResult(unit="s", better="lower", phases={phase: times}, first_slow=None, by_repetition=None)
        cell = made_results.cell(number, {"message_bytes": str(number)})
        made.append(msgspec.structs.replace(cell, group=group, metrics={"one_way_s": metric}))
    return made


@pytest.mark.parametrize("spread", [0.02, 0.1])
def test_a_difference_of_that_size_is_decided_95_times_of_100(spread: float) -> None:
    """Runs with a spread that is known: how often rules take the ratio that is named for a slow path."""
    source, launches = np.random.default_rng(3), 8
    named = [
        least_seen(cells(np.exp(spread * source.standard_normal((launches, 40)))), EFFECT)[0].ratio for _ in range(20)
    ]
    ratio = float(np.median(named))
    decided = 0
    for _ in range(400):
        a = np.exp(spread * source.standard_normal(launches))
        b = ratio * np.exp(spread * source.standard_normal(launches))
        decided += ratio_of(b, a, EFFECT).beyond
    assert 0.91 <= decided / 400 <= 0.99


def test_where_nothing_could_have_been_seen_no_ratio_is_named() -> None:
    """`could not have seen medians that differ by less than 731x`."""
    ratios = {"lengths": 1.2, "overlap": 731.0, "pages": 12.0}
    many = [
        LeastSeen(group=group, phase="steady", metric="one_way_s", ratio=ratio, excess_s=1e-7, launches=3)
        for group, ratio in ratios.items()
    ]
    said = unseen_paragraph(many)
    assert said == (
        "Given its spread, this diagnosis could not detect medians that differ by less than 1.20x (100 ns) in "
        "lengths. Its launches differ too much to see anything in overlap; pages."
    )
    assert unseen_paragraph(many[1:]) == "Its launches differ too much to see anything in overlap; pages."
    assert unseen_rows(many)[0] == ("overlap", NOTHING)
