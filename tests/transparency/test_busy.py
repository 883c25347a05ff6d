# SPDX-License-Identifier: Apache-2.0
"""`tools/transparency --busy`: ranks that wait keep their core, whatever their MPI does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from transparency_suite.preloads import without_yield

from watchdog import WATCHDOG_S

WHERE = """
import ctypes, sys
def address(library):
    return ctypes.cast(ctypes.CDLL(library).sched_yield, ctypes.c_void_p).value
print(address(None) == address(sys.argv[1]), ctypes.CDLL(None).sched_yield())
"""


def test_yielding_is_what_the_preloaded_library_does(blankless: Path) -> None:
    library = without_yield(blankless / "made")  # LD_PRELOAD ends a name at a blank
    assert _where(library, {}) == "False 0"
    assert _where(library, {"LD_PRELOAD": str(library)}) == "True 0"


def _where(library: Path, more: dict[str, str]) -> str:
    """Whether sched_yield of a process is the library's, and what it returns."""
    words = [sys.executable, "-c", WHERE, str(library)]
    return subprocess.run(
        words, env={**os.environ, **more}, capture_output=True, text=True, check=True, timeout=WATCHDOG_S
    ).stdout.strip()
