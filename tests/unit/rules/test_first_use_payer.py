# SPDX-License-Identifier: Apache-2.0
"""A first use is said to cost by what its law has a term for that can't be 0."""

from __future__ import annotations

import pytest
from planted_results import MIB, Planted
from plants import allocations

from slowpath.experiments.registry import ROLES
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.first_use.first_uses import payer
from slowpath.stats.laws.law import Coefficient, FittedLaw, per_page


def law(name: str, *intervals: tuple[float, float] | None) -> FittedLaw:
    """A constant, and a term a page for each interval; None: of a single launch."""
    once = Coefficient("constant", None, 1e-5, (9e-6, 1.1e-5), "t", 0.95, ())
    terms = [
        Coefficient(f"b{i}", per_page(4096), 1e-9, one, "t", None if one is None else 0.95, ())
        for i, one in enumerate(intervals)
    ]
    return FittedLaw(name, "t", (once, *terms), (), 0.01, None, None, None, (), 8, 6, fits=name)


@pytest.mark.parametrize(
    ("found", "by"),
    [
        (law("granules", (0.4e-9, 1.6e-9)), "pages"),
        (law("granules", (-0.1e-9, 0.2e-9)), "unknown"),
        (law("granules", (-0.1e-9, 0.2e-9), (1e-9, 2e-9)), "pages"),
        (law("allocation", (-1e-12, 2e-12)), "unknown"),
        (law("bytes", None), "message"),
        (law("constant"), "constant"),
        (law("saturates"), "unknown"),
    ],
)
def test_a_term_that_may_be_0_names_no_payer(found: FittedLaw, by: str) -> None:
    assert payer(found) == by


@pytest.mark.parametrize(("memory", "rules"), [("device", ["SP001"]), ("host", ["SP005"])])
def test_a_remainder_alone_names_pages_of_gpu_memory_where_no_law_holds(memory: str, rules: list[str]) -> None:
    """The excess of each remainder is there in every launch, and follows nothing: launches on a GPU vary that much."""
    excess_ms = iter((1.9, 4.1, 0.6, 2.6, 0.9, 5.2, 1.2, 3.9, 4.4, 0.8, 6.1, 1.1))
    run = Planted(1, noise=0.05)

    def first_s(length: int) -> float:
        return next(excess_ms) * 1e-3 if length % (2 * MIB) else 3e-4

    allocations(run, first_s, memory=memory)
    found = findings(run.results(), ROLES)
    assert [one.rule for one in found] == rules
    assert found[0].law is None or found[0].law.name is None
