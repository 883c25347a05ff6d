# SPDX-License-Identifier: Apache-2.0
"""Several numbers of ranks in one campaign: placements, launches, keys, what is checked, and what is too few."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from slowpath.cli.options import RANKS
from slowpath.core.engine_description import CellVerdict
from slowpath.core.errors import UsageError
from slowpath.core.plan import Cell, Plan
from slowpath.plan import expand as expand_cells
from slowpath.plan.campaign import load
from slowpath.plan.cost import launch_seconds
from slowpath.plan.expand import MpiInUse, expand

CANNON = '[[cells]]\nname = "c"\nexperiment = "cannon"\n[cells.parameters]\nn = 48\n'
P2P = '[[cells]]\nname = "p"\nexperiment = "p2p"\n'


def test_each_number_of_ranks_is_a_placement_of_its_own(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(CANNON, ranks=[4, 1, 2])
    assert (plan.ranks, plan.rank_counts) == (4, [1, 2, 4])
    assert [(p.name, p.ranks, p.of) for p in plan.placements] == [
        ("bound, 1 rank", 1, "bound"), ("bound, 2 ranks", 2, "bound"), ("bound, 4 ranks", 4, "bound")]  # fmt: skip
    assert [plan.ranks_of(cell.placement) for cell in plan.cells] == [1, 2, 4]
    assert len({cell.key for cell in plan.cells}) == 3
    for number in range(1, plan.rounds + 1):
        assert {plan.ranks_of(one.placement) for one in plan.launches if one.round == number} == {1, 2, 4}
    assert len({round(seconds, 6) for seconds in launch_seconds(plan).values()}) == 3


def test_every_cell_is_judged_with_its_own_ranks(plan_of: Callable[..., Plan]) -> None:
    asked: list[tuple[list[str], int]] = []

    def check(cells: Sequence[Cell], ranks: int) -> dict[int, CellVerdict]:
        asked.append(([cell.placement for cell in cells], ranks))
        return {cell.cell: CellVerdict(cell.cell) for cell in cells}

    plan_of(CANNON, ranks=[1, 4], check=check)
    assert asked == [(["bound, 1 rank"], 1), (["bound, 4 ranks"], 4)]


def test_too_few_ranks_for_an_experiment_skip_its_cells_with_the_reason(plan_of: Callable[..., Plan]) -> None:
    plan = plan_of(P2P, ranks=[1, 2])
    assert [cell.skip for cell in plan.cells] == ["too few ranks: p2p needs 2 ranks, not 1", None]


def test_the_scaling_campaign_has_strong_and_weak_curves(description: dict[str, Any]) -> None:
    campaign = load("cannon-scaling")
    plan = expand(campaign, description, [MpiInUse("mpich", "mpich 5", lambda setting: ({}, None))], 1)
    assert plan.rank_counts == [1, 2, 4, 9, 16]
    orders = {int(cell.parameters["n"]) for cell in plan.cells}
    assert {192 * root for root in (1, 2, 3, 4)} == orders
    assert all(n % 12 == 0 for n in orders)


@pytest.mark.parametrize(("words", "counts"), [("4", (4,)), ("1,2, 4", (1, 2, 4))])
def test_ranks_of_the_command_line(words: str, counts: tuple[int, ...]) -> None:
    assert RANKS.convert(words, None, None) == counts


def test_a_cell_that_needs_more_ranks_is_one_whatever_its_reason_says(
    plan_of: Callable[..., Plan], monkeypatch: pytest.MonkeyPatch
) -> None:
    why = expand_cells._why_too_few

    def reworded(*given: Any) -> str | None:
        return why(*given) and "another sentence"

    monkeypatch.setattr(expand_cells, "_why_too_few", reworded)
    asked = list[int]()

    def check(cells: Sequence[Cell], ranks: int) -> dict[int, CellVerdict]:
        asked.extend(cell.cell for cell in cells)
        return {cell.cell: CellVerdict(cell.cell) for cell in cells}

    plan = plan_of(P2P, ranks=[1, 2], check=check)
    assert ([cell.skip for cell in plan.cells], asked) == (["another sentence", None], [1])
    with pytest.raises(UsageError, match="all cells are skipped: another sentence"):
        plan_of('[[cells]]\nname = "c"\nexperiment = "coll"\nparameters.members = [6, 16]\n', ranks=4)
