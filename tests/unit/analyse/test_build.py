# SPDX-License-Identifier: Apache-2.0
"""results.json from a run folder whose truth is planted."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import planted
import pytest

from slowpath.analyse.build import build_results
from slowpath.core.cell_results import FirstSlow
from slowpath.core.files import data_folder
from slowpath.core.results import ContrastResult, Results
from slowpath.record.folder import FailedCell, launch_folder
from support.results import as_json

HALF_TRIP_S = planted.FAST_NS * 1e-9


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted.make_run(tmp_path_factory.mktemp("planted") / "run")


@pytest.fixture(scope="module")
def results(run: Path) -> Results:
    return build_results(run)


def contrast(results: Results, name: str) -> ContrastResult:
    return next(c for c in results.contrasts if c.id == name)


def test_results_follow_the_schema(results: Results) -> None:
    import jsonschema

    schema = json.loads((data_folder("schema") / "results.schema.json").read_text())
    jsonschema.validate(as_json(results), schema)


def test_the_planted_factor_comes_out_of_drift_many_times_larger_than_its_interval(results: Results) -> None:
    found = contrast(results, "environment")
    assert found.verdict == "slower"
    assert found.interval[0] < 2.0 < found.interval[1]
    assert found.interval[1] / found.interval[0] < 1.02
    assert found.launches == planted.ROUNDS
    assert not found.within_launch


def test_one_way_is_receive_end_minus_send_start(results: Results) -> None:
    phases = results.cells[3].metrics["one_way_s"].phases
    assert phases["steady"].value == pytest.approx(planted.FAST_NS * 1e-9, rel=0.01)
    assert phases["first"].value == pytest.approx(planted.FIRST_NS * 1e-9, rel=0.02)
    slow = results.cells[3].metrics["one_way_s"].first_slow
    assert slow == FirstSlow(slow=True, launches_slow=planted.ROUNDS, launches=planted.ROUNDS)
    assert contrast(results, "first").ratio == pytest.approx(planted.FIRST_NS / planted.FAST_NS, rel=0.02)


def test_half_round_trip_divides_by_batch_and_by_two(results: Results) -> None:
    steady = results.cells[0].metrics["half_round_trip_latency_s"].phases["steady"]
    assert steady.value == pytest.approx(HALF_TRIP_S, rel=0.3)  # the drift
    assert steady.batch == planted.BATCH
    assert steady.quantum_ratio == pytest.approx(10e-9 / (2 * planted.BATCH * steady.value))
    assert steady.samples == 40 * planted.ROUNDS


def test_witnesses_are_per_operation(results: Results) -> None:
    send = results.cells[0].witness["steady"]["send"]
    assert send.operations == 40 * planted.BATCH * planted.ROUNDS
    assert send.minor_faults_per_op == pytest.approx(7 / (40 * planted.BATCH))
    assert "first" not in results.cells[0].witness  # not measured there, so not 0


def test_ranks_on_two_nodes_have_no_one_way_time_and_say_why(tmp_path: Path) -> None:
    results = build_results(planted.make_run(tmp_path / "run", hosts=("n1", "n2")))
    cell = results.cells[3]
    assert "one_way_s" not in cell.metrics
    assert "different nodes" in cell.absent["one_way_s"]
    assert cell.metrics["send_s"].phases["steady"].value > 0
    missing = contrast(results, "first")
    assert missing.ratio is None
    assert missing.verdict is None
    assert missing.reason


def test_a_crashed_launch_counts_once_and_its_follow_up_gives_the_rest(run: Path, tmp_path: Path) -> None:
    """Round 0 of the default environment crashed in cell 2; a follow-up measured cell 3; nothing is counted twice."""
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    shutil.rmtree(launch_folder(copy, 0))
    rng = np.random.default_rng(5)
    said = planted.events([0]) + '{"event": "cell_begin", "t_ns": 4, "cell": 2}\n'
    failed = [FailedCell(2, "crashed", "signal 11 in MPI_Recv")]
    half_written = [*planted.ping_pong(rng, 0, 0, planted.FAST_NS), *planted.ping_pong(rng, 0, 2, planted.FAST_NS)]
    planted.add_launch(copy, 0, 0, "default", half_written, said, ended="crashed", reason="why", failed_cells=failed)
    planted.add_launch(copy, 16, 0, "default", planted.one_way(rng, 16, 3), planted.events([3]), continues=0)
    results = build_results(copy)
    by_cell = {cell.cell: cell for cell in results.cells}
    assert by_cell[0].status == "ok"
    assert by_cell[2].status == "partial"
    assert by_cell[3].status == "ok"
    assert contrast(results, "control").launches == planted.ROUNDS - 1
    row = next(row for row in results.skipped if row.cell == 2)
    assert (row.status, row.reason, row.launches) == ("crashed", "signal 11 in MPI_Recv", 1)
    assert row.launch_reason == "why"


def test_a_cell_that_the_engine_skips_for_a_reason_is_skipped_and_not_failed(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    declined, ok = '"cell": 3, "status": "skipped", "reason": "memory=device: no GPU"', '"cell": 3, "status": "ok"'
    for events in copy.glob("launches/*/events.jsonl"):
        events.write_text(events.read_text().replace(ok, declined))
    cell, count = build_results(copy).cells[3], build_results(copy).verdict.count
    assert (cell.status, cell.reason) == ("skipped", "memory=device: no GPU")
    assert "1 cell skipped" in count
    assert "failed" not in count
    once = next(events for events in copy.glob("launches/*/events.jsonl") if declined in events.read_text())
    once.write_text(once.read_text().replace('"skipped", "reason": "memory=device: no GPU"', '"failed"'))
    cell, count = build_results(copy).cells[3], build_results(copy).verdict.count
    assert cell.status == "failed"
    assert "1 cell failed" in count


def test_a_damaged_block_costs_that_block_and_is_noted(run: Path, tmp_path: Path) -> None:
    copy = tmp_path / "run"
    shutil.copytree(run, copy)
    path = launch_folder(copy, 1) / "samples.blk"
    data = bytearray(path.read_bytes())
    data[-5] ^= 0xFF
    path.write_bytes(data)
    results = build_results(copy)
    assert contrast(results, "environment").launches == planted.ROUNDS - 1
    assert any("launch 1" in note and "samples.blk" in note for note in results.notes)


def test_reproduction_is_a_command_line_of_the_cell_alone(results: Results) -> None:
    command = results.cells[1].reproduce
    assert command == "PATH_KIND=b mpiexec -n 2 /x/slowpath-engine p2p --pattern ping_pong --message-bytes 8"
    assert contrast(results, "environment").reproduce.b == command
