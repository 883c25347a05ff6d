# SPDX-License-Identifier: Apache-2.0
"""Rules about the order of time: what they say, and what a timer or a slower machine must not be called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest
from planted_results import Planted
from plants import PLANTS

from slowpath.core.results import Finding
from slowpath.core.study_results import CellShapes
from slowpath.experiments.registry import ROLES
from slowpath.findings.conclude import group_of
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.order_and_time.periods import about, periods
from support.results import a_cell
from support.series import Extra, every, simulated

LENGTHS = {8: 8e-7, 65536: 7e-6, 1048576: 8e-5}


def named(rule: str) -> Finding:
    run = Planted(1)
    PLANTS[rule](run, True)
    (one,) = findings(run.results(), ROLES)
    return one


def of(extra: Extra, lengths: Mapping[int, float] = LENGTHS, burst_s: float = 0.0) -> Sequence[CellShapes]:
    return list(simulated(lengths, extra, burst_s=burst_s).values())


def test_a_stall_says_which_message_what_it_costs_and_in_what_it_is_counted() -> None:
    one = named("SP026")
    assert one.text.startswith("Every 64th 8 B message is ")
    assert "They make the mean message" in one.text
    assert one.status == "observed"
    assert one.cause is None
    assert len(one.hypotheses) > 1
    assert any("it counts messages, not time" in text for text in one.legs.observed.evidence)
    assert not one.doubts
    assert not any("law" in text for text in one.next)  # there is nothing to sweep
    assert one.ratio == pytest.approx(1 + 2e-4 / 64 / 8e-7, rel=0.1)
    assert group_of(one) == "fault"


def test_an_alternation_is_every_second_message() -> None:
    one = named("SP027")
    assert one.text.startswith("Every second 8 B message is ")
    assert one.about == "every second message"


def test_growth_has_its_amount() -> None:
    one = named("SP030")
    assert "8 B message takes 5" in one.text
    assert " ns [" in one.text


def test_a_stall_of_a_collective_is_named_by_its_call() -> None:
    barrier = {0: a_cell(0, mpi="mpich", experiment="coll", parameters={"collective": "barrier"})}
    (one,) = periods(barrier, of(every(16, 2e-4), {8: 8e-7}), 0.03)
    assert about(one) == "every 16th barrier"
