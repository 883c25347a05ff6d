# SPDX-License-Identifier: Apache-2.0
"""One process at a time measures into a folder, whatever process it is, and however it ends."""

from __future__ import annotations

import errno
import fcntl
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from slowpath.core.errors import EnvironmentFailure
from slowpath.run.ownership import OWNER, Taken, measured_by, owned, require_free

HOLD = """
import sys
from pathlib import Path
from slowpath.run.ownership import owned
with owned(Path(sys.argv[1]), "slowpath run"):
    print("held", flush=True)
    input()
"""


@pytest.fixture
def other(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that measures into tmp_path."""
    argv = [sys.executable, "-c", HOLD, str(tmp_path)]
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_another_process_is_refused_in_one_line(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    assert f"is being measured by process {other.pid} (slowpath run) on host" in str(measured_by(tmp_path))
    for attempt in (lambda: require_free(tmp_path), lambda: owned(tmp_path, "slowpath run --resume").__enter__()):
        with pytest.raises(Taken, match=rf"wait for its end or stop it: kill {other.pid}$") as caught:
            attempt()
        assert "\n" not in str(caught.value)
    assert json.loads((tmp_path / OWNER).read_text())["pid"] == other.pid, "who is refused writes nothing"


def test_a_folder_is_free_when_its_owner_is_gone(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    other.kill()
    other.wait()
    assert measured_by(tmp_path) is None
    with owned(tmp_path, "slowpath run --resume"):
        assert json.loads((tmp_path / OWNER).read_text())["command"] == "slowpath run --resume"


def test_once_more_is_once(tmp_path: Path) -> None:
    with owned(tmp_path, "slowpath diagnose"):
        with owned(tmp_path, "slowpath run"):
            require_free(tmp_path)
        assert measured_by(tmp_path) is not None
        assert json.loads((tmp_path / OWNER).read_text())["command"] == "slowpath diagnose"
    require_free(tmp_path)


def test_a_child_of_the_owner_does_not_hold_the_folder(tmp_path: Path) -> None:
    with owned(tmp_path, "slowpath run"):
        child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    require_free(tmp_path)
    child.communicate()


def test_a_record_that_leads_elsewhere_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / OWNER).symlink_to("mine")
    with pytest.raises(EnvironmentFailure), owned(tmp_path, "slowpath run"):
        pass
    assert (tmp_path / "mine").read_text() == "mine"


def test_without_locks_the_user_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(descriptor: int, kind: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    lines: list[str] = []
    with owned(tmp_path, "slowpath run", lines.append):
        require_free(tmp_path)
    assert ["no locks" in line for line in lines] == [True]


def test_a_record_that_holds_anything_is_named_safely(tmp_path: Path, other: subprocess.Popen[str]) -> None:
    (tmp_path / OWNER).write_text('{"host": "\\u001b[2J", "pid": 1, "command": "c", "since": "s"}')
    assert "\x1b" not in str(measured_by(tmp_path))
    (tmp_path / OWNER).write_text("[")
    assert "being measured by another process" in str(measured_by(tmp_path))
