# SPDX-License-Identifier: Apache-2.0
"""SP031 to SP034, SP064 to SP067: from a screening design, from one factor alone, and what they must not say."""

from __future__ import annotations

import pytest
from planted_results import Planted
from screening_plants import screening, slow_call, slow_where, start_alone

from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.findings.conclude import group_of
from slowpath.findings.observed import factors_of
from slowpath.slowpaths.evaluate import findings


def found(run: Planted) -> list[Finding]:
    return findings(run.results(), ROLES)


def test_the_factors_of_a_screening_are_its_two_valued_parameters_side_by_side() -> None:
    run = Planted()
    screening(run, lambda _: 1.0)
    cells = run.results().cells
    assert len(cells) == 16
    names = [(one.parameter, one.side, one.lower, one.upper) for one in factors_of(cells)]
    assert ("offset_bytes", 0, "0", "1") in names
    assert ("offset_bytes", 1, "0", "1") in names
    assert len(names) == 6


@pytest.mark.parametrize(
    ("offsets", "about"),
    [(("1", "1:0"), "start of the buffer, sender"), (("1", "0:1"), "start of the buffer, receiver")],
)
def test_the_side_whose_start_matters_is_named(offsets: tuple[str, ...], about: str) -> None:
    run = Planted()
    slow_where(lambda point: point["offset_bytes"] in offsets)(run, True)
    only = found(run)
    assert [one.about for one in only] == [about]
    assert "1 B behind a page boundary" in only[0].text
    assert "with 5 other things varied at once, in 16 cells" in only[0].text
    assert only[0].status == "observed"
    assert only[0].ratio == pytest.approx(2, rel=0.1)


def test_two_factors_that_cost_only_together_are_put_on_neither() -> None:
    """As much as half of either alone at first sight, and 1.4x each: what the halves of the runs differ by."""
    run = Planted()
    screening(run, lambda p: 1.5 if (p["order"] != "forward") == (p["direction"] == "forward") else 1.0)
    assert found(run) == []


def test_alone_and_screened_are_one_finding() -> None:
    run = Planted()
    slow_where(lambda point: point["offset_bytes"].split(":")[0] == "1")(run, True)
    first = found(run)[0].id
    start_alone(run, 2e-10)
    assert [one.id for one in found(run) if one.rule == "SP031"] == [first]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("completion", "by MPI_Isend, MPI_Irecv and MPI_Wait are "),
        ("source", "received from MPI_ANY_SOURCE are "),
        ("open_receive", "whose sender has a receive open are "),
        ("memory", "in memory from MPI_Alloc_mem are "),
    ],
)
def test_a_call_that_costs_is_named_in_as_many_cells(name: str, words: str) -> None:
    run = Planted()
    slow_call(name)(run, True)
    (one,) = found(run)
    assert words in one.text
    assert one.ratio == pytest.approx(2, rel=0.1)
    assert "with 7 other things varied at once, in 16 cells" in one.text
    assert one.kind == "fault"
    assert group_of(one) == "suspicion", "it is no fault before it is shown by itself: others were varied at once"
