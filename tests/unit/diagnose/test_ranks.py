# SPDX-License-Identifier: Apache-2.0
"""A diagnosis of many ranks: where they go, what is measured with all of them, what it costs, what is left out."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from slowpath.core.campaign import Campaign
from slowpath.core.errors import UsageError
from slowpath.core.plan import Plan
from slowpath.diagnose.bench import known_patterns
from slowpath.diagnose.ranks import (
    A_PAIR,
    BRIEF,
    GROUPS,
    Job,
    parts,
    require_possible,
    shipped_parts,
    survey_s,
    with_ranks,
    within,
)
from slowpath.diagnose.sides import LaunchPlace
from slowpath.diagnose.steps.survey import survey_campaign
from slowpath.mpi.settings import resolver
from slowpath.plan.campaign import Nodes, load
from slowpath.plan.expand import MpiInUse, expand
from slowpath.run.prepare import estimated_size

Json = dict[str, Any]
MPICH = [MpiInUse("mpich", "mpich 5.0.2", resolver("mpich", "5.0.2"))]
PAIRS = survey_campaign(load("panel"), 0)
BUDGET_S = 120.0
COLL = load("coll")


def planned(campaign: Campaign, description: Json, nodes: int = 1) -> Plan:
    return expand(campaign, description, MPICH, 1, nodes=Nodes(nodes))


@pytest.fixture
def known(description: Json) -> frozenset[str]:
    return known_patterns(description)


def everything(job: Job, known: frozenset[str]) -> Campaign:
    return within(PAIRS, job, known, None, math.inf, COLL).campaign


@pytest.fixture
def seconds(description: Json) -> Callable[[Campaign], float]:
    library: Any = SimpleNamespace(in_use=MPICH[0])
    return lambda campaign: estimated_size(campaign, library, description, 1).wall_s


def test_ranks_of_one_node_have_a_core_each_and_a_second_place_where_there_is_one() -> None:
    assert dict(Job(4, cores=4).timed_places) == {"4 ranks": LaunchPlace("core", 4)}
    two = dict(Job(4, cores=16, spreads=("core_group", "numa")).timed_places)
    assert two == {"4 ranks": LaunchPlace("core", 4), "4 ranks, over numas": LaunchPlace("core", 4, spread="numa")}
    full = Job(16, cores=16, spreads=("numa",)).timed_places
    assert list(full) == ["16 ranks"], "all cores are taken: spread or packed is the same"


def test_an_allocation_spreads_ranks_over_all_nodes_and_packs_them_on_the_fewest() -> None:
    assert dict(Job(8, cores=8, nodes=4).timed_places) == {
        "8 ranks, 4 nodes": LaunchPlace("core", 8, 4, 2),
        "8 ranks, 1 node": LaunchPlace("core", 8, 1, 8),
    }
    assert dict(Job(32, cores=8, nodes=4).timed_places) == {"32 ranks, 4 nodes": LaunchPlace("core", 32, 4, 8)}
    assert dict(Job(7, cores=4, nodes=2).timed_places) == {"7 ranks": LaunchPlace("core", 7)}, "the launcher divides 7"


@pytest.mark.parametrize(
    ("job", "why"),
    [
        (Job(1, cores=2), "--ranks 1: a diagnosis can have 2 to 1000000 ranks"),
        (Job(0), "--ranks 0: a diagnosis can have 2 to 1000000 ranks"),
        (Job(2_000_000), "--ranks 2000000: a diagnosis can have 2 to 1000000 ranks"),
    ],
)
def test_refused_numbers_are_one_line(job: Job, why: str) -> None:
    with pytest.raises(UsageError, match=why) as said:
        require_possible(job)
    assert "\n" not in str(said.value)


def test_pairs_keep_two_ranks_and_collectives_have_all(description: Json, known: frozenset[str]) -> None:
    plan = planned(everything(Job(8, cores=8), known), description)
    of = {
        cell.experiment: {plan.ranks_of(table.placement) for table in plan.cells if table.experiment == cell.experiment}
        for cell in plan.cells
    }
    assert of["p2p"] == of["put"] == {2}
    assert of["coll"] == {8}
    assert not [cell for cell in plan.cells if cell.skip]
    default = planned(everything(A_PAIR, known), description)
    assert {default.ranks_of(cell.placement) for cell in default.cells} == {2}
    assert [placement.name for placement in default.placements] == ["bound", "unbound"]


@pytest.mark.parametrize("ranks", [2, 8, 64, 1024])
def test_the_budget_is_kept_with_any_number_of_ranks(
    ranks: int, seconds: Callable[[Campaign], float], known: frozenset[str]
) -> None:
    budget_s = max(survey_s(BUDGET_S, ranks), seconds(PAIRS))
    kept = within(PAIRS, Job(ranks, cores=ranks), known, seconds, budget_s)
    assert seconds(kept.campaign) <= budget_s
    names = [group.name for group in kept.campaign.cells]
    every = parts()
    fitting = [part.name for part in every if part.needs in known]
    there = [name for name in fitting if name in names]
    assert list(kept.left_out) == [name for name in fitting if name not in there]
    whole = {part.name: part for part in every}
    first = next((name for name in fitting if name in kept.left_out), None)
    if first is not None:  # the most valuable one that is left out does not fit behind those before it
        before = [whole[name] for name in fitting[: fitting.index(first) + 1]]
        assert seconds(with_ranks(PAIRS, Job(ranks, cores=ranks), before)) > budget_s


def test_groups_of_the_shipped_campaign_are_taken_over_with_less_effort(
    description: Json, known: frozenset[str]
) -> None:
    parts_of = {shipped_part.name: shipped_part for shipped_part in shipped_parts(COLL, ["default", "threads"])}
    assert len(parts_of) == len(GROUPS), "each group that is named is in the campaign"
    level = parts_of["collectives: thread level"]
    assert level.environments == ("default", "threads")
    assert [own_environment.setting for own_environment in level.own_environments] == ["collectives_never_open"]
    assert "collectives: starts" not in {cell.name for cell in everything(A_PAIR, known).cells}
    plan = planned(everything(Job(4), known), description)
    names = [environment.name for environment in plan.environments]
    assert len(set(names)) == len(names)
    mine = next(cell for cell in plan.cells if cell.group == "collectives: starts")
    assert mine.parameters["samples"] == BRIEF["samples"]
