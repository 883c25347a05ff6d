# SPDX-License-Identifier: Apache-2.0
"""watch.json: written and read back; damaged and newer ones are one line; records that lead out don't count."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.core.errors import RecordError
from slowpath.watch.folder import WatchInfo, is_watch, read_watch, record_files, write_watch

INFO = WatchInfo(
    slowpath="1.0",
    command=("mpiexec", "-n", "4", "./app", "in put"),
    started="2026-01-31T12:00:00+00:00",
    working_folder="/home/user",
    host="node7",
    library="/cache/libslowpath-watch.so",
    variables={"MPIR_CVAR_CH4_CMA_ENABLE": "0"},
    wall_s=41.2,
    exit_code=0,
)


def test_what_is_written_is_read_back(tmp_path: Path) -> None:
    assert not is_watch(tmp_path)
    write_watch(tmp_path, INFO)
    assert is_watch(tmp_path)
    assert read_watch(tmp_path) == INFO


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"{", "is damaged"), (b'{"schema": 2}', "another version"), (b'{"schema": 1, "wall_s": -1}', "is damaged")],
)
def test_what_can_not_be_read_is_one_line(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "watch.json").write_bytes(content)
    with pytest.raises(RecordError, match=words):
        read_watch(tmp_path)


def test_records_of_the_folder_alone_count(tmp_path: Path) -> None:
    ranks = tmp_path / "watch" / "ranks"
    ranks.mkdir(parents=True)
    (tmp_path / "secret.watch").write_bytes(b"")
    (ranks / "b-2.watch").write_bytes(b"")
    (ranks / "a-1.watch").write_bytes(b"")
    (ranks / "a-1.watch.part").write_bytes(b"")
    (ranks / "c-3.watch").symlink_to(tmp_path / "secret.watch")
    assert [path.name for path in record_files(tmp_path / "watch")] == ["a-1.watch", "b-2.watch"]
