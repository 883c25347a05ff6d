# SPDX-License-Identifier: Apache-2.0
"""What a finding says and refuses to say: legs, abstention, merging, trials, and the library's own variables."""

from __future__ import annotations

import re

from planted_results import KIB, MIB, Planted, placement, witness
from plants import HALF, ONE_WAY, PLANTS, transfer_s

from slowpath.core.results import Finding, Leg, RemedyResult, Snippet
from slowpath.experiments.registry import ROLES
from slowpath.findings.facts import Place
from slowpath.findings.finding import build, with_trial
from slowpath.findings.slow_path import Observation, Support
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.registry import SLOW_PATHS, find


def planted(code: str, seed: int = 1) -> Planted:
    run = Planted(seed)
    PLANTS[code](run, True)
    return run


def only(run: Planted) -> Finding:
    named = findings(run.results(), ROLES)
    assert len(named) == 1
    return named[0]


def test_without_a_witness_a_finding_is_observed_and_says_what_is_missing() -> None:
    seen = only(planted("SP008"))
    assert (seen.status, seen.cause) == ("observed", None)
    assert [text.split(":")[0] for text in seen.missing] == ["explained", "proven"]
    assert seen.legs.observed.evidence


def in_the_kernel(counted: dict | None) -> Planted:
    """Small pages whose cost is system time of the receiver.  Args: counted: calls; None: they were not counted."""
    run = planted("SP008")
    for cell in run.cells:
        small = cell["parameters"]["pages"] == "small"
        pages = int(cell["parameters"]["message_bytes"]) // 4096
        cell["witness"] = witness("steady", 1e-6 + (pages * 3.8e-7 if small else 0.0), calls=counted)
    return run


def test_system_time_on_small_pages_explains() -> None:
    seen = only(in_the_kernel({"process_vm_readv": {"calls_per_op": 1.0, "bytes_per_op": MIB, "failed_per_op": 0.0}}))
    assert seen.status == "explained"
    assert seen.cause == find("SP008").summary


def test_a_law_is_needed_besides_the_witness() -> None:
    seen = Observation("x", Place("here"), "It is slow.", "one_way_s", "first", 2.0, (1.9, 2.1), 1e-5, True, (0,))
    rule = find("SP001")
    assert rule.needs_law
    built_finding = build(rule, seen, Support("shown", "they agree", ("a line",)), None)
    assert built_finding.status == "observed"
    assert built_finding.legs.explained.text.startswith("no law")
    assert built_finding.legs.explained.evidence


def test_ranks_on_one_core_explain_a_slow_placement() -> None:
    assert only(planted("SP011")).status == "explained"
    run = planted("SP011")
    run.placements[1] = placement("one core", "0", "1")
    assert only(run).status == "observed"


def fine_switch(run: Planted) -> None:
    for length in [*(2**p for p in range(3, 15)), 16385, *(2**p for p in range(15, 21))]:
        run.cell(
            {HALF: {"steady": transfer_s(length) + (4e-6 if length > 16 * KIB else 0.0)}},
            pattern="ping_pong",
            message_bytes=length,
        )


def test_a_switch_has_no_cause_until_a_variable_was_moved() -> None:
    run = Planted()
    fine_switch(run)
    seen = only(run)
    assert (seen.rule, seen.status, seen.cause) == ("SP013", "observed", None)
    assert "slowpath diagnose tries variables near it" in seen.legs.explained.text


def test_one_cause_is_one_finding() -> None:
    run = planted("SP001")
    for cell in run.cells:
        cell["metrics"]["send_s"] = cell["metrics"]["receive_s"] = cell["metrics"][ONE_WAY]
    assert only(run).rule == "SP001"


def test_an_id_is_the_same_for_other_times_and_another_for_another_place() -> None:
    first, again = (only(planted("SP008", seed)).id for seed in (1, 2))
    assert first == again
    run = planted("SP008")
    for cell in run.cells:
        cell["mpi"] = "openmpi"
    assert only(run).id != first


def trial(state: str, verdict: str) -> tuple[RemedyResult, Leg]:
    remedy = RemedyResult(
        name="huge pages",
        text="t",
        snippet=Snippet(),
        removed_ratio=None,
        side_effects=[],
        verdict=verdict,
        reason="r",
    )
    return remedy, Leg(state=state, text=state, evidence=["e"])


def test_only_a_trial_proves() -> None:
    seen = only(planted("SP008"))
    refuted = with_trial(seen, *trial("refuted", "no effect"))
    assert (refuted.status, refuted.legs.proven.state) == ("observed", "refuted")
    proven = with_trial(refuted, *trial("shown", "proven"))
    assert (proven.status, proven.legs.proven.state) == ("proven", "shown")
    assert proven.remedies[0].verdict == "proven"
    assert len(proven.remedies) == len(seen.remedies)
    assert not any(text.startswith("proven") for text in proven.missing)
    still = with_trial(proven, *trial("refuted", "no effect"))
    assert still.status == "proven"
    assert seen.status == "observed"  # the finding that was given is left as it was


def test_every_code_is_there_once() -> None:
    codes = [rule.code for rule in SLOW_PATHS]
    assert codes == sorted(set(codes))
    assert all(re.fullmatch(r"SP\d{3}", code) for code in codes)
