# SPDX-License-Identifier: Apache-2.0
"""What the next step of a tuning takes is forecast by its launches that are over, whatever machine it runs on."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from slowpath.core.campaign import Campaign
from slowpath.core.engine_description import recorded
from slowpath.core.plan import AS_ESTIMATED, Pace, Plan
from slowpath.diagnose.tune.cells import (
    AT_ONCE,
    DEFAULT_BYTES,
    VIEWS,
    TuneRequest,
    choosing,
    comparing,
    grid_of,
    tunable,
    whole,
)
from slowpath.experiments import coll
from slowpath.mpi.tuning import Pick
from slowpath.plan.campaign import Nodes
from slowpath.plan.cost import estimate, fit_budget, kind_of, launch_parts_s
from slowpath.plan.expand import MpiInUse, expand
from slowpath.run.schedule import Paces

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
    at_once = planned(comparing(asked, grid, tuned, "core", asked.verifying_rounds, views=(AT_ONCE,)), 2 * RANKS)
    with monkeypatch.context() as here:
        here.setattr(coll, "_COST", machine)
        times = [took_s(plan, start_ratio, seed) for seed, plan in enumerate((chosen, proof, verified, at_once))]
    paces = Paces()
    paces.learn(chosen, RANKS, times[0])
    paces.learn(proof, RANKS, times[1])
    real_s = sum(times[2].values())
    assert_near(estimate(verified, pace=paces.pace(RANKS)).wall_s, real_s)
    assert not real_s / MOST < estimate(verified).wall_s < real_s * MOST, "nothing to learn here"
    assert_near(estimate(at_once, pace=paces.pace(2 * RANKS)).wall_s, sum(times[3].values()))


def assert_near(forecast_s: float, real_s: float) -> None:
    assert real_s / MOST < forecast_s < real_s * MOST


def test_a_budget_counts_rounds_by_the_pace() -> None:
    """A forecast five times too long leaves a verification a fifth of the rounds that it could have."""
    asked = request("mpich")
    plan = planned(comparing(asked, whole(asked, RANKS), {"TUNED": "1"}, "core", 16, views=VIEWS))
    quarter_s = estimate(plan).wall_s / 4
    fewer, note = fit_budget(plan, quarter_s)
    assert (fewer.rounds, note is None) == (4, False)
    assert fit_budget(plan, quarter_s, pace=Pace(0.2, 0.2)) == (plan, None)


def test_only_launches_that_ended_well_teach(tmp_path: Path) -> None:
    from slowpath.record.plan_files import write_plan

    asked = request("mpich")
    plan = planned(choosing(asked, "core", whole(asked, RANKS)))
    write_plan(tmp_path / "plan.json", plan)
    parts = launch_parts_s(plan)
    for number, launch in enumerate(plan.launches):
        start_s, cells_s = parts[kind_of(launch)]
        folder = tmp_path / "launches" / f"{launch.launch:06d}"
        folder.mkdir(parents=True)
        hung = number % 3 == 0
        info = {"launch": launch.launch, "round": launch.round, "environment": launch.environment,
                "placement": launch.placement, "wall_s": 1000.0 if hung else (start_s + sum(cells_s)) / 4,
                "ended": "hung" if hung else "ok"}  # fmt: skip
        (folder / "launch.json").write_text(json.dumps(info))
    paces = Paces()
    paces.add(tmp_path / "nothing", RANKS)
    assert paces.pace(RANKS) == AS_ESTIMATED
    paces.add(tmp_path, RANKS)
    assert paces.pace(RANKS).cells_ratio == pytest.approx(0.25)
