# SPDX-License-Identifier: Apache-2.0
"""The runner against an engine that does what it shouldn't."""

from __future__ import annotations

import io
import os
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.plan import Environment, Plan
from slowpath.record.folder import LaunchInfo, launch_folder, read_launches
from slowpath.run.execute import Execution, RunEnd
from slowpath.run.prepare import MpiCommands
from slowpath.run.process import LaunchedJob, Outcome, run_jobs
from slowpath.run.progress import Quiet
from slowpath.run.reopen import schedule_after
from slowpath.run.schedule import RunLimits, read_account

MakePlan = Callable[..., Plan]
FAST = RunLimits(cell_timeout_s=1.5)


def execute(
    folder: Path, plan: Plan, commands: MpiCommands, limits: RunLimits = FAST
) -> tuple[RunEnd, list[LaunchInfo]]:
    result = Execution(folder, plan, commands, limits, Quiet(io.StringIO())).execute()
    return result, read_launches(folder)


def ended_cells(folder: Path, launch: int) -> dict[int, str]:
    account = read_account(launch_folder(folder, launch) / "events.jsonl")
    return {cell: end.status for cell, end in account.ended.items()}


def fake_processes(folder: Path) -> list[int]:
    """Processes of the run in `folder`, and of no other run on this machine."""
    numbers = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"FAKE_RUN={folder}".encode() in (entry / "environ").read_bytes():
                numbers.append(int(entry.name))
        except OSError:
            continue
    return numbers


def test_all_cells_ok(run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands) -> None:
    plan = make_plan(["ok", "ok"], rounds=3)
    result, infos = execute(run_folder, plan, fake_commands)
    assert (result.status, result.launches, result.launches_ok, result.cells_ok) == ("complete", 3, 3, 6)
    assert [(info.launch, info.ended, info.return_code, info.continues) for info in infos] == [
        (n, "ok", 0, None) for n in (1, 2, 3)
    ]
    assert (launch_folder(run_folder, 1) / "plan.txt").read_text().splitlines()[:3] == [
        "slowpath-plan 1",
        "launch 1",
        "seed 1000",
    ]


@pytest.mark.parametrize(("behave", "how"), [("crash", "crashed"), ("hang", "hung"), ("error", "failed")])
def test_bad_cell_is_a_row_and_the_others_go_on(
    behave: str, how: str, run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    plan = make_plan(["ok", behave, "ok", "ok"], rounds=1)
    result, infos = execute(run_folder, plan, fake_commands)
    assert [(info.launch, info.ended, info.continues) for info in infos] == [(1, how, None), (2, how, 1)]
    for info in infos:
        assert [(cell.cell, cell.status) for cell in info.failed_cells] == [(1, how)]
        assert info.failed_cells[0].reason
    assert ended_cells(run_folder, 1) == {0: "ok"}
    assert ended_cells(run_folder, 2) == {2: "ok", 3: "ok"}
    assert result.cells_ok == 3
    assert not fake_processes(run_folder)


def test_a_cell_that_hangs_in_two_environments_and_ends_in_none_is_left_out_of_the_others(
    run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    """40 alternatives of a library whose puts hang took 40 times the limit for a hang."""
    names = ["clean", "yours", "third", "fourth", "fifth"]
    plan = make_plan(["ok", "hang"], rounds=1, environments=list(map(Environment, names)))
    result, infos = execute(run_folder, plan, fake_commands)
    hung = sorted(info.environment for info in infos if info.ended == "hung")
    assert hung == ["clean", "clean", "yours"]
    assert result.cells_ok == 5
    assert result.status == "partial"
    assert [line for line in result.notes if "hung" in line] == ["g: left out, because it hung in 2 environments"]


def test_cell_that_failed_twice_is_tried_again_by_resume_alone(
    run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    plan = make_plan(["ok", "crash", "ok"], rounds=4)
    _, infos = execute(run_folder, plan, fake_commands)
    assert [(info.ended, [cell.cell for cell in info.failed_cells]) for info in infos] == [
        ("crashed", [1]),
        ("ok", []),
        ("ok", []),
        ("ok", []),
        ("crashed", [1]),  # by number the last, by time the second
    ]
    again = schedule_after(run_folder, plan)  # of whoever resumes it
    Execution(run_folder, plan, fake_commands, FAST, Quiet(io.StringIO()), again).execute()
    assert [(info.ended, info.continues) for info in read_launches(run_folder)[5:]] == [("crashed", 5), ("crashed", 6)]


def test_wrong_bytes_are_a_failed_cell(run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands) -> None:
    result, infos = execute(run_folder, make_plan(["wrong", "ok"]), fake_commands)
    assert [(info.ended, info.return_code) for info in infos] == [("failed", 1)]
    assert infos[0].failed_cells[0].reason == "3 wrong bytes, the first at 17"
    assert result.cells_ok == 1


def test_skipped_cell_has_its_reason(run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands) -> None:
    _, infos = execute(run_folder, make_plan(["skip", "ok"]), fake_commands)
    assert infos[0].ended == "ok"
    assert [(cell.status, cell.reason) for cell in infos[0].failed_cells] == [("skipped", "no such memory here")]


@pytest.mark.parametrize(("init", "how", "why"), [("fail", "failed", "no network"), ("hang", "hung", "no progress")])
def test_environment_that_does_not_start_is_given_up(
    init: str, how: str, why: str, run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    environments = [Environment("bad", {"FAKE_INIT": init}), Environment("good")]
    result, infos = execute(run_folder, make_plan(["ok", "ok"], 3, environments), fake_commands)
    bad = [info for info in infos if info.environment == "bad"]
    assert [info.ended for info in bad] == [how, how]
    assert [cell.cell for cell in bad[1].failed_cells] == [0, 1]
    assert why in bad[1].failed_cells[0].reason
    assert sum(info.ended == "ok" for info in infos if info.environment == "good") == 3
    assert result.status == "partial"
    assert "environment 'bad'" in result.notes[0]


def test_interrupt_keeps_what_was_measured_and_resume_does_the_rest(
    run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    plan = make_plan(["ok", "ok", "wait", "ok"], rounds=2)
    events = launch_folder(run_folder, 1) / "events.jsonl"

    def stop_in_the_middle() -> None:
        while not events.exists() or events.read_text().count("cell_end") < 2:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGINT)

    stopper = threading.Thread(target=stop_in_the_middle)
    stopper.start()
    result, infos = execute(run_folder, plan, fake_commands)
    stopper.join()
    assert result.status == "interrupted"
    assert [info.ended for info in infos] == ["interrupted"]
    assert not fake_processes(run_folder)
    before = events.read_bytes()
    assert set(ended_cells(run_folder, 1)) == {0, 1}

    (run_folder / "go").touch()
    schedule = schedule_after(run_folder, plan)
    result = Execution(run_folder, plan, fake_commands, FAST, Quiet(io.StringIO()), schedule).execute()
    infos = read_launches(run_folder)
    assert result.status == "complete"
    assert events.read_bytes() == before
    assert [(info.launch, info.ended, info.continues) for info in infos] == [
        (1, "interrupted", None),
        (2, "ok", None),
        (3, "ok", 1),
    ]
    assert set(ended_cells(run_folder, 3)) == {2, 3}
    assert not schedule_after(run_folder, plan).launches_left()


def damaged(damage: str, folder: Path) -> None:
    """What can happen to the files of a launch that is over."""
    if damage == "launch.json cut":
        (folder / "launch.json").write_bytes((folder / "launch.json").read_bytes()[:100])
    elif damage == "events cut":
        (folder / "events.jsonl").write_bytes((folder / "events.jsonl").read_bytes()[:-20])
    elif damage == "samples gone":
        (folder / "samples.blk").unlink()
    else:
        data = (folder / "samples.blk").read_bytes()
        (folder / "samples.blk").write_bytes(data[:-10] if damage == "samples cut" else data[:-1] + b"?")


@pytest.mark.parametrize("damage", ["launch.json cut", "events cut", "samples gone", "samples cut", "samples changed"])
def test_launch_whose_files_were_damaged_is_run_again_whole(
    damage: str, run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    plan = make_plan(["ok", "ok"], rounds=2)
    execute(run_folder, plan, fake_commands)
    damaged(damage, launch_folder(run_folder, 1))
    schedule = schedule_after(run_folder, plan)
    assert [launch.launch for launch in schedule.launches_left()] == [1]
    Execution(run_folder, plan, fake_commands, FAST, Quiet(io.StringIO()), schedule).execute()
    assert [info.launch for info in read_launches(run_folder)] == [2, 3]
    assert set(ended_cells(run_folder, 3)) == {0, 1}
    assert not schedule_after(run_folder, plan).launches_left()


@pytest.mark.parametrize(
    ("walls_s", "status", "words"),
    [
        ([20.0, 34.0, 25.0, 24.0], "complete", "only 4 of 50 rounds fit in 120 s"),
        ([70.0], "partial", "49 launches not started: the next one takes about 70 s, and 50 s were left"),
    ],
)
def test_a_launch_that_would_not_end_within_the_budget_is_not_begun(
    run_folder: Path,
    make_plan: MakePlan,
    fake_commands: MpiCommands,
    monkeypatch: pytest.MonkeyPatch,
    walls_s: list[float],
    status: str,
    words: str,
) -> None:
    clock_s, left_s = [0.0], list(walls_s)
    monkeypatch.setattr("slowpath.run.execute.time", SimpleNamespace(monotonic=lambda: clock_s[0]))

    def run_all(jobs: list[LaunchedJob]) -> list[Outcome]:
        clock_s[0] += left_s[0]
        return [replace(outcome, wall_s=left_s.pop(0)) for outcome in run_jobs(jobs)]

    limits, plan = RunLimits(cell_timeout_s=5, budget_s=120.0, whole_rounds=True), make_plan(["ok"], rounds=50)
    result = Execution(run_folder, plan, fake_commands, limits, Quiet(io.StringIO()), run_all=run_all).execute()
    assert (result.status, result.rounds, left_s) == (status, len(walls_s), [])
    assert words in result.notes[0]


def test_a_launch_that_still_runs_when_the_budget_is_over_is_ended_where_that_is_asked(
    run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    """What it measured until then counts, and nothing of it counts as failed."""
    limits = RunLimits(cell_timeout_s=60, budget_s=0.3)
    result, infos = execute(run_folder, make_plan(["ok", "hang", "ok"], rounds=50), fake_commands, limits)
    assert (result.status, result.cells_ok, len(infos)) == ("partial", 1, 1)
    assert (infos[0].ended, infos[0].failed_cells) == ("interrupted", [])
    assert infos[0].reason == "cut off by the budget of 0.3 s"
    assert not (launch_folder(run_folder, 1) / "stacks").exists()
    assert not fake_processes(run_folder)


def test_disk_that_refuses_is_one_clear_line(run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands) -> None:
    plan = make_plan(["ok"], rounds=2)
    (run_folder / "launches").rmdir()
    (run_folder / "launches").write_text("in the way")
    with pytest.raises(EnvironmentFailure, match="free space, then run: slowpath run --resume"):
        execute(run_folder, plan, fake_commands)


def test_each_launch_with_a_table_of_replaced_collectives_has_a_report_of_its_own(
    run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    with_table = make_plan(["ok"], 1, [Environment("default", {"SLOWPATH_COLL": "{}"})])
    made = fake_commands.command(with_table, with_table.launches[0], run_folder)
    assert made.variables["SLOWPATH_COLL_REPORT"] == str(run_folder / "replaced.json")
    without = make_plan(["ok"])
    assert "SLOWPATH_COLL_REPORT" not in fake_commands.command(without, without.launches[0], run_folder).variables
