# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from slowpath.stats.contrast import benjamini_hochberg


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_as_scipy(p: list[float]) -> None:
    assert benjamini_hochberg(p).tolist() == scipy.stats.false_discovery_control(p).tolist()
