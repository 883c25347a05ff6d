# SPDX-License-Identifier: Apache-2.0
"""One owner a folder: who gets it, who is refused in which words, and what becomes of an owner that was taken over."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slowpath.core.errors import EnvironmentFailure, RecordError
from slowpath.core.files import create_once, json_bytes
from slowpath.record.folder import HeldBy, Owner, latest, record_path
from slowpath.run import ownership, process
from slowpath.run.ownership import (
    BEAT_S,
    QUIET_S,
    WATCH_S,
    ProcessIdentity,
    Taken,
    keep_held,
    measured_by,
    owned,
    require_free,
    standing,
    take,
    this_process,
)
from slowpath.run.process import JobLimits, run_job

ME = this_process()
ELSEWHERE = replace(ME, host="node7", boot="another")


def record(
    folder: Path, number: int, identity: ProcessIdentity = ELSEWHERE, age_s: float = 0.0, **changed: Any
) -> Path:
    """The record of some process, stamped `age_s` ago."""
    owner = Owner(**asdict(identity), token=f"token{number}", since="2026-01-31T12:00:00+01:00", command="slowpath run")
    path = record_path(folder, number)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(json_bytes(msgspec.structs.replace(owner, **changed)))
    stamp = time.time() - age_s
    os.utime(path, (stamp, stamp))
    return path


def owner_of(folder: Path) -> Owner:
    held = latest(folder)
    assert held is not None
    assert held.owner is not None
    return held.owner


class Clock:
    """Time that passes in sleeps alone."""

    def __init__(self, at_sleep: Callable[[], None] = lambda: None) -> None:
        self.slept_s, self._at_sleep = 0.0, at_sleep

    def monotonic(self) -> float:
        return self.slept_s

    def sleep(self, seconds: float) -> None:
        self.slept_s += seconds
        self._at_sleep()


def test_a_folder_is_held_and_given_back(tmp_path: Path) -> None:
    with owned(tmp_path, "slowpath run"):
        owner = owner_of(tmp_path)
        assert (owner.pid, owner.command, owner.released) == (os.getpid(), "slowpath run", None)
        with owned(tmp_path, "slowpath run"):
            assert owner_of(tmp_path).token == owner.token
    assert owner_of(tmp_path).released
    with owned(tmp_path, "slowpath run --resume"):
        assert [path.name for path in (tmp_path / "owner").iterdir()] == ["000002.json"]


@pytest.mark.parametrize("end", [KeyboardInterrupt, ValueError, EnvironmentFailure])
def test_it_is_given_back_whatever_happens(tmp_path: Path, end: type[BaseException]) -> None:
    with pytest.raises(end), owned(tmp_path, "slowpath run"):
        raise end
    assert owner_of(tmp_path).released


GONE = replace(ME, process_start=(ME.process_start or 0) + 1)


@pytest.mark.parametrize(
    ("identity", "released", "expected"),
    [
        (ME, None, "lives"),
        (ME, "2026-01-31", "free"),
        (GONE, None, "free"),  # its number is another process's now
        (replace(ME, pid=2**22 + 1), None, "free"),
        (replace(ME, pid_namespace=1), None, "unseen"),
        (replace(ME, boot="another"), None, "unseen"),
        (replace(ME, host="another"), None, "unseen"),
        (replace(ME, boot=None), None, "unseen"),
        (replace(ME, process_start=None), None, "unseen"),
    ],
)
def test_what_can_be_known_at_once(
    identity: ProcessIdentity, released: str | None, expected: str, tmp_path: Path
) -> None:
    record(tmp_path, 1, identity, released=released)
    assert standing(latest(tmp_path), ME) == expected


def test_a_zombie_measures_nothing(tmp_path: Path) -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    stat = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()
    record(tmp_path, 1, replace(ME, pid=child.pid, process_start=int(stat[19])))
    assert standing(latest(tmp_path), ME) == "lives"
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert standing(latest(tmp_path), ME) == "free"
    child.communicate()


def test_a_proc_of_another_namespace_shows_nothing(tmp_path: Path) -> None:
    (tmp_path / "self").symlink_to("1")
    assert this_process(tmp_path).pid_namespace is None


def test_an_owner_elsewhere_that_gave_a_sign_is_refused_in_one_line(tmp_path: Path) -> None:
    record(tmp_path, 1, age_s=5)
    with pytest.raises(Taken) as refused:
        take(tmp_path, "slowpath run --resume")
    assert str(refused.value) == (
        f"{tmp_path}: is being measured by process {os.getpid()} (slowpath run) on host node7 since "
        "2026-01-31T12:00:00+01:00 (last sign 5 s ago); wait for its end; if it is gone, the folder is free 60 s after "
        "its last sign, or at once with --take-over"
    )
    assert refused.value.exit_code == 4
    assert measured_by(tmp_path) == str(refused.value).partition(";")[0]


@pytest.mark.parametrize("age_s", [QUIET_S + 1, 10 * 365 * 86400, -3600])
def test_one_whose_stamp_stands_still_is_watched_and_taken_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, age_s: float
) -> None:
    record(tmp_path, 1, age_s=age_s)
    monkeypatch.setattr(ownership, "time", clock := Clock())
    said: list[str] = []
    assert take(tmp_path, "slowpath run --resume", said.append).number == 2
    assert clock.slept_s == WATCH_S
    assert "gave no sign for long; watching for 15 s" in said[0]


def test_one_whose_clock_was_set_shows_that_it_lives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = record(tmp_path, 1, age_s=3600)
    monkeypatch.setattr(ownership, "time", Clock(lambda: os.utime(path, (time.time() - 3000,) * 2)))
    with pytest.raises(Taken, match="its clock and this one differ"):
        take(tmp_path, "slowpath run --resume")
    assert owner_of(tmp_path).token == "token1"


def test_an_owner_renews_its_stamp_well_before_it_counts_as_gone() -> None:
    assert 3 * BEAT_S <= WATCH_S < QUIET_S


def test_the_user_can_say_that_an_owner_is_gone_but_not_one_that_is_seen(tmp_path: Path) -> None:
    record(tmp_path, 1)
    assert take(tmp_path, "slowpath run --resume", take_over=True).number == 2
    with pytest.raises(Taken, match=f"by process {os.getpid()} .* stop it with: kill {os.getpid()}"):
        take(tmp_path, "slowpath run --resume", take_over=True)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"host": 3}', b"\xff", b"x" * 100_000])
def test_a_damaged_record_is_judged_by_its_stamp(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path = record(tmp_path, 1)
    path.write_bytes(content)
    with pytest.raises(Taken, match="by a process that can't be named"):
        require_free(tmp_path)
    os.utime(path, (1e9, 1e9))
    monkeypatch.setattr(ownership, "time", Clock())
    assert take(tmp_path, "slowpath run --resume").number == 2


def test_a_record_that_is_no_file_hangs_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "owner").mkdir()
    os.mkfifo(record_path(tmp_path, 1))
    with pytest.raises(Taken, match="is a FIFO"):
        take(tmp_path, "slowpath run --resume")
    assert take(tmp_path, "slowpath run --resume", take_over=True).number == 2


def test_names_in_a_record_reach_no_terminal_as_they_are(tmp_path: Path) -> None:
    record(tmp_path, 1, host="a\x1b]52;c;x\x07" + "b" * 1000)
    with pytest.raises(Taken) as refused:
        require_free(tmp_path)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 500


def test_owners_outside_of_the_folder_are_refused(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    (tmp_path / "here" / "owner").symlink_to(tmp_path / "there")
    with pytest.raises(RecordError, match="leads out of"):
        take(tmp_path / "here", "slowpath run --resume")
    assert not list((tmp_path / "there").iterdir())


def _contend(folder: Path, barrier: Any, results: Any) -> None:
    barrier.wait()
    try:
        results.put(take(folder, "slowpath run --resume").number)
    except Taken:
        results.put(None)
    barrier.wait()  # all have tried while the winner lives
    os._exit(0)  # without a release


def test_of_many_that_want_a_dead_owners_folder_one_gets_it(tmp_path: Path) -> None:
    record(tmp_path, 1, GONE)
    fork = multiprocessing.get_context("fork")
    for round_ in range(8):
        barrier, results = fork.Barrier(8), fork.SimpleQueue()
        started = [fork.Process(target=_contend, args=(tmp_path, barrier, results)) for _ in range(8)]
        for one in started:
            one.start()
        got = [results.get() for _ in started]
        for one in started:
            one.join()
        assert [number for number in got if number is not None] == [round_ + 2]


def test_a_late_taker_that_judged_an_owner_two_before_gives_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it made up its mind another took the folder, and a third one took it over and removed what was before."""
    record(tmp_path, 1, GONE)
    real = ownership.create_once

    def slow(path: Path, content: bytes) -> bool:
        if path.stem == "000002":
            record(tmp_path, 3, ME)
            record_path(tmp_path, 1).unlink(missing_ok=True)
        return real(path, content)

    monkeypatch.setattr(ownership, "create_once", slow)
    with pytest.raises(Taken, match=f"by process {os.getpid()}"):
        take(tmp_path, "slowpath run --resume")
    assert [path.name for path in (tmp_path / "owner").iterdir()] == ["000003.json"]


def _refusing(code: int) -> Callable[..., None]:
    def refuse(*arguments: object) -> None:
        raise OSError(code, os.strerror(code))

    return refuse


def test_without_hard_links_exclusive_creation_decides(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", _refusing(errno.EOPNOTSUPP))
    first = take(tmp_path, "slowpath run")
    assert owner_of(tmp_path).token == first.owner.token
    assert not create_once(record_path(tmp_path, 1), b"{}")


def test_a_link_whose_answer_was_lost_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.link

    def lost(source: Path, target: Path) -> None:
        real(source, target)
        raise FileExistsError(errno.EEXIST, "File exists")

    monkeypatch.setattr(os, "link", lost)
    assert take(tmp_path, "slowpath run").number == 1


def test_a_full_disk_is_one_line_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", _refusing(errno.ENOSPC))
    with pytest.raises(EnvironmentFailure, match=r"cannot write .*000001\.json: No space left"):
        take(tmp_path, "slowpath run")
    assert not list((tmp_path / "owner").iterdir())


def test_what_a_killed_taker_left_is_removed_later(tmp_path: Path) -> None:
    (tmp_path / "owner").mkdir()
    old, young = tmp_path / "owner" / ".take-1", tmp_path / "owner" / ".take-2"
    for path in (old, young):
        path.touch()
    os.utime(old, (1e9, 1e9))
    take(tmp_path, "slowpath run")
    assert {path.name for path in (tmp_path / "owner").iterdir()} == {".take-2", "000001.json"}


def test_an_owner_that_was_taken_over_stops_and_leaves_the_others_record(tmp_path: Path) -> None:
    with owned(tmp_path, "slowpath run"):
        keep_held(now=True)
        other = record(tmp_path, 2)
        before = other.read_bytes()
        with pytest.raises(Taken, match="was taken over by process"):
            keep_held(now=True)
    assert other.read_bytes() == before


def test_so_it_does_when_its_own_record_is_gone(tmp_path: Path) -> None:
    with owned(tmp_path, "slowpath run"):
        record(tmp_path, 3)
        record_path(tmp_path, 1).unlink()
        with pytest.raises(Taken):
            keep_held(now=True)


def test_a_record_that_somebody_removed_is_put_back(tmp_path: Path) -> None:
    with owned(tmp_path, "slowpath run"):
        token = owner_of(tmp_path).token
        record_path(tmp_path, 1).unlink()
        (tmp_path / "owner").rmdir()
        keep_held(now=True)
        assert owner_of(tmp_path).token == token


def test_the_stamp_is_renewed_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ownership, "time", clock := Clock())
    with owned(tmp_path, "slowpath run"):
        stamps = []
        for _ in range(int(3 * BEAT_S)):
            os.utime(record_path(tmp_path, 1), (1e9, 1e9))
            clock.sleep(1.0)
            keep_held()
            held = latest(tmp_path)
            assert isinstance(held, HeldBy)
            stamps.append(held.stamp_ns > 2e18 / 2)
    assert stamps.count(True) == 3


def test_a_job_ends_when_its_folder_is_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "WAKE_S", 0.05)
    monkeypatch.setattr(ownership, "BEAT_S", 0.0)
    program = (
        f"import os, pathlib, time; pathlib.Path({str(tmp_path / 'pid')!r}).write_text(str(os.getpid()));"
        f"pathlib.Path({str(record_path(tmp_path, 2))!r}).write_text({json.dumps({})!r}); time.sleep(1000)"
    )
    with owned(tmp_path, "slowpath run"), pytest.raises(Taken):
        run_job(
            [sys.executable, "-c", program],
            dict(os.environ),
            tmp_path / "out",
            tmp_path / "err",
            [],
            JobLimits(total_s=60.0),
        )
    stat = Path(f"/proc/{(tmp_path / 'pid').read_text()}/stat")
    for _ in range(200):  # the kernel takes its time with what was killed
        if not stat.exists() or ") Z" in stat.read_text():
            return
        time.sleep(0.05)
    pytest.fail("the job goes on")
