# SPDX-License-Identifier: Apache-2.0
"""The one judge of a run: the sentences on top of a report, and the remedy that a contrast shows."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from msgspec.structs import replace

from slowpath.core.errors import UsageError
from slowpath.core.results import ContrastResult, Line, Snippet
from slowpath.findings.conclude import Offer, RunFacts, conclude
from slowpath.slowpaths.advice import ADVICE, advice_text, find_advice
from support.results import a_contrast, a_finding, a_line, a_remedy


def contrast(name: str, ratio: float | None, verdict: str | None, **changes: Any) -> ContrastResult:
    return a_contrast(name, ratio, **{"verdict": verdict, "where": "1 MiB", **changes})


def line(*contrasts: ContrastResult) -> Line:
    return conclude(contrasts, []).verdict.lines[0]


def test_a_default_that_loses_is_a_slow_path_and_the_slower_side_is_named_first() -> None:
    found = line(contrast("x", 0.5, "faster"))
    assert found.level == "slow"
    assert found.contrast == "x"
    assert found.text.startswith('path: "default" is 2.00x [1.82, 2.22] slower than "other"')


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
        [contrast("x", 1.2, "slower", control=True), contrast("y", 3.0, "slower", group="other")], []
    ).verdict
    assert verdict.lines[0].level == "warning"
    assert "unsteady" in verdict.lines[0].text


def test_cells_that_failed_are_counted_and_what_is_absent_is_not_in_the_headline() -> None:
    verdict = conclude([contrast("x", None, None)], [], RunFacts(failed=2)).verdict
    assert verdict.headline == "Undecided: none of 1 question could be measured; see what was skipped."
    assert verdict.count.endswith("2 cells failed")
    here = conclude([contrast("x", None, None)], [], CHECK).verdict
    assert here.answer == (
        "n1, mpich 5.0.2, 2026-01-31: Undecided: none of 1 question could be measured; see what was skipped."
    )
    assert verdict.state == "not measured"
    assert "not measured" in verdict.lines[0].text


def test_same_where_measured_is_ok_and_the_rest_is_counted() -> None:
    found = line(contrast("x", 1.0, "same"), contrast("y", None, None))
    assert found.level == "ok"
    assert "in 1 of 1 contrasts; 1 more could not be measured" in found.text


def test_what_a_contrast_explains_is_no_slow_path() -> None:
    slow = contrast("x", 12.0, "slower", default_side=None)
    assert conclude([slow], []).verdict.lines[0].level == "slow"
    verdict = conclude([replace(slow, explains=True)], []).verdict
    assert verdict.lines[0].level == "info"
    assert verdict.state == "nothing asked"


def test_no_headline_says_no_slow_path_above_a_finding() -> None:
    same = contrast("x", 1.0, "same")
    for found in ([a_finding(contrasts=[])], [a_finding(affects_default=False, contrasts=["x"])]):
        for contrasts in ([], [same], [contrast("x", 1.1, "slower", default_side=None)]):
            verdict = conclude(contrasts, found).verdict
            assert "No slow path" not in verdict.headline
            assert verdict.slow_paths + verdict.off_default == 1


def test_slow_paths_are_counted_once() -> None:
    """Two findings of one rule, one off the default, and a clear loss that no finding names."""
    loss = contrast("y", 2.0, "slower", default_side=None, group="other")
    named = contrast("x", 0.5, "faster")
    both = [a_finding(contrasts=["x"]), a_finding(id="SP001:ffffffff", contrasts=[], cells=[])]
    verdict = conclude([named, loss], [*both, a_finding("SP008", affects_default=False, contrasts=[])]).verdict
    assert (verdict.state, verdict.slow_paths, verdict.off_default) == ("slow", 3, 1)
    assert verdict.count == (
        "2 faults (2 SP001), 1 difference without a name; 1 only with settings that you don't use (SP008); "
        "2 questions answered"
    )
    assert (verdict.faults, verdict.opportunities, verdict.properties) == (2, 0, 0)


CHECK = RunFacts("n1, mpich 5.0.2, 2026-01-31", is_check=True)


def test_a_healthy_machine_gets_one_line() -> None:
    """What the library costs everywhere, and what no trial has proven, is no slow path of this machine."""
    known = [
        a_finding("SP013", kind="property", contrasts=[]),
        a_finding("SP008", kind="opportunity", contrasts=[]),
        a_finding("SP009", affects_default=False, contrasts=[]),
    ]
    verdict = conclude([contrast("x", 1.0, "same")], known, CHECK).verdict
    assert verdict.answer == "Nothing is wrong on n1, mpich 5.0.2, 2026-01-31: no fault in 1 question."
    assert (verdict.slow_paths, verdict.actions, verdict.state) == (0, [], "clear")
    assert verdict.properties == 1
    assert verdict.still_open == "Undecided: whether 1 change would help (SP008)."


def test_a_large_cost_is_named_before_anybody_tried_to_remove_it() -> None:
    """A survey took all of the budget: that a first message takes eleven times as long is more than a code."""
    large = a_finding(
        "SP001", kind="opportunity", contrasts=[], title="First use is slow", ratio=11, interval=(7.2, 17)
    )
    small = a_finding("SP008", kind="opportunity", contrasts=[], ratio=2.35, interval=(2.0, 2.7))
    of_both = conclude([contrast("x", 1.1, "undecided")], [small, large], CHECK).verdict.still_open
    assert of_both is not None
    assert of_both.startswith("Undecided: whether 2 changes would help (SP001, SP008), above all with this ")
    assert "untried problem: first use is slow, 11.0x [7.2, 17.0]; 1 of 1 question" in of_both
    tried = replace(large, remedies=[a_remedy(verdict="no effect")])
    assert "above all" not in (conclude([], [small, tried], CHECK).verdict.still_open or "")
    unclear = replace(large, interval=(1.2, 90.0))
    assert "above all" not in (conclude([], [small, unclear], CHECK).verdict.still_open or "")


def test_faults_come_before_what_is_proven_and_properties_that_a_trial_removed_are_opportunities() -> None:
    setting = a_remedy(verdict="proven", phrase="a later switch")
    proven = a_finding(
        "SP013",
        kind="property",
        status="proven",
        text="A switch is slow.",
        ratio=None,
        contrasts=[],
        remedies=[setting],
    )
    fault = a_finding("SP035", text="Your setting is slow.", ratio=None, contrasts=[], excess_s=1e-9)
    verdict = conclude([], [proven, fault], CHECK).verdict
    assert verdict.answer == (
        "Something is wrong on n1, mpich 5.0.2, 2026-01-31: 1 fault (SP035); 1 change makes it faster, proven here."
    )
    assert verdict.actions == ["Your setting is slow.", "Use a later switch: a switch is slow."]
    assert (verdict.faults, verdict.opportunities, verdict.slow_paths) == (1, 1, 2)


def test_what_few_programs_use_never_speaks_first() -> None:
    puts = a_finding(
        "SP019", kind="opportunity", status="proven", concerns="one-sided communication", text="Use it.", ratio=None
    )
    pages = a_finding("SP008", kind="opportunity", status="proven", text="Use huge pages.", ratio=None, excess_s=1e-12)
    verdict = conclude([], [puts, pages], CHECK).verdict
    assert verdict.actions == ["Use huge pages.", "If your programs use one-sided communication: use it."]
    asked = conclude([], [puts], RunFacts()).verdict
    assert asked.actions == ["Use it."]


def test_what_is_undecided_is_no_all_clear() -> None:
    open_one = contrast("x", 3.27, "undecided", interval=(0.8, 9.0), more_pairs=14, default_side=None)
    same = contrast("y", 1.0, "same", group="other")
    verdict = conclude([open_one, same], [], CHECK).verdict
    assert verdict.answer == "No fault found on n1, mpich 5.0.2, 2026-01-31; 1 of 2 questions not decided."


def test_where_nothing_was_decided_no_fault_found_would_be_false() -> None:
    """A library that took 21 ms for 1 MiB left 47 of 60 launches out, and the verdict began with "No fault found"."""
    undecided = contrast("a", None, "undecided")
    slow = dataclasses.replace(CHECK, pace=7.3, left_out=47)
    verdict = conclude([undecided], [], slow).verdict
    assert verdict.answer == "Undecided on n1, mpich 5.0.2, 2026-01-31: none of 1 question could be decided."
    assert verdict.still_open is not None
    assert verdict.still_open.startswith(
        "Undecided: why launches take 7.3 times as long as planned, so 47 were left out;"
    )
    proven_one = a_finding("SP040", kind="opportunity", status="proven")
    answer = conclude([undecided], [proven_one], CHECK).verdict.answer
    assert answer == (
        "Undecided on n1, mpich 5.0.2, 2026-01-31: none of 1 question could be decided; 1 change makes it faster, "
        "proven here."
    )
    beside_a_compiler = dataclasses.replace(CHECK, pace=2.0, left_out=12)
    quiet = conclude([undecided], [], beside_a_compiler).verdict.still_open
    assert "launches" not in (quiet or "")
    proven = a_finding("SP070", kind="opportunity", status="proven")
    for one in (a_finding("SP035", kind="fault"), proven):
        named = conclude([undecided], [one], slow).verdict.still_open
        assert "launches" not in (named or ""), "it is named: no second sentence says that it is not"


def test_nothing_is_wrong_is_not_said_beside_what_may_be() -> None:
    same = contrast("x", 1.0, "same")
    suspicion = a_finding("SP034", kind="fault", ratio=4.0, interval=(3.5, 4.5), needs_cause=True, contrasts=[])
    answer = conclude([same], [suspicion], CHECK).verdict.answer
    assert answer == "No fault found on n1, mpich 5.0.2, 2026-01-31; 1 question answered."


def test_a_loss_without_a_name_is_left_open_by_a_check_and_named_by_who_asked() -> None:
    loss = contrast("y", 0.5, "faster", group="other")
    verdict = conclude([loss], [], CHECK).verdict
    assert verdict.slow_paths == 0
    assert verdict.still_open is not None
    assert 'the cause of 1 difference: other: "default" is 2.00x' in verdict.still_open
    assert conclude([loss], []).verdict.actions[0].startswith('other: "default" is 2.00x')


def test_only_under_settings_of_others_is_said_so() -> None:
    verdict = conclude([contrast("x", 1.0, "same")], [a_finding("SP009", affects_default=False, contrasts=[])]).verdict
    assert verdict.headline == "Keep your settings: only other settings have slow paths (SP009)."
    assert verdict.count.startswith("no slow path found; 1 only with settings that you don't use (SP009)")


def test_undecided_comparisons_are_no_all_clear() -> None:
    open_one = contrast("x", 3.27, "undecided", interval=(0.8, 9.0), more_pairs=14, default_side=None)
    same = [contrast(f"y{i}", 1.0, "same", group="other") for i in range(4)]
    verdict = conclude([open_one, *same], [], RunFacts("n1, mpich 5.0.2, 2026-01-31", rounds=10, round_s=4.0)).verdict
    assert verdict.state == "undecided"
    assert verdict.headline == "Undecided: 1 of 2 questions; about 14 more rounds (56 s) would decide: --rounds 24."
    assert verdict.undecided == 1
    assert verdict.place == "n1, mpich 5.0.2, 2026-01-31"
    hopeless = conclude([replace(open_one, more_pairs=5000)], []).verdict
    assert "this machine is too noisy" in hopeless.headline


def test_what_an_undecided_comparison_cannot_hide_is_answered() -> None:
    near = contrast("x", 1.02, "undecided", interval=(0.97, 1.07))
    same = [contrast(f"y{i}", 1.0, "same") for i in range(2)]
    assert conclude([near, *same], []).verdict.headline == "No slow path in 1 question"
    mostly = [contrast(f"z{i}", 1.02, "undecided", interval=(0.97, 1.07), more_pairs=3) for i in range(3)]
    assert conclude([*mostly, *same], []).verdict.state == "undecided"


def test_the_users_own_gain_leaves_no_loss_open() -> None:
    """Side b is another setting: that it may be far slower is no loss of users who change nothing."""
    slower_b = contrast("x", 1.3, "undecided", interval=(0.95, 2.0), default_side="a")
    assert conclude([slower_b, contrast("y", 1.0, "same")], []).verdict.state == "clear"
    assert conclude([replace(slower_b, default_side="b"), contrast("y", 1.0, "same")], []).verdict.state == "undecided"


def test_lines_of_others_stand_between_by_their_level() -> None:
    more = [a_line("a warning", level="warning"), a_line("all right", level="ok")]
    lines = conclude([contrast("x", 0.5, "faster")], [], more=more).verdict.lines
    assert [one.level for one in lines] == ["warning", "slow", "ok"]


@pytest.mark.parametrize(
    ("ratio", "verdict", "shown"),
    [(2.0, "slower", "to a"), (0.5, "faster", "to b"), (1.2, "slower", None), (2.0, "undecided", None)],
)
def test_a_contrast_shows_what_moves_the_user_to_its_faster_side(ratio: float, verdict: str, shown: str | None) -> None:
    offers = {"x": Offer(a="to a", b="to b")}
    assert conclude([contrast("x", ratio, verdict)], [], offers=offers).contrasts[0].remedy == shown


def test_a_campaign_names_a_remedy_that_fits_its_axis() -> None:
    assert len({one.name for one in ADVICE}) == len(ADVICE)
    assert find_advice("huge pages", "pages").text == advice_text("huge pages")
    with pytest.raises(UsageError, match="there is no remedy 'prayer'; for axis pages there are 'huge pages'"):
        find_advice("prayer", "pages")
    with pytest.raises(
        UsageError, match="remedy 'huge pages' is for pages, environment and touch, not for axis progress"
    ):
        find_advice("huge pages", "progress")


def test_the_sentence_in_a_plan_of_an_earlier_version_stays() -> None:
    assert advice_text("Keep the buffers.") == "Keep the buffers."


def test_a_law_through_both_cells_of_a_contrast_names_its_question() -> None:
    """As a law of queues does: it rests on cells, and the question about these is no loss without a name."""
    loss = contrast("x", 3.0, "slower", default_side=None)
    verdict = conclude([loss], [a_finding("SP021", contrasts=[], cells=[0, 1, 2])]).verdict
    assert verdict.slow_paths == 1
    assert verdict.lines[0].text.endswith("; named by SP021.")
    other = a_finding("SP021", contrasts=[], cells=[0, 1, 2], phase="first")
    assert conclude([loss], [other]).verdict.slow_paths == 2


def test_a_loss_of_the_users_own_is_not_named_by_what_lies_under_other_settings() -> None:
    """The default loses at one length, and the other setting at another: the finding is about the second alone."""
    loses, wins = contrast("x", 0.5, "faster"), contrast("y", 3.0, "slower")
    verdict = conclude([loses, wins], [a_finding("SP009", contrasts=["y"], affects_default=False)]).verdict
    assert verdict.lines[0].level == "slow"
    assert "named by" not in verdict.lines[0].text
    assert "1 difference without a name" in (verdict.count or "")


def test_a_small_effect_without_cause_or_remedy_is_no_fault() -> None:
    """Every second message 1.06x slower: a healthy machine shows such, too."""
    small = a_finding("SP027", ratio=1.06, interval=(1.04, 1.08), contrasts=[])
    verdict = conclude([contrast("x", 1.0, "same")], [small], CHECK).verdict
    assert (verdict.faults, verdict.actions) == (0, [])
    assert verdict.still_open == "Undecided: whether SP027 is a fault."
    stalls = a_finding("SP026", ratio=3.0, interval=(2.5, 3.5), needs_cause=True, contrasts=[])
    assert conclude([], [stalls], CHECK).verdict.faults == 0
    assert conclude([], [replace(stalls, status="explained")], CHECK).verdict.faults == 1
    sure = conclude([], [replace(small, status="explained")], CHECK).verdict
    assert sure.faults == 1


def test_findings_that_one_proven_remedy_removes_take_one_line() -> None:
    remedy = a_remedy(name="replaced collective", phrase="tuned collectives", verdict="proven")
    many = [
        a_finding("SP036", id=f"SP036:0000000{i}", kind="opportunity", status="proven", remedies=[remedy],
                  metric="collective_work_s", text=f"Allreduce {i} is slow.", contrasts=[])
        for i in range(3)
    ]  # fmt: skip
    verdict = conclude([], many, CHECK).verdict
    assert verdict.actions == ["Use tuned collectives: allreduce 0 is slow. The same helps 2 more."]
    assert verdict.answer is not None
    assert "1 change makes it faster" in verdict.answer


def test_a_program_that_asks_for_less_is_no_opportunity_of_the_machine() -> None:
    fewer = a_remedy(name="short queues", verdict="proven", snippet=Snippet(code="post fewer receives"))
    known = a_finding("SP021", kind="property", status="proven", remedies=[fewer], contrasts=[])
    verdict = conclude([contrast("x", 1.0, "same")], [known], CHECK).verdict
    assert (verdict.opportunities, verdict.properties, verdict.actions) == (0, 1, [])
