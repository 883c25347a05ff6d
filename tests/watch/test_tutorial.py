# SPDX-License-Identifier: Apache-2.0
"""Commands of tutorial and README run as they stand there, and print the lines that stand there, with other numbers."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from slowpath.mpi.find import find_mpi
from watchdog import WATCHDOG_S

pytestmark = pytest.mark.needs("minutes")
ROOT = Path(__file__).parents[2]
TUTORIAL, README = "docs/tutorial/slow-to-proven.md", "README.md"
BLOCK = re.compile(r"^```(sh|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def shape(line: str) -> str:
    """A line of output without its numbers; its promises may be kept or exceeded, as the machine is loaded."""
    return NUMBER.sub("#", re.sub("(as|more than|less than) promised|not decided", "PROMISED", line)).replace("ms", "s")


@pytest.mark.parametrize("page", [TUTORIAL, README])
def test_the_commands_print_what_stands_there(tmp_path: Path, page: str) -> None:
    mpi = find_mpi("embedded")
    path = os.pathsep.join([f"{Path(sys.executable).parent}", f"{mpi.mpiexec.parent}", os.environ["PATH"]])
    environ = {**mpi.environ(os.environ), "PATH": path}
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    printed = ""
    for kind, text in BLOCK.findall((ROOT / page).read_text(encoding="utf-8")):
        if kind == "sh":
            done = subprocess.run(
                ["sh", "-ec", text], cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=WATCHDOG_S,
                check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            printed = shape(" ".join((done.stdout + done.stderr).split()))
        else:
            lines = [line.strip() for line in text.splitlines() if page == TUTORIAL or "halo.cpp:204" in line]
            missing = [line for line in lines if shape(line.removesuffix("; ...")) not in printed]
            assert not missing, printed
