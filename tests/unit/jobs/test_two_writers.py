# SPDX-License-Identifier: Apache-2.0
"""Two processes that write one file at the same moment: it is always one or the other, and what is added is whole."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from slowpath.core.files import write_atomically


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


def test_a_pipe_that_a_stranger_s_folder_holds_is_replaced_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "report.html")
    write_atomically(tmp_path / "report.html", "page")
    assert (tmp_path / "report.html").read_text() == "page"
