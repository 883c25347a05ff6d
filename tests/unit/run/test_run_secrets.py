# SPDX-License-Identifier: Apache-2.0
"""Secrets of the environment are in no byte of a run folder, whatever the programs under it print."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from slowpath.core.plan import Plan
from slowpath.core.secrets import HIDDEN, KnownSecrets
from slowpath.record.folder import FailedCell, LaunchInfo, RunInfo, read_launch_info, write_run
from slowpath.record.plan_files import write_plan
from slowpath.run import hide
from slowpath.run.commands import MpiCommands
from slowpath.run.execute import Execution
from slowpath.run.limits import RunLimits
from slowpath.run.machine import machine_facts
from slowpath.run.process import LaunchedJob, Outcome
from slowpath.run.progress import Quiet
from slowpath.run.reopen import schedule_after
from support.planted_secrets import PLANTED, found_in, random_secrets

MakePlan = Callable[..., Plan]


def printing_everything(jobs: list[LaunchedJob]) -> list[Outcome]:
    """A launch that prints its environment in every way that launchers, libraries and debuggers do, and crashes."""
    for job in jobs:
        environ = dict(job.environ)
        lines = "".join(f"{name}={value}\n" for name, value in environ.items())
        job.stdout.write_text(lines + json.dumps(environ))
        job.stderr.write_bytes(b"\xff " + " ".join(f"'{name}={value}'" for name, value in environ.items()).encode())
        folder = job.stdout.parent
        (folder / "stacks").write_text("\n".join(f'#1 0x00 in getenv (name="{n}") {v}' for n, v in environ.items()))
        (folder / "ucx-1.log").write_text(lines)
        (folder / "control_variables.json").write_text(
            json.dumps({"variables": [{"name": n, "type": "char", "value": v} for n, v in environ.items()]})
        )
        said = {"event": "end", "t_ns": 1, "text": list(environ.values())}
        (folder / "events.jsonl").write_text(json.dumps(said) + "\n")
    why = "; ".join(f"{name}={value}" for name, value in jobs[0].environ.items())
    return [Outcome("crashed", 1, None, why, 0.1)] * len(jobs)


def run_with(secrets: Mapping[str, str], folder: Path, make_plan: MakePlan, commands: MpiCommands) -> None:
    plan = make_plan(["ok"])
    environ = {"UCX_TLS": "tcp", "UCX_IB_PKEY": "0xffff", **secrets}
    info = RunInfo(1, "r", "fake", "Fake", "0", "0", machine=machine_facts(environ))
    write_run(folder, info)
    write_plan(folder / "plan.json", plan)
    Execution(
        folder, plan, replace(commands, environ=environ), RunLimits(), Quiet([]), run_all=printing_everything
    ).execute()


def test_planted_secrets(run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands) -> None:
    # What only the shape of a value of one job's own names tells is not known in a program's output.
    names = [one for one in PLANTED if one[0] not in ("FI_PSM3_UUID", "OMPI_MCA_orte_hnp_uri")]
    commands = replace(fake_commands, mpi=replace(fake_commands.mpi, env={"X_TOKEN": "launch-tok-1"}))
    run_with({name: value for name, value, _ in names}, run_folder, make_plan, commands)
    assert found_in(run_folder, [*(secret for _, _, secret in names), "launch-tok-1"]) == []
    assert "UCX_TLS=tcp" in (run_folder / "launches/000001/stdout").read_text()
    assert "UCX_IB_PKEY=0xffff" in (run_folder / "launches/000001/stdout").read_text()
    assert (run_folder / "launches/000001/stderr").read_bytes().startswith(b"\xff ")
    rows = json.loads((run_folder / "launches/000001/control_variables.json").read_text())["variables"]
    by_name = {row["name"]: row for row in rows}
    assert by_name["UCX_TLS"]["value"] == "tcp"
    assert by_name["SLURM_JWT"]["value"] is None
    assert by_name["SLURM_JWT"]["reason"] == "not recorded: its name says that it is a secret"
    info = read_launch_info(run_folder / "launches/000001")
    reason = info and info.reason
    assert reason is not None
    assert f"SLURM_JWT={HIDDEN}" in reason


@pytest.mark.parametrize("seed", range(20))
def test_random_secrets(seed: int, run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands) -> None:
    secrets = random_secrets(60, seed)
    run_with(secrets, run_folder, make_plan, fake_commands)
    assert found_in(run_folder, list(secrets.values())) == []
    machine = json.loads((run_folder / "run.json").read_text())["machine"]
    assert machine["variables"] == {"UCX_TLS": "tcp", "UCX_IB_PKEY": "0xffff"}


def test_output_that_is_too_large_to_be_held_is_cleaned_line_by_line(
    run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hide, "MOST_BYTES", 100)
    secrets = random_secrets(60, 5)
    run_with(secrets, run_folder, make_plan, fake_commands)
    launch = run_folder / "launches/000001"
    for name in ("stdout", "stderr", "stacks"):
        assert not [value for value in secrets.values() if value.encode() in (launch / name).read_bytes()], name
    assert (launch / "stderr").read_bytes().startswith(b"\xff ")
    assert not list(launch.glob(".*"))


def test_a_launch_that_was_cut_off_is_cleaned_when_the_run_goes_on(
    run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_MCA_secret_key", "s3cr3t-of-a-job")
    launch = run_folder / "launches/000001"
    launch.mkdir(parents=True)
    (launch / "stdout").write_text("the key is s3cr3t-of-a-job\n")
    schedule_after(run_folder, make_plan(["ok"]))
    assert (launch / "superseded").is_file()
    assert (launch / "stdout").read_text() == f"the key is {HIDDEN}\n"


def test_launch_json_has_the_command_line_and_the_reasons_without_secrets() -> None:
    secrets = KnownSecrets({"OMPI_MCA_secret_key": "s3cr3t-of-a-job"})
    given = LaunchInfo(
        *(1, 1, "e", "p"),
        argv=["mpiexec", "-genv", "SLURM_JWT", "abc", "/e/slowpath-engine", "s3cr3t-of-a-job", "-n", "2"],
        variables={"X_TOKEN": "abc", "UCX_TLS": "tcp", "ENABLE_MR_PROV_KEY": "1"},
        reason="s3cr3t-of-a-job",
        failed_cells=[FailedCell(0, "failed", "MY_PASS=abc in s3cr3t-of-a-job")],
    )
    made = hide.without_secrets(given, secrets)
    assert made.argv == ["mpiexec", "-genv", "SLURM_JWT", HIDDEN, "/e/slowpath-engine", HIDDEN, "-n", "2"]
    assert made.variables == {
        "X_TOKEN": "(its name says that it is a secret)",
        "UCX_TLS": "tcp",
        "ENABLE_MR_PROV_KEY": "1",
    }
    assert made.reason == HIDDEN
    assert made.failed_cells == [FailedCell(0, "failed", f"MY_PASS={HIDDEN} in {HIDDEN}")]


def test_launches_without_secrets_are_not_rewritten(
    run_folder: Path, make_plan: MakePlan, fake_commands: MpiCommands
) -> None:
    run_with({}, run_folder, make_plan, fake_commands)
    kept = {path.name for path in (run_folder / "launches/000001").iterdir()}
    assert kept >= {"stdout", "stderr", "stacks", "events.jsonl", "launch.json"}
    assert HIDDEN not in (run_folder / "launches/000001/stdout").read_text()
