# SPDX-License-Identifier: Apache-2.0
"""The engine judges a plan without MPI (docs/reference/engine-interface.md, check)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slowpath.run.engine.cache import Engine

LATENCY = "half_round_trip_latency_s"


@pytest.fixture(params=["stdin", "file"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Path | None:
    """The file that the plan stands in; None: it is given on stdin."""
    return tmp_path / "plan.txt" if request.param == "file" else None


def check(engine: Engine, where: Path | None, cells: list[str], *more: str) -> tuple[int, list[dict[str, Any]]]:
    """Exit code and what is said of each cell, by a process that no launcher started."""
    plan = "\n".join(["slowpath-plan 1", *(f"cell {i} {cell}" for i, cell in enumerate(cells))]) + "\n"
    if where is not None:
        where.write_text(plan)
    argv = [str(engine.program), "check", "--plan", str(where or "-"), *more]
    done = subprocess.run(argv, input="" if where else plan, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_accepted_cells_come_with_metrics_and_lengths(engine: Engine, where: Path | None) -> None:
    windowed = "p2p pattern=windowed message_bytes=100 in_flight=2 buffer_bytes=message:4096"
    code, [first, second] = check(engine, where, ["p2p", windowed], "--ranks", "2")
    assert code == 0
    assert first["metrics"] == [LATENCY]
    assert first["held_bytes"] == [16, 16]  # a buffer for each direction
    assert second["buffer_bytes"] == [100, 4096]
    assert second["span_bytes"] == [100, 228]
    assert "time_per_message_s" in second["metrics"]


def test_each_refused_cell_has_its_reason(engine: Engine, where: Path | None) -> None:
    cells = ["p2p progress=test", "p2p", "p2p peer=2", "put message_bytes=12", "cannon n=511"]
    code, lines = check(engine, where, cells, "--ranks", "2")
    assert code == 2
    assert [line["cell"] for line in lines] == [0, 1, 2, 3, 4]
    assert [line["cell"] for line in lines if "reason" in line] == [0, 2, 3, 4]
    assert "pattern=overlap" in lines[0]["reason"]
    assert lines[2]["reason"] == "peer=2 needs 3 ranks, the job has 2"
    assert lines[4]["reason"].endswith("take n=512")


def test_a_description_that_can_not_be_written_is_no_success(engine: Engine) -> None:
    for action in (["describe", "--json"], ["describe"], ["--help"]):
        with open("/dev/full", "w") as full:
            done = subprocess.run([engine.program, *action], stdout=full, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (4, b"slowpath-engine: error: can't write to stdout\n")
