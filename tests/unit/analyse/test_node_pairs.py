# SPDX-License-Identifier: Apache-2.0
"""Slow links among every pair of nodes, planted."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from slowpath.analyse.contrasts import node_pairs, pair_lines
from slowpath.core.plan import Cell, Environment, Placement, Plan
from slowpath.core.results import NodePairs
from slowpath.report.cells import pairs_matrix

METRIC = "half_round_trip_latency_s"


def planted(nodes: int, slow: Mapping[tuple[str, str], float], rounds: int = 6, noise: float = 0.01) -> list[NodePairs]:
    """Matrices of a network of `nodes` in which the pairs of `slow` take so many times as long."""
    generator = np.random.default_rng(7)
    names = [f"n{number}" for number in range(1, nodes + 1)]
    pairs = list(itertools.combinations(names, 2))
    placements = [Placement(f"pair {a} {b}", nodes=2, ranks_per_node=1, hosts=[a, b], of="pair") for a, b in pairs]
    cells = [
        Cell(i, f"k{i}", "latency", f"8 B, {place.name}", "p2p", {"message_bytes": "8"}, "default", place.name)
        for i, place in enumerate(placements)
    ]
    plan = Plan(1, "pairs", "Pairs", 2, rounds, 1, 0.05, [Environment("default")], placements, cells, [], [])
    measured: dict[Any, Any] = {}
    drift = np.exp(generator.normal(0, 0.3, rounds))  # of the whole network, common to all pairs of a round
    for cell, pair in zip(cells, pairs, strict=True):
        times = 2e-6 * slow.get(pair, 1.0) * drift * np.exp(generator.normal(0, noise, rounds))
        measured[cell.cell, METRIC, "steady"] = {
            r: (r, SimpleNamespace(centre_s=float(time))) for r, time in enumerate(times)
        }
    return node_pairs(plan, measured, {cell.cell: cell.label for cell in cells})


def slow_pairs(matrices: list[NodePairs]) -> set[tuple[str, str]]:
    (matrix,) = matrices
    return {(pair.a, pair.b) for pair in matrix.pairs if pair.verdict == "slower"}


def test_a_bad_link_is_named_with_its_ratio() -> None:
    found = planted(4, {("n2", "n4"): 3.0})
    assert slow_pairs(found) == {("n2", "n4")}
    (line,) = pair_lines(found)
    assert line.level == "slow"
    assert "the link between n2 and n4" in line.text
    pair = next(pair for pair in found[0].pairs if (pair.a, pair.b) == ("n2", "n4"))
    low, high = pair.ratio_interval
    assert low < 3.0 < high
    assert found[0].label == "8 B"


def test_a_bad_node_is_named_rather_than_its_links() -> None:
    slow = {(a, b): 2.0 for a, b in itertools.combinations([f"n{i}" for i in range(1, 6)], 2) if "n3" in (a, b)}
    found = planted(5, slow)
    assert slow_pairs(found) == set(slow)
    assert "every link of n3" in pair_lines(found)[0].text


def test_a_quiet_network_has_no_slow_link() -> None:
    found = planted(6, {})
    assert slow_pairs(found) == set()
    assert pair_lines(found)[0].level == "ok"


@pytest.mark.parametrize("nodes", [2])
def test_too_few_pairs_are_shown_and_not_judged(nodes: int) -> None:
    found = planted(nodes, {})
    (pair,) = found[0].pairs
    assert (pair.ratio, pair.verdict) == (None, None)
    assert "fewer than 2 other pairs" in pair.reason
    assert pair.value_s == pytest.approx(2e-6, rel=1)
    assert pair_lines(found) == []


def test_the_picture_frames_the_bad_link_and_numbers_every_pair() -> None:
    matrix = pairs_matrix(planted(4, {("n2", "n4"): 3.0})[0])
    assert [place for place, square in matrix.squares.items() if square.marked] == [(1, 3), (3, 1)]  # both halves
    assert matrix.words == "4 nodes. Slow: n2 and n4."
    assert all(square.words.endswith("×") for square in matrix.squares.values())
    assert len(matrix.squares) == 12
    assert matrix.table is not None
    assert (matrix.table.rows[0][0], matrix.table.rows[0][-1]) == ("n2 and n4", "slower")
