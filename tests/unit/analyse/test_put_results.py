# SPDX-License-Identifier: Apache-2.0
"""Results of put and the table of its study."""

from __future__ import annotations

import json

import jsonschema
import planted_put as planted
import pytest

from slowpath.analyse.build import build_results
from slowpath.core.cell_results import Distribution, FunctionShare, InstructionTotal, MetricEstimate
from slowpath.core.files import data_folder
from slowpath.core.results import Results
from slowpath.core.study_results import PutResults, PutRow
from slowpath.report.run_page import render_html
from slowpath.report.terminal import render_text
from support import report_studies
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
    estimated = estimate_of(results, planted.MPI_CELL, "time_per_put_s")
    assert estimated.location == 0.25
    assert estimated.value == pytest.approx(planted.PUT_NS["alpha"] * NS, rel=0.02)
    assert estimated.p50 > 1.5 * estimated.value
    assert estimated.interval_kind.startswith("signed-rank")
    assert estimated.batch == planted.BATCH


def test_the_puts_and_the_synchronisation_stand_apart(results: Results) -> None:
    whole = estimate_of(results, planted.MPI_CELL, "time_per_put_s").value * planted.PUTS
    puts = estimate_of(results, planted.MPI_CELL, "put_call_s").value * planted.PUTS
    flush = estimate_of(results, planted.MPI_CELL, "synchronisation_s").value
    assert flush == pytest.approx(planted.FLUSH_NS * NS, rel=0.02)
    assert puts + flush == pytest.approx(whole, rel=0.03)


def test_the_first_burst_stands_apart(results: Results) -> None:
    estimated = estimate_of(results, planted.MPI_CELL, "time_per_put_s", "first")
    assert estimated.value == pytest.approx(planted.FIRST_NS * NS / planted.PUTS)
    assert "first" not in results.cells[planted.MPI_CELL].metrics["put_call_s"].phases


def test_rates_are_the_time_turned_over_with_its_interval(results: Results) -> None:
    estimated = estimate_of(results, planted.MPI_CELL, "time_per_put_s")
    assert estimated.message_rate_per_s == pytest.approx(1 / estimated.value)
    assert estimated.message_rate_interval == (1 / estimated.interval[1], 1 / estimated.interval[0])
    assert estimated.bandwidth_bytes_per_s == pytest.approx(8 / estimated.value)
    assert estimated.bandwidth_interval[0] < estimated.bandwidth_bytes_per_s < estimated.bandwidth_interval[1]
    assert estimate_of(results, planted.MPI_CELL, "synchronisation_s").message_rate_per_s is None


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
    assert put.shares == [
        FunctionShare(library="libmpi.so", function="MPI_Put", per_call=pytest.approx(633.125 - 14)),
        FunctionShare(library="libc.so", function="memcpy", per_call=14),
    ]
    assert cell.instructions.synchronisation.total == InstructionTotal(stepped=45.0, retired=45.0)
    assert cell.instructions_reason is None


def test_two_mpis_are_compared_launch_by_launch_of_a_round(results: Results) -> None:
    (contrast_,) = results.contrasts
    assert contrast_.axis == "mpi"
    assert contrast_.ratio == pytest.approx(4.0, rel=0.03)
    assert contrast_.verdict == "slower"
    assert contrast_.default_side is None
    assert not contrast_.within_launch
    assert contrast_.where == "mpi"
    assert results.verdict.lines[0].text.startswith("mpi: alpha is slower in 1 of 1, most at mpi: 3.99")


def test_it_renders(results: Results) -> None:
    assert results.verdict.headline in render_text(results)
    assert "<svg" in render_html(results)


@pytest.fixture(scope="module")
def document() -> Results:
    return report_studies.put_results()


@pytest.fixture(scope="module")
def study(document: Results) -> PutResults:
    assert document.put is not None
    return document.put


def row(document: Results, design: str, mpi: str, **given: str) -> PutRow:
    assert document.put is not None
    rows = [row for row in document.put.conditions[0].rows if (row.design, row.mpi) == (design, mpi)]
    rows = [row for row in rows if given.items() <= document.cell(row.cell).parameters.items()]
    assert len(rows) == 1
    return rows[0]


def test_rows_differ_in_who_puts_alone(study: PutResults) -> None:
    first, *others = study.conditions
    assert others == []  # the other window has but one design
    assert first.differs == {}
    designs = [row.design for row in first.rows if row.mpi == "mpich"]
    assert designs == ["mpi", "complex", "complex", "shmem_p", "empty_call", "empty_call_5", "store"]
    assert {row.mpi for row in first.rows} == {"mpich", "openmpi"}


def test_every_measured_put_is_named(document: Results, study: PutResults) -> None:
    assert study.cells == [cell.cell for cell in document.cells]


def test_counts_of_each_library(document: Results) -> None:
    assert row(document, "mpi", "mpich").instructions_with_loop == 670
    assert row(document, "mpi", "openmpi").instructions_with_loop == 270
    assert row(document, "store", "mpich").instructions_with_loop == 20  # nothing is called


def test_rate_over_the_empty_call_is_the_contrast(document: Results) -> None:
    """Of the launches of the same MPI; turned over where the empty call is side b, else a ratio of two values."""
    contrast = next(c for c in document.contrasts if c.b.value == "complex")
    assert contrast.ratio is not None
    assert contrast.interval is not None
    share = row(document, "complex", "mpich", call="library").of_empty
    assert share is not None
    assert share.ratio == pytest.approx(1 / contrast.ratio)
    assert share.interval == pytest.approx((1 / contrast.interval[1], 1 / contrast.interval[0]))
    other = [c for c in document.contrasts if c.b.value == "empty_call"][1]
    library = row(document, "mpi", "openmpi").of_empty
    assert library is not None
    assert (library.ratio, library.interval) == (other.ratio, other.interval)
    assert row(document, "empty_call", "mpich").of_empty is None


def test_shares_of_a_call_add_up(study: PutResults) -> None:
    assert [(split.design, split.mpi) for split in study.splits] == [("mpi", "mpich"), ("mpi", "openmpi")]
    for split in study.splits:
        assert sum(part.ratio or 0.0 for part in split.parts) == pytest.approx(1)
