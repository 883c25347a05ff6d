# SPDX-License-Identifier: Apache-2.0
"""Files of a folder that somebody else made: one line for whatever is no plain file in its place."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from slowpath.core.errors import RecordError
from slowpath.core.files import inside, open_regular, read_bytes
from slowpath.record.folder import launch_folders


@pytest.mark.parametrize(("make", "said"), [
    (os.mkfifo, "a FIFO"),
    (os.mkdir, "a folder"),
    (lambda path: path.symlink_to("/dev/zero"), "a device"),
    (lambda path: socket.socket(socket.AF_UNIX).bind(os.path.relpath(path)), "a socket"),
])  # fmt: skip
def test_what_is_no_regular_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, make, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "run.json"
    make(path)
    with pytest.raises(RecordError, match=f"is {said}, not a regular file"):
        read_bytes(path)


def test_a_file_above_its_limit_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    with path.open("wb") as file:
        file.truncate(24 * 2**30)
    with pytest.raises(RecordError, match="has 25769803776 bytes, more than the 100 that are read"):
        read_bytes(path, 100)
    os.close(open_regular(path, None))


def test_a_file_at_its_limit_is_read(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 100)
    assert read_bytes(tmp_path / "a", 100) == b"x" * 100


def test_missing_and_forbidden_names(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="is missing"):
        read_bytes(tmp_path / "run.json")
    with pytest.raises(RecordError, match="cannot be read"):
        read_bytes(tmp_path / "a\0b")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(RecordError, match="cannot be read"):
        read_bytes(tmp_path / "loop", within=tmp_path)


@pytest.mark.parametrize("name", ["../other", "/etc/passwd", "steps/../../x", "link/passwd", "a\0b"])
def test_nothing_leads_out_of_a_folder(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "link").symlink_to("/etc")
    with pytest.raises(RecordError, match=r"leads out of|cannot be followed"):
        inside(folder, name)
    with pytest.raises(RecordError):
        read_bytes(folder / name, within=folder)


def test_links_within_a_folder_are_followed(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").symlink_to("a")
    assert inside(tmp_path, "b") == tmp_path / "b"
    assert read_bytes(tmp_path / "b", within=tmp_path) == b"1"
    assert inside(tmp_path, "not-there/yet") == tmp_path / "not-there/yet"


def test_a_folder_named_from_where_one_stands_is_held_to_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path to a file is no name within its folder."""
    (tmp_path / "run").mkdir()
    (tmp_path / "secret").write_text("s")
    (tmp_path / "run" / "out").symlink_to(tmp_path / "secret")
    (tmp_path / "run" / "own").write_text("mine")
    monkeypatch.chdir(tmp_path)
    assert read_bytes(Path("run/own"), within=Path("run")) == b"mine"
    with pytest.raises(RecordError, match="leads out of"):
        read_bytes(Path("run/out"), within=Path("run"))


def test_launches_are_found_from_wherever_a_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run" / "launches" / "000000").mkdir(parents=True)
    (tmp_path / "link").symlink_to("run")
    monkeypatch.chdir(tmp_path)
    for named in ("run", "link", str(tmp_path / "run")):
        assert [folder.is_dir() for folder in launch_folders(Path(named))] == [True]
