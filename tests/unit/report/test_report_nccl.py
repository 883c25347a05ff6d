# SPDX-License-Identifier: Apache-2.0
"""First uses of GPU libraries in a report: a row each, and what a library says of its own init."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from slowpath import report
from slowpath.core.cell_results import CellResult, MetricResult
from slowpath.core.results import Results
from slowpath.experiments.nccl.experiment import STEPS
from slowpath.report.nccl.view import COLOURS, HEAD, nccl_lines, nccl_view
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


def in_launches(launches: int, value: float) -> MetricResult:
    return a_metric(phases={"first": msgspec.structs.replace(an_estimate(value), launches=launches)})


def cell(number: int, library: str, values: dict[str, float], copy: int = 1) -> CellResult:
    parameters = {"pattern": "first_use", "library": library, "operation": "allreduce", "message_bytes": "1048576"}
    metrics = {name: first(value) for name, value in values.items()}
    if "gpu_init_kernels_s" in metrics:  # NCCL said 0.00 s in the other launches
        metrics["gpu_init_kernels_s"] = in_launches(3, values["gpu_init_kernels_s"])
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
    assert view.inside == [
        (
            "nccl, first all-reduce",
            "alloc 680 ms, kernels 200 ms (in 3 of 8 launches), no other above 10 ms (it reports in steps of 10 ms)",
        )
    ]


def test_what_the_steps_of_nccl_can_not_tell_is_no_number() -> None:
    short = {**OF_NCCL, "gpu_init_kernels_s": 0.01, "gpu_init_alloc_s": 0.01}
    view = nccl_view(results([cell(0, "nccl", short)]))
    assert view is not None
    assert view.inside == [("nccl, first all-reduce", "none above 10 ms (it reports in steps of 10 ms)")]


def test_gpu_libraries_and_mpi_have_a_picture_each_on_an_axis_of_their_own() -> None:
    view = nccl_view(run())
    assert view is not None
    libraries, mpi = view.figures
    assert ([row.label for row in libraries.rows], [row.label for row in mpi.rows]) == (
        ["nccl, allreduce, 1 MiB"],
        ["mpi, allreduce, 1 MiB"],
    )
    assert "1.5 s" in str(libraries.axis) or "1 s" in str(libraries.axis)
    assert "4 ms" in str(mpi.axis)
    # A rectangle for each step, of its own class, one after the other.
    track = str(libraries.rows[0].track)
    classes = [name for name in STEPS if f'class="{COLOURS[name]}"' in track]
    assert classes == ["load", "unique_id", "share_id", "init", "one_element", "first_call"]
    starts = [float(x) for x in re.findall(r'<rect[^>]* x="([0-9.]+)%"', track)]
    assert starts == sorted(starts)
    assert len(starts) == len(classes)
    assert [name for _, name, _ in view.legend] == [name.replace("_", " ") for name in classes]
    assert [row[2] for row in libraries.table.rows][:3] == ["whole", "load", "unique id"]


def test_every_step_has_a_colour_in_light_and_in_dark() -> None:
    style = (Path(report.__file__).parent / "templates" / "style.css").read_text()
    fills = dict(re.findall(r"\.(p-\w+) \{ (fill: var\(--\w+\);(?: opacity: [.\d]+;)?) \}", style))
    colours = [fills[COLOURS[name]] for name in STEPS]
    assert len(set(colours)) == len(STEPS)
    for colour in colours:
        assert style.count(colour.split("(")[1].split(")")[0] + ":") == 2


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
