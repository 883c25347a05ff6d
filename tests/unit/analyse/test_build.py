# SPDX-License-Identifier: Apache-2.0
"""Results of a run from end to end: planted times, contrasts, calls, kinds of launches and paths."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import msgspec
import numpy as np
import planted
import pytest
from planted import BATCH, FAST_NS, add_launch, events, make_run, ping_pong

from slowpath.analyse.build import build_results, reported_by_library
from slowpath.core.cell_results import CallCounts, CellResult
from slowpath.core.files import data_folder
from slowpath.core.plan import Cell, Environment, Launch
from slowpath.core.results import ContrastResult, LibraryVariable, Results
from slowpath.experiments.measured import LaunchRecord
from slowpath.plan.campaign import load
from slowpath.plan.expand import MpiInUse, expand
from slowpath.record.events import LaunchBegin, LaunchEvents
from slowpath.record.folder import FailedCell, LaunchInfo, launch_folder
from slowpath.record.plan_files import read_plan, write_plan
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
    compared = contrast(results, "environment")
    assert compared.verdict == "slower"
    assert compared.interval[0] < 2.0 < compared.interval[1]
    assert compared.interval[1] / compared.interval[0] < 1.02
    assert compared.launches == planted.ROUNDS
    assert not compared.within_launch


def test_one_way_is_receive_end_minus_send_start(results: Results) -> None:
    phases = results.cells[3].metrics["one_way_s"].phases
    assert phases["steady"].value == pytest.approx(planted.FAST_NS * 1e-9, rel=0.01)
    assert phases["first"].value == pytest.approx(planted.FIRST_NS * 1e-9, rel=0.02)
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
    assert "several nodes" in cell.absent["one_way_s"]
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
    for path in copy.glob("launches/*/events.jsonl"):
        path.write_text(path.read_text().replace(ok, declined))
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


COUNTED, ALONE = 10, 11  # twin of planted cell 0, and a cell without a twin
LAUNCH = 100
OPERATIONS = 40 * BATCH


def calls(cell: int, rank: int, copies: int, phase: str = "steady") -> dict[str, Any]:
    counts = {
        "process_vm_readv": {"calls": copies * OPERATIONS, "bytes": copies * OPERATIONS * 8, "failed": 0},
        "ioctl": {"calls": OPERATIONS // 2, "bytes": None, "failed": OPERATIONS // 4},
    }
    event = {"event": "calls", "t_ns": 3, "cell": cell, "rank": rank, "phase": phase}
    return {**event, "operations": OPERATIONS, "counts": counts}


@pytest.fixture
def run_of_calls(tmp_path: Path) -> Path:
    """The planted run and one witnessed launch, ten times as slow."""
    folder = make_run(tmp_path / "run")
    plan = read_plan(folder / "plan.json")
    twin = msgspec.structs.replace(plan.cells[0], cell=COUNTED, environment="counted", label="counted")
    alone = Cell(ALONE, "another key", "latency", "alone", "p2p", plan.cells[0].parameters, "counted", "bound")
    changed = msgspec.structs.replace(
        plan,
        cells=[*plan.cells, twin, alone],
        environments=[*plan.environments, Environment("counted", witness=True)],
        launches=[*plan.launches, Launch(LAUNCH, 0, "counted", "bound", [COUNTED, ALONE], 1)],
    )
    write_plan(folder / "plan.json", changed)
    witness(folder, [calls(cell, rank, 1 + rank) for cell in (COUNTED, ALONE) for rank in (0, 1)])
    return folder


def witness(folder: Path, counted: list[dict[str, Any]], witnessed: bool = True) -> None:
    rng = np.random.default_rng(3)
    blocks = [block for cell in (COUNTED, ALONE) for block in ping_pong(rng, LAUNCH, cell, 10 * FAST_NS)]
    said = events([COUNTED, ALONE]).replace('"size": 2', f'"size": 2, "witnessed": {json.dumps(witnessed)}')
    said += "".join(json.dumps(line) + "\n" for line in counted)
    add_launch(folder, LAUNCH, 0, "counted", blocks, said)


def cell(results: Results, number: int) -> CellResult:
    return next(cell for cell in results.cells if cell.cell == number)


def test_counts_are_said_of_the_timed_twin(run_of_calls: Path) -> None:
    results = build_results(run_of_calls)
    jsonschema.validate(as_json(results), json.loads((data_folder("schema") / "results.schema.json").read_text()))
    steady = cell(results, 0).witness["steady"]
    assert steady["send"].calls["process_vm_readv"] == CallCounts(calls_per_op=1, bytes_per_op=8, failed_per_op=0)
    assert steady["receive"].calls["process_vm_readv"].bytes_per_op == 16
    assert steady["send"].calls["ioctl"] == CallCounts(calls_per_op=0.5, bytes_per_op=None, failed_per_op=0.25)
    assert steady["send"].system_time_s_per_op > 0, "of the timed launches, as ever"
    assert steady["receive"].minor_faults_per_op is None, "this rank stores no times"
    assert cell(results, 0).calls_reason is None
    assert not [cell for cell in results.cells if cell.cell == COUNTED]


def test_times_of_witnessed_launches_are_never_used(run_of_calls: Path) -> None:
    results = build_results(run_of_calls)
    latency = cell(results, 0).metrics["half_round_trip_latency_s"].phases["steady"]
    assert latency.launches == 8
    assert latency.value == pytest.approx(FAST_NS * 1e-9, rel=0.3)
    alone = cell(results, ALONE)
    assert alone.witnessed
    assert alone.metrics == {}
    assert alone.witness["steady"]["send"].calls["process_vm_readv"].calls_per_op == 1


def test_variables_of_the_library(run_of_calls: Path) -> None:
    folder = launch_folder(run_of_calls, LAUNCH)
    rows = [
        {"name": "EAGER", "value": 4096, "type": "int", "description": "a limit", "reason": None},
        {"name": "ODD", "value": None, "type": "other", "description": "", "reason": "is of a type that is not read"},
    ]
    (folder / "control_variables.json").write_text(json.dumps({"reason": None, "variables": rows}))
    (folder / "performance_variables.json").write_text('{"reason": "MPI_T is not there", "variables": []}')
    results = build_results(run_of_calls)
    jsonschema.validate(as_json(results), json.loads((data_folder("schema") / "results.schema.json").read_text()))
    (mpi,) = results.run.mpis
    assert mpi.control_variables == [
        LibraryVariable(name="EAGER", value=4096, type="int", description="a limit"),
        LibraryVariable(name="ODD", value=None, type="other", description="", reason="is of a type that is not read"),
    ]
    assert mpi.performance_variables_reason == "MPI_T is not there"
    (folder / "control_variables.json").write_text("{")
    (mpi,) = build_results(run_of_calls).run.mpis
    assert mpi.control_variables == []
    assert "cannot be read" in mpi.control_variables_reason


BTLS = (
    "[vm:{process}] selected ob1 best priority 20\n"
    "[vm:{process}] mca: bml: Using self btl for send to [[7,1],{own}] on node vm\n"
    "[vm:{process}] mca: bml: Using {btl} btl for send to [[7,1],{other}] on node vm\n"
)


def launch(folder: Path, environment: str, witnessed: bool, printed: str) -> LaunchRecord:
    folder.mkdir()
    (folder / "stderr").write_text(printed)
    info = LaunchInfo(launch=1, round=1, environment=environment, placement="bound")
    begin = LaunchBegin(t_ns=1, launch=1, size=2, witnessed=witnessed)
    return LaunchRecord(info, folder, LaunchEvents((begin,)), None, ())


def printed(btl: str) -> str:
    return BTLS.format(process=1, own=0, other=1, btl=btl) + BTLS.format(process=2, own=1, other=0, btl=btl)


def test_each_environment_has_the_paths_of_its_own_witnessed_launch(tmp_path: Path) -> None:
    launches = [
        launch(tmp_path / "timed", "default", False, printed("uct")),
        launch(tmp_path / "own", "default, witnessed", True, printed("sm")),
        launch(tmp_path / "tcp", "tcp, witnessed", True, printed("tcp")),
    ]
    names = ["default", "default, witnessed", "tcp, witnessed"]
    paths = reported_by_library(launches, names, "openmpi").paths
    assert paths is not None
    assert [(path.environment, path.transport, path.pairs) for path in paths] == [
        ("default, witnessed", "btl sm", [(0, 1), (1, 0)]),
        ("tcp, witnessed", "btl tcp", [(0, 1), (1, 0)]),
    ]
    assert reported_by_library(launches[:1], names, "openmpi").paths is None


DESCRIBE = Path(__file__).parents[3] / "schema" / "engine.json"


def test_each_over_allocation_is_asked_of_both_calls() -> None:
    mpi = MpiInUse("mpich", "mpich 5.0.2", lambda setting: ({}, None))
    plan = expand(load("overalloc"), json.loads(DESCRIBE.read_text()), [mpi], seed=1)
    cells = {cell.cell: cell for cell in plan.cells}
    asked = {(cells[c.b.cell].group, c.metric) for c in plan.contrasts if c.axis == "overalloc_bytes"}
    groups = ("both", "sender", "receiver")
    wanted = {(group, metric) for group in groups for metric in ("one_way_s", "send_s", "receive_s")}
    assert wanted | {("devices", "one_way_s")} == asked
    assert {cell.parameters["device"] for cell in plan.cells if cell.group == "devices"} == {"0", "0:1"}
    split = [c for c in plan.contrasts if c.metric in ("send_s", "receive_s")]
    assert {c.a.phase for c in split} == {c.b.phase for c in split} == {"first"}
    assert all(cells[c.a.cell].parameters["overalloc_bytes"] == "0" for c in split)
