# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C while plants are measured side by side."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from slowpath.run.ownership import require_free
from slowpath.studies.plants.folder import read
from watchdog import WATCHDOG_S

STOP: dict[str, Callable[[int, int], None]] = {
    "from a terminal": lambda pid, number: os.killpg(pid, number),
    "of the command alone": os.kill,
}


def of_session(pid: int) -> list[str]:
    """Processes of the session that still run."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and os.getsid(int(entry.name)) == pid:
                state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
                found += [(entry / "cmdline").read_text()] if state != "Z" else []
        except OSError:
            continue
    return found


@pytest.mark.parametrize("how", STOP)
def test_ctrl_c_ends_jobs_side_by_side_with_one_line_and_leaves_a_folder_to_go_on_with(
    how: str, tmp_path: Path
) -> None:
    out, script = tmp_path / "plants", Path(__file__).with_name("stopped.py")
    argv = [sys.executable, str(script), str(out)]
    with subprocess.Popen(
        argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        end_s = time.monotonic() + WATCHDOG_S
        while len(list(tmp_path.glob("plants-*-runs"))) < 2 and time.monotonic() < end_s:
            assert process.poll() is None
            time.sleep(0.02)
        STOP[how](process.pid, signal.SIGINT)
        _, said = process.communicate(timeout=WATCHDOG_S)
    assert process.returncode == 130
    assert said.splitlines() == [
        f"stopped; finished trials are kept in {out}; continue with the same command and --seed 3 --out {out}"
    ]
    assert len(list(tmp_path.glob("plants-*-runs"))) == 2, "no trial begins after it"
    while of_session(process.pid) and time.monotonic() < end_s:
        time.sleep(0.02)  # a process that was told to end is on its way
    assert of_session(process.pid) == []
    require_free(out)
    _, trials = read(out)
    assert len(trials) == 6
