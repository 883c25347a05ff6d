# SPDX-License-Identifier: Apache-2.0
"""What --only asks for: words, the cells of the survey that can show it, and the findings that it is about."""

from __future__ import annotations

import pytest
from made_results import cell

from slowpath.core.campaign import Campaign
from slowpath.core.errors import UsageError
from slowpath.diagnose.ranks import Job, parts, shipped_parts, with_ranks
from slowpath.diagnose.sides import Condition, Sides
from slowpath.diagnose.state import GROUPS, Asked, asked_for
from slowpath.diagnose.steps.survey import survey_campaign
from slowpath.plan.campaign import load
from slowpath.slowpaths.registry import SLOW_PATHS

MANY = 64  # ranks: with so many there is every group
PAIRS = survey_campaign(load("panel"), 2)
WHOLE = with_ranks(PAIRS, Job(MANY), parts(shipped_parts(load("coll"), ["default"])))


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
    assert groups(asked_for(["SP048"], WHOLE).narrowed(WHOLE)) == groups(WHOLE)
    assert asked_for([], WHOLE).narrowed(WHOLE) == WHOLE


@pytest.mark.parametrize("word", ["pages", "nothing like it", "SP999", "huge " * 500])
def test_a_wrong_word_is_one_line_with_close_ones(word: str) -> None:
    """It printed all 50 questions of the survey, in 6,000 characters."""
    with pytest.raises(UsageError) as raised:
        asked_for([word], WHOLE)
    said = str(raised.value)
    assert "\n" not in said
    assert len(said) < 240
    assert ("close: " in said) == (word in ("pages", "SP999"))


SLOW = cell(0, {"pattern": "overlap", "progress": "none"}, [1e-3] * 5)


def sides(bind: str) -> Sides:
    return Sides(SLOW, Condition("default", {}, (), "bound", bind), None, None, None, "exposed_s", "steady", "steady")
