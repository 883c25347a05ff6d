# SPDX-License-Identifier: Apache-2.0
"""Planted pairs of launches: what is proven, what a verification takes out, and what the mean over cells is."""

from __future__ import annotations

import numpy as np
import pytest

from slowpath.diagnose.tune.cells import CellFactor, CollectiveCell, geometric_mean, pooled, proven, to_go
from slowpath.mpi.tuning import Pick


def pick(length: int = 1024, kind: str = "algorithm", collective: str = "bcast", name: str = "ring") -> Pick:
    return Pick(collective, 2, length, kind, name)  # type: ignore[arg-type]


def factor(
    ratio: float,
    chosen: Pick | None = None,
    length: int = 1024,
    *,
    collective: str = "bcast",
    noise: float = 0.01,
    launches: int = 16,
    seed: int = 1,
) -> CellFactor:
    """Pairs of 1 us and ratio us, with so much noise of their ratios."""
    errors = np.random.default_rng((seed, length)).normal(0, noise, launches)
    errors -= errors.mean()
    pairs = tuple((1e-6, ratio * 1e-6 * float(np.exp(error))) for error in errors)
    return CellFactor(CollectiveCell(collective, 2, length), pairs, chosen)


def test_only_whole_intervals_prove() -> None:
    assert proven([factor(0.5, pick())]) == [pick()]
    assert proven([factor(0.9, pick(), noise=0.6)]) == []
    assert proven([factor(0.5, None)]) == []
    assert proven([factor(0.99, pick(), noise=0.0001)]) == [], "1 % is a trifle"


def test_what_noise_leaves_open_is_measured_once_more_and_judged_by_all_launches() -> None:
    noisy = factor(0.85, pick(), noise=0.3, launches=8)
    assert noisy.promising
    assert not noisy.faster
    (both,) = pooled([[noisy], [factor(0.85, pick(), noise=0.1, launches=24, seed=2)]])
    assert len(both.pairs) == 32
    assert both.faster
    assert not factor(1.3, pick()).promising
    assert not factor(1.0, pick()).promising


def test_a_length_that_got_worse_takes_its_collective_back_and_no_other_one() -> None:
    better, other = factor(0.5, pick()), factor(0.5, pick(collective="alltoall"), collective="alltoall")
    assert to_go([better, other, factor(1.03, None, 8, noise=0.005)]) == {pick()}
    assert to_go([better, factor(1.01, None, 8, noise=0.001)]) == set(), "1 % is no reason"
    assert to_go([better, factor(1.3, None, 8, noise=0.9)]) == set(), "not shown to be worse"


def test_a_file_that_slows_collectives_without_rows_goes_and_tables_of_mock_ups_remain() -> None:
    mockup = pick(kind="mockup", collective="scatter", name="bcast")
    found = [factor(0.5, pick()), factor(0.5, mockup, collective="scatter")]
    slower = factor(1.08, None, 8, collective="barrier", noise=0.005)
    assert to_go([*found, slower]) == {pick()}
    many = [factor(1.0, None, length, collective="scan") for length in range(8, 58)]
    # By itself the cell is worse; among 51 that are looked at one of them will seem so.
    seems = factor(1.05, None, 8, collective="barrier", noise=0.075)
    assert seems.worse
    assert to_go([*found, *many, seems]) == set()


def test_the_mean_is_over_cells_and_its_interval_over_launches() -> None:
    found = geometric_mean([factor(0.5, None, 8), factor(2.0, None, 16)])
    assert found is not None
    assert found.ratio == pytest.approx(1.0, abs=0.01)
    assert found.interval is not None
    assert found.interval[0] < 1 < found.interval[1]
    found = geometric_mean([factor(0.25, None, 8), factor(1.0, None, 16)])
    assert found is not None
    assert found.ratio == pytest.approx(2.0, rel=0.01)
    assert geometric_mean([]) is None
    one = geometric_mean([factor(0.5, launches=1)])
    assert one is not None
    assert one.interval is None
