# SPDX-License-Identifier: Apache-2.0
"""What a picture of a law is drawn from: each point with its interval, the law's time and, by the page, the page."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slowpath.stats.estimate import Floats
from slowpath.stats.laws.choose import drawn_points
from slowpath.stats.laws.fit import fit
from slowpath.stats.laws.known import BY_BYTE, GRANULES, THRESHOLD, granules_of
from slowpath.stats.laws.law import Column, make_sweep

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


def test_without_a_law_the_points_stand_alone() -> None:
    sweep = make_sweep({"message_bytes": LENGTHS}, [[1e-6] * len(LENGTHS)])
    assert {point.fitted_s for point in drawn_points(sweep, None)} == {None}


def test_of_a_law_by_pages_each_point_has_its_page() -> None:
    mib = 2**20
    lengths = np.array([n * 64 * mib + rest for n in (1, 2, 4) for rest in (0, 1)], dtype=np.float64)
    pages = np.where(lengths % mib > 0, np.ceil(lengths / 4096), 0)
    sweep = make_sweep({"allocation_bytes": lengths}, [1e-3 + 25e-9 * pages] * 3)
    points = drawn_points(sweep, fit(GRANULES, sweep))
    assert [point.page_bytes for point in points] == [None, 4096] * 3


def test_of_a_threshold_with_pages_each_point_has_its_page() -> None:
    mib = 2**20
    lengths = np.array([n * 64 * mib + rest for n in (1, 2, 4, 8, 16, 32) for rest in (0, 1)], dtype=np.float64)
    clean = lengths % mib == 0
    times = 2e-4 + np.where(clean, 9e-3 * (lengths > 300 * mib), 28e-9 * np.ceil(lengths / 4096))
    sweep = make_sweep({"allocation_bytes": lengths}, [times] * 3)
    points = drawn_points(sweep, fit(THRESHOLD, sweep))
    assert [point.page_bytes for point in points] == [None, 4096] * 6


def test_the_page_of_a_point_does_not_depend_on_the_name_of_its_term(monkeypatch: pytest.MonkeyPatch) -> None:
    lengths = np.array([n * 2**26 + rest for n in (1, 2, 4) for rest in (0, 1)], dtype=np.float64)
    pages = np.where(lengths % 2**20 > 0, np.ceil(lengths / 4096), 0)
    sweep = make_sweep({"allocation_bytes": lengths}, [1e-3 + 25e-9 * pages] * 3)
    plain, of_page = fit(GRANULES, sweep), granules_of

    def reworded(page_bytes: int, count: Floats) -> Column:
        column = of_page(page_bytes, count)
        return replace(column, name="another name", per=replace(column.per, one="another unit", many="things"))

    monkeypatch.setattr("slowpath.stats.laws.known.granules_of", reworded)
    other = fit(GRANULES, sweep)
    assert {term.unit for term in other.coefficients} == {"s", "s per another unit"}
    assert drawn_points(sweep, other) == drawn_points(sweep, plain)
