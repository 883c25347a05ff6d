# SPDX-License-Identifier: Apache-2.0
"""A diagnosis of many ranks: where they go, what is measured with all of them, what it costs, what is left out."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from slowpath.core.errors import UsageError
from slowpath.core.plan import Plan
from slowpath.diagnose.places import Place
from slowpath.diagnose.ranks import parts as table
from slowpath.diagnose.ranks import survey
from slowpath.diagnose.ranks.costs import STATED, cost_lines, costs, left_out_line
from slowpath.diagnose.ranks.job import A_PAIR, Job, crowded_lines, require_possible
from slowpath.diagnose.ranks.parts import Part, parts
from slowpath.diagnose.ranks.survey import Kept, shortened, survey_s, with_ranks, within
from slowpath.diagnose.steps.survey import survey_text
from slowpath.mpi.guidelines import GUIDELINES
from slowpath.mpi.settings import resolver
from slowpath.plan.campaign import decode, shipped
from slowpath.plan.expand import expand
from slowpath.plan.mpis import MpiInUse
from slowpath.plan.places import Nodes
from slowpath.run.prepare import estimated_s

Json = dict[str, Any]
MPICH = [MpiInUse("mpich", "mpich 5.0.2", resolver("mpich", "5.0.2"))]
PAIRS = survey_text(shipped()["survey"].read_text(), [], 0)
KNOWN = frozenset({"p2p", "put", "coll", "first_use"})
BUDGET_S = 120.0


CHOICES = {
    "pattern": ["calls", "counted", "communicators"],
    "collective": ["barrier", *table.HELD],
    "way": ["library", *dict.fromkeys(one.mockup for one in GUIDELINES if one.mockup)],
    "shape": ["elements", "one_type"],
    "op": ["sum", "user", "user_ordered"],
    "arrival": ["together", "one_late"],
}


@pytest.fixture(scope="session")
def description(description: Json) -> Json:
    """With the experiment coll, where the engine's own description has none yet."""
    if any(one["name"] == "coll" for one in description["experiments"]):
        return description
    defaults = {
        **{"pattern": "calls", "collective": "bcast", "way": "library", "message_bytes": "8", "shape": "elements"},
        **{"op": "sum", "arrival": "together", "arrival_ratio": "1", "calls": "10", "samples": "100"},
        **{"time_limit_s": "0.1", "warmup_s": "0.01", "validate": "on", "members": "all", "duplicates": "0"},
    }
    types = {"message_bytes": "bytes", "calls": "count", "samples": "count", "duplicates": "count", "members": "count"}
    types |= dict.fromkeys(("time_limit_s", "warmup_s", "arrival_ratio"), "seconds") | {"validate": "flag"}
    made = [
        {"name": name, "type": types.get(name, "choice"), "default": value, "choices": CHOICES.get(name, [value])}
        for name, value in defaults.items()
    ]
    coll = {"name": "coll", "parameters": made, "min_ranks": 2, "metrics": [{"name": "collective_work_s"}]}
    return {**description, "experiments": [*description["experiments"], coll]}


def planned(text: str, description: Json, nodes: int = 1) -> Plan:
    return expand(decode(text.encode(), "survey.toml"), description, MPICH, 1, nodes=Nodes(nodes))


@pytest.fixture
def seconds(description: Json) -> Callable[[str], float]:
    library: Any = SimpleNamespace(in_use=MPICH[0])
    return lambda text: estimated_s(text, library, description, 1)


def test_ranks_of_one_node_have_a_core_each_and_a_second_place_where_there_is_one() -> None:
    assert dict(Job(4, cores=4).timed_places) == {"4 ranks": Place("core", 4)}
    two = dict(Job(4, cores=16, spreads=("core_group", "numa")).timed_places)
    assert two == {"4 ranks": Place("core", 4), "4 ranks, over numas": Place("core", 4, spread="numa")}
    full = Job(16, cores=16, spreads=("numa",)).timed_places
    assert list(full) == ["16 ranks"], "all cores are taken: spread or packed is the same"


def test_an_allocation_spreads_ranks_over_all_nodes_and_packs_them_on_the_fewest() -> None:
    assert dict(Job(8, cores=8, nodes=4).timed_places) == {
        "8 ranks, 4 nodes": Place("core", 8, 4, 2),
        "8 ranks, 1 node": Place("core", 8, 1, 8),
    }
    assert dict(Job(32, cores=8, nodes=4).timed_places) == {"32 ranks, 4 nodes": Place("core", 32, 4, 8)}
    assert dict(Job(7, cores=4, nodes=2).timed_places) == {"7 ranks": Place("core", 7)}, "the launcher divides 7"


def test_more_ranks_than_cores_are_counted_and_the_times_are_those_of_fewer() -> None:
    job = Job(16, cores=2)
    assert (job.is_crowded, job.timed_ranks) == (True, 2)
    assert job.counted_place == ("16 ranks", Place("none", 16))
    lines = crowded_lines(job)
    assert lines[0].startswith("16 ranks on 2 cores: ")
    assert any("measured with 2" in one for one in lines)
    assert any(one.startswith("still concluded with 16: what is counted") for one in lines)
    assert crowded_lines(Job(2, cores=2)) == []
    assert Job(8, cores=None).is_crowded is False
    assert Job(24, cores=4, nodes=3).counted_place == ("24 ranks", Place("none", 24, 3, 8))


@pytest.mark.parametrize(
    ("job", "why"),
    [
        (Job(1, cores=2), "--ranks 1: a diagnosis needs 2 ranks or more"),
        (Job(0), "--ranks 0: a diagnosis needs 2 ranks"),
        (Job(2_000_000), "--ranks 2000000: 1000000 is the most"),
        (Job(65, cores=2), "--ranks 65: 2 cores hold 64 ranks at most"),
    ],
)
def test_refused_numbers_are_one_line(job: Job, why: str) -> None:
    with pytest.raises(UsageError, match=why) as said:
        require_possible(job)
    assert "\n" not in str(said.value)


def test_the_cost_of_any_number_can_be_stated() -> None:
    require_possible(Job(1024, cores=2), on_paper=True)
    assert crowded_lines(Job(1024, cores=2))[-1].startswith("more than can be started here: 2 cores hold 64")
    require_possible(Job(64, cores=2))


def test_pairs_keep_two_ranks_and_collectives_have_all(description: Json) -> None:
    plan = planned(with_ranks(PAIRS, Job(8, cores=8), parts()), description)
    of = {
        cell.experiment: {plan.ranks_of(one.placement) for one in plan.cells if one.experiment == cell.experiment}
        for cell in plan.cells
    }
    assert of["p2p"] == of["put"] == {2}
    assert of["coll"] == {8}
    assert not any(cell.skip for cell in plan.cells if cell.experiment == "coll")
    default = planned(with_ranks(PAIRS, A_PAIR, parts()), description)
    assert {default.ranks_of(one.placement) for one in default.cells} == {2}
    assert [one.name for one in default.placements] == ["bound", "unbound"], "no launch more for a pair"


def test_the_survey_without_the_experiment_is_that_of_pairs() -> None:
    assert within(PAIRS, Job(8, cores=8), {"p2p", "put"}, None, 60.0) == Kept(PAIRS)


@pytest.mark.parametrize("ranks", STATED)
def test_the_budget_is_kept_with_any_number_of_ranks(ranks: int, seconds: Callable[[str], float]) -> None:
    budget_s = max(survey_s(BUDGET_S, ranks), seconds(PAIRS))
    kept = within(PAIRS, Job(ranks, cores=ranks), KNOWN, seconds, budget_s)
    assert seconds(kept.text) <= budget_s
    names = [one["name"] for one in tomllib.loads(kept.text)["cells"]]
    fitting = [one.name for one in parts() if ranks <= (one.most_ranks or ranks)]
    there = [name for name in fitting if name in names]
    assert there == fitting[: len(there)], "the last ones go first"
    assert list(kept.left_out) == fitting[len(there) :]


def test_a_budget_for_pairs_alone_leaves_out_all_else_and_says_so(seconds: Callable[[str], float]) -> None:
    kept = within(PAIRS, Job(8, cores=8), KNOWN, seconds, 1.0)
    assert kept.text == PAIRS
    assert left_out_line(kept.left_out, 20.0, 8)[0].startswith("left out, since the survey may take 15 s of 20 s: al")
    assert left_out_line((), 1.0, 8) == []


def test_costs_are_stated_for_each_number(seconds: Callable[[str], float]) -> None:
    found = costs((2, 1024), lambda job: within(PAIRS, job, KNOWN, seconds, 60.0), seconds)
    head, *rows = cost_lines(found)
    assert head.startswith("cost of the survey by ranks")
    assert [row.split()[0] for row in rows] == ["2", "1024"]
    assert found[1].left_out
    assert "without" in rows[1]


def test_long_blocks_go_where_each_rank_has_one_for_each_other() -> None:
    part = Part("a", (), {"collective": ["alltoall"], "message_bytes": ["8", "65536", "1MiB"]})
    assert shortened(part, 2) is part
    assert shortened(part, 16).parameters["message_bytes"] == ["8", "65536"]
    assert shortened(part, 2**14).parameters["message_bytes"] == ["8"], "the shortest remains"
    tree = Part("b", (), {"collective": "bcast", "message_bytes": "8..1MiB*4"})
    assert shortened(tree, 16) is tree


def test_counted_groups_have_all_ranks_and_no_time(monkeypatch: pytest.MonkeyPatch, description: Json) -> None:
    counted = Part("counts", ("SP039",), {"collective": "scan", "message_bytes": "8"}, counted=True)
    made = with_ranks(PAIRS, Job(16, cores=2), [counted])
    plan = planned(made, description)
    (cell,) = [one for one in plan.cells if one.group == "counts"]
    assert (plan.ranks_of(cell.placement), cell.environment) == (16, survey.COUNTED)
    assert plan.environment(cell.environment, "mpich").witness
    assert next(one.bind for one in plan.placements if one.name == cell.placement) == "none"
    monkeypatch.setattr(table, "parts", lambda: [counted])
    assert table.with_all_ranks() == {"SP039": ("counts",)}
