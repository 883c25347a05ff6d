# SPDX-License-Identifier: Apache-2.0
"""What was counted next to the times, as reports show it."""

from __future__ import annotations

from typing import Any

import pytest

from slowpath.core.cell_results import CallCounts, CellResult, RoleWitness
from slowpath.core.results import Results
from slowpath.report.cards import counted
from slowpath.report.run_page import render_html
from slowpath.report.terminal import render_text
from support.change import change
from support.results import a_cell, a_finding, a_witness
from support.results import witnessed as of_phase

NO_LAUNCH = "no witnessed launch of this cell in the run"


def side(faults: float | None = 256.0, **calls: tuple[float, float | None]) -> RoleWitness:
    counts = {
        name: CallCounts(calls_per_op=many, bytes_per_op=length, failed_per_op=0.0)
        for name, (many, length) in calls.items()
    }
    major = None if faults is None else 0.0
    return a_witness(minor_faults_per_op=faults, major_faults_per_op=major, calls=counts or None)


def cell(send: RoleWitness | None, receive: RoleWitness | None, **changed: Any) -> CellResult:
    witness = of_phase("steady", send=send, receive=receive)
    return a_cell(label="a", parameters={"pattern": "one_way"}, witness=witness, **changed)


def test_calls_and_faults_are_told_for_each_side() -> None:
    reads = side(process_vm_readv=(12.0, 1048576.0), ioctl=(0.0, None))
    words = counted(cell(side(0.0, sched_yield=(0.5, None)), reads), "steady")
    assert words == (
        "each message: sender sched_yield 0.5, page faults 0; receiver process_vm_readv 12 (1 MiB), page faults 256"
    )
    assert "none counted" in counted(cell(side(ioctl=(0.0, None)), None), "steady")


@pytest.mark.parametrize(
    ("of", "words"),
    [
        (cell(None, side(), calls_reason=NO_LAUNCH), f"each message: receiver – calls: {NO_LAUNCH}, page faults 256"),
        (cell(None, None, calls_reason=NO_LAUNCH), f"– {NO_LAUNCH}"),
        (
            cell(None, side(None), calls_reason="x"),
            "each message: receiver – calls: x, page faults – (it stores no times)",
        ),
        (a_cell(calls_reason=None), "– nothing was counted"),
    ],
)
def test_what_is_missing_is_missing_with_its_reason(of: CellResult, words: str) -> None:
    assert counted(of, "steady") == words


@pytest.fixture
def witnessed(results: Results) -> Results:
    """The check-up with a finding whose slow cell was witnessed and whose fast one was not."""
    slow, fast = results.cells[:2]
    change(slow, witness=of_phase("steady", receive=side(process_vm_readv=(12.0, None))))
    change(fast, calls_reason=NO_LAUNCH)
    change(results, findings=[a_finding("SP008", slow_cells=[slow.cell], fast_cells=[fast.cell])])
    return results


def test_a_finding_shows_what_was_counted_of_both_sides(witnessed: Results) -> None:
    page = render_html(witnessed)
    assert "receiver process_vm_readv 12, page faults 256</dd>" in page
    assert f"– {NO_LAUNCH}</dd>" in page
    text = " ".join(render_text(witnessed).split())
    assert "Counted, slow:" in text
    assert "process_vm_readv 12" in text
    assert "Counted, fast:" not in text  # the page says why
    change(witnessed.cells[0], witness=of_phase("steady", receive=side()))
    assert "Counted" not in render_text(witnessed)
