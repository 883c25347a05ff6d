# SPDX-License-Identifier: Apache-2.0
"""A planted delay and rate between two nodes, recovered by a run across them (tools/link-truth)."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from slowpath.mpi.mpi import Mpi
from slowpath.run.engine.cache import Engine
from watchdog import WATCHDOG_S

TOOL = Path(__file__).resolve().parents[2] / "tools" / "link-truth"
OFF = 0.02  # of the planted value; the tool itself says whether it lies in the interval
# 2 % of the delay are 0.4 ms, far above what waking up costs; and a message lasts so short a time that a machine which
# takes both cores away for 10 to 50 ms, twice a second, hits far less than half of them.
PLANTED = ("--delay-ms", "20", "--rate-mbit", "400")


@pytest.mark.needs("root", "tun", "iproute2")
@pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
def test_planted_delay_and_rate_are_recovered(mpi: Mpi, engine: Engine, engine_cache: Path, tmp_path: Path) -> None:
    words = [*PLANTED, "--launches", "3", "--real-time", "--mpi", str(mpi.mpiexec)]
    done = subprocess.run(
        [sys.executable, str(TOOL), str(tmp_path / "run"), *words],
        env={**os.environ, "SLOWPATH_CACHE_DIR": str(engine_cache)},
        capture_output=True,
        text=True,
        timeout=WATCHDOG_S,
        check=False,
    )
    assert done.returncode in (0, 1), done.stderr
    rows = re.findall(r"^(delay|rate) +([\d.]+) \+- [\d.]+ +\S+ +([\d.]+) \[", done.stdout, re.MULTILINE)
    assert [row[0] for row in rows] == ["delay", "rate"], done.stdout + done.stderr
    for name, planted, recovered in rows:
        assert abs(float(recovered) / float(planted) - 1) < OFF, f"{name}: {done.stdout}"
