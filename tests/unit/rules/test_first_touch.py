# SPDX-License-Identifier: Apache-2.0
"""SP012: what an untouched buffer costs more than a fresh one that was written, on either side, and what helps."""

from __future__ import annotations

import pytest
from planted_results import KIB, MIB, Planted, witness
from plants import ONE_WAY, transfer_s

from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.slowpaths.evaluate import findings
from support.remedies import find_remedy

LENGTHS = (64 * KIB, 256 * KIB, 512 * KIB, MIB, 4 * MIB)
FAULT_S = 5e-7


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


def test_its_remedies_are_those_of_its_cause_and_the_first_two_can_be_tried() -> None:
    remedies = [one.name for one in named(measured("write", "write:none"))["SP012"][0].remedies]
    assert set(remedies) == {"touch buffers first", "reuse touched buffers", "keep freed memory", "huge pages"}
    for name in ("touch buffers first", "huge pages"):
        assert find_remedy(name).untried is None
        assert find_remedy(name).control is not None
    slow = {"touch": "write:none", "pages": "default"}
    assert find_remedy("touch buffers first").change(slow) == {"touch": "write", "pages": "default"}
    assert find_remedy("touch buffers first").change({"touch": "write"}) is None
