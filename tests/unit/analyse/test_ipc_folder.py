# SPDX-License-Identifier: Apache-2.0
"""A folder that slowpath-ipc wrote (docs/results/gpu.md) is reported like a run."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest

from slowpath.analyse.build import build_results
from slowpath.core.errors import RecordError
from slowpath.core.resources import data_folder
from slowpath.core.results import LaunchCounts, Results
from slowpath.record.blocks import Block, write_blocks
from slowpath.report.run_page import render_html
from slowpath.report.text import render_text
from slowpath.report.write import write_all
from support.results import as_json

REPETITIONS, WARMUPS = 7, 1
# export, open, first access, close, reopen, close again; us
CLEAN_US = (4, 900, 20, 60, 800, 50)
LONG_US = (4, 4900, 20, 2200, 4700, 2100)
GIB = 1 << 30


def parameters(overalloc: int, **changed: str) -> dict[str, str]:
    names = {"allocation_bytes": str(GIB), "overalloc_bytes": str(overalloc), "pad_to_bytes": "0", "live": "1"}
    return {**names, "keep": "1", "repetitions": "7", "importer_device": "0", **changed}


SWEEP = [(parameters(0), CLEAN_US), (parameters(1), LONG_US), (parameters(1, pad_to_bytes="2097152"), CLEAN_US)]


def blocks(rng: np.random.Generator, cell: int, steps_us: tuple[int, ...]) -> list[Block]:
    """Every step of every allocation, the first allocation as warm-up and far slower."""
    made = []
    for allocation in range(WARMUPS + REPETITIONS):
        for step, length_us in enumerate(steps_us):
            warm = allocation < WARMUPS
            phase = "warmup" if warm else "first" if step < 4 else "steady"
            ns = round(length_us * 1000 * (10 if warm else float(np.exp(rng.normal(0, 0.02)))))
            place = {"allocation": allocation, "seq0": step, "rank": 0 if step == 0 else 1}
            made.append(Block(cell, 0, phase, [ns], [0], t0_ns=1000 * allocation, **place))
    return made


def record(
    folder: Path, seed: int = 1, whole: bool = True, sweep: list[tuple[dict[str, str], tuple[int, ...]]] = SWEEP
) -> Path:
    """What `slowpath-ipc --out folder` leaves."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    ranks = [{"rank": r, "host": "gpu1", "pid": 5 + r, "clock": {"quantum_ns": 10}} for r in range(2)]
    begin = {"event": "launch_begin", "t_ns": 1, "launch": 0, "seed": 0, "engine": "0.1.0", "mpi_library": None}
    lines: list[dict[str, object]] = [{**begin, "mpi_standard": None, "size": 2, "ranks": ranks}]
    for cell, (given, _) in enumerate(sweep):
        lines.append({"event": "cell_begin", "t_ns": 2, "cell": cell, "experiment": "ipc", "parameters": given})
        end = {"event": "cell_end", "t_ns": 3, "cell": cell, "status": "ok", "validated_bytes": 512, "wrong_bytes": 0}
        lines.append({**end, "reason": None})
    if whole:
        lines.append(
            {"event": "launch_end", "t_ns": 4_000_000_001, "cells_ok": 3, "cells_skipped": 0, "cells_failed": 0}
        )
    (folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    write_blocks(folder / "samples.blk", [b for cell, (_, us) in enumerate(sweep) for b in blocks(rng, cell, us)])
    return folder


def value_us(results: Results, cell: int, metric: str, phase: str = "first") -> float:
    return results.cells[cell].metrics[metric].phases[phase].value * 1e6


def test_each_step_is_a_metric(tmp_path: Path) -> None:
    results = build_results(record(tmp_path / "ipc"))
    for cell, (_, us) in enumerate(SWEEP):
        for metric, step in (("ipc_export_s", 0), ("ipc_open_s", 1), ("ipc_first_access_s", 2), ("ipc_close_s", 3)):
            assert value_us(results, cell, metric) == pytest.approx(us[step], rel=0.05)
        assert value_us(results, cell, "ipc_reopen_s", "steady") == pytest.approx(us[4], rel=0.05)
        assert value_us(results, cell, "ipc_close_s", "steady") == pytest.approx(us[5], rel=0.05)
    schema = json.loads((data_folder("schema") / "results.schema.json").read_text())
    jsonschema.validate(as_json(results), schema)


def test_every_row_of_the_table_has_an_interval_from_one_launch(tmp_path: Path) -> None:
    results = build_results(record(tmp_path / "ipc"))
    for cell in results.cells:
        for metric in cell.metrics.values():
            for phase in metric.phases.values():
                assert phase.interval[0] <= phase.value <= phase.interval[1]
                assert phase.interval_kind == "order statistics within one launch"
                assert phase.samples == REPETITIONS


def test_the_opening_is_compared_along_what_was_swept(tmp_path: Path) -> None:
    results = build_results(record(tmp_path / "ipc"))
    longer, padded = results.contrasts
    assert (longer.axis, longer.a.value, longer.b.value) == ("overalloc_bytes", "0 B", "1 B")
    assert longer.ratio == pytest.approx(4900 / 900, rel=0.05)
    assert longer.verdict == "slower"
    assert "2 MiB" in longer.remedy
    assert (padded.axis, padded.b.value) == ("pad_to_bytes", "2 MiB")
    assert padded.verdict == "faster"
    assert not longer.interleaved
    assert longer.reproduce.b.startswith("slowpath-ipc --allocation-bytes 1073741824 --overalloc-bytes 1 ")


def test_several_records_are_launches(tmp_path: Path) -> None:
    for number in range(6):
        record(tmp_path / "runs" / f"{number}", seed=number)
    results = build_results(tmp_path / "runs")
    found = results.cells[1].metrics["ipc_open_s"].phases["first"]
    assert found.launches == 6
    assert found.interval_kind.startswith("signed-rank")
    assert results.contrasts[0].launches == 6
    assert results.contrasts[0].within_launch
    assert results.run.launches == LaunchCounts(planned=6, done=6, failed=0)
    assert results.run.wall_s == pytest.approx(24)


def test_it_is_written_and_read_again(tmp_path: Path) -> None:
    folder = record(tmp_path / "ipc")
    first = build_results(folder)
    assert first.verdict.headline in render_text(first)
    assert "<svg" in render_html(first)
    write_all(folder, first)
    assert build_results(folder) == first


def test_a_record_that_was_cut_short_is_partial(tmp_path: Path) -> None:
    record(tmp_path / "runs" / "a")
    record(tmp_path / "runs" / "b", whole=False, sweep=SWEEP[:2])
    results = build_results(tmp_path / "runs")
    assert results.run.status == "interrupted"
    assert [cell.status for cell in results.cells] == ["ok", "ok", "partial"]
    assert results.skipped[0].reason == "the record stops before slowpath-ipc was done"


def test_records_of_different_sweeps_are_refused(tmp_path: Path) -> None:
    record(tmp_path / "runs" / "a")
    record(tmp_path / "runs" / "b", sweep=SWEEP[1:])
    with pytest.raises(RecordError, match=r"b: cell 0 has other parameters than in .*a; use one folder per command"):
        build_results(tmp_path / "runs")


def test_a_folder_without_a_record_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match=r"run\.json: is missing"):
        build_results(tmp_path)
    with pytest.raises(RecordError, match="does not exist"):
        build_results(tmp_path / "nothing")
