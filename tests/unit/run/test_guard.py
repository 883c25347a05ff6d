# SPDX-License-Identifier: Apache-2.0
"""What protects a user: no secret in a run folder, no control character in an output, no code from a folder."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import planted
import pytest
from msgspec.structs import replace as changed

from slowpath.cli.main import exit_code
from slowpath.core import guard
from slowpath.core.errors import EnvironmentFailure, RecordError, UsageError
from slowpath.core.guard import HIDDEN, KnownSecrets, clean_text, clean_words, why_secret
from slowpath.core.plan import PLAN_SCHEMA, Cell, Environment, Launch, Placement, Plan
from slowpath.mpi.own_settings import NOT_LISTED, recorded_variables
from slowpath.plan.campaign import decode
from slowpath.record.folder import RUN_SCHEMA, RunInfo, read_run, write_run
from slowpath.record.plan_files import write_plan
from slowpath.run import reopen
from slowpath.run.execute import Execution
from slowpath.run.machine import machine_facts
from slowpath.run.prepare import MpiCommands
from slowpath.run.process import LaunchedJob, Outcome
from slowpath.run.progress import Quiet
from slowpath.run.reopen import Terms
from slowpath.run.schedule import RunLimits

TOKEN = "eyJhbGciOiJIUzI1NiJ9.eyJleHAiOjE3MzIzMDB9.k3Yw0Jt7xQpZ2mN8"
SECRETS = {
    "SLURM_JWT": "hunter2-step",
    "OMPI_MCA_secret_key": "s3cr3t-of-a-job",
    "I_MPI_HYDRA_PASSWORD": 'correct "horse" battery',
    "OMP_apiKey": "ak-31415926",
    "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG+bPxRfiCYzz",
    "UCX_LABEL": TOKEN,
    "MPICH_NOTE": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkq\n-----END PRIVATE KEY-----",
}
SETTINGS = {"UCX_IB_PKEY": "0xffff", "UCX_RKEY_PTR_SEG_SIZE": "512K", "UCX_TLS": "tcp", "I_MPI_PIN": "1"}
# OSC 52 sets the clipboard, CSI erases; then BiDi, zero-width, CR, BS, NEL, a line separator.
CONTROLS = "\x1b]52;c;eA==\x07\x1b[2J\x9b2J\u202e\u200b\r\x08\x7f\x85\u2028"


def controls_in(words: str) -> set[str]:
    return {word for word in words if word in CONTROLS and not word.isprintable()} & set(
        "\x1b\x07\x9b\u202e\u200b\r\x08\x7f"
    )


def test_variables_are_recorded_without_secrets() -> None:
    kept, hidden = recorded_variables({**SECRETS, **SETTINGS, "SLURM_NTASKS": "2", "SLURM_WHATEVER": "1", "HOME": "/h"})
    assert kept == {**SETTINGS, "SLURM_NTASKS": "2"}
    assert hidden["SLURM_WHATEVER"] == NOT_LISTED
    assert "AWS_SECRET_ACCESS_KEY" not in hidden, "what steers nothing is not even named"
    assert not [value for value in SECRETS.values() if value in json.dumps(hidden)]
    assert [name for name in ("KEYBOARD", "MPICH_OFI_BYPASS", "AUTHOR", "PATH") if why_secret(name, "x")] == []


@pytest.mark.parametrize(("words", "expected"), [
    (["--token=abc", "x"], [f"--token={HIDDEN}", "x"]),
    (["--api-key", "hunter2", "x"], ["--api-key", HIDDEN, "x"]),
    (["-genv", "SLURM_JWT", "zzz", "-n", "2"], ["-genv", "SLURM_JWT", HIDDEN, "-n", "2"]),
    (["-x", "MY_SECRET=1234567"], ["-x", f"MY_SECRET={HIDDEN}"]),
    (["https://bob:pw@host/x"], [f"https://{HIDDEN}@host/x"]),
    (["slowpath", "run", "checkup", "--out", "runs/checkup-20261122-140559"],) * 2,
    (["prog", "--auth", "--verbose"],) * 2,
])  # fmt: skip
def test_command_lines(words: list[str], expected: list[str]) -> None:
    assert clean_words(words) == expected


def test_a_campaign_sets_no_secret() -> None:
    head = '[campaign]\nname = "x"\ntitle = "X"\nranks = 2\nrounds = 2\n[[environment]]\nname = "e"\n'
    text = f'{head}variables = {{ SLURM_JWT = "abc" }}\n[[cells]]\nname = "c"\nexperiment = "p2p"\n'
    with pytest.raises(UsageError, match=r"SLURM_JWT.*its name says.*export it in your shell"):
        decode(text.encode(), "x.toml")


def printing_everything(jobs: list[LaunchedJob]) -> list[Outcome]:
    """A launch that prints its environment as launchers, libraries and debuggers do, and crashes."""
    environ = dict(jobs[0].environ)
    lines = "".join(f"{name}={value}\n" for name, value in environ.items())
    folder = jobs[0].stdout.parent
    jobs[0].stdout.write_text(lines + json.dumps(environ))
    jobs[0].stderr.write_bytes(b"\xff " + " ".join(f"'{name}={value}'" for name, value in environ.items()).encode())
    (folder / "stacks").write_text(lines)
    (folder / "control_variables.json").write_text(json.dumps({"variables": [{"value": v} for v in environ.values()]}))
    (folder / "events.jsonl").write_text(json.dumps({"event": "end", "t_ns": 1, "text": list(environ.values())}) + "\n")
    return [Outcome("crashed", 1, None, lines, 0.1)]


def test_secrets_are_in_no_byte_of_a_run_folder(
    run_folder: Path, make_plan: Callable[..., Plan], fake_commands: MpiCommands
) -> None:
    environ = {**SETTINGS, **SECRETS, "SSH_KEY_DIR": "/root/.ssh"}
    plan = make_plan(["ok"])
    write_run(run_folder, RunInfo(RUN_SCHEMA, "r", "fake", "Fake", "0", "0", machine=machine_facts(environ)))
    write_plan(run_folder / "plan.json", plan)
    commands = replace(fake_commands, environ=environ)
    Execution(run_folder, plan, commands, RunLimits(), Quiet([]), run_all=printing_everything).execute()
    content = b"\0".join(path.read_bytes() for path in sorted(run_folder.rglob("*")) if path.is_file())
    for value in SECRETS.values():
        for form in (*value.splitlines(), json.dumps(value)[1:-1]):
            assert form.encode() not in content, form
    launch = run_folder / "launches/000001"
    assert "UCX_IB_PKEY=0xffff" in (launch / "stdout").read_text()
    assert "SSH_KEY_DIR=/root/.ssh" in (launch / "stdout").read_text()
    assert (launch / "stderr").read_bytes().startswith(b"\xff ")
    assert json.loads((launch / "events.jsonl").read_text())["event"] == "end"
    assert not list(launch.glob(".*")), "no part of a rewritten file stays"


def test_a_text_without_secrets_is_as_it_was() -> None:
    words = "cannot open /x; key: 5, author is bob; 16 MiB = 2^24"
    assert (
        clean_text(words)
        == KnownSecrets({**SETTINGS, "KEY_TIMEOUT": "1", "X_PIN_KEY": "12345678"}).text(words)
        == words
    )


def test_control_characters_are_escaped_and_others_are_not() -> None:
    plain = "eager, 8 B: 1.20 µs [1.1, 1.3] × 2 – Zürich 日本語 🙂 'a' \\u001b"
    assert guard.text(plain) == guard.line(plain) == plain
    assert controls_in(guard.text(CONTROLS)) == set()
    assert guard.text("a\n\tb\r") == "a\n\tb\\u000d"
    assert guard.line("a\n\tb\r") == "a\\u000a\\u0009b\\u000d"


def test_no_command_on_a_folder_prints_a_control(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = planted.make_run(tmp_path / "made")
    write_run(run, changed(read_run(run), title=f"T{CONTROLS}"))
    for argv in (["report"], ["report", "--json"], ["table"], ["compare", str(run)]):
        exit_code([argv[0], str(run), *argv[1:]])
        out, err = capsys.readouterr()
        assert out + err
        assert controls_in(out + err) == set(), argv
    for name in ("report.txt", "report.html", "results.json"):
        assert controls_in((run / name).read_text()) == set(), name


@pytest.mark.parametrize(("change", "said"), [
    (lambda path: path.unlink() or os.mkfifo(path), "is a FIFO"),
    (lambda path: path.unlink() or path.symlink_to("/etc/hostname"), "leads out of"),
    (lambda path: path.write_bytes(b'{"schema": 1, "id": "\xff"}'), "cannot be read"),
    (lambda path: path.write_text("[" * 100_000), "cannot be read"),
    (lambda path: os.truncate(path, 24 * 2**30), "and the limit is 16777216"),
])  # fmt: skip
def test_a_made_up_folder_is_one_line(
    tmp_path: Path, change: Callable[[Path], object], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = planted.make_run(tmp_path / "made")
    change(run / "run.json")
    assert exit_code(["report", str(run)]) == 4
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert said in err


@pytest.fixture
def refused(tmp_path: Path) -> Callable[..., str]:
    """The one line with which `resume` refuses a folder that names a planted launcher; it is not started."""
    marks, bin_folder = tmp_path / "marks", tmp_path / "bin"
    bin_folder.mkdir()
    mpiexec = bin_folder / "mpiexec"
    mpiexec.write_text(f"#!/bin/sh\necho started >> '{marks}'\nprintf 'HYDRA build details:\\n    Version: 9.9.9\\n'\n")
    mpiexec.chmod(0o755)
    mpi = {"name": "mpich", "version": "9.9.9", "launcher": "hydra", "mpiexec": str(mpiexec), "short_name": "mpich"}
    run = tmp_path / "stranger"
    (run / "launches").mkdir(parents=True)
    environ = {"PATH": "/usr/bin", "SLOWPATH_CACHE_DIR": str(tmp_path / "cache")}

    def call(kind: type[Exception] = EnvironmentFailure, **changes: Any) -> str:
        info = RunInfo(
            RUN_SCHEMA, "id", "c", "C", "0", "0", mpis=[{**mpi, "engine": {"key": "k", "path": str(mpiexec)}}]
        )
        cell = Cell(0, "k", "g", "l", "p2p", {"pattern": "ping_pong"}, "default", "bound", mpi="mpich")
        launch = Launch(1, 1, "default", "bound", [0], 1, mpi="mpich")
        where = [Environment("default")], [Placement("bound")]
        write_run(run, info)
        write_plan(
            run / "plan.json",
            changed(Plan(PLAN_SCHEMA, "c", "C", 2, 1, 1, 0.03, *where, [cell], [], [launch]), **changes),
        )
        with pytest.raises(kind) as caught:
            reopen.reopen(run, environ, lambda _: None, Terms())
        assert not marks.exists()
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return call


def test_resume_starts_nothing_that_a_folder_chooses(refused: Callable[..., str]) -> None:
    assert "name it with --mpi PATH, or add --trust" in refused()
    for name, value in [("LD_PRELOAD", "/tmp/evil.so"), ("HYDRA_LAUNCHER_EXEC", "evil"), ("NOBODY_KNOWS_IT", "/tmp/x")]:
        said = refused(environments=[Environment("default", {"UCX_TLS": "^sm", name: value})])
        assert f"sets {name}={value} (environment 'default')" in said
        assert "then add --trust" in said
    hosts = [Placement("bound", hosts=["-oProxyCommand=evil", "n1"])]
    assert "placement 'bound': node" in refused(RecordError, placements=hosts)
    assert "resume in a job with the same nodes" in refused(
        placements=[Placement("bound", nodes=2, ranks_per_node=1, hosts=["n1"])]
    )
