# SPDX-License-Identifier: Apache-2.0
"""A shell may stand in a folder that somebody deleted: one line and exit code 4, never a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from watchdog import WATCHDOG_S

SLOWPATH = Path(sys.executable).with_name("slowpath")


def in_deleted_folder(tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run slowpath where a shell has just deleted its own working folder."""
    gone = tmp_path / "gone"
    gone.mkdir()
    argv = ["sh", "-c", 'rmdir "$0" && exec "$@"', str(gone), str(SLOWPATH), *words]
    return subprocess.run(argv, cwd=gone, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)


@pytest.mark.parametrize(
    "words",
    [
        ("watch", "--", "true", "--help"),
        ("run", "messages"),
        ("diagnose",),
        ("prove", "folder"),
        ("tune",),
        ("report", "folder"),
        ("run", "--resume", "folder"),
    ],
)
def test_deleted_working_folder(words: tuple[str, ...], tmp_path: Path) -> None:
    done = in_deleted_folder(tmp_path, *words)
    line = "slowpath: error: the working folder was deleted or is unreadable; cd to another one\n"
    assert (done.returncode, done.stdout, done.stderr) == (4, "", line)


@pytest.mark.parametrize("words", [("--version",), ("watch", "--help")])
def test_help_needs_no_folder(words: tuple[str, ...], tmp_path: Path) -> None:
    assert in_deleted_folder(tmp_path, *words).returncode == 0
