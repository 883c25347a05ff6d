# SPDX-License-Identifier: Apache-2.0
"""A diagnosis for a watched program: what of the survey is about it, and what a finding could save there."""

from __future__ import annotations

from typing import Any

import pytest
from made_results import cell, finding, results

from slowpath.core.plan import Cell
from slowpath.diagnose.state import with_groups_alone
from slowpath.diagnose.steps.survey import survey_campaign
from slowpath.diagnose.tasks import ProgramSpent, ProgramUse, priced, with_groups
from slowpath.findings.conclude import RunFacts, conclude
from slowpath.findings.finding import by_cost
from slowpath.plan.campaign import load
from slowpath.plan.expand import MpiInUse, expand

SURVEY = survey_campaign(load("survey"), (), 0)
LONG = ProgramSpent(experiment="p2p", seconds=0.3, low_bytes=1 << 20, high_bytes=1 << 20)
STRIDED = ProgramSpent(experiment="p2p", seconds=0.1, low_bytes=65536, high_bytes=65536, is_strided=True)
ON_GPU = ProgramSpent(experiment="p2p", seconds=0.2, low_bytes=1 << 20, high_bytes=1 << 20, memory="device")
PUTS = ProgramSpent(experiment="put", seconds=0.4, low_bytes=8, high_bytes=8)


def program(*spent: ProgramSpent) -> ProgramUse:
    return ProgramUse(name="heat", ranks=2, span_s=3.0, mpi_s=1.0, spent=list(spent))


@pytest.fixture(scope="module")
def plan_cells(description: dict[str, Any]) -> list[Cell]:
    mpi = MpiInUse("mpich", "mpich 5", lambda setting: ({}, None))
    return list(expand(SURVEY, description, [mpi], 1).cells)


@pytest.mark.parametrize(
    ("spent", "asked", "not_asked"),
    [
        (LONG, {"lengths", "pages", "paths", "screening of long messages"}, {"blocks", "windows", "queue", "overlap"}),
        (STRIDED, {"blocks", "posted"}, {"windows", "queue"}),
        (PUTS, {"windows", "window info", "datatype of puts"}, {"lengths", "blocks"}),
    ],
)
def test_groups_are_those_of_the_programs_calls_lengths_and_memory(
    plan_cells: list[Cell], spent: ProgramSpent, asked: set[str], not_asked: set[str]
) -> None:
    found = with_groups(program(spent), plan_cells)
    assert asked <= set(found.groups)
    assert not not_asked & set(found.groups)
    assert set(found.groups.values()) == {spent.seconds}
    kept = with_groups_alone(SURVEY, found.groups)
    assert {group.name for group in kept.cells} == {"control", *found.groups}
    assert {contrast.cells for contrast in kept.contrasts} <= {"control", *found.groups}


def test_a_program_on_gpu_memory_asks_nothing_of_host_memory(plan_cells: list[Cell]) -> None:
    assert not with_groups(program(ON_GPU), plan_cells).groups


def test_a_finding_costs_at_most_what_the_program_spends_on_its_messages() -> None:
    seen = results([cell(0, {"message_bytes": "1048576", "memory": "host"})])
    found = finding(cells=[0], slow_cells=[0], ratio=2.0, interval=(1.5, 3.0))
    assert priced(found, program(LONG, STRIDED, PUTS), seen).program_s == pytest.approx(0.3 * (1 - 1 / 3.0))
    assert priced(found, program(STRIDED, PUTS), seen).program_s == 0.0
    without_ratio = finding(cells=[0], slow_cells=[0], ratio=None, interval=None)
    assert priced(without_ratio, program(LONG), seen).program_s == pytest.approx(0.3)


def test_what_costs_the_program_most_comes_first_and_says_so() -> None:
    small = finding(number=1, excess_s=1.0, program_s=0.01, concerns="MPI_Put", kind="fault")
    large = finding(number=2, excess_s=1e-6, program_s=0.4, concerns="MPI_Put", kind="fault")
    assert by_cost([small, large]) == [large, small]
    verdict = conclude([], [large], RunFacts(is_check=True)).verdict
    assert verdict.actions[0].endswith("Your program can save at most 400 ms a rank in these calls.")
    assert not verdict.actions[0].startswith("If your programs use")
