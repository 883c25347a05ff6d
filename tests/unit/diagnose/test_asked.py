# SPDX-License-Identifier: Apache-2.0
"""What --only asks for: words, the cells of the survey that can show it, and the findings that it is about."""

from __future__ import annotations

import pytest
from made_results import cell, contrast, finding, results

from slowpath.core.campaign import Campaign
from slowpath.core.errors import UsageError
from slowpath.diagnose.asked import GROUPS, Asked, asked_for
from slowpath.diagnose.ranks.job import Job
from slowpath.diagnose.ranks.parts import parts
from slowpath.diagnose.ranks.shipped import shipped_parts
from slowpath.diagnose.ranks.survey import with_ranks
from slowpath.diagnose.sides import Condition, Sides
from slowpath.diagnose.steps.survey import survey_campaign
from slowpath.diagnose.steps.trial import CannotHelp, where_it_can_help
from slowpath.mpi.own_settings import OwnSetting
from slowpath.plan.campaign import load
from slowpath.slowpaths.registry import PROGRAM_SLOW_PATHS, SLOW_PATHS
from support.remedies import find_remedy

MANY = 64  # ranks: with so many there is every group
OWN = [OwnSetting("UCX_TLS", "tcp")]
PAIRS = survey_campaign(load("survey"), OWN, 2)
WHOLE = with_ranks(PAIRS, Job(MANY), parts(MANY, MANY, shipped_parts(load("coll"), ["default", "threads"])))
NO_GPU = survey_campaign(load("survey"), (), 0)


def groups(survey: Campaign) -> list[str]:
    return [group.name for group in survey.cells]


def test_every_group_of_the_table_is_in_the_survey() -> None:
    assert {group for names in GROUPS.values() for group in names} <= set(groups(WHOLE))
    assert set(GROUPS) <= {rule.code for rule in SLOW_PATHS}


@pytest.mark.parametrize("word", ["SP013", "sp13", "13", "Protocol switch"])
def test_a_rule_by_its_code_or_its_name(word: str) -> None:
    asked = asked_for([word], WHOLE)
    assert asked == Asked(frozenset({"SP013"}))
    assert groups(asked.narrowed(WHOLE)) == ["lengths", "control"]
    assert asked_for(asked.words, WHOLE) == asked


def test_a_question_takes_its_cells_and_contrasts() -> None:
    narrowed = asked_for(["page kind"], WHOLE).narrowed(WHOLE)
    assert groups(narrowed) == ["pages", "control"]
    assert {contrast.cells for contrast in narrowed.contrasts} == {"pages", "control"}
    assert narrowed.environments == WHOLE.environments
    assert narrowed.cells[0] == next(group for group in WHOLE.cells if group.name == "pages")


def test_a_rule_whose_cells_are_not_known_takes_the_whole_survey() -> None:
    assert groups(asked_for(["SP004"], WHOLE).narrowed(WHOLE)) == groups(WHOLE)
    assert asked_for([], WHOLE).narrowed(WHOLE) == WHOLE


def test_what_cannot_be_asked_is_an_error_with_the_nearest_word() -> None:
    with pytest.raises(UsageError, match=r"--only 'page kinds'.*; close: page kind"):
        asked_for(["page kinds"], NO_GPU)
    with pytest.raises(UsageError, match="SP007: needs memory kinds"):
        asked_for(["SP007"], NO_GPU)


@pytest.mark.parametrize("word", ["pages", "nothing like it", "SP999", "huge " * 500])
def test_a_wrong_word_is_one_line_with_close_ones(word: str) -> None:
    """It printed all 50 questions of the survey, in 6,000 characters."""
    with pytest.raises(UsageError) as raised:
        asked_for([word], WHOLE)
    said = str(raised.value)
    assert "\n" not in said
    assert len(said) < 240
    assert ("close: " in said) == (word in ("pages", "SP999"))


def test_findings_that_were_asked_for() -> None:
    seen_in = results([], contrasts=[contrast("page kind"), contrast("binding")])
    small, switch = finding("SP008", contrasts=["c-page kind"]), finding("SP013")
    assert Asked(frozenset({"SP008"})).wants(small, seen_in)
    assert not Asked(frozenset({"SP008"})).wants(switch, seen_in)
    assert Asked(questions=frozenset({"page kind"})).wants(small, seen_in)
    assert not Asked(questions=frozenset({"binding"})).wants(small, seen_in)
    assert Asked(frozenset({"SP012"})).wants(finding("SP005", merged=["SP012:00000000"]), seen_in)
    assert Asked().wants(switch, seen_in)


SLOW = cell(0, {"pattern": "overlap", "progress": "none"}, [1e-3] * 5)


def sides(bind: str) -> Sides:
    return Sides(SLOW, Condition("default", {}, (), "bound", bind), None, None, None, "exposed_s", "steady", "steady")


def test_a_progress_thread_needs_a_core_beside_each_rank() -> None:
    remedy = find_remedy("asynchronous progress of MPICH")
    refused = where_it_can_help(sides("core"), remedy, 2, 3)
    assert isinstance(refused, CannotHelp)
    assert "2 ranks have 3 cores" in refused.why
    unbound = where_it_can_help(sides("core"), remedy, 2, 4)
    assert isinstance(unbound, Sides)
    assert (unbound.slow_under.bind, unbound.slow_under.placement) == ("none", "unbound")
    for here, cores in ((sides("numa"), 4), (sides("core"), None)):
        assert where_it_can_help(here, remedy, 2, cores) is here


def test_binding_needs_a_core_for_each_rank() -> None:
    refused = where_it_can_help(sides("none"), find_remedy("bind to cores"), 2, 1)
    assert isinstance(refused, CannotHelp)
    assert refused.why == "it needs a core for each rank: 2 ranks have 1 core here"


@pytest.mark.parametrize(("code", "why"), [("SP023", "this machine has no GPU"), ("SP041", "it needs more ranks")])
def test_what_this_machine_lacks_for_a_slow_path_is_named(code: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        asked_for([code], NO_GPU)


def test_a_pattern_of_programs_is_not_of_the_machine() -> None:
    pattern = PROGRAM_SLOW_PATHS[0]
    with pytest.raises(UsageError, match=f"--only {pattern.code}: is visible only in programs: use slowpath watch"):
        asked_for([pattern.code], WHOLE)
