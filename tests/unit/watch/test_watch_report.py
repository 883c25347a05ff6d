# SPDX-License-Identifier: Apache-2.0
"""slowpath report of a watch: from the record to results, page and tables, with what was proven."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

from slowpath.cli.main import exit_code
from slowpath.core.brief import MOST_LINES
from slowpath.core.resources import data_folder
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.proof import write_proof
from slowpath.watch.report.write import FILES, rebuild
from slowpath.watch.results import read_watch_results
from support.watch_record import Job
from support.watch_results import a_proof

LATE_S = 0.005


@pytest.fixture
def watch(tmp_path: Path) -> Path:
    """Two ranks and 40 messages, each of which rank 1 waits 5 ms for."""
    job = Job(ranks=2)
    a, b = job.ranks
    for number in range(40):
        at = 0.02 + 0.01 * number
        a.send(1, tag=7, start_s=at, end_s=at + 0.001, message_bytes=65_536)
        b.receive(0, tag=7, start_s=at - LATE_S, end_s=at + 0.0012, message_bytes=65_536)
    job.write(tmp_path / "ranks")
    info = WatchInfo(slowpath="1", command=("mpiexec", "./app"), started="2026-11-22T21:00:00+00:00", wall_s=0.5,
                     working_folder="/", host="n", library="l", exit_code=0)  # fmt: skip
    write_watch(tmp_path, info)
    return tmp_path


def test_report_writes_everything_anew(watch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(["report", str(watch)]) == 0
    printed = capsys.readouterr().out
    assert printed == (watch / "report.txt").read_text()
    assert all((watch / name).is_file() for name in FILES)
    found = read_watch_results(watch)
    schema = json.loads((data_folder("schema") / "watch-results.schema.json").read_text(encoding="utf-8"))
    jsonschema.validate(json.loads((watch / "results.json").read_text(encoding="utf-8")), schema)
    assert printed.splitlines()[: len(found.verdict)] == list(found.verdict)
    waited = [one.late_sender_s for one in found.ranks]
    assert waited == pytest.approx([0.0, 40 * LATE_S], rel=0.01)
    assert found.classes[0].count in (40, 80)


@pytest.mark.parametrize(("format", "begins"), [("html", "<!doctype html>"), ("csv", "id,call,side,"), ("json", "{")])
def test_report_prints_what_is_asked_for(
    watch: Path, capsys: pytest.CaptureFixture[str], format: str, begins: str
) -> None:
    assert exit_code(["report", str(watch), "--format", format]) == 0
    assert capsys.readouterr().out.startswith(begins)


def test_a_proof_stands_on_the_page_and_a_damaged_one_does_not(watch: Path) -> None:
    for number in (1, 2):
        (watch / f"proof-{number}").mkdir()
        write_proof(watch / f"proof-{number}", a_proof())
    (watch / "proof-2" / "proof.json").write_text("{")
    rebuild(watch)
    page = (watch / "report.html").read_text(encoding="utf-8")
    assert page.count('id="proof-proof-1"') == 1
    assert "proof-proof-2" not in page


def test_a_table_of_a_runs_messages_names_the_command_for_a_watch(
    watch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["report", str(watch)]) == 0
    capsys.readouterr()
    for named in (watch, watch / "results.json"):
        assert exit_code(["table", str(named)]) == 2
        said = capsys.readouterr().err
        assert "is a watch" in said
        assert f"slowpath report {watch} --format csv" in said
        assert "damaged" not in said


def test_no_record_is_said_and_exits_with_4(watch: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path in (watch / "ranks").glob("*.watch"):
        path.unlink()
    assert exit_code(["report", str(watch)]) == 4
    assert "no rank left a record" in capsys.readouterr().out


def test_watch_prints_what_fits_a_screen_unless_it_is_asked_for_more(
    watch: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code(["watch", "--from", str(watch)]) == 0
    brief = capsys.readouterr().err.splitlines()
    assert len(brief) <= MOST_LINES
    assert "% of the run is MPI, at most" in brief[0]
    assert any("give rank 0 less" in line for line in brief)
    assert exit_code(["watch", "--full", "--from", str(watch)]) == 0
    full = capsys.readouterr().err.splitlines()
    assert full[: len(full) - 1] == list(read_watch_results(watch).verdict)
    assert exit_code(["watch", "--sites", "--from", str(watch)]) == 0
    sites = capsys.readouterr().err.splitlines()
    assert sites[: len(brief)] == brief
    assert [line.split()[0] for line in sites[len(brief) + 2 :]] == ["MPI_Recv", "MPI_Send"]
    assert exit_code(["watch", "--sites", "--full", "--from", str(watch)]) == 2
