# SPDX-License-Identifier: Apache-2.0
"""The nine field logs give the ratios that their medians hold; tests/data/field are the logs as published."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from slowpath.analyse.build import build_results
from slowpath.core.results import ContrastResult, Results
from slowpath.record.imports.choose import import_files

LOGS = Path(__file__).parents[2] / "data" / "field"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return build_results(import_files(sorted(LOGS.glob("*.txt")), tmp_path_factory.mktemp("field") / "run"))


def find(results: Results, a: str, b: str, phase: str) -> ContrastResult:
    """The contrast of b over a, in whichever order the importer put them."""
    for c in results.contrasts:
        ends = (c.a.label, c.b.label)
        if c.axis != "phase" and c.a.phase == phase and set(ends) == {a, b}:
            assert c.ratio is not None
            assert c.interval is not None
            low, high = c.interval
            return c if ends == (a, b) else replace(c, ratio=1 / c.ratio, interval=(1 / high, 1 / low))
    raise AssertionError(f"no contrast of {a} and {b}, {phase}")


@pytest.mark.parametrize(
    ("log", "ratio", "verdict"),
    [
        ("overalloc-1B", 133.6, "slower"),
        ("overalloc-64KiB", 14.5, "slower"),
        ("overalloc-2MiB", 0.76, "same"),  # 2.6 against 3.4 ms, but 0.9 ms from either first allocation
        ("overalloc-1B-full-buffer", 40.6, "slower"),
    ],
)
def test_first_message_with_over_allocation_over_first_without(
    results: Results, log: str, ratio: float, verdict: str
) -> None:
    pair = find(results, f"{log}, without overalloc", f"{log}, with overalloc", "first")
    assert pair.ratio == pytest.approx(ratio, rel=0.005)
    assert pair.interval[0] <= pair.ratio <= pair.interval[1]
    assert pair.verdict == verdict
    assert "within one launch" in pair.interval_kind


@pytest.mark.parametrize(
    ("a", "b", "ratio"),
    [
        ("pinned_host-nic-within-node", "pinned_host-cma", 3.29),
        ("host-bound", "pinned_host-cma", 6.49),
        ("pinned_host-cma", "pinned_host-unbound", 0.51),
        ("pinned_host-nic-within-node", "pinned_host-nic-across-nodes", 0.97),
    ],
)
def test_steady_state_between_files(results: Results, a: str, b: str, ratio: float) -> None:
    pair = find(results, a, b, "steady")
    assert pair.ratio == pytest.approx(ratio, abs=0.005)
    assert pair.interval[0] <= pair.ratio <= pair.interval[1]
