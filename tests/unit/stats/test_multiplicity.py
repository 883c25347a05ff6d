# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from slowpath.stats.contrast import benjamini_hochberg

# Benjamini and Hochberg 1995, section 4.1.
PAPER = [
    0.0001,
    0.0004,
    0.0019,
    0.0095,
    0.0201,
    0.0278,
    0.0298,
    0.0344,
    0.0459,
    0.3240,
    0.4262,
    0.5719,
    0.6528,
    0.7590,
    1.0,
]


def test_the_paper() -> None:
    assert (benjamini_hochberg(PAPER) <= 0.05).sum() == 4


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_as_scipy(p: list[float]) -> None:
    assert benjamini_hochberg(p).tolist() == scipy.stats.false_discovery_control(p).tolist()
