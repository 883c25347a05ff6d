# SPDX-License-Identifier: Apache-2.0
"""Rules of first uses: who pays."""

from __future__ import annotations

import pytest

from slowpath.slowpaths.sp001_first_use_pages import pays_by_allocation
from slowpath.stats.laws.law import Coefficient, FittedLaw, per_page


def law(name: str, *intervals: tuple[float, float] | None) -> FittedLaw:
    """A constant, and a term a page for each interval; None: of a single launch."""
    once = Coefficient("constant", None, 1e-5, (9e-6, 1.1e-5), "t", 0.95, ())
    terms = [
        Coefficient(f"b{i}", per_page(4096), 1e-9, high, "t", None if high is None else 0.95, ())
        for i, high in enumerate(intervals)
    ]
    return FittedLaw(name, "t", (once, *terms), (), 0.01, None, None, 8, 6)


@pytest.mark.parametrize(
    ("law", "pays"),
    [
        (law("granules", (0.4e-9, 1.6e-9)), True),
        (law("granules", (-0.1e-9, 0.2e-9)), False),
        (law("granules", (-0.1e-9, 0.2e-9), (1e-9, 2e-9)), True),
        (law("allocation", (-1e-12, 2e-12)), False),
        (law("bytes", None), False),
        (law("saturates"), False),
    ],
)
def test_a_term_that_may_be_0_names_no_payer(law: FittedLaw, pays: bool) -> None:
    assert pays_by_allocation(law) is pays
