# SPDX-License-Identifier: Apache-2.0
"""What a skeleton showed stands at the finding that its change takes away, in the verdict and on the page."""

from __future__ import annotations

from msgspec.structs import replace

from slowpath.watch.brief import brief_of
from slowpath.watch.proof import ProofEffect
from slowpath.watch.report.html import render_watch_html
from slowpath.watch.report.write import with_measured, with_skeleton_lines
from slowpath.watch.results import WatchResults
from slowpath.watch.skeleton_results import Fidelity, KindTime, SkeletonChange, SkeletonResults, skeleton_lines
from support import watch_results

RULE = "SP050"
CHECK = "nothing may depend on an answer"


def a_change(**changes: object) -> SkeletonChange:
    one = SkeletonChange(
        name="aggregate", text="512 messages become 1", rules=(RULE,), check=CHECK, verdict="proven",
        reason="the interval lies below 1", effect=ProofEffect(ratio=0.4, interval=(0.35, 0.45), blocks=8),
        control=ProofEffect(ratio=1.0, interval=(0.98, 1.02), blocks=10), saved_s=0.61, saved_interval=(0.55, 0.66),
    )  # fmt: skip
    return replace(one, **changes)


def a_skeleton(*changes: SkeletonChange, is_faithful: bool = True, statements: int = 1) -> SkeletonResults:
    kinds = (KindTime(kind="send", calls=512, program_s=0.5, skeleton_s=0.51, is_judged=True, is_faithful=True),)
    ratio = ProofEffect(ratio=1.02, interval=(0.99, 1.05), blocks=4)
    fidelity = Fidelity(
        program_s=1.0, skeleton_s=1.02, ratio=ratio, kinds=kinds, is_faithful=is_faithful, reason="send takes 2.00"
    )
    return SkeletonResults(
        schema=1, slowpath="1", ranks=2, operations=1024, statements=("it is not so",) * statements, refused=None,
        fidelity=fidelity, changes=changes, runs=(),
    )  # fmt: skip


def estimated(count: int = 1) -> WatchResults:
    found = [
        watch_results.a_finding(id=f"{RULE}:{i}", rule=RULE, status="estimated", prove=None, change="a.c:3: join them")
        for i in range(count)
    ]
    return watch_results.results(findings=tuple(found))


def test_the_first_finding_of_the_rule_has_what_was_measured_and_what_to_check() -> None:
    first, second = with_measured(estimated(2), a_skeleton(a_change()), "w").findings
    assert (first.status, first.saved_s, first.saved_interval) == ("measured", 0.61, (0.55, 0.66))
    assert CHECK in first.text
    assert "measured on the skeleton" in first.text
    assert second.status == "estimated"


def test_nothing_changes_without_fidelity_or_without_a_decision() -> None:
    for skeleton in (
        a_skeleton(a_change(), is_faithful=False),
        a_skeleton(a_change(verdict="undecided", saved_s=None, saved_interval=None)),
        a_skeleton(a_change(rules=("SP051",))),
    ):
        assert with_measured(estimated(), skeleton, "w").findings == estimated().findings


def test_the_verdict_and_the_page_say_it() -> None:
    skeleton = a_skeleton(a_change())
    found = with_skeleton_lines(with_measured(estimated(), skeleton, "w"), skeleton)
    assert found.verdict[0] == with_measured(estimated(), skeleton, "w").verdict[0]
    assert any("aggregate: saves 0.610 s" in line for line in found.verdict)
    assert "(measured on the skeleton)" in " ".join(" ".join(brief_of(found).lines()).split())
    page = render_watch_html(found, "w", (), skeleton)
    assert 'id="skeleton"' in page
    assert "measured on the skeleton, not tried on the program" in page
    assert CHECK in page
    assert 'id="skeleton"' not in render_watch_html(found, "w")


def test_lines_fit_a_screen_whatever_was_found() -> None:
    many = [a_change(name=f"change {number}") for number in range(9)]
    assert len(skeleton_lines(a_skeleton(*many, statements=9))) <= 12
    refused = replace(a_skeleton(), refused="rank 0: MPI_Put is not played", fidelity=None)
    assert skeleton_lines(refused) == [
        "Skeleton: can't be replayed, so it prices nothing: rank 0: MPI_Put is not played."
    ]
