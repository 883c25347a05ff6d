# SPDX-License-Identifier: Apache-2.0
"""benchmarks/real-cases runs here: two quick cases are named with their cause, and not without it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from slowpath.mpi.find import find_mpi
from watchdog import WATCHDOG_S

pytestmark = pytest.mark.needs("minutes")

RUN = Path(__file__).parents[2] / "benchmarks" / "real-cases" / "run"


def test_quick_cases_are_named(tmp_path: Path) -> None:
    out, prefix = tmp_path / "cases", find_mpi("embedded").prefix
    argv = [sys.executable, "-I", str(RUN), "--case", "27", "--case", "33", "--no-cost", "--mpich", str(prefix)]
    done = subprocess.run(
        [*argv, "--out", str(out)], capture_output=True, text=True, timeout=2 * WATCHDOG_S, check=False
    )
    assert done.returncode == 0, done.stderr
    outcomes = json.loads((out / "results.json").read_text())["outcomes"]
    assert [(outcome["case"], outcome["answer"]) for outcome in outcomes] == [
        ("27-more-ranks-than-cores", "named"),
        ("33-helper-thread", "named"),
    ]
    assert "2 of 2 that ran were named" in done.stdout
