# SPDX-License-Identifier: Apache-2.0
"""What tools/cannon-link says of measured times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import link_shares as shares
import pytest

CEILING_S = [0.70, 0.71, 0.69]
BLOCKING_S = [1.00, 1.01, 0.99]


def times(more: Mapping[str, Sequence[float]]) -> shares.Times:
    """At n = 1024, in the default environment."""
    cells = {shares.CEILING: CEILING_S, shares.BLOCKING: BLOCKING_S, **more}
    return {("default", variant, 1024): values for variant, values in cells.items()}


def hidden(variant: str, seconds: Sequence[float]) -> shares.Row:
    return next(row for row in shares.rows(times({variant: seconds}), "default", 1024) if row.variant == variant)


def test_hidden_is_what_blocking_exposes_and_the_variant_does_not() -> None:
    row = hidden("get_from_home", [0.73, 0.77, 0.69])
    assert row.hidden_ratio is not None
    assert row.hidden_ratio.value == pytest.approx(0.9)
    assert (row.hidden_ratio.low, row.hidden_ratio.high) == pytest.approx((0.8, 1.0))
    assert row.time_s == shares.Spread(0.73, 0.69, 0.77)


def test_a_variant_slower_than_blocking_hides_less_than_nothing() -> None:
    ratio = hidden("put_fence", [1.3, 1.31, 1.29]).hidden_ratio
    assert ratio is not None
    assert ratio.value == pytest.approx(-1)


def test_where_blocking_exposes_nothing_there_is_no_share() -> None:
    cells = {("default", v, 512): [1.0, 1.01, 1.0] for v in (shares.CEILING, shares.BLOCKING, "isend_wait")}
    row = next(row for row in shares.rows(cells, "default", 512) if row.variant == "isend_wait")
    assert row.hidden_ratio is None
    assert row.hidden_reason == "blocking exposes less than 2%"


def test_without_the_ceiling_nothing_is_compared() -> None:
    assert shares.rows({("default", shares.BLOCKING, 512): [1.0]}, "default", 512) == []
    assert shares.exposed_ratio({("default", shares.BLOCKING, 512): [1.0]}, "default", 512) is None


def test_cells_of_other_launches_are_not_compared() -> None:
    assert all(row.variant != "isend_wait" for row in shares.rows(times({"isend_wait": [1.0]}), "default", 1024))


def test_the_rate_follows_from_what_blocking_exposed() -> None:
    """1.3 s with 1 s of multiplications at 2 Gbit/s; 30 % exposed is 3/7 s of communication."""
    assert shares.next_rate(2e9, 1.3, 1.0, 0.3) == pytest.approx(2e9 * 0.3 / (0.3 / 0.7))


@pytest.mark.parametrize(
    ("without", "tested", "said"),
    [
        ([0.72, 0.73, 0.71], [0.72, 0.73, 0.71], "Data move while the program computes"),
        ([0.95, 0.96, 0.94], [0.72, 0.73, 0.71], "Data move only inside MPI calls"),
        ([0.99, 1.00, 0.98], [0.98, 1.00, 0.97], "Data hardly move while the program computes"),
        ([0.80, 1.00, 0.75], [0.75, 0.85, 0.74], "can't be distinguished from these launches"),
    ],
)
def test_progress(without: Sequence[float], tested: Sequence[float], said: str) -> None:
    assert said in shares.progress(shares.rows(times({"isend_wait": without, "isend_test": tested}), "default", 1024))


def test_progress_needs_both() -> None:
    assert "isend_wait or isend_test was not measured" in shares.progress([])


def test_times_are_read_from_results() -> None:
    measured = {"multiply_s": {"phases": {"steady": {"launch_values": [1.0, 2.0]}}}}
    cell = {"environment": "default", "parameters": {"variant": "isend_wait", "n": "512"}}
    results = {"cells": [{**cell, "metrics": measured}, {**cell, "metrics": {}}]}
    assert shares.times_of(results) == {("default", "isend_wait", 512): [1.0, 2.0]}
