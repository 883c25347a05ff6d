# SPDX-License-Identifier: Apache-2.0
"""What a run, `resume` and `report` do with a folder that another process measures."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from slowpath.cli.main import exit_code
from slowpath.core.files import json_bytes
from slowpath.core.plan import Plan
from slowpath.record.folder import Owner, RunInfo, latest, launch_folder, read_launches, record_path, write_run
from slowpath.record.plan_files import write_plan
from slowpath.run import measure
from slowpath.run.commands import MpiCommands
from slowpath.run.execute import Execution
from slowpath.run.limits import RunLimits
from slowpath.run.ownership import Taken, owned, this_process
from slowpath.run.process import LaunchedJob, Outcome, run_jobs
from slowpath.run.progress import Quiet

MakePlan = Callable[..., Plan]


def record_of_another(run: Path, number: int = 1, pid: int | None = None) -> None:
    """Of a process on another host, or of process `pid` here."""
    me = this_process()
    identity = replace(me, host="node7") if pid is None else replace(me, pid=pid, process_start=_start(pid))
    owner = Owner(**asdict(identity), token="other", since="2026-01-31T12:00:00+01:00", command="slowpath run")
    record_path(run, number).parent.mkdir(exist_ok=True)
    record_path(run, number).write_bytes(json_bytes(owner))


def _start(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19])


@pytest.fixture
def measured(run_folder: Path, make_plan: MakePlan) -> Path:
    """A run that was cut off before its first launch."""
    plan = make_plan(["ok", "ok"], rounds=2)
    write_plan(run_folder / "plan.json", plan)
    write_run(run_folder, RunInfo(1, "run", "x", "X", "0" * 64, "0.1.0", ranks=2))
    return run_folder


@pytest.fixture
def other() -> Iterator[int]:
    """Some process that lives."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process.pid
    process.communicate()


def test_resume_beside_a_run_is_refused_in_one_line(
    measured: Path, other: int, capsys: pytest.CaptureFixture[str]
) -> None:
    record_of_another(measured, pid=other)
    assert exit_code(["run", "--resume", str(measured)]) == 4
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert f"is being measured by process {other} (slowpath run)" in said
    assert said.endswith(f"wait for its end, or stop it with: kill {other}\n")


def test_report_says_that_it_is_not_the_end(measured: Path, other: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["report", str(measured)]) == 4  # nothing is measured yet
    assert "being measured" not in capsys.readouterr().err
    record_of_another(measured, pid=other)
    assert exit_code(["report", str(measured)]) == 4
    assert f"by process {other} (slowpath run) on host" in capsys.readouterr().err


def test_a_run_holds_its_folder_while_it_measures(
    measured: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    seen = []

    class Watching(Quiet):
        def step(self, done: int, total: int, left_s: float | None, what: str) -> None:
            held = latest(measured)
            seen.append(held is not None and held.owner is not None and held.owner.released is None)

    plan = make_plan(["ok", "ok"], rounds=2)
    measure.measure(measured, plan, fake_commands, RunLimits(), Watching(io.StringIO()))
    assert len(seen) >= 3
    assert all(seen)
    held = latest(measured)
    assert held is not None
    assert held.owner is not None
    assert held.owner.released


def test_a_launch_during_which_the_folder_was_taken_over_is_not_recorded(
    measured: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    def taken_over(jobs: list[LaunchedJob]) -> list[Outcome]:
        outcomes = run_jobs(jobs)
        record_of_another(measured, number=2)
        return outcomes

    plan = make_plan(["ok", "ok"], rounds=2)
    execution = Execution(measured, plan, fake_commands, RunLimits(), Quiet(io.StringIO()), run_all=taken_over)
    with pytest.raises(Taken, match="on host node7"), owned(measured, "slowpath run"):
        execution.execute()
    assert not read_launches(measured)
    assert (launch_folder(measured, 1) / "samples.blk").exists()


def test_a_launch_folder_that_another_process_just_made_is_not_used(
    measured: Path, make_plan: MakePlan, fake_commands: MpiCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = Execution._number_for

    def overtaken(execution: Execution, planned: object) -> int:
        number = numbers(execution, planned)  # type: ignore[arg-type]
        if number == 1:
            launch_folder(measured, 1).mkdir()
        return number

    monkeypatch.setattr(Execution, "_number_for", overtaken)
    plan = make_plan(["ok", "ok"], rounds=2)
    Execution(measured, plan, fake_commands, RunLimits(), Quiet(io.StringIO())).execute()
    assert [info.launch for info in read_launches(measured)] == [2, 3]
    assert not list(launch_folder(measured, 1).iterdir())


def test_a_file_whose_name_is_no_number_is_no_record(run_folder: Path) -> None:
    """Python's int() takes none of `²`, which str.isdigit() calls a digit."""
    (run_folder / "owner").mkdir()
    (run_folder / "owner" / "\u00b2.json").write_text("{}")
    with owned(run_folder, "slowpath run"):
        pass
    assert sorted(os.listdir(run_folder / "owner")) == ["000001.json", "\u00b2.json"]
