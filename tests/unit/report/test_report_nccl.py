# SPDX-License-Identifier: Apache-2.0
"""First uses of GPU libraries in a report: a row each, and what a library says of its own init."""

from __future__ import annotations

from slowpath.core.cell_results import CellResult, MetricResult
from slowpath.core.results import Results
from slowpath.report.nccl.first_uses import HEAD
from slowpath.report.nccl.text import nccl_lines
from slowpath.report.nccl.view import nccl_view
from support.results import a_cell, a_metric, an_estimate, results

OF_NCCL = {
    "gpu_first_use_s": 1.349,
    "gpu_load_s": 0.040,
    "gpu_unique_id_s": 0.001,
    "gpu_share_id_s": 0.002,
    "gpu_init_s": 1.157,
    "gpu_one_element_s": 0.140,
    "gpu_first_call_s": 0.009,
    "gpu_init_kernels_s": 0.2,
    "gpu_init_alloc_s": 0.68,
    "gpu_named_ratio": 0.973,
}


def first(value: float) -> MetricResult:
    return a_metric(phases={"first": an_estimate(value)})


def cell(number: int, library: str, values: dict[str, float], copy: int = 1) -> CellResult:
    parameters = {"pattern": "first_use", "library": library, "operation": "allreduce", "message_bytes": "1048576"}
    metrics = {name: first(value) for name, value in values.items()}
    metrics["gpu_later_call_s"] = a_metric(58e-6)
    return a_cell(
        number, experiment="nccl", parameters=parameters, metrics=metrics, environment="first all-reduce", copy=copy
    )


def run() -> Results:
    mpi = {"gpu_first_use_s": 0.004, "gpu_init_s": 0.001, "gpu_first_call_s": 0.003, "gpu_named_ratio": 1.0}
    return results([cell(0, "nccl", OF_NCCL), cell(1, "mpi", mpi), cell(2, "nccl", OF_NCCL, copy=2)])


def test_each_first_use_is_a_row_and_each_step_a_column() -> None:
    view = nccl_view(run())
    assert view is not None
    assert [row[:3] for row in view.rows] == [
        ["nccl", "allreduce, 1 MiB", "first all-reduce"],
        ["mpi", "allreduce, 1 MiB", "first all-reduce"],
    ]
    nccl, mpi = (dict(zip(view.head, row, strict=True)) for row in view.rows)
    assert (nccl["whole"], nccl["init"], nccl["named"], nccl["later"]) == ("1.349 s", "1.157 s", "97.3 %", "58.00 us")
    assert (mpi["load"], mpi["share id"], mpi["first call"]) == ("–", "–", "3.000 ms")


def test_the_parts_of_an_init_stand_below_the_longest_first() -> None:
    view = nccl_view(run())
    assert view is not None
    assert view.inside == [("nccl, first all-reduce", "alloc 680.0 ms, kernels 200.0 ms")]


def test_a_terminal_shows_the_same_table() -> None:
    title, head, *rest = nccl_lines(run())
    assert title.startswith("First use by steps")
    assert [name in head for name in HEAD] == [True] * len(HEAD)
    assert [line.split()[0] for line in rest] == ["nccl", "mpi", "Inside"]
    assert len({len(line) for line in (head, *rest[:2])}) == 1


def test_a_run_without_a_first_use_shows_nothing() -> None:
    later = a_cell(0, experiment="nccl", metrics={"gpu_call_s": a_metric(1e-5)})
    for found in (results([later]), results()):
        assert nccl_view(found) is None
        assert nccl_lines(found) == []
