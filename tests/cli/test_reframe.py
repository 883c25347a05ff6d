# SPDX-License-Identifier: Apache-2.0
"""ReFrame runs the check of examples/reframe and reads its values."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from watchdog import WATCHDOG_S

EXAMPLES = Path(__file__).parents[2] / "examples"
REFRAME = shutil.which("reframe", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")


@pytest.mark.needs("minutes")
@pytest.mark.parametrize("mpi", ["embedded"], indirect=True)
@pytest.mark.usefixtures("engine")
def test_reframe_runs_the_check_and_reads_its_values(blankless: Path, engine_cache: Path) -> None:
    report = blankless / "report.json"
    words = [str(REFRAME), f"--prefix={blankless}", "-c", str(EXAMPLES / "reframe"), "-n", "SlowpathTinyCheck", "-r"]
    environ = {
        **os.environ,
        "HOME": str(blankless),  # ReFrame keeps the machine's topology there
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SLOWPATH_CACHE_DIR": str(engine_cache),
        "SLOWPATH_MPI": "embedded",
    }

    def reframe(*more: str) -> str:
        done = subprocess.run(
            [*words, *more], env=environ, cwd=blankless, capture_output=True, text=True, check=False, timeout=WATCHDOG_S
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    reframe(f"--report-file={report}")
    (case,) = json.loads(report.read_text())["runs"][0]["testcases"]
    values = {key.rpartition(":")[2]: value for key, value in case["perfvalues"].items()}
    stage = next(blankless.glob("output/**/results.json"))
    expected = {
        f"{cell['metrics']['half_round_trip_latency_s']['phases'][phase]['value']}"
        for cell in json.loads(stage.read_text())["cells"]
        for phase in ("first", "steady")
    }
    assert expected <= {str(value[0]) for value in values.values()}
    assert sum(name.startswith("half_round_trip_latency_s_steady") for name in values) == 2
    assert "wall" in values
    shutil.copy(stage, blankless / "baseline.json")
    assert "PASSED" in reframe("-S", f"baseline={blankless}/baseline.json")
    printed = next(blankless.glob("output/**/rfm_job.out")).read_text()
    assert "PASS" in printed or "UNDECIDED" in printed
