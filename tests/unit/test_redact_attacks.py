# SPDX-License-Identifier: Apache-2.0
"""What tried to get through --redact: names by every road, secrets of older records, files that are none."""

from __future__ import annotations

import json
import os
import random
import re
import socket
from pathlib import Path

import pytest

from slowpath.cli.main import exit_code
from slowpath.core import files
from slowpath.core.errors import EnvironmentFailure, RecordError
from slowpath.record.imports.field import import_logs
from slowpath.report.redact import Names, redact_and_report, redact_run
from slowpath.report.stand_ins import Redactor, any_of
from support.planted_secrets import ENVIRON, PLANTED, found_in

FIELD = Path(__file__).parents[1] / "data" / "field"
HOME = "/scratch/Ann Lee/kestrel"
NAMES = (
    *("Ann Lee", "annlee", "kestrel", "osprey", "merlin", "goshawk", "harrier", "buzzard", "falconry", "peregrine"),
    *("cobalt3", "cobalt4", "cobalt5", "quartz", "intra.example", "10.12.0.7", "fe80::1ff:fe23:4567:890a", "jackdaw"),
    *("00:11:22:33:44:55:66:77", "2001:db8::17", "bunting", "wheatear", "dunnock", "siskin"),
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A record that names people, machines and folders in every form that such names have."""
    run = import_logs([FIELD / "host-bound.txt"], tmp_path / "jackdaw")
    info = json.loads((run / "run.json").read_text())
    info["id"] = "jackdaw"
    info["machine"] = {
        "host": "cobalt3.quartz.intra.example",
        "kernel": "6.1.0",
        "allocation": {"scheduler": "slurm", "job": "998877", "nodes": 2, "names": ["cobalt3", "cobalt5"]},
        "variables": {**ENVIRON, "SLURM_JOB_NODELIST": "cobalt[3-4]", "UCX_MODULE_DIR": f"{HOME}/lib:/opt/osprey/lib"},
    }
    info["mpi"] = {"name": "Open MPI 5.0.2", "version": "5.0.2", "mpiexec": f"{HOME}/mpi/bin/mpiexec"}
    info["command"] = [
        *("slowpath", "run", "merlin.toml", "--out", "jackdaw", "--mpi=../goshawk/bin/mpiexec", "--token=hunter2-step"),
        *("mine/harrier dir/campaign.toml", "./buzzard", "--seed", "7"),
    ]
    info["notes"] = [
        "see '/data/falconry hall/x y' and https://git.intra.example/peregrine/x",
        "openmpi@4.1.6%gcc@12.3",
    ]
    (run / "run.json").write_text(json.dumps(info))
    (run / "launches/000001/stderr").write_text(
        f"[cobalt4:17] {HOME}/lib/libfoo.so.2: no such file; cannot open /scratch/Bob Siskin/wheatear now\n"
        "10.12.0.7:80 fe80::1ff:fe23:4567:890a%eth0 [2001:db8::17] 00:11:22:33:44:55:66:77 at 12:30:05\n"
        "merlin.toml:3: bad; annlee@cobalt5.quartz.intra.example; ~bunting/x $HOME/dunnock/y ../siskin ${HOME}/siskin\n"
        "UCX 1.15.0.1, libfabric version 1.22.0.3, v5.0.2, 5.0.2, libmpi.so.40.30.5, ratio 1:2:3:4, 16 MiB/s, and/or\n"
        + "".join(f"{name}={value}\n" for name, value in ENVIRON.items())
    )
    return run


def test_names_and_secrets_are_in_no_byte(run: Path, tmp_path: Path) -> None:
    lines: list[str] = []
    folder, _ = redact_and_report(run, tmp_path / "out", tell=lines.append)
    # What is one job's own, but has no secret's shape, is known by its name alone.
    secrets = [secret for name, _, secret in PLANTED if name != "OMPI_MCA_orte_hnp_uri"]
    assert found_in(folder, secrets) == []
    machine = json.loads((folder / "run.json").read_text())["machine"]
    assert set(machine["variables"]) == {"SLURM_JOB_NODELIST", "UCX_MODULE_DIR"}
    assert machine["variables_not_recorded"]["SLURM_JWT"] == "its name says that it is a secret"
    content = "\n".join(path.read_text(errors="replace") for path in folder.rglob("*") if path.is_file()).lower()
    assert [name for name in NAMES if name.lower() in content] == []
    assert "998877" not in content
    assert lines == []
    assert {path.name for path in folder.iterdir()} >= {"report.html", "results.json", "run.json"}


def test_versions_times_and_ratios_are_as_they_were(run: Path, tmp_path: Path) -> None:
    folder, _ = redact_run(run, tmp_path / "out")
    stderr = (folder / "launches/000001/stderr").read_text()
    kept = "UCX 1.15.0.1, libfabric version 1.22.0.3, v5.0.2, 5.0.2, libmpi.so.40.30.5, ratio 1:2:3:4, 16 MiB/s, and/or"
    # Four numbers without a word that says what they are may be an address.
    assert re.search(r"^UCX address\d+, " + re.escape(kept.partition(", ")[2]), stderr, re.MULTILINE)
    assert "at 12:30:05" in stderr
    info = json.loads((folder / "run.json").read_text())
    assert info["mpi"]["version"] == "5.0.2"
    assert info["notes"][1] == "openmpi@4.1.6%gcc@12.3"
    assert info["command"][-2:] == ["--seed", "7"]


def test_one_thing_has_one_stand_in_in_all_files(run: Path, tmp_path: Path) -> None:
    folder, _ = redact_run(run, tmp_path / "out")
    info = json.loads((folder / "run.json").read_text())
    stderr = (folder / "launches/000001/stderr").read_text()
    host = info["machine"]["host"]
    assert info["machine"]["allocation"]["names"][0] == host  # by its short name
    lee, mpi = info["mpi"]["mpiexec"].split("/")[2:4]
    assert info["machine"]["variables"]["UCX_MODULE_DIR"].startswith(
        f"/{info['mpi']['mpiexec'].split('/')[1]}/{lee}/{mpi}"
    )
    assert f"/{lee}/{mpi}/lib/libfoo.so.2" in stderr
    assert info["id"] == info["command"][4]
    assert f"{info['command'][2]}:3: bad" in stderr
    assert len({host, info["machine"]["allocation"]["names"][1], lee, mpi, info["id"], info["command"][2]}) == 6


def test_stand_ins_are_one_to_one() -> None:
    draw = random.Random(5)
    words = sorted({"".join(draw.choices("abcH01", k=draw.randrange(1, 7))) for _ in range(300)})
    names = [*words, "host1", "host2", "path1", "user1", "name7"]
    parts = ["/home/" + "/".join(draw.sample(words, 3)) for _ in range(100)]
    redactor = Redactor(
        names[::3], names[1::3], names[2::3], parts, taken={"host1", "host2", "path1", "user1", "name7"}
    )
    mapped = {name: redactor.text(f"/data/{name}/x") for name in names if not name.isdigit()}
    of: dict[str, set[str]] = {}
    for name, stand_in in mapped.items():
        of.setdefault(stand_in, set()).add(name.lower())
    assert all(len(found) == 1 for found in of.values()), [found for found in of.values() if len(found) > 1]
    assert all(redactor.text(name) == redactor.text(name.upper()) for name in names if name.isalpha())


def test_a_name_that_looks_like_a_stand_in_is_not_mixed_up_with_one() -> None:
    names = Names()
    names.add_value({"host": "alpha", "hosts": ["host1"], "notes": "host1 talks to alpha"})
    found = names.redactor().text("host1 alpha")
    assert found.split()[0] != found.split()[1]
    assert "host1" not in found.split()


@pytest.mark.parametrize("many", [1, 7, 400])
def test_any_of_takes_the_longest(many: int) -> None:
    draw = random.Random(many)
    words = {"".join(draw.choices("ab.-", k=draw.randrange(1, 9))) for _ in range(many)} | {"a" * 300}
    pattern = re.compile(f"(?:{any_of(words)})")
    simple = re.compile("|".join(re.escape(one) for one in sorted(words, key=len, reverse=True)))
    text = "".join(draw.choices("ab.-", k=3000)) + "a" * 301
    assert pattern.findall(text) == simple.findall(text)


@pytest.mark.parametrize("kind", ["link out", "link to a folder", "FIFO", "socket", "unknown", "no blocks"])
def test_only_regular_files_of_known_kinds_are_copied(
    kind: str, run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("quiet words")
    target = run / "launches/000001/control_variables.json"
    if kind == "link out":
        target.symlink_to(secret)
    elif kind == "link to a folder":
        (run / "launches/000002").symlink_to(tmp_path)
    elif kind == "FIFO":
        os.mkfifo(target)
    elif kind == "socket":
        monkeypatch.chdir(target.parent)  # its path is short there
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(target.name)
    elif kind == "unknown":
        (run / "core.17").write_text("quiet words")
    else:
        (run / "launches/000001/samples.blk").write_text("quiet words")
    exit_code(["report", str(run), "--redact", str(tmp_path / "out")])
    said = capfd.readouterr().err
    assert said.count("left out: ") == 1
    assert found_in(tmp_path / "out", ["quiet words"]) == []
    assert (tmp_path / "out" / "run.json").is_file()


def test_a_file_that_cannot_be_read_is_an_error_and_leaves_no_copy(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    real = os.open

    def refuse(path: str, *rest: int, **named: int) -> int:
        if str(path).endswith("samples.blk"):
            raise PermissionError(13, "Permission denied")
        return real(path, *rest, **named)

    before = set(tmp_path.iterdir())
    monkeypatch.setattr(files.os, "open", refuse)
    assert exit_code(["report", str(run), "--redact", str(tmp_path / "out")]) == 4
    assert "samples.blk: cannot be read: Permission denied" in capfd.readouterr().err
    assert set(tmp_path.iterdir()) == before


def test_a_disk_that_refuses_leaves_no_copy(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, before, calls = Path.write_bytes, set(tmp_path.iterdir()), []

    def full(path: Path, content: bytes) -> int:
        calls.append(path)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        return real(path, content)

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(EnvironmentFailure, match="No space left on device"):
        redact_run(run, tmp_path / "out")
    assert set(tmp_path.iterdir()) == before


def test_deep_nesting_and_lone_surrogates_are_no_traceback(run: Path, tmp_path: Path) -> None:
    control = run / "launches/000001/control_variables.json"
    control.write_text('{"variables": [{"name": "a", "type": "char", "value": "\\ud800"}]}')
    redact_run(run, tmp_path / "one")
    for nested in ("[" * 900 + "]" * 900, '{"a":' * 100_000):
        control.write_text(nested)
        with pytest.raises(RecordError, match=r"control_variables\.json: is nested deeper than 64 levels"):
            redact_run(run, tmp_path / "two")
        assert not (tmp_path / "two").exists()


def test_a_superseded_launch_counts_no_more_in_the_copy(run: Path, tmp_path: Path) -> None:
    launch = run / "launches/000001"
    (launch / "superseded").write_text("This launch was cut off.\n")
    (launch / "launch.json").write_text("{")
    folder, _ = redact_run(run, tmp_path / "out")
    assert [path.name for path in (folder / "launches/000001").iterdir()] == ["superseded"]
