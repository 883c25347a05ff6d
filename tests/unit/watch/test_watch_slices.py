# SPDX-License-Identifier: Apache-2.0
"""Stretches of time are cut at the edges of slices: none gets less than nothing, and nothing is lost."""

from __future__ import annotations

import numpy as np
import pytest

from slowpath.watch.totals import in_slices


def test_a_stretch_that_begins_at_an_edge_gives_the_slice_before_nothing() -> None:
    """0.1 + 0.2 - 0.1 is more than 0.2; a share below 0 would make results.json one that can't be read."""
    found = in_slices(np.array([0.1]), np.array([0.2]), np.array([0.0, 0.1, 0.2, 0.5]))
    assert found.tolist() == pytest.approx([0.0, 0.1, 0.1])
    assert (found >= 0.0).all()
