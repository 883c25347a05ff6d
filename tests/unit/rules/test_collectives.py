# SPDX-License-Identifier: Apache-2.0
"""Rules of collectives: guidelines and forced paths."""

from __future__ import annotations

import re

import slower_broadcast
from planted_results import KIB, Planted

from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.slowpaths.evaluate import findings


def finding(slow: bool = True) -> Finding:
    run = Planted(seed=2)
    slower_broadcast.guideline(run, slow)
    (finding,) = of_guidelines(run)
    return finding


def of_guidelines(run: Planted) -> list[Finding]:
    """A step along the lengths is another rule's as well."""
    return [finding for finding in findings(run.results(), ROLES) if finding.rule == "SP036"]


def test_one_finding_for_a_range_names_the_best_way_with_its_factor() -> None:
    best = finding()
    assert best.text.startswith("The library's bcast is 2.3")
    assert "slower than its scatter+allgather, for 16 KiB to 256 KiB on 2 ranks; at " in best.text
    assert re.search(r"; at \d+ KiB [\d.]+ us vs [\d.]+ us\.$", best.text), "the ratio is not that of these times"
    assert best.interval is not None
    assert best.interval[0] < 3 / 1.3 < best.interval[1]
    assert best.interval[1] / best.interval[0] < 1.1
    assert best.cause is None
    assert best.status == "observed"
    assert best.about == "bcast against scatter+allgather, 2 ranks"


def test_long_cells_may_be_in_fewer_launches() -> None:
    run = Planted(seed=2)
    slower_broadcast.guideline(run, True)
    for entry in run.cells:
        if entry["parameters"]["message_bytes"] == str(256 * KIB):
            for estimate in entry["metrics"]["collective_work_s"]["phases"].values():
                estimate["launch_values"] = estimate["launch_values"][:6]
    (finding,) = of_guidelines(run)
    assert finding.about == "bcast against scatter+allgather, 2 ranks"


def test_its_remedy_is_the_mockup() -> None:
    (remedy,) = finding().remedies
    assert remedy.name == "replaced collective"
    assert remedy.snippet.shell == "export SLOWPATH_COLL=tuning.json"
