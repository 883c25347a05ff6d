# SPDX-License-Identifier: Apache-2.0
"""The run folder: claimed once, written whole, read with one line for whatever is wrong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slowpath.core.errors import EnvironmentFailure, RecordError
from slowpath.core.files import write_atomically
from slowpath.record.folder import (
    RUN_SCHEMA,
    FailedCell,
    LaunchInfo,
    RunInfo,
    create_run_folder,
    launch_folder,
    read_launches,
    read_run,
    write_launch,
    write_run,
)

INFO = RunInfo(RUN_SCHEMA, "id", "checkup", "Check-up", "ab", "0.1.0", machine={"host": "here", "cores": 2})


def test_a_folder_is_used_once(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    assert create_run_folder("x", empty) == empty
    with pytest.raises(EnvironmentFailure, match="is taken"):
        create_run_folder("x", empty)
    (tmp_path / "file").touch()
    with pytest.raises(EnvironmentFailure, match="is taken"):
        create_run_folder("x", tmp_path / "file")
    with pytest.raises(EnvironmentFailure, match="cannot make the run folder"):
        create_run_folder("x", tmp_path / "file" / "below")


def test_of_two_runs_at_once_the_second_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    create_run_folder("x", tmp_path / "run")
    monkeypatch.setattr(Path, "iterdir", lambda path: iter(()))  # as seen before the first one made `launches`
    with pytest.raises(EnvironmentFailure, match="is taken"):
        create_run_folder("x", tmp_path / "run")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.json"
    write_atomically(path, "old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(EnvironmentFailure, match=r"cannot write .*No space left") as error:
        write_atomically(path, "new")
    assert "\n" not in str(error.value)
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]
    assert path.read_text() == "old"


def test_run_and_launches_are_read_back(tmp_path: Path) -> None:
    run = create_run_folder("checkup", tmp_path / "run")
    write_run(run, INFO)
    assert read_run(run) == INFO
    failed = [FailedCell(3, "crashed", "signal 11")]
    infos = [LaunchInfo(n, 1, "default", "bound", ["mpiexec"], ended="crashed", failed_cells=failed) for n in (10, 2)]
    for info in infos:
        launch_folder(run, info.launch).mkdir()
        write_launch(run, info)
    launch_folder(run, 5).mkdir()  # cut short: it has no launch.json
    assert read_launches(run) == infos[::-1]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, "no run.json"),
        (b"", "cannot be read"),
        (b"{}", "cannot be read"),
        (b'{"schema": 1}', "cannot be read"),
        (b'{"schema": "1"}', "cannot be read"),
        (b"\xff", "cannot be read"),
        (b'{"schema": 99, "other": 1}', "use the slowpath that wrote it"),
    ],
)
def test_run_json_that_cannot_be_read(tmp_path: Path, content: bytes | None, expected: str) -> None:
    if content is not None:
        (tmp_path / "run.json").write_bytes(content)
    with pytest.raises(RecordError, match=expected) as error:
        read_run(tmp_path)
    assert "\n" not in str(error.value)
