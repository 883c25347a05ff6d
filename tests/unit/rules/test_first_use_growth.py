# SPDX-License-Identifier: Apache-2.0
"""SP043 and SP044: what they say of more ranks and longer windows, and when they say nothing."""

from __future__ import annotations

from typing import Any

import pytest
from first_use_plants import PAGE_S, windows
from planted_results import Planted, placement

from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.slowpaths.evaluate import findings


def of(run: Planted) -> list[Finding]:
    return findings(run.results(), ROLES)


def over_ranks(run: Planted, each_s: float, *, cores: int = 99) -> None:
    """A first round over all peers with 2 to 16 ranks, in placements of their own."""
    run.placements = []
    for ranks in (2, 3, 4, 6, 8, 12, 16):
        name = f"bound, {ranks} ranks"
        run.placements.append(placement(name, *(str(rank % cores) for rank in range(ranks))) | {"ranks": ranks})
        times = {"peers_s": {"first": 1e-3 + each_s * ranks, "steady": 1e-5}}
        run.cell(times, experiment="first_use", pattern="peer", order="ascending", also={"placement": name})


def test_a_first_round_over_more_peers_is_a_line_that_predicts() -> None:
    run = Planted(1)
    over_ranks(run, 2e-3)
    (found,) = of(run)
    assert (found.rule, found.status) == ("SP043", "observed")
    assert found.law is not None
    assert found.law.predicted == "held"
    assert found.law.coefficients[-1].value == pytest.approx(2e-3, rel=0.1)
    assert "At 1024 ranks it would take 2." in found.text
    assert "extrapolated" in found.text


def kernel(system_s: float, faults: float) -> dict[str, Any]:
    """A witness of both roles; rank 0 works."""
    each = {"minor_faults_per_op": faults, "major_faults_per_op": 0.0, "operations": 8, "involuntary_switches": 0}
    send = each | {"system_time_s_per_op": system_s, "user_time_s_per_op": 0.0}
    return {"steady": {"send": send, "receive": each | {"system_time_s_per_op": 0.0, "user_time_s_per_op": 0.0}}}


def witnessed(run: Planted, *, more_faults: float) -> None:
    """The longest pair of cells with what the kernel counted."""
    for cell in run.cells:
        length, library = int(cell["parameters"]["window_bytes"]), cell["parameters"]["memory"] == "library"
        pages = length / 4096
        system_s = 1e-7 * pages + (0.9 * PAGE_S * pages if library else 0.0)
        cell["witness"] = kernel(system_s, pages * (1 + more_faults if library else 1))


def test_a_window_says_what_a_page_costs_and_what_a_longer_one_would() -> None:
    run = Planted(1)
    windows(run, True)
    (found,) = of(run)
    assert found.law is not None
    assert found.law.predicted == "held"
    assert found.affects_default
    assert "MPI_Win_allocate_shared adds 1.2" in found.text
    assert "A part of 8 GiB would take 2.5" in found.text
    assert "(extrapolated)" in found.text


@pytest.mark.parametrize(("more_faults", "state"), [(0.0, "shown"), (1.0, "missing")])
def test_only_what_the_pages_themselves_do_not_cost_is_the_library_s(more_faults: float, state: str) -> None:
    """The time goes to the kernel in both: with twice the page faults it may be theirs."""
    run = Planted(1)
    windows(run, True)
    witnessed(run, more_faults=more_faults)
    (found,) = of(run)
    assert [one.name for one in found.rivals] == ["pages themselves", "waiting"]
    assert found.status == "observed"  # calls that wait were not counted: ranks may spin in the kernel
