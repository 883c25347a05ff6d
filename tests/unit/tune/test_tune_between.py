# SPDX-License-Identifier: Apache-2.0
"""Which lengths between measured ones are measured, too, and for which the neighbours stand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from slowpath.diagnose.tune.cells import CellFactor, CollectiveCell, TuneRequest, WayTrial
from slowpath.diagnose.tune.install import lines
from slowpath.diagnose.tune.session import MOST_STEPS, Session, Tuned, between, joined, measured_of
from slowpath.mpi.tuning import Pick

KIB = 1024


def ring(length: int) -> Pick:
    return Pick("bcast", 2, length, "algorithm", "ring")


def until_near(grid: dict[str, tuple[int, ...]], chosen: Callable[[int], str]) -> tuple[list[int], int]:
    """The lengths of bcast when every pair of neighbours chooses the same or is near each other, and the steps."""
    found: Any = grid
    for step in range(MOST_STEPS + 1):
        picks = [Pick("bcast", 2, length, "algorithm", chosen(length)) for length in found["bcast"]]
        more = between(found, [one for one in picks if one.name])
        if not more:
            return list(found["bcast"]), step
        found = joined(found, more)
    raise AssertionError("it does not end")


def test_neighbours_that_choose_the_same_stand_for_what_is_between() -> None:
    grid = {"bcast": (8 * KIB, 128 * KIB)}
    assert between(grid, [ring(8 * KIB), ring(128 * KIB)]) == {}, "32 and 64 KiB are decided by range"
    assert between(grid, []) == {}, "the library's own choice on both sides"


@pytest.mark.parametrize("border", [8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 100_000])
def test_a_border_is_found_to_a_factor_of_two(border: int) -> None:
    lengths, steps = until_near({"bcast": (8 * KIB, 128 * KIB)}, lambda length: "ring" if length > border else "")
    below, above = max(one for one in lengths if one <= border), min(one for one in lengths if one > border)
    assert above <= 2 * below
    assert steps == 2
    assert len(lengths) == 4


def test_only_lengths_that_choose_differently_are_measured_and_the_rest_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = TuneRequest("mpich", "mpich-5.0.2", None, ("bcast", "scan"), (2,), (8 * KIB, 128 * KIB, 1024 * KIB), 8)
    asked: list[tuple[str, list[tuple[str, int]]]] = []

    def measured(self: Session, name: str, campaign: Any, *_: object) -> Any:
        groups = [group for group in campaign.cells if " " not in group.name]
        cells = [(group.name, int(length)) for group in groups for length in group.parameters["message_bytes"]]
        asked.append((name, cells))
        return cells

    def trials(cells: list[tuple[str, int]], *_: object) -> dict[CollectiveCell, list[WayTrial]]:
        def time_s(name: str, length: int) -> float:
            return 0.5 if name == "bcast" and length > 20 * KIB else 1.0

        return {
            CollectiveCell(name, 2, length): [
                WayTrial(None, "", 1.0),
                WayTrial("algorithm", "ring", time_s(name, length)),
            ]
            for name, length in cells
        }

    monkeypatch.setattr(Session, "_measured", measured)
    monkeypatch.setattr("slowpath.diagnose.tune.session.trials", trials)
    mpi: Any = SimpleNamespace()
    found, grid = Session(tmp_path, request, mpi, {}, lambda _: None, True, (), 2)._chosen(2)
    assert [name for name, _ in asked] == ["choose-2", "finer-1-2", "finer-2-2"]
    assert [cells for _, cells in asked[1:]] == [[("bcast", 32 * KIB)], [("bcast", 16 * KIB)]]
    assert [one.bytes for one in found] == [32 * KIB, 128 * KIB, 1024 * KIB]
    assert tuple(grid["scan"]) == request.bytes
    factors = tuple(CellFactor(CollectiveCell("bcast", 2, one.bytes), ((1.0, 0.5),) * 8, one) for one in found)
    shown = lines(request, Tuned(factors, tuple(found), {"A": "b"}, measured=measured_of({2: grid})))
    assert "  bcast, 2 ranks: ring for 32 KiB to 1 MiB (measured: 32 KiB, 128 KiB, 1 MiB)" in shown
