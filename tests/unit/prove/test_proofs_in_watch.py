# SPDX-License-Identifier: Apache-2.0
"""What was proven is in the watch's results: status of the finding, verdict of its remedy, a line of the verdict."""

from __future__ import annotations

from pathlib import Path

from msgspec.structs import replace
from test_judge import QUESTION, TAKEN, judged, runs

from slowpath.watch.proof import Proof, ProofEffect, new_proof_folder, proof_folders, write_proof
from slowpath.watch.prove.session import new_proof
from slowpath.watch.results import WatchResults
from slowpath.watch.verdict import with_proofs
from support import watch_results

PROVEN, REFUTED, OPEN = judged(runs(12, 0.9)), judged(runs(12, 1.0, noise=0.002)), judged(runs(3, 0.9))


def watched() -> WatchResults:
    remedy = watch_results.a_remedy(name="huge pages")
    one = watch_results.a_finding(rule="SP008", prove="--remedy huge-pages", remedies=(remedy,))
    return watch_results.results(findings=(one,))


def shown(*proofs: Proof) -> WatchResults:
    return with_proofs(watched(), proofs)


def test_without_a_proof_nothing_changes() -> None:
    assert shown() == watched()
    assert shown(new_proof(QUESTION, replace(TAKEN, state="not known"))) == watched()


def test_a_proven_remedy_is_the_findings_status_and_stands_below_the_headline() -> None:
    found = shown(PROVEN)
    (finding,) = found.findings
    assert finding.status == "proven"
    assert finding.remedies[0].verdict == "proven"
    assert found.verdict[1].startswith("  proven huge-pages: 10.")
    assert found.verdict[1].endswith("less time")


def test_a_refuted_remedy_is_said() -> None:
    found = shown(REFUTED)
    assert found.findings[0].status == "no effect"
    assert found.findings[0].remedies[0].verdict == "no effect"


def test_an_open_one_is_undecided_and_the_last_decision_counts() -> None:
    assert shown(OPEN).findings[0].status == "undecided"
    assert shown(OPEN).findings[0].remedies[0].verdict == "not tried"
    assert shown(OPEN, PROVEN).findings[0].status == "proven"
    assert shown(PROVEN, OPEN).findings[0].status == "proven"
    assert shown(PROVEN, REFUTED).findings[0].status == "no effect"


def test_what_was_not_taken_says_nothing_of_the_finding_but_stands_in_the_verdict() -> None:
    found = shown(judged(runs(3, 0.9), replace(TAKEN, state="ignored")))
    assert found.findings[0].status == "priced"
    assert found.verdict[1].startswith("  tried  huge-pages: ignored: ")


def test_another_remedy_for_the_same_rule_is_a_line_and_no_status() -> None:
    found = shown(replace(PROVEN, remedy="keep-huge-pages"))
    assert found.findings[0].status == "priced"
    assert found.verdict[1].startswith("  proven keep-huge-pages")


def test_a_setting_of_the_users_own_is_a_line() -> None:
    effect = ProofEffect(ratio=1.2, interval=(1.1, 1.3), blocks=9)
    found = shown(replace(PROVEN, remedy="A=1", rules=(), verdict="slower", effect=effect))
    assert found.findings == watched().findings
    assert found.verdict[1] == "  slower A=1: 20.0% [10.0%, 30.0%] more time"


def test_folders_of_proofs_are_in_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("proof-1", "proof-2", "proof-10", "proof-x"):
        (tmp_path / name).mkdir()
    write_proof(tmp_path / "proof-10", PROVEN)
    write_proof(tmp_path / "proof-2", PROVEN)
    assert [folder.name for folder in proof_folders(tmp_path)] == ["proof-2", "proof-10"]
    assert new_proof_folder(tmp_path).name == "proof-11"
