# SPDX-License-Identifier: Apache-2.0
"""Progress, room on the disk, command lines, machine facts."""

from __future__ import annotations

import shutil
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.plan import Environment, Plan
from slowpath.plan.cost import needed_bytes
from slowpath.run.machine import machine_facts
from slowpath.run.measure import RESERVE_BYTES, require_space
from slowpath.run.prepare import MpiCommands, command_lines
from slowpath.run.progress import duration

MakePlan = Callable[..., Plan]
Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 00 s"), (200, "3 min 20 s"), (3720, "1 h 02 min")]
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_room_on_the_disk(make_plan: MakePlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan(["ok"], rounds=2)
    assert needed_bytes(make_plan(["ok"], rounds=4)) == 2 * needed_bytes(plan)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, needed_bytes(plan) + RESERVE_BYTES))
    require_space(tmp_path, plan)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, needed_bytes(plan)))
    with pytest.raises(EnvironmentFailure, match="--out"):
        require_space(tmp_path, plan)


def test_command_lines_can_be_pasted(make_plan: MakePlan, fake_commands: MpiCommands) -> None:
    plan = make_plan(["ok"], 1, [Environment("e", {"UCX_TLS": "tcp,self", "X": "a b"})])
    (line,) = command_lines(fake_commands, plan, Path("RUN"))
    assert line.startswith(f"UCX_TLS=tcp,self X='a b' {fake_commands.mpi.mpiexec} -n 2 ")
    assert line.endswith("--plan RUN/launches/000001/plan.txt --out RUN/launches/000001")


def test_machine_facts_keep_only_telling_variables() -> None:
    facts = machine_facts({"UCX_TLS": "tcp", "SECRET_TOKEN": "x", "HOME": "/h"})
    assert facts["variables"] == {"UCX_TLS": "tcp"}
    assert facts["variables_not_recorded"] == {}
    assert facts["kernel"]
    assert facts["memory_bytes"] > 2**20
