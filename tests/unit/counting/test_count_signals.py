# SPDX-License-Identifier: Apache-2.0
"""What asks `slowpath count` to stop reaches the program that it counts in."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from watchdog import WATCHDOG_S

PROGRAM = "trap 'exit 7' TERM HUP; echo begun; while :; do sleep 0.05; done"
COUNT = f"""
import os, sys
from slowpath.studies.counting.trace import Wish, count_calls
sys.exit(count_calls(Wish("f", 1, 0, 1), ["sh", "-c", {PROGRAM!r}], os.environ, False)[0])
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_handed_on(number: int) -> None:
    process = subprocess.Popen([sys.executable, "-c", COUNT], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"begun\n"
    time.sleep(0.2)  # the program runs a moment before it is waited for
    process.send_signal(number)
    process.communicate(timeout=WATCHDOG_S)
    assert process.returncode == 7
