# SPDX-License-Identifier: Apache-2.0
"""SP012: what an untouched buffer costs more than a fresh one that was written, on either side, and what helps."""

from __future__ import annotations

import msgspec
import pytest
from planted_results import KIB, MIB, Planted, witness
from plants import ONE_WAY, transfer_s

from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.findings.conclude import group_of
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.first_use.first_uses import with_touched_twin
from support.remedies import find_remedy

LENGTHS = (64 * KIB, 256 * KIB, 512 * KIB, MIB, 4 * MIB)
FAULT_S = 5e-7
SET_UP_S = 4e-5  # what the first message from any fresh buffer takes more


def measured(*touches: str, set_up_s: float = 0.0, pages: str = "small") -> Planted:
    """First messages of five lengths, each also with a side untouched: it faults in the receiver, page by page."""
    run = Planted(1)
    for length in LENGTHS:
        cells = {}
        for touch in touches:
            faults = 0 if touch == "write" else length // 4096
            first = transfer_s(length) + set_up_s + faults * FAULT_S
            also = {
                "witness": witness("first", 1e-6 + faults * FAULT_S, faults),
                "allocations": {"pages_observed": {pages if length < 2 * MIB else "small": 8}},
            }
            times = {"first": first, "steady": transfer_s(length)}
            what = {"pattern": "one_way", "pages": "default", "message_bytes": length, "touch": touch}
            cells[touch] = run.cell({ONE_WAY: times}, **what, also=also)
        for touch in touches[1:]:
            a, b = (cells["write"], "write"), (cells[touch], touch)
            run.contrast("touch", ONE_WAY, a, b, phase="first")
    return run


def named(run: Planted) -> dict[str, list[Finding]]:
    found: dict[str, list[Finding]] = {}
    for one in findings(run.results(), ROLES):
        found.setdefault(one.rule, []).append(one)
    return found


def test_each_side_is_a_finding_of_its_own_with_its_law_and_witness() -> None:
    found = named(measured("write", "write:none", "none:write"))
    assert set(found) == {"SP012"}
    assert {one.about for one in found["SP012"]} == {"first touch, receiver", "first touch, sender"}
    one = next(f for f in found["SP012"] if f.about.endswith("receiver"))
    assert one.text.startswith("The first 4 MiB messages into buffers that the receiver never wrote are ")
    assert one.status == "explained"
    assert one.law.coefficients[-1].value == pytest.approx(FAULT_S / 4096, rel=0.1)
    assert any("page faults per operation of the receiver grow by 1024" in text for text in one.legs.explained.evidence)


def test_the_rest_of_a_slow_first_message_belongs_to_the_rule_of_touched_buffers() -> None:
    found = named(measured("write", "write:none", set_up_s=SET_UP_S))
    assert set(found) == {"SP012", "SP005"}
    assert found["SP005"][0].excess_s == pytest.approx(SET_UP_S, rel=0.1)
    assert found["SP012"][0].excess_s == pytest.approx(4 * MIB // 4096 * FAULT_S, rel=0.1)
    results = measured("write", "write:none").results()
    assert not set(found["SP005"][0].cells) & with_touched_twin(results.cells)


def test_untouched_buffers_alone_are_still_a_slow_first_use() -> None:
    run = measured("write:none")
    assert not with_touched_twin(run.results().cells)
    assert set(named(run)) & {"SP001", "SP005", "SP006"}


def test_the_law_is_that_of_small_pages_where_long_buffers_have_others() -> None:
    run = measured("write", "write:none")
    for cell in run.cells:
        if cell["parameters"]["message_bytes"] == str(4 * MIB) and cell["parameters"]["touch"] != "write":
            cell["allocations"]["pages_observed"] = {"huge": 8}
    assert named(run)["SP012"][0].law.points == 4


def test_its_remedies_are_those_of_its_cause_and_the_first_two_can_be_tried() -> None:
    remedies = [one.name for one in named(measured("write", "write:none"))["SP012"][0].remedies]
    assert set(remedies) == {"touch buffers first", "reuse touched buffers", "keep freed memory", "huge pages"}
    for name in ("touch buffers first", "huge pages"):
        assert find_remedy(name).untried is None
        assert find_remedy(name).control is not None
    slow = {"touch": "write:none", "pages": "default"}
    assert find_remedy("touch buffers first").change(slow) == {"touch": "write", "pages": "default"}
    assert find_remedy("touch buffers first").change({"touch": "write"}) is None


def test_pages_that_somebody_has_to_make_are_no_gain_even_where_a_trial_proved_it() -> None:
    """A trial that writes the pages before the message proves 3.6x of the message, and the program pays as much then:
    verdicts of clean machines said that one change makes them faster."""
    (seen,) = findings(measured("write", "write:none").results(), ROLES)
    touched = next(remedy for remedy in seen.remedies if remedy.name == "touch buffers first")
    proven = msgspec.structs.replace(
        seen, status="proven", remedies=[msgspec.structs.replace(touched, verdict="proven")], above_range=False
    )
    assert group_of(proven) == "property"
    assert group_of(msgspec.structs.replace(proven, kind="opportunity")) == "proven"
