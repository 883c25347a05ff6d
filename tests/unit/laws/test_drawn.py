# SPDX-License-Identifier: Apache-2.0
"""What a picture of a law is drawn from: each point with its interval, the law's time and, by the page, the page."""

from __future__ import annotations

import numpy as np
import pytest

from slowpath.stats.laws.choose import drawn_points
from slowpath.stats.laws.fit import fit
from slowpath.stats.laws.known import BY_BYTE, GRANULES
from slowpath.stats.laws.law import make_sweep

LENGTHS = [float(2**power) for power in range(10, 18)]


def test_points_carry_their_place_their_interval_and_the_law_s_time() -> None:
    launches = [[shift * (1e-6 + 1e-9 * length) for length in LENGTHS] for shift in (0.99, 1.0, 1.0, 1.01)]
    sweep = make_sweep({"message_bytes": LENGTHS}, launches)
    points = drawn_points(sweep, fit(BY_BYTE, sweep))
    assert [point.place for point in points] == [{"message_bytes": length} for length in LENGTHS]
    for point, length in zip(points, LENGTHS, strict=True):
        assert point.fitted_s == pytest.approx(1e-6 + 1e-9 * length, rel=0.01)
        assert point.interval[0] < point.value_s < point.interval[1]
        assert point.page_bytes is None


def test_of_a_law_by_pages_each_point_has_its_page() -> None:
    mib = 2**20
    lengths = np.array([n * 64 * mib + rest for n in (1, 2, 4) for rest in (0, 1)], dtype=np.float64)
    pages = np.where(lengths % mib > 0, np.ceil(lengths / 4096), 0)
    sweep = make_sweep({"allocation_bytes": lengths}, [1e-3 + 25e-9 * pages] * 3)
    points = drawn_points(sweep, fit(GRANULES, sweep))
    assert [point.page_bytes for point in points] == [None, 4096] * 3
