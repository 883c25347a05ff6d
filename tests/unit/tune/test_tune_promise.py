# SPDX-License-Identifier: Apache-2.0
"""Planted pairs of launches in each view: what a cell is promised, which picks go, and what is recorded."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from slowpath.diagnose.tune.cells import (
    TOGETHER,
    VIEWS,
    CellFactor,
    CollectiveCell,
    TuneRequest,
    broken,
    comparing,
    promises,
    view_of,
    whole,
    with_picks,
)
from slowpath.diagnose.tune.install import promised_table
from slowpath.diagnose.tune.session import Session
from slowpath.mpi.tuning import Pick

REQUEST = TuneRequest("mpich", "mpich-5.0.2", None, ("bcast",), (2,), (8, 1024), 8)
RING = Pick("bcast", 2, 1024, "algorithm", "ring")
STEPS = (-3, -1, 0, 1, 3, -2, 2, 0)  # so many parts of the spread is each launch off


def seen(
    view: str, times_faster: float, spread: float = 0.01, length: int = 1024, pick: Pick | None = RING
) -> CellFactor:
    """Eight pairs in one view."""
    pairs = tuple((1e-6, 1e-6 / (times_faster * (1 + step * spread))) for step in STEPS)
    return CellFactor(CollectiveCell("bcast", 2, length), pairs, pick, view)


def in_views(
    *times_faster: float, spread: float = 0.01, length: int = 1024, pick: Pick | None = RING
) -> list[CellFactor]:
    """One for each view, in their order."""
    return [seen(view.name, one, spread, length, pick) for view, one in zip(VIEWS, times_faster, strict=True)]


def test_what_further_launches_obtain_in_the_worst_view_is_promised() -> None:
    (one,) = promises(in_views(1.5, 1.4, 1.2, 1.3))
    assert one.times_faster == pytest.approx(1.2 * 0.96, rel=0.01)
    low = min(1 / factor.interval[1] for factor in one.factors if factor.interval is not None)
    assert one.times_faster is not None
    assert one.times_faster < low, "a further launch may be worse than the mean"
    assert one.holds
    assert broken(in_views(1.5, 1.4, 1.2, 1.3)) == set()


@pytest.mark.parametrize("worst", range(len(VIEWS)))
def test_one_view_without_a_gain_takes_the_cell_back(worst: int) -> None:
    times = [1.5] * len(VIEWS)
    times[worst] = 1.0
    assert broken(in_views(*times)) == {RING}
    times[worst] = 1.1
    assert broken(in_views(*times)) == set()
    noisy = [seen(one.view, 1.1, 0.2) if at == worst else one for at, one in enumerate(in_views(*times))]
    assert broken(noisy) == {RING}, "the interval reaches below 1"


def test_nineteen_of_twenty_further_launches_keep_a_promise() -> None:
    """Planted: a gain of 1.3 and launches that differ by 10 %; the mean's interval is kept by two of three."""
    draws, kept, above_the_mean = np.random.default_rng(7), 0, 0
    for _ in range(400):
        *pairs, further = ((1e-6 * 1.3 * noise, 1e-6) for noise in np.exp(draws.normal(0, 0.1, 9)))
        one = CellFactor(CollectiveCell("bcast", 2, 8), tuple(pairs), RING, "skewed")
        assert one.at_least is not None
        assert one.interval is not None
        kept += further[0] / further[1] >= one.at_least
        above_the_mean += further[0] / further[1] >= 1 / one.interval[1]
    assert 0.92 < kept / 400 < 0.98
    assert above_the_mean / 400 < 0.87


def test_too_few_launches_promise_nothing() -> None:
    few = [CellFactor(one.cell, one.pairs[:2], one.pick, one.view) for one in in_views(2, 2, 2, 2)]
    (one,) = promises(few)
    assert one.times_faster is None
    assert broken(few) == {RING}


def test_the_table_has_the_three_side_by_side() -> None:
    head, row = promised_table(promises(in_views(1.5, 1.4, 1.2, 1.3)))
    columns = ["after a barrier", "back to back", "skewed", "promised"]
    assert [head.index(name) for name in columns] == sorted(head.index(name) for name in columns)
    assert "1.40 [" in row, "the less of the mean and the slowest rank"
    assert "1.50 [" not in row
    assert row.split()[-1].startswith("1.1")


def test_a_verification_times_each_cell_in_three_ways() -> None:
    campaign = comparing(REQUEST, whole(REQUEST, 2), {"A": "b"}, "core", 16, views=VIEWS)
    assert [group.parameters["pattern"] for group in campaign.cells] == ["after_barrier", "back_to_back", "calls"]
    assert campaign.cells[-1].parameters["arrival"] == "random"
    assert [contrast.metric for contrast in campaign.contrasts] == [view.metric for view in VIEWS]
    names = {group.name for group in campaign.cells}
    assert {contrast.cells for contrast in campaign.contrasts} == names
    for contrast, view in zip(campaign.contrasts, VIEWS, strict=True):
        group = next(one for one in campaign.cells if one.name == contrast.cells)
        given = {name: str(value) for name, value in group.parameters.items()}
        assert view_of(given, contrast.metric) == view
    assert view_of({"pattern": "calls", "arrival": "together"}, TOGETHER.metric) == TOGETHER
    assert view_of({"pattern": "calls", "arrival": "together"}, "collective_own_s") is None


def test_a_cell_is_measured_twice_before_it_goes_back_to_the_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scatter = Pick("scatter", 2, 8, "algorithm", "ring")
    runs = []

    def verification(*_: object) -> list[CellFactor]:
        runs.append(1)
        kept = with_picks(in_views(1.5, 1.4, 1.0, 1.3), [RING])
        good = [
            CellFactor(CollectiveCell("scatter", 2, 8), one.pairs, scatter, one.view) for one in in_views(2, 2, 2, 2)
        ]
        return [*kept, *good]

    monkeypatch.setattr(Session, "_verification", verification)
    monkeypatch.setattr("slowpath.diagnose.tune.session.written", lambda *_: {"A": "b"})
    told: list[str] = []
    mpi: Any = SimpleNamespace()
    session = Session(tmp_path, REQUEST, mpi, {}, told.append, True, (), 2)
    tuned = session._verified([RING, scatter], [], {2: {"bcast": (1024,), "scatter": (8,)}})
    assert tuned.picks == (scatter,), "back to back RING gains nothing"
    assert len(runs) == 3, "twice with both, once with what is left"
    assert told == ["1 cell not confirmed: the library's own choice is kept there"]
