# SPDX-License-Identifier: Apache-2.0
"""An explanation covers at least half of the extra time, or is called partial, with its share."""

from __future__ import annotations

from typing import Any

import pytest
from planted_results import Planted, witness

from slowpath.core.finding_results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.slowpaths.evaluate import findings


def counted(instructions: int) -> dict[str, Any]:
    """One put of a burst of 10, and a burst's end that takes none."""
    total = {"stepped": 10.0 * instructions, "retired": 10.0 * instructions}
    region = {"method": "trap flag", "launches": 1, "calls": 10, "per_call": {"stepped": None, "retired": None}}
    region |= {"total": total, "loop_per_put": None, "shares": []}
    return {"put": {**region, "reason": None}, "synchronisation": None}


def explained(slow_s: float, *also: dict[str, Any]) -> Finding:
    """The finding of puts into a window of kind create, of slow_s each, against 100 ns into one of allocate."""
    run = Planted(1)
    a, b = (
        run.cell(
            {"time_per_put_s": {"steady": each}}, experiment="put", window=kind, message_bytes=8, puts=10, also=more
        )
        for kind, each, more in (("allocate", 1e-7, also[0]), ("create", slow_s, also[1]))
    )
    run.contrast("window", "time_per_put_s", (a, "allocate"), (b, "create"))
    (finding,) = (finding for finding in findings(run.results(), ROLES) if finding.rule == "SP019")
    return finding


def of_origin(system_s: float, copies: float) -> dict[str, Any]:
    """The kernel's part of a burst on the origin."""
    calls = {
        "process_vm_writev": {
            "calls_per_op": copies,
            "bytes_per_op": 8 * copies,
            "failed_per_op": 0.0,
            "time_s_per_op": None,
        }
    }
    both = witness("steady", system_s, calls=calls)["steady"]
    return {"witness": {"steady": {"send": both["receive"], "receive": None}}}


def test_instructions_that_cover_little_are_a_part() -> None:
    finding = explained(9.89e-6, {"instructions": counted(425)}, {"instructions": counted(584)})
    assert (finding.status, finding.cause) == ("observed", None)
    assert finding.legs.explained.text.startswith("only partly explained: ")
    assert "which covers 0.3" in finding.legs.explained.text  # (584 / 425 - 1) of 97.9
    assert finding.legs.explained.evidence == [
        "584 instructions per put, with the end of the burst; 425 on the fast side"
    ]


@pytest.mark.parametrize(("instructions", "is_explained"), [(800, True), (600, False)])
def test_instructions_that_cover_half_explain(instructions: int, is_explained: bool) -> None:
    finding = explained(2.5e-7, {"instructions": counted(425)}, {"instructions": counted(instructions)})
    assert (finding.status == "explained") == is_explained


def test_puts_that_are_system_calls_are_the_kernels_part() -> None:
    """As many instructions in the library; each put is a process_vm_writev."""
    sides = (
        {"instructions": counted(425), **of_origin(0.0, 0.0)},
        {"instructions": counted(430), **of_origin(9e-5, 10.0)},
    )
    finding = explained(9.5e-6, *sides)
    assert finding.status == "explained"
    assert finding.legs.explained.evidence[1].startswith("kernel: 9.00 us more per put, 9")


def test_equal_counts_alone_rule_no_path_out() -> None:
    finding = explained(9.5e-6, {"instructions": counted(425)}, {"instructions": counted(430)})
    assert (finding.status, finding.legs.explained.state) == ("observed", "missing")
