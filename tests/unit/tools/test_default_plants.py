# SPDX-License-Identifier: Apache-2.0
"""tools/default-plants: what is planted reaches ranks and no list of settings, and only what undoes it counts."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from default_plants.lanes import Command, run_all
from default_plants.plants import PLANTS, Plant, drawn
from default_plants.scored import RULES, cost_campaign, cost_of, is_slow, judge
from default_plants.site import FILE_VARIABLE, site_prefix, write_defaults

from slowpath.core.campaign_file import campaign_toml
from slowpath.core.results import Finding, RemedyResult, Snippet
from slowpath.mpi.alternatives.table import ALTERNATIVES
from slowpath.mpi.own_settings import own_settings
from slowpath.plan.campaign import decode
from support import results as engine

CMA_OFF = next(plant for plant in PLANTS if plant.label == "mpich-CMA-off")


def named(phrase: str, status: str = "explained", rule: str | None = None) -> Finding:
    remedy = RemedyResult(
        name="x", text="x", phrase=phrase, snippet=Snippet(shell=[], modulefile=[]), removed_ratio=None,
        side_effects=[], verdict="not tried", reason="x",
    )  # fmt: skip
    return engine.a_finding(rule or next(iter(RULES)), status=status, remedies=[remedy])


def test_the_launcher_sets_what_the_user_has_not_set(tmp_path: Path) -> None:
    prefix = tmp_path / "mpi"
    (prefix / "bin").mkdir(parents=True)
    (prefix / "lib").mkdir()
    real = prefix / "bin" / "mpiexec"
    real.write_text('#!/bin/sh\necho "$MPIR_CVAR_CH4_CMA_ENABLE $MPIR_CVAR_NOLOCAL $*"\n')
    real.chmod(0o755)
    site = site_prefix(prefix, tmp_path / "site")
    assert (site / "lib").resolve() == prefix / "lib"
    file = write_defaults(tmp_path / "defaults", {"MPIR_CVAR_CH4_CMA_ENABLE": "0", "MPIR_CVAR_NOLOCAL": "1"})

    def said(**variables: str) -> str:
        argv = [str(site / "bin" / "mpiexec"), "-n", "2"]
        return subprocess.run(argv, env={**os.environ, **variables}, capture_output=True, text=True, check=True).stdout

    assert said(**{FILE_VARIABLE: str(file)}) == "0 1 -n 2\n"
    assert said(**{FILE_VARIABLE: str(file), "MPIR_CVAR_NOLOCAL": "0"}) == "0 0 -n 2\n"
    assert said().split() == ["-n", "2"]
    assert not own_settings({FILE_VARIABLE: str(file)}), "nothing of it is a setting of the user's"


def test_found_is_what_undoes_the_plant_and_is_not_named_without_it() -> None:
    undone, other = named("MPIR_CVAR_CH4_CMA_ENABLE=1", "proven"), named("MPIR_CVAR_CH4_CMA_ENABLE=0")
    answer = judge(CMA_OFF, [other, undone], [])
    assert (answer.answer, answer.remedy, answer.proven) == ("found", "MPIR_CVAR_CH4_CMA_ENABLE=1", True)
    assert judge(CMA_OFF, [other], []).answer == "missed", "the planted value itself undoes nothing"
    assert judge(CMA_OFF, [undone], [undone]).answer == "missed", "it is named without the plant as well"
    assert judge(CMA_OFF, [named("MPIR_CVAR_CH4_CMA_ENABLE=1", rule="SP035")], []).answer == "missed"


def test_each_cell_of_a_screening_is_measured_with_the_plant_and_without() -> None:
    campaign = cost_campaign(CMA_OFF, "mpich")
    names = [contrast.name for contrast in campaign.contrasts]
    assert names == [cells.name for cells in campaign.cells]
    assert [dict(environment.variables) for environment in campaign.environments] == [{}, CMA_OFF.variables]
    assert decode(campaign_toml(campaign).encode(), "plant.toml").contrasts[0].b == "planted"
    known = engine.a_contrast(group="1 MiB", ratio=2.0, interval=(1.9, 2.1))
    assert cost_of(engine.results(contrasts=[known, engine.a_contrast("c2", None)])) == {"1 MiB": (2.0, 1.9, 2.1)}


def test_a_plant_that_costs_nothing_with_certainty_is_not_drawn() -> None:
    assert is_slow({"8 B": (1.0, 0.9, 1.1), "1 MiB": (1.5, 1.3, 1.8)})
    assert not is_slow({"8 B": (1.5, 1.1, 1.8)})
    costs = {plant.label: plant.library != "intelmpi" for plant in PLANTS}
    found = drawn(["openmpi", "mpich", "intelmpi"], 20, 1, costs)
    assert len(found) == 20
    assert {plant.library for plant in found} == {"openmpi", "mpich"}
    assert found == drawn(["openmpi", "mpich", "intelmpi"], 20, 1, costs)
    assert drawn(["mpich"], 20, 1, {}) == []


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.label)
def test_some_alternative_undoes_each_plant(plant: Plant) -> None:
    assert any(
        plant.is_undone_by(row.variables)
        for row in ALTERNATIVES
        if row.applies.library == plant.library and row.known != "documented"
    )


def test_lanes_run_all_commands_and_end_what_is_over_its_time(tmp_path: Path) -> None:
    processor = str(min(os.sched_getaffinity(0)))
    commands = [
        Command("short", ["sh", "-c", 'echo "$OMPI_x$own"'], tmp_path / "short", 60.0, {"own": "here"}),
        Command("endless", ["sleep", "600"], tmp_path / "endless", 0.2, {}),
    ]
    codes = run_all(commands, [processor, processor], float("inf"), lambda _: None)
    assert (codes["short"], codes["endless"] < 0) == (0, True)
    assert (tmp_path / "short").read_text() == "here\n"
    assert run_all(commands, [processor], 0.0, lambda _: None) == {}
