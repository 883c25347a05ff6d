# SPDX-License-Identifier: Apache-2.0
"""A redacted copy: no name of a host, user, path or address stays in any file, and the numbers are what they were."""

from __future__ import annotations

import getpass
import json
import platform
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from slowpath.analyse.build import build_results
from slowpath.analyse.results_file import read_results
from slowpath.compare.read import read_source
from slowpath.core.errors import EnvironmentFailure, RecordError
from slowpath.record.events import read_events
from slowpath.record.folder import read_run
from slowpath.record.imports.field import import_logs
from slowpath.report.redact import NOTE, Redactor, redact_and_report
from watchdog import WATCHDOG_S

FIELD = Path(__file__).parents[1] / "data" / "field"
SECRETS = (
    "nid00417", "nid00418", "alice", "kestrel-project", "login-3", "example.org", "10.12.0.7",
    "fe80::1ff:fe23:4567:890a", "02:42:ac:11:00:02", "bld-host", "builder", "acct9931", "bright-idea",
)  # fmt: skip


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose record names two hosts, a user, folders and addresses, wherever a real one does."""
    run = import_logs([FIELD / "host-bound.txt"], tmp_path / "alice" / "run")
    info = json.loads((run / "run.json").read_text())
    home = "/home/alice/kestrel-project"
    info["machine"] = {
        "host": "login-3.cluster.example.org",
        "kernel": "6.1.0",
        "variables": {"SLURM_JOB_NODELIST": "nid[00417-00418]", "SLURM_NTASKS": "2", "SLURM_JOB_ACCOUNT": "acct9931"},
    }
    info["mpi"] = {"name": "Open MPI 5.0.11", "mpiexec": f"{home}/mpi/bin/mpiexec"}
    info["command"] = ["slowpath", "run", f"{home}/mine.toml", "--seed", "7"]
    (run / "run.json").write_text(json.dumps(info))
    launch = run / "launches" / "000001"
    begin, *rest = (launch / "events.jsonl").read_text().splitlines()
    event = json.loads(begin)
    event["mpi_library"] = "Open MPI v5.0.11, package: Open MPI builder@bld-host Distribution"
    event["ranks"] = [{"rank": r, "host": f"nid0041{7 + r}"} for r in range(2)]
    (launch / "events.jsonl").write_text("\n".join([json.dumps(event), *rest, json.dumps(event)[:40]]))
    (launch / "stderr").write_text(
        f"[NID00417:4242] cannot open {home}/lib/libfoo.so.2: 10.12.0.7 port 80, fe80::1ff:fe23:4567:890a%eth0\n"
        "02:42:ac:11:00:02 at 12:30:05, alice@login-3, the bright-idea of 0.5 MB/s and/or 1/2\n"
    )
    (launch / "core.4242").write_bytes(b"\x7fELF alice")
    return run


def everything(folder: Path) -> str:
    return "\n".join(
        f"{path.relative_to(folder)}\n{path.read_bytes().decode('utf-8', errors='replace')}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    )


def test_no_name_stays_in_any_file(run: Path, tmp_path: Path) -> None:
    assert all(secret.lower() in everything(run).lower() for secret in SECRETS if secret != "nid00418")
    folder, results = redact_and_report(run, tmp_path / "alice" / "out", ["bright-idea"])
    text = everything(folder).lower()
    assert [secret for secret in SECRETS if secret in text] == []
    assert {path.name for path in folder.iterdir()} >= {"report.html", "results.json", "report.txt", "cells.csv"}
    assert not (folder / "launches" / "000001" / "core.4242").exists()
    assert any(note.startswith("Redacted") for note in results.notes)
    assert results.run.redacted


@pytest.mark.parametrize("note", [NOTE, "a note in other words"])
def test_a_copy_is_known_as_one_by_its_field_and_older_ones_by_their_note(run: Path, tmp_path: Path, note: str) -> None:
    folder, _ = redact_and_report(run, tmp_path / "out")
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**info, "notes": [note]}))
    assert read_run(folder).redacted
    (folder / "run.json").write_text(json.dumps({**info, "notes": [note], "redacted": False}))
    assert read_run(folder).redacted == (note == NOTE)
    document = json.loads((folder / "results.json").read_text())
    del document["run"]["redacted"]
    (folder / "results.json").write_text(json.dumps({**document, "notes": [note]}))
    assert read_results(folder / "results.json").run.redacted == (note == NOTE)


def test_the_same_name_has_the_same_stand_in_and_the_rest_stays(run: Path, tmp_path: Path) -> None:
    folder, _ = redact_and_report(run, tmp_path / "out")
    ranks = json.loads((folder / "launches/000001/events.jsonl").read_text().splitlines()[0])["ranks"]
    stderr = (folder / "launches/000001/stderr").read_text()
    info = json.loads((folder / "run.json").read_text())
    assert ranks[0]["host"] != ranks[1]["host"]
    assert f"[{ranks[0]['host']}:4242]" in stderr
    assert "12:30:05" in stderr
    assert "0.5 MB/s and/or 1/2" in stderr
    assert "libfoo.so.2" in stderr
    assert info["mpi"]["mpiexec"].endswith("/bin/mpiexec")
    assert info["command"][3:] == ["--seed", "7"]
    assert info["machine"]["variables"]["SLURM_NTASKS"] == "2"
    assert info["machine"]["kernel"] == "6.1.0"


def test_a_host_that_only_the_ranks_of_a_launch_name(run: Path, tmp_path: Path) -> None:
    path = run / "launches" / "000001" / "events.jsonl"
    begin, *rest = path.read_text().splitlines()
    event = {key: value for key, value in json.loads(begin).items() if key != "ranks"}
    event["nodes"] = [{"host": "bordeaux7", "ranks": "0-1", "pid": [41, 42], "cpus_allowed": ["0", "1"]}]
    path.write_text("\n".join([json.dumps(event), *rest]))
    folder, _ = redact_and_report(run, tmp_path / "out")
    assert "bordeaux7" not in everything(folder)
    ranks = read_events(folder / "launches/000001/events.jsonl").ranks
    assert [(rank.host[:4], rank.pid, rank.cpus_allowed) for rank in ranks] == [("host", 41, "0"), ("host", 42, "1")]


def test_numbers_are_what_they_were(run: Path, tmp_path: Path) -> None:
    before, (folder, after) = build_results(run), redact_and_report(run, tmp_path / "out")
    for one, other in zip(before.cells, after.cells, strict=True):
        assert (one.metrics, one.parameters, one.status, one.key) == (
            other.metrics,
            other.parameters,
            other.status,
            other.key,
        )
    assert [c.ratio for c in before.contrasts] == [c.ratio for c in after.contrasts]
    blk = "launches/000001/samples.blk"
    assert (folder / blk).read_bytes() == (run / blk).read_bytes()
    again, _ = redact_and_report(folder, tmp_path / "twice")
    assert read_source(again / "results.json").results.cells == after.cells


def test_names_of_this_machine_are_known_without_being_told(run: Path, tmp_path: Path) -> None:
    names = [name for name in (platform.node(), getpass.getuser()) if name not in ("root", "localhost")]
    stderr = run / "launches" / "000001" / "stderr"
    stderr.write_text(f"here: {' '.join(names)}, {Path.cwd()}\n")
    folder, _ = redact_and_report(run, tmp_path / "out")
    words = (folder / "launches" / "000001" / "stderr").read_text()
    assert not [name for name in [*names, str(Path.cwd())] if name in words]


def test_a_host_called_like_a_word_of_the_record_does_no_harm(run: Path, tmp_path: Path) -> None:
    events = run / "launches" / "000001" / "events.jsonl"
    events.write_text(events.read_text().replace("nid00417", "steady").replace("nid00418", "p2p"))
    before = build_results(run)
    _, after = redact_and_report(run, tmp_path / "out")
    assert [cell.experiment for cell in after.cells] == [cell.experiment for cell in before.cells]
    assert [c.a.phase for c in after.contrasts] == [c.a.phase for c in before.contrasts]


def test_wrong_folders_are_one_line(run: Path, tmp_path: Path) -> None:
    with pytest.raises(RecordError):
        redact_and_report(tmp_path / "absent", tmp_path / "out")
    with pytest.raises(EnvironmentFailure, match="is not empty"):
        redact_and_report(run, run)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("PATH=/home/bob/bin:/usr/bin", "PATH=/home/path1/bin:/usr/bin"),
        ("/proc/stat and /usr/lib/libmpi.so.12", "/proc/stat and /usr/lib/libmpi.so.12"),
        ("version 5.0.11, 16 MiB/s, 1/2", "version 5.0.11, 16 MiB/s, 1/2"),
        ("192.168.1.20 and again 192.168.1.20", "address1 and again address1"),
        ("node7 node70 NODE7", "host1 node70 host1"),
        ("/work/alpha,/work/beta: /work/alpha. /work/beta", "/path1/path2,/path1/path3: /path1/path2. /path1/path3"),
        ("--with=/work/alpha=/work/alpha", "--with=/path1/path2=/path1/path2"),
        ("../up /work/.. ...", "../path1 /path2/.. ..."),
        ("", ""),
    ],
)
def test_what_is_replaced(text: str, expected: str) -> None:
    assert Redactor(["node7"], []).text(text) == expected


def test_a_path_that_is_also_named_in_part_has_the_same_stand_in() -> None:
    redactor = Redactor([], [], paths=["/home/bob/runs/secret"])
    assert redactor.text("/home/bob/runs/secret") == "/home/path1/path2/path3"
    assert redactor.text("runs/secret; runs/secret.") == "path2/path3; path2/path3."
    assert redactor.text("runs/other, and/or, 16 MiB/s") == "path2/path4, and/or, 16 MiB/s"


def test_the_run_s_own_folder_is_the_same_path_wherever_it_is_named(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent.parent)
    relative = run.relative_to(Path.cwd())
    (run / "launches" / "000001" / "stderr").write_text(f"{run.absolute()} and {relative}\n")
    folder, _ = redact_and_report(relative, tmp_path / "out")
    absolute, named = (folder / "launches" / "000001" / "stderr").read_text().split(" and ")
    assert absolute.endswith("/" + named.rstrip("\n"))


def test_command_line(
    run: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from slowpath.cli.main import exit_code

    monkeypatch.chdir(tmp_path)
    call: Callable[[list[str]], int] = exit_code
    assert call(["report", str(run), "--redact", "shared", "--redact-also", "bright-idea"]) == 0
    assert "alice" not in capfd.readouterr().out
    assert call(["report", str(run), "--redact-also", "x"]) == 2
    assert "--redact-also needs --redact" in capfd.readouterr().err
    assert subprocess.run(["grep", "-rqi", "alice", "shared"], check=False, timeout=WATCHDOG_S).returncode == 1
