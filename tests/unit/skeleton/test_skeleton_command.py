# SPDX-License-Identifier: Apache-2.0
"""slowpath replay WATCH --skeleton: what would be launched, what is refused, and where that is kept."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from slowpath.cli.main import slowpath
from slowpath.core.errors import UsageError
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.record.layout import EventKind
from slowpath.watch.skeleton_results import read_skeleton
from support.watch_record import Job

COUNT = 20


def watch_of(job: Job, folder: Path) -> Path:
    job.write(folder / "ranks")
    info = WatchInfo(
        slowpath="1", command=("./app",), started="2026-11-22T21:00:00+00:00", working_folder="/", host="n",
        library="/lib.so",
    )  # fmt: skip
    write_watch(folder, info)
    return folder


def small_messages() -> Job:
    job = Job(2)
    for number in range(COUNT):
        at_s = 0.001 + 1e-5 * number
        job.ranks[0].send(1, start_s=at_s, end_s=at_s + 1e-6)
        job.ranks[1].receive(0, start_s=at_s, end_s=at_s + 2e-6)
    return job


def invoked(*words: str) -> Result:
    return CliRunner().invoke(slowpath, ["replay", *words])


def test_a_dry_run_names_the_changes_and_starts_nothing(tmp_path: Path) -> None:
    watch = watch_of(small_messages(), tmp_path)
    found = invoked(str(watch), "--skeleton", "--dry-run")
    assert found.exit_code == 0, found.output
    assert f"{2 * COUNT} calls on 2 ranks" in found.output
    assert f"aggregate: {COUNT} messages of at most 1024 bytes become 1" in found.output
    assert not (watch / "skeleton").exists()


def test_what_cannot_be_played_is_said_kept_and_shown_in_the_report(tmp_path: Path) -> None:
    job = small_messages()
    job.ranks[0].event("MPI_Put", 0.002, 0.003, EventKind.ONE_SIDED, peer=1, bytes=8)
    watch = watch_of(job, tmp_path)
    found = invoked(str(watch), "--skeleton", "-q")
    assert found.exit_code == 0, found.output
    assert found.output.startswith("Skeleton: can't be replayed, so it prices nothing: rank 0: MPI_Put")
    kept = read_skeleton(watch)
    assert kept is not None
    assert kept.refused == "rank 0: MPI_Put is not played"
    assert "MPI_Put is not played" in (watch / "report.txt").read_text()
    assert 'id="skeleton"' in (watch / "report.html").read_text()


def test_with_prices_from_elsewhere_nothing_could_be_launched(tmp_path: Path) -> None:
    watch = watch_of(small_messages(), tmp_path)
    found = invoked(str(watch), "--skeleton", "--laws", str(tmp_path))
    assert isinstance(found.exception, UsageError) or found.exit_code == 2
    assert not (watch / "skeleton").exists()


def test_a_damaged_skeleton_costs_the_report_nothing_else(tmp_path: Path) -> None:
    watch = watch_of(small_messages(), tmp_path)
    (watch / "skeleton").mkdir()
    (watch / "skeleton" / "skeleton.json").write_text("{")
    found = CliRunner().invoke(slowpath, ["report", str(watch)])
    assert found.exit_code == 0, found.output
    assert 'id="skeleton"' not in (watch / "report.html").read_text()
