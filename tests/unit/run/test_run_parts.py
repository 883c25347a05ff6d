# SPDX-License-Identifier: Apache-2.0
"""Progress, room on the disk, command lines, machine facts."""

from __future__ import annotations

import io
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
from slowpath.run.progress import Plain, ProgressBar, Quiet, choose, duration
from slowpath.run.schedule import read_account

MakePlan = Callable[..., Plan]
Usage = namedtuple("Usage", "total used free")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 00 s"), (200, "3 min 20 s"), (3720, "1 h 02 min")]
)
def test_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_plain_lines_are_few_and_have_no_escapes() -> None:
    stream = io.StringIO()
    progress = Plain(stream, every_s=1000)
    for done in range(101):
        progress.step(done, 100, 100.0 - done, "x")
    progress.note("a note")
    progress.close()
    assert stream.getvalue().splitlines() == ["100 launches, 1 min 40 s left", "launch 100 of 100 done", "a note"]


def test_another_time_left_is_said_at_once() -> None:
    stream = io.StringIO()
    progress = Plain(stream, every_s=10)
    for done, left_s in enumerate((60.0, 58.0, 600.0, 590.0)):
        progress.step(done, 9, left_s, "x")
    lines = stream.getvalue().splitlines()
    assert lines[0] == "9 launches, 1 min 00 s left"
    assert lines[1].startswith("launch 2 of 9 done, 10 min 00 s left (estimated before: 1 min 00 s)")
    assert len(lines) == 2


def test_quiet_tells_notes_only() -> None:
    stream = io.StringIO()
    progress = Quiet(stream)
    progress.step(1, 2, None, "x")
    progress.note("failure")
    assert stream.getvalue() == "failure\n"


def test_bar_only_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(choose(False, io.StringIO()), Plain)
    assert type(choose(True, Terminal())) is Quiet
    progress = choose(False, Terminal())
    assert isinstance(progress, ProgressBar)
    progress.step(1, 2, 3.0, "[odd] markup")
    progress.note("[red]kept as it is")
    progress.close()
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(choose(False, Terminal()), Plain)


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


def test_account_of_damaged_events(tmp_path: Path) -> None:
    events = tmp_path / "events.jsonl"
    events.write_bytes(
        b'{"event":"cell_begin","t_ns":1,"cell":3}\n\xff\xfe junk\n'
        b'{"event":"cell_end","t_ns":2,"cell":3,"status":"ok"}\n'
        b'{"event":"cell_begin","t_ns":1,"cell":4}\n{"event":"cell_e'
    )
    account = read_account(events)
    assert account.running == 4
    assert account.ended[3].status == "ok"
    assert not account.complete
    assert read_account(tmp_path / "none").begun == ()
