# SPDX-License-Identifier: Apache-2.0
"""The experiment put: bursts, their parts, rates, instructions, and several MPIs in one run."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import planted_put as planted
import pytest

from slowpath.analyse.build import build_results
from slowpath.analyse.cells import estimate
from slowpath.core.cell_results import Distribution, FunctionShare, InstructionTotal, MetricEstimate
from slowpath.core.errors import RecordError
from slowpath.core.resources import data_folder
from slowpath.core.results import MpiResult, Results
from slowpath.experiments.experiment import Rates, rates
from slowpath.experiments.measured import LaunchContext, MetricSamples, reduce
from slowpath.experiments.registry import METRICS, experiment_named
from slowpath.report.run_page import render_html
from slowpath.report.text import render_text
from support.results import as_json

NS = 1e-9


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return build_results(planted.make_run(tmp_path_factory.mktemp("put") / "run"))


def estimate_of(results: Results, cell: int, metric: str, phase: str = "steady") -> MetricEstimate:
    return results.cells[cell].metrics[metric].phases[phase]


def test_results_follow_the_schema(results: Results) -> None:
    schema = json.loads((data_folder("schema") / "results.schema.json").read_text())
    jsonschema.validate(as_json(results), schema)


def test_a_launch_is_its_lower_quartile_so_that_disturbed_bursts_do_not_count(results: Results) -> None:
    found = estimate_of(results, planted.MPI_CELL, "time_per_put_s")
    assert found.location == 0.25
    assert found.value == pytest.approx(planted.PUT_NS["alpha"] * NS, rel=0.02)
    assert found.p50 > 1.5 * found.value
    assert found.interval_kind.startswith("signed-rank")
    assert found.batch == planted.BATCH


def test_the_puts_and_the_synchronisation_stand_apart(results: Results) -> None:
    whole = estimate_of(results, planted.MPI_CELL, "time_per_put_s").value * planted.PUTS
    puts = estimate_of(results, planted.MPI_CELL, "put_call_s").value * planted.PUTS
    flush = estimate_of(results, planted.MPI_CELL, "synchronisation_s").value
    assert flush == pytest.approx(planted.FLUSH_NS * NS, rel=0.02)
    assert puts + flush == pytest.approx(whole, rel=0.03)


def test_the_first_burst_stands_apart(results: Results) -> None:
    found = estimate_of(results, planted.MPI_CELL, "time_per_put_s", "first")
    assert found.value == pytest.approx(planted.FIRST_NS * NS / planted.PUTS)
    assert "first" not in results.cells[planted.MPI_CELL].metrics["put_call_s"].phases
    assert results.cells[planted.MPI_CELL].metrics["time_per_put_s"].first_slow.slow


def test_rates_are_the_time_turned_over_with_its_interval(results: Results) -> None:
    found = estimate_of(results, planted.MPI_CELL, "time_per_put_s")
    assert found.message_rate_per_s == pytest.approx(1 / found.value)
    assert found.message_rate_interval == (1 / found.interval[1], 1 / found.interval[0])
    assert found.bandwidth_bytes_per_s == pytest.approx(8 / found.value)
    assert found.bandwidth_interval[0] < found.bandwidth_bytes_per_s < found.bandwidth_interval[1]
    assert estimate_of(results, planted.MPI_CELL, "synchronisation_s").message_rate_per_s is None


def test_an_empty_call_has_a_rate_and_moves_nothing(results: Results) -> None:
    found = estimate_of(results, planted.EMPTY_CELL, "time_per_put_s")
    assert found.message_rate_per_s == pytest.approx(1 / found.value)
    assert found.bandwidth_bytes_per_s is None
    assert found.bandwidth_interval is None


def test_an_empty_message_has_a_rate_and_no_bandwidth() -> None:
    found = rates(METRICS["time_per_message_s"], {"message_bytes": "0"}, 2.0, None)
    assert found.bandwidth_bytes_per_s is None
    assert found.message_rate_per_s == 0.5
    assert rates(METRICS["send_s"], {"message_bytes": "8"}, 2.0, (1.0, 3.0)) == Rates()


def test_one_launch_has_the_interval_of_that_quantile() -> None:
    rng = np.random.default_rng(1)
    samples = rng.exponential(1.0, 2000) + 1.0
    reduced = reduce(MetricSamples(samples, 4, 100, location=0.25))
    assert reduced is not None
    found = estimate([reduced], None)
    truth = 1.0 - np.log(0.75)
    assert found.interval[0] < truth < found.interval[1]
    assert found.interval[1] < np.median(samples)
    assert found.interval_kind == "order statistics of the 25 % quantile within one launch"
    few = reduce(MetricSamples(samples[:100], 4, 100, location=0.25))
    assert few is not None
    assert estimate([few], None).interval is None
    assert estimate([few], None).interval_kind == "one launch, 100 samples < 130, no interval"


def test_a_part_that_is_shorter_than_the_clocks_step_is_absent_and_says_so(tmp_path: Path) -> None:
    cell = build_results(planted.make_run(tmp_path / "run", empty_flush_ns=0)).cells[planted.EMPTY_CELL]
    assert "synchronisation_s" not in cell.metrics
    assert "shorter than a step of the clock" in cell.absent["synchronisation_s"]
    assert "time_per_put_s" in cell.metrics
    assert "time_per_put_s" not in cell.absent


def test_an_unknown_experiment_is_one_line() -> None:
    with pytest.raises(RecordError, match="experiment 'dance' with pattern 'waltz' is unknown to this slowpath"):
        experiment_named("dance").derive({"pattern": "waltz"}, [], LaunchContext(2, True))


def test_the_witness_of_split_bursts_counts_once(results: Results) -> None:
    """Both parts of the same bursts carry it."""
    witness = results.cells[planted.MPI_CELL].witness["steady"]["send"]
    assert witness.involuntary_switches == 5 * planted.ROUNDS
    assert witness.operations == planted.SAMPLES * planted.ROUNDS
    assert witness.minor_faults_per_op == pytest.approx(3 / planted.SAMPLES)


def test_instructions_of_a_library_that_allocates_now_and_then(results: Results) -> None:
    cell = results.cells[planted.MPI_CELL]
    put = cell.instructions.put
    stepped = put.per_call.stepped
    assert stepped == Distribution(
        median=588.0, min=588, max=949, mean=pytest.approx(633.125), counts={"588": 84, "949": 12}
    )
    assert put.per_call.retired.min == 588 - 36
    assert put.loop_per_put == planted.SITE
    assert put.method == "trap flag"
    assert put.launches == planted.ROUNDS
    assert put.calls == planted.ROUNDS * planted.COUNTED
    assert put.identical_over_launches is True
    assert put.shares == [
        FunctionShare(library="libmpi.so", function="MPI_Put", per_call=pytest.approx(633.125 - 14)),
        FunctionShare(library="libc.so", function="memcpy", per_call=14),
    ]
    assert cell.instructions.synchronisation.total == InstructionTotal(stepped=45.0, retired=45.0)
    assert cell.instructions_reason is None


def test_launches_that_disagree_are_distinguished(results: Results) -> None:
    """Launch 1 is beta's first."""
    cell = results.cells[2]
    put = cell.instructions.put
    assert put.identical_over_launches is False
    assert [one.stepped for one in put.by_launch][:2] == [{"251": 15, "252": 1}, {"251": 16}]
    assert [one.launch for one in put.by_launch][:2] == [1, 3]
    assert cell.instructions.synchronisation is None
    assert cell.instructions_reason == "synchronisation: single-stepping is not allowed here"


def test_what_could_not_be_counted_says_why(results: Results) -> None:
    cell = results.cells[planted.EMPTY_CELL]
    assert cell.instructions is None
    assert cell.instructions_reason == "single-stepping is not allowed here"


def test_each_mpi_is_named(results: Results) -> None:
    run = results.run
    assert run.mpis[:2] == [
        MpiResult(mpi=mpi, unavailable=None, name=f"lib{mpi}", version="1.0", library=f"Library {mpi}", standard=None)
        for mpi in planted.MPIS
    ]
    assert run.mpis[2] == MpiResult(mpi="gamma", unavailable="no gamma here")
    assert (run.mpi.name, run.mpi.library) == ("libalpha", "Library alpha")
    assert [cell.mpi for cell in results.cells] == ["alpha", "alpha", "beta", "beta"]
    assert results.cells[2].reproduce.startswith("/beta/mpiexec -n 2 /x/slowpath-engine put --pattern burst")


def test_two_mpis_are_compared_launch_by_launch_of_a_round(results: Results) -> None:
    (found,) = results.contrasts
    assert found.axis == "mpi"
    assert found.ratio == pytest.approx(4.0, rel=0.03)
    assert found.verdict == "slower"
    assert found.default_side is None
    assert not found.within_launch
    assert found.where == "mpi"
    assert results.verdict.lines[0].text.startswith("mpi: alpha is slower in 1 of 1, most at mpi: 3.99")


def test_it_renders(results: Results) -> None:
    assert results.verdict.headline in render_text(results)
    assert "<svg" in render_html(results)
