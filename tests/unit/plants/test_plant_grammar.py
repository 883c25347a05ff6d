# SPDX-License-Identifier: Apache-2.0
"""Clauses: their text, what they depend on, and what they cost at a place."""

from __future__ import annotations

import random
import re

import pytest

from slowpath.slowpaths.registry import PROGRAM_SLOW_PATHS, SLOW_PATHS
from slowpath.studies.plants.classes import CLASSES, PAIRED, find, pair
from slowpath.studies.plants.grammar import Clause, PlantCondition, page_of
from slowpath.studies.plants.marks import DEPENDS
from slowpath.studies.plants.plant import Plant

MIB = 2**20
FIRST = PlantCondition("use", "=", 1)
# As engine/plant/clause.cpp reads words.
WORD = re.compile(
    r"(call=(send|receive|both|put|get|wait|waitall|barrier|bcast|reduce|allreduce|alltoall)|place=(kernel|waiting|cold)|law=exponential|(chance|coin)=0\.\d+|seed=\d+"
    r"|period_s=[\d.e-]+|cost_s=[\d.e+-]+|environment=\w+|per=(byte|allocation|page|block|queue|index|second|\d+)"
    r"|(bytes|allocation|start|use|others|index|idle_s|rank|peer|wildcard|alloc_mem|open|root|in_place)([<>=][\d.e-]+|%\d+(=\d+)?))"
)


def test_a_clause_is_text_and_axes_and_limits() -> None:
    over, off = PlantCondition("bytes", ">", 8192), PlantCondition("start", "%", 64)
    one = Clause(2e-10, "receive", (over, off, PlantCondition("index", "%", 7, 3)), "byte", room="kernel")
    assert one.text == "call=receive bytes>8192 start%64 index%7=3 cost_s=2e-10 per=byte place=kernel"
    assert one.axes == {"bytes", "start", "index"}
    assert one.limits == (("bytes", 8192),)
    assert one.sides == {"receive"}
    cache = Clause(1e-4, conditions=(PlantCondition("others", ">", 15),))
    assert cache.limits == (("others", 16),)
    assert Clause(1e-4, chance=0.1, coin=0.5, period_s=1e-3, per="second").axes == {"chance", "launch", "time"}


@pytest.mark.parametrize(
    ("clause", "place", "cost_s"),
    [
        (Clause(2.0), {}, 2.0),
        (Clause(2.0, per="byte"), {"bytes": 10.0}, 20.0),
        (Clause(2.0, per="byte"), {}, None),
        (Clause(2.0, per="page"), {"allocation": 2.0 * MIB + 1}, 2.0 * 513),
        (Clause(2.0, per="granule", granule=MIB), {"allocation": 2.0 * MIB + 1}, 6.0),
        (Clause(2.0, per="block"), {"block": 1.0}, 0.0),
        (Clause(2.0, conditions=(FIRST,)), {"use": 1.0}, 2.0),
        (Clause(2.0, conditions=(FIRST,)), {"use": 2.0}, 0.0),
        (Clause(2.0, conditions=(PlantCondition("start", "%", 64),)), {"start": 8.0}, 2.0),
        (Clause(2.0, conditions=(PlantCondition("index", "%", 4, 3),)), {}, 0.5),
        (Clause(2.0, chance=0.1, coin=0.5), {}, 0.1),
        (Clause(None, room="cold"), {"bytes": 8.0}, None),
    ],
)
def test_what_a_call_pays_on_average(clause: Clause, place: dict[str, float], cost_s: float | None) -> None:
    assert clause.expected_s(place) == (None if cost_s is None else pytest.approx(cost_s))


def test_an_operation_takes_what_its_dearer_side_pays() -> None:
    plant = Plant("both", (Clause(2.0, "both"), Clause(1.0, "receive")))
    assert plant.expected_s({"send": {}, "receive": {}}) == 3.0  # both pay at once
    assert plant.expected_s({"send": {}}) == 2.0
    assert [page_of(n) for n in (2 * MIB, 2 * MIB + 1, 3 * MIB)] == [2 * MIB, 4096, 65536]


@pytest.mark.parametrize("one", CLASSES, ids=lambda one: one.name)
def test_every_class_draws_what_the_library_can_read(one: object) -> None:
    found = find(getattr(one, "name", ""))
    assert found is not None
    for seed in range(20):
        plant = found.draw(random.Random(seed))
        assert plant == found.draw(random.Random(seed))
        assert plant.kind == found.name
        assert (plant.preloaded is None) == (plant.state is not None and plant.state.text is None)
        for clause in plant.clauses:
            assert all(WORD.fullmatch(word) for word in clause.text.split()), clause.text
            assert max(len(word) for word in clause.text.split()) < 64
            assert (clause.cost_s is None) == (clause.room == "cold")


def test_a_pair_is_two_classes_at_once() -> None:
    both = pair(random.Random(3), PAIRED)
    first, second = both.kind.split("+")
    assert first != second
    assert both.preloaded == "; ".join(clause.text for clause in both.clauses)
    assert len(both.clauses) == 2
    assert both.axes == both.clauses[0].axes | both.clauses[1].axes


def test_of_every_rule_it_is_known_what_it_says_that_time_depends_on() -> None:
    """A finding of another rule would be the plant's, or not, whatever it says."""
    of_the_machine = {"SP025", "SP072"}  # far above the floor: of nothing in particular
    of_programs = {rule.code for rule in PROGRAM_SLOW_PATHS}  # no cell shows them
    assert {rule.code for rule in SLOW_PATHS} - of_the_machine - of_programs <= set(DEPENDS)
