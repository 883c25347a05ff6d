# SPDX-License-Identifier: Apache-2.0
"""A first use is said to cost by what its law has a term for that can't be 0."""

from __future__ import annotations

import pytest

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
