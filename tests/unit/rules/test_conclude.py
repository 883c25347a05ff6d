# SPDX-License-Identifier: Apache-2.0
"""The one judge of a run: the sentences on top of a report, and the remedy that a contrast shows."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from slowpath.core.errors import UsageError
from slowpath.core.results import ContrastResult, Line
from slowpath.findings.conclude import Offer, conclude
from slowpath.findings.remedies.advice import ADVICE, advice_text, find_advice
from support.results import a_contrast, a_finding, a_line


def contrast(name: str, ratio: float | None, verdict: str | None, **changes: Any) -> ContrastResult:
    return a_contrast(name, ratio, **{"verdict": verdict, "where": "1 MiB", **changes})


def line(*contrasts: ContrastResult) -> Line:
    return conclude(contrasts, [], 0).verdict.lines[0]


def test_a_default_that_loses_is_a_slow_path_and_the_slower_side_is_named_first() -> None:
    found = line(contrast("x", 0.5, "faster"))
    assert found.level == "slow"
    assert found.contrast == "x"
    assert found.text.startswith('path: "default" takes 2.00x [1.82, 2.22] as long as "other"')


def test_a_default_that_wins_is_a_note() -> None:
    found = line(contrast("x", 4.0, "slower"))
    assert found.level == "info"
    assert "the default is the faster side" in found.text


def test_the_users_own_loss_speaks_before_a_larger_one_that_nobody_chose() -> None:
    assert line(contrast("large", 4.0, "slower"), contrast("mine", 0.7, "faster")).contrast == "mine"


def test_the_default_side_speaks_before_a_side_that_nobody_is_on() -> None:
    rare = contrast("rare", 4.0, "slower", default_side=None)
    assert line(rare, contrast("mine", 0.7, "faster")).contrast == "mine"
    assert line(rare, contrast("won", 2.0, "slower")).contrast == "rare"


def test_a_small_difference_is_not_a_slow_path() -> None:
    assert line(contrast("x", 0.9, "faster")).level == "info"


def test_undecided_is_never_called_no_difference() -> None:
    found = line(contrast("x", 1.1, "undecided"), contrast("y", 1.0, "same"))
    assert found.level == "info"
    assert "undecided; 1 same, 1 undecided of 2" in found.text


def test_only_all_same_is_ok() -> None:
    assert line(contrast("x", 1.0, "same"), contrast("y", 1.01, "same")).level == "ok"


def test_a_control_that_differs_is_a_warning_about_the_machine() -> None:
    verdict = conclude(
        [contrast("x", 1.2, "slower", control=True), contrast("y", 3.0, "slower", group="other")], [], 0
    ).verdict
    assert verdict.lines[0].level == "warning"
    assert "unsteady" in verdict.lines[0].text


def test_what_was_not_measured_is_counted_in_the_headline() -> None:
    verdict = conclude([contrast("x", None, None)], [], 2).verdict
    assert verdict.headline.endswith("2 cells could not be measured")
    assert "not measured" in verdict.lines[0].text


def test_same_where_measured_is_ok_and_the_rest_is_counted() -> None:
    found = line(contrast("x", 1.0, "same"), contrast("y", None, None))
    assert found.level == "ok"
    assert "in 1 of 1 contrasts; 1 more could not be measured" in found.text


def test_what_a_contrast_explains_is_no_slow_path() -> None:
    slow = contrast("x", 12.0, "slower", default_side=None)
    assert conclude([slow], [], 0).verdict.lines[0].level == "slow"
    verdict = conclude([replace(slow, explains=True)], [], 0).verdict
    assert verdict.lines[0].level == "info"
    assert verdict.headline.startswith("No slow path")


def test_no_headline_says_no_slow_path_above_a_finding() -> None:
    same = contrast("x", 1.0, "same")
    for found in ([a_finding(contrasts=[])], [a_finding(affects_default=False, contrasts=["x"])]):
        for contrasts in ([], [same], [contrast("x", 1.1, "slower", default_side=None)]):
            headline = conclude(contrasts, found, 0).verdict.headline
            assert "No slow path" not in headline
            assert headline.startswith("1 slow path by name (SP001)")
    both = [a_finding(), a_finding(id="SP001:ffffffff"), a_finding("SP008", affects_default=False)]
    headline = conclude([same], both, 1).verdict.headline
    assert headline == (
        "3 slow paths by name (2 SP001, SP008), 1 off the default; no clear loss in 1 question; "
        "1 cell could not be measured"
    )


def test_a_small_difference_that_a_finding_rests_on_is_a_slow_path_and_says_its_name() -> None:
    small = contrast("x", 0.9, "faster")
    found = conclude([small], [a_finding("SP008", contrasts=["x"])], 0).verdict.lines[0]
    assert found.level == "slow"
    assert found.text.endswith("; named by SP008.")
    apart = conclude([small], [a_finding("SP008", contrasts=["x"], affects_default=False)], 0).verdict.lines[0]
    assert apart.level == "info"


def test_lines_of_others_stand_between_by_their_level() -> None:
    more = [a_line("a warning", level="warning"), a_line("all right", level="ok")]
    lines = conclude([contrast("x", 0.5, "faster")], [], 0, more=more).verdict.lines
    assert [one.level for one in lines] == ["warning", "slow", "ok"]


@pytest.mark.parametrize(
    ("ratio", "verdict", "shown"),
    [(2.0, "slower", "to a"), (0.5, "faster", "to b"), (1.2, "slower", None), (2.0, "undecided", None)],
)
def test_a_contrast_shows_what_moves_the_user_to_its_faster_side(ratio: float, verdict: str, shown: str | None) -> None:
    offers = {"x": Offer(a="to a", b="to b")}
    assert conclude([contrast("x", ratio, verdict)], [], 0, offers=offers).contrasts[0].remedy == shown


def test_a_campaign_names_a_remedy_that_fits_its_axis() -> None:
    assert len({one.name for one in ADVICE}) == len(ADVICE)
    assert find_advice("huge pages", "pages").text == advice_text("huge pages")
    with pytest.raises(UsageError, match="there is no remedy 'prayer'; for axis pages there are 'huge pages'"):
        find_advice("prayer", "pages")
    with pytest.raises(
        UsageError, match="remedy 'huge pages' is for pages, environment and touch, not for axis posted"
    ):
        find_advice("huge pages", "posted")


def test_the_sentence_in_a_plan_of_an_earlier_version_stays() -> None:
    assert advice_text("Keep the buffers.") == "Keep the buffers."
