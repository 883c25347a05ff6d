# SPDX-License-Identifier: Apache-2.0
"""SP073: messages that are slow at random, and what must not be called so."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from planted_results import Planted, witness
from plants import PLANTS

from slowpath.core.results import Finding
from slowpath.core.study_results import CellShapes
from slowpath.experiments.registry import ROLES
from slowpath.findings.conclude import group_of
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.order_and_time.sp073_mixed_messages import Mixture, mixtures
from support.results import a_cell
from support.series import Extra, at_random, simulated

LENGTHS = {8: 8e-7, 65536: 7e-6}
CELLS = {number: a_cell(number, mpi="mpich") for number in range(2)}
COST_S = 9e-4


def of(extra: Extra, lengths: dict[int, float] | None = None, messages: int = 599) -> Sequence[CellShapes]:
    return list(simulated(lengths or LENGTHS, extra, messages=messages, burst_s=1e-3).values())


def named(extra: Extra) -> list[Mixture]:
    return mixtures(CELLS, of(extra), 0.03)


def planted(switches: int | None) -> list[Finding]:
    run = Planted(1)
    PLANTS["SP073"](run, True)
    if switches is not None:
        for cell in run.cells:
            cell["witness"] = witness("steady", 0.0)
            cell["witness"]["steady"]["receive"] |= {"involuntary_switches": switches, "operations": 599}
    return findings(run.results(), ROLES)


def test_it_says_which_part_is_slow_and_what_the_mean_message_loses() -> None:
    (one,) = planted(None)
    assert one.rule == "SP073"
    assert one.text.split("%")[0].isdigit()
    assert int(one.text.split("%")[0]) == pytest.approx(50, abs=10)
    assert one.ratio == pytest.approx(1 + 0.5 * 2e-5 / 8e-7, rel=0.2)
    assert one.status == "observed"


def test_it_is_a_fault_only_where_ranks_kept_their_processors() -> None:
    (unknown,), (kept,) = planted(None), planted(3)
    assert group_of(unknown) == "suspicion"
    assert group_of(kept) == "fault"
    assert planted(400) == []  # each slow message may be one that lost its processor


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("cost_s", [2e-5, COST_S])
def test_any_share_and_cost_far_above_a_message_is_named(share: float, cost_s: float) -> None:
    (one,) = named(at_random(share, cost_s))
    assert one.mixed.share == pytest.approx(share, abs=0.1)
    assert len(one.cells) == 2
