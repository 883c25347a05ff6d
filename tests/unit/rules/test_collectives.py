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
    (found,) = of_guidelines(run)
    return found


def of_guidelines(run: Planted) -> list[Finding]:
    """A step along the lengths is another rule's as well."""
    return [one for one in findings(run.results(), ROLES) if one.rule == "SP036"]


def test_one_finding_for_a_range_names_the_best_way_with_its_factor() -> None:
    found = finding()
    assert found.text.startswith("The library's own bcast takes 2.3")
    assert "what its scatter+allgather takes, for 16 KiB to 256 KiB on 2 ranks; at " in found.text
    assert re.search(r"; at \d+ KiB [\d.]+ us vs [\d.]+ us\.$", found.text), "the ratio is not that of these times"
    assert found.interval is not None
    assert found.interval[0] < 3 / 1.3 < found.interval[1]
    assert found.interval[1] / found.interval[0] < 1.1
    assert found.cause is None
    assert found.status == "observed"
    assert found.about == "bcast against scatter+allgather, 2 ranks"


def test_long_cells_may_be_in_fewer_launches() -> None:
    run = Planted(seed=2)
    slower_broadcast.guideline(run, True)
    for entry in run.cells:
        if entry["parameters"]["message_bytes"] == str(256 * KIB):
            for estimate in entry["metrics"]["collective_work_s"]["phases"].values():
                estimate["launch_values"] = estimate["launch_values"][:6]
    (found,) = of_guidelines(run)
    assert found.about == "bcast against scatter+allgather, 2 ranks"


def test_its_remedy_is_the_mockup() -> None:
    (remedy,) = finding().remedies
    assert remedy.name == "replaced collective"
    assert remedy.snippet.shell == "export SLOWPATH_COLL=tuning.json"
