# SPDX-License-Identifier: Apache-2.0
"""Steps of a tuning: what is tried, between lengths, factors, paces, shares."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from slowpath.core.campaign import Campaign
from slowpath.core.engine_description import recorded
from slowpath.core.plan import Pace, Plan
from slowpath.diagnose.tune.cells import (
    DEFAULT_BYTES,
    VIEWS,
    CellFactor,
    CollectiveCell,
    Shares,
    TuneRequest,
    WayTrial,
    choosing,
    comparing,
    geometric_mean,
    grid_of,
    picks,
    pooled,
    proven,
    to_go,
    tunable,
    whole,
)
from slowpath.diagnose.tune.promise_table import lines
from slowpath.diagnose.tune.session import MOST_STEPS, Session, Tuned, between, joined, measured_of
from slowpath.experiments import coll
from slowpath.mpi.tuning import Pick
from slowpath.plan.campaign import Nodes
from slowpath.plan.cost import estimate, fitting_rounds, kind_of, launch_parts_s
from slowpath.plan.expand import MpiInUse, expand
from slowpath.run.schedule import Paces

KIB = 1024


def ring(length: int) -> Pick:
    return Pick("bcast", 2, length, "algorithm", "ring")


def until_near(grid: dict[str, tuple[int, ...]], chosen: Callable[[int], str]) -> tuple[list[int], int]:
    """The lengths of bcast when every pair of neighbours chooses the same or is near each other, and the steps."""
    grid_: Any = grid
    for step in range(MOST_STEPS + 1):
        picks = [Pick("bcast", 2, length, "algorithm", chosen(length)) for length in grid_["bcast"]]
        more = between(grid_, [pick for pick in picks if pick.name])
        if not more:
            return list(grid_["bcast"]), step
        grid_ = joined(grid_, more)
    raise AssertionError("it does not end")


def test_neighbours_that_choose_the_same_stand_for_what_is_between() -> None:
    grid = {"bcast": (8 * KIB, 128 * KIB)}
    assert between(grid, [ring(8 * KIB), ring(128 * KIB)]) == {}, "32 and 64 KiB are decided by range"
    assert between(grid, []) == {}, "the library's own choice on both sides"


@pytest.mark.parametrize("border", [8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB, 100_000])
def test_a_border_is_found_to_a_factor_of_two(border: int) -> None:
    lengths, steps = until_near({"bcast": (8 * KIB, 128 * KIB)}, lambda length: "ring" if length > border else "")
    below, above = (
        max(length for length in lengths if length <= border),
        min(length for length in lengths if length > border),
    )
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
    chosen, grid = Session(tmp_path, request, mpi, {}, lambda _: None, True, (), 2)._chosen(2)
    assert [name for name, _ in asked] == ["choose-2", "finer-1-2", "finer-2-2"]
    assert [cells for _, cells in asked[1:]] == [[("bcast", 32 * KIB)], [("bcast", 16 * KIB)]]
    assert [pick.bytes for pick in chosen] == [32 * KIB, 128 * KIB, 1024 * KIB]
    assert tuple(grid["scan"]) == request.bytes
    factors = tuple(CellFactor(CollectiveCell("bcast", 2, pick.bytes), ((1.0, 0.5),) * 8, pick) for pick in chosen)
    shown = lines(request, Tuned(factors, tuple(chosen), {"A": "b"}, measured=measured_of({2: grid})))
    assert "  bcast, 2 ranks: ring for 32 KiB to 1 MiB (measured: 32 KiB, 128 KiB, 1 MiB)" in shown


CELL = CollectiveCell("bcast", 2, 1024)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([WayTrial("algorithm", "ring", 0.96)], None),
        ([WayTrial("algorithm", "ring", 0.80)], ("algorithm", "ring")),
        ([WayTrial("algorithm", "ring", 0.80), WayTrial("mockup", "scatter+allgather", 0.79)], ("algorithm", "ring")),
        (
            [WayTrial("algorithm", "ring", 0.80), WayTrial("mockup", "scatter+allgather", 0.50)],
            ("mockup", "scatter+allgather"),
        ),
        (
            [WayTrial("algorithm", "ring", 1.10), WayTrial("mockup", "scatter+allgather", 0.50)],
            ("mockup", "scatter+allgather"),
        ),
        ([], None),
    ],
)
def test_what_is_tried(others: list[WayTrial], expected: tuple[str, str] | None) -> None:
    chosen = picks({CELL: [WayTrial(None, "", 1.0), *others]})
    assert [(pick.kind, pick.name) for pick in chosen] == ([] if expected is None else [expected])


def test_nothing_is_tried_where_the_default_was_not_measured() -> None:
    assert picks({CELL: [WayTrial("algorithm", "ring", 0.1)]}) == []


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
    factors = [factor(0.5, pick()), factor(0.5, mockup, collective="scatter")]
    slower = factor(1.08, None, 8, collective="barrier", noise=0.005)
    assert to_go([*factors, slower]) == {pick()}
    many = [factor(1.0, None, length, collective="scan") for length in range(8, 58)]
    # By itself the cell is worse; among 51 that are looked at one of them will seem so.
    seems = factor(1.05, None, 8, collective="barrier", noise=0.075)
    assert seems.worse
    assert to_go([*factors, *many, seems]) == set()


def test_the_mean_is_over_cells_and_its_interval_over_launches() -> None:
    mean = geometric_mean([factor(0.5, None, 8), factor(2.0, None, 16)])
    assert mean is not None
    assert mean.ratio == pytest.approx(1.0, abs=0.01)
    assert mean.interval is not None
    assert mean.interval[0] < 1 < mean.interval[1]
    mean = geometric_mean([factor(0.25, None, 8), factor(1.0, None, 16)])
    assert mean is not None
    assert mean.ratio == pytest.approx(2.0, rel=0.01)
    assert geometric_mean([]) is None
    single = geometric_mean([factor(0.5, launches=1)])
    assert single is not None
    assert single.interval is None


RANKS = 8
MOST = 1.5  # the factor by which a forecast may be wrong
# A host on which every rank has a core of its own, and one whose ranks wait for one another's turns.
ROOMY = replace(coll.CollCost(), cores=16, bytes_per_s=6e9, cell_s=0.002, check_s_per_byte=3e-10)
CROWDED = replace(coll.CollCost(), turn_s=400e-6, bytes_per_s=5e8)
STARTS = (0.4, 2.5)  # multiples of the estimate


def request(library: str) -> TuneRequest:
    return TuneRequest(library, library, None, tuple(tunable(library)), (RANKS,), DEFAULT_BYTES, 8)


def planned(campaign: Campaign, ranks: int = RANKS) -> Plan:
    in_use = MpiInUse("mpich", "mpich-5.0.2", lambda setting: ({}, None))
    return expand(campaign, recorded(), [in_use], 1, [ranks], None, Nodes(1))


def took_s(plan: Plan, start_ratio: float, seed: int) -> dict[int, float]:
    """What each launch takes on a machine whose collectives cost as `coll._COST` says; each is off by up to 15 %."""
    chance, parts = random.Random(seed), launch_parts_s(plan)
    return {
        launch.launch: (parts[kind_of(launch)][0] * start_ratio + sum(parts[kind_of(launch)][1]))
        * chance.uniform(0.85, 1.15)
        for launch in plan.launches
    }


@pytest.mark.parametrize("library", ["mpich", "openmpi"])
@pytest.mark.parametrize("machine", [ROOMY, CROWDED])
@pytest.mark.parametrize("start_ratio", STARTS)
def test_a_verification_is_forecast_by_the_steps_before_it(
    monkeypatch: pytest.MonkeyPatch, library: str, machine: coll.CollCost, start_ratio: float
) -> None:
    """Twelve collectives of eight ranks were forecast at 21 minutes and took 4: the estimates are of two cores."""
    asked = request(library)
    grid = whole(asked, RANKS)
    tuned = {"TUNED": "1"}
    chosen = planned(choosing(asked, "core", grid))
    # A proof is of a few lengths, which can be off otherwise than all: it must not spoil what is known of all.
    some = [Pick(name, RANKS, DEFAULT_BYTES[1], "algorithm", "") for name in list(grid)[:5]]
    proof = planned(comparing(asked, grid_of(some), tuned, "core", asked.rounds))
    verified = planned(comparing(asked, grid, tuned, "core", asked.verifying_rounds, views=VIEWS))
    with monkeypatch.context() as here:
        here.setattr(coll, "_COST", machine)
        times = [took_s(plan, start_ratio, seed) for seed, plan in enumerate((chosen, proof, verified))]
    paces = Paces()
    paces.learn(chosen, RANKS, times[0])
    paces.learn(proof, RANKS, times[1])
    real_s = sum(times[2].values())
    assert_near(estimate(verified, pace=paces.pace(RANKS)).wall_s, real_s)
    assert not real_s / MOST < estimate(verified).wall_s < real_s * MOST, "nothing to learn here"


def assert_near(forecast_s: float, real_s: float) -> None:
    assert real_s / MOST < forecast_s < real_s * MOST


def test_a_budget_counts_rounds_by_the_pace() -> None:
    """A forecast five times too long leaves a verification a fifth of the rounds that it could have."""
    asked = request("mpich")
    plan = planned(comparing(asked, whole(asked, RANKS), {"TUNED": "1"}, "core", 16, views=VIEWS))
    quarter_s = estimate(plan).wall_s / 4
    fewer, note = fitting_rounds(plan, quarter_s)
    assert (fewer, note is None) == (4, False)
    assert fitting_rounds(plan, quarter_s, pace=Pace(0.2, 0.2)) == (plan.rounds, None)


def test_each_step_gets_its_share_of_what_is_left() -> None:
    now_s = [100.0]
    shares = Shares(100.0, lambda: now_s[0])
    assert shares.next_s("choose", 1) == pytest.approx(100 * 4 / 16)
    now_s[0] += 10.0  # quicker than its share: the rest is for the others
    assert shares.next_s("prove", 1) == pytest.approx(90 * 2 / 10)
    now_s[0] += 30.0
    assert shares.next_s("verify", 1) == pytest.approx(30.0), "half: it may have to be repeated"
    now_s[0] += 200.0
    assert shares.next_s("verify", 1) == 0.0, "never negative"


def test_numbers_of_ranks_share_a_step() -> None:
    now_s = [0.0]
    shares = Shares(100.0, lambda: now_s[0])
    each_s = 100 * 4 / 32
    assert shares.next_s("choose", 2) == pytest.approx(each_s)
    now_s[0] += each_s
    assert shares.next_s("choose", 2) == pytest.approx(each_s)
    now_s[0] += each_s
    assert shares.next_s("finer", 2) == pytest.approx((100 - 2 * each_s) / 24), "half: there may be further steps"
    assert shares.next_s("prove", 2) == pytest.approx((100 - 2 * each_s) * 2 / 20)
