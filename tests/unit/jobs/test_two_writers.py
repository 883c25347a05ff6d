# SPDX-License-Identifier: Apache-2.0
"""Two processes that write one file at the same moment: it is always one or the other, and what is added is whole."""

from __future__ import annotations

import multiprocessing
import os
import stat
from pathlib import Path

import pytest

from slowpath.core.files import append_at_once, create_once, write_atomically


def test_of_two_writers_with_one_number_each_file_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in two containers, whose processes have the same number."""
    path, real = tmp_path / "results.json", os.fsync
    seen = []

    def other_writes_meanwhile(descriptor: int) -> None:
        real(descriptor)
        monkeypatch.setattr(os, "fsync", real)
        write_atomically(path, "other")
        seen.append(path.read_text())

    monkeypatch.setattr(os, "fsync", other_writes_meanwhile)
    write_atomically(path, "one")
    assert [*seen, path.read_text()] == ["other", "one"]
    assert os.listdir(tmp_path) == ["results.json"]


def _append(path: Path, letter: str) -> None:
    for _ in range(20):
        append_at_once(path, letter * 50_000 + "\n")


def test_what_several_append_is_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "summary"
    fork = multiprocessing.get_context("fork")
    started = [fork.Process(target=_append, args=(path, letter)) for letter in "abcd"]
    for one in started:
        one.start()
    for one in started:
        one.join()
    assert sorted(path.read_text().splitlines()) == [letter * 50_000 for letter in "abcd" for _ in range(20)]


def test_what_is_there_is_not_made_again(tmp_path: Path) -> None:
    assert create_once(tmp_path / "x", b"first")
    assert not create_once(tmp_path / "x", b"second")
    assert (tmp_path / "x").read_bytes() == b"first"
    assert os.listdir(tmp_path) == ["x"]


def test_a_device_is_written_to_and_never_replaced(tmp_path: Path) -> None:
    """As root, a rename would put a file in the place of /dev/null, for every program on the machine."""
    before = os.stat("/dev/null")
    assert stat.S_ISCHR(before.st_mode)
    write_atomically(Path("/dev/null"), "gone")
    after = os.stat("/dev/null")
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)


def test_a_pipe_that_a_stranger_s_folder_holds_is_replaced_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "report.html")
    write_atomically(tmp_path / "report.html", "page")
    assert (tmp_path / "report.html").read_text() == "page"
