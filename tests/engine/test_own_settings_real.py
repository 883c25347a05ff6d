# SPDX-License-Identifier: Apache-2.0
"""The user's settings under real launchers: they reach the ranks as they are, and not where some are taken away."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slowpath.core.plan import Environment, Launch, Placement, Plan
from slowpath.mpi.mpi import Mpi, settings_of
from slowpath.mpi.own_settings import OwnSetting, removable, without
from slowpath.run.prepare import MpiCommands

LINES = "# mine\nbtl_base_verbose = 0\ncoll_base_verbose = 0\n"


def plan_with(environments: list[Environment]) -> Plan:
    launches = [
        Launch(number, 1, environment.name, "free", [], 1) for number, environment in enumerate(environments, start=1)
    ]
    return Plan(1, "own", "Own", 1, 1, 1, 0.03, environments, [Placement("free", "none")], [], [], launches)


def test_what_is_taken_away_does_not_reach_the_ranks(mpi: Mpi, tmp_path: Path) -> None:
    (tmp_path / ".openmpi").mkdir()
    (tmp_path / ".openmpi" / "mca-params.conf").write_text(LINES)
    own = {"HOME": str(tmp_path), "UCX_NEW_THING": "7", "FI_LOG_LEVEL": "warn"}
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_MCA_", "UCX_"))} | own
    settings = [
        setting for setting in removable(settings_of(mpi, environ)) if "NEW_THING" in setting.name or setting.file
    ]
    assert any(setting.name == "UCX_NEW_THING" for setting in settings)
    assert sum(setting.file is not None for setting in settings) == (2 if mpi.name == "openmpi" else 0)
    gone: dict[str, list[OwnSetting]] = {"default": [], "bare": list(settings), "one": settings[-1:]}
    environments = []
    for name, some in gone.items():
        less = without(settings, some)
        environments.append(Environment(name, dict(less.variables), unset=list(less.unset)))
    plan = plan_with(environments)
    engine = tmp_path / "engine"
    engine.write_text(f"#!/bin/sh\nexec {sys.executable} -c 'import os; print(sorted(os.environ))'\n")
    engine.chmod(0o755)
    commands = MpiCommands(mpi, engine, environ, 2)
    for launch in plan.launches:
        made = commands.command(plan, launch, tmp_path)
        ran = subprocess.run(
            made.argv, env={**environ, **made.variables}, capture_output=True, text=True, timeout=60, check=False
        )
        if ran.returncode:
            pytest.fail(ran.stdout + ran.stderr)
        there = {setting.name for setting in settings if f"'{setting.name}'" in ran.stdout}
        assert there == {setting.name for setting in settings} - {setting.name for setting in gone[launch.environment]}
