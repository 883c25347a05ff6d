# SPDX-License-Identifier: Apache-2.0
"""Two runs compared: what is found, what is not, and what is said about the rest."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import numpy as np
import planted_cannon as truth
import planted_runs as planted
import pytest
from msgspec.structs import replace
from planted_runs import cell, run_of, source, values

from slowpath.cli.main import main
from slowpath.compare.comparison import Comparison, compare, match
from slowpath.compare.read import RunSource, read_source
from slowpath.compare.views import (
    figures,
    part_lines,
    render_comparison,
    render_comparison_brief,
    render_comparison_html,
)
from slowpath.core.cell_results import CellResult
from slowpath.core.errors import RecordError, UsageError
from slowpath.core.results import MOST_LINES
from slowpath.report.figure import Plot
from support.results import an_mpi

THREE = {1: 1.1, 2: 0.9}


def verdicts(found: Comparison) -> dict[int, str]:
    return {row.b_cell: row.verdict for row in found.rows}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    parent = tmp_path_factory.mktemp("runs")
    return planted.folder(parent / "a", 1), planted.folder(parent / "b", 2, THREE)


def test_planted_differences_are_found_in_run_folders(both: tuple[Path, Path]) -> None:
    found = compare(*map(read_source, both), 0.03, phases=("steady",))
    assert verdicts(found)[1] == "slower"
    assert verdicts(found)[2] == "faster"
    assert verdicts(found)[0] in ("same", "undecided")
    for row in found.rows:
        assert row.ratio == pytest.approx(THREE.get(row.b_cell, 1.0), rel=0.04)  # 4 standard deviations
        assert row.interval is not None
        assert row.interval[0] < row.ratio < row.interval[1] < 1.1 * row.interval[0]
        assert (row.a_launches, row.b_launches) == (planted.LAUNCHES, planted.LAUNCHES)
        assert row.family_size == 3
    assert not found.interleaved
    assert "Not interleaved" in found.caution
    assert "not interleaved" in found.rows[0].interval_kind


def test_results_that_were_written_read_as_those_that_are_built(both: tuple[Path, Path], tmp_path: Path) -> None:
    from slowpath.analyse.build import build_results

    path = tmp_path / "anything.json"
    path.write_bytes(msgspec.json.encode(build_results(both[0])))
    assert read_source(path).results == read_source(both[0]).results
    assert not (both[0] / "results.json").exists()  # reading writes nothing


def test_without_a_difference_hardly_anything_is_found() -> None:
    """Benjamini-Hochberg and the minimum effect: false findings in at most a few of 100 comparisons of 50 cells."""
    rng = np.random.default_rng(7)
    alarms = 0
    for _ in range(100):
        found = compare(planted.run_of(rng, "a", 50), planted.run_of(rng, "b", 50), 0.03)
        alarms += any(word in ("faster", "slower") for word in verdicts(found).values())
    assert alarms <= 8


def test_where_more_is_better_less_is_slower() -> None:
    rng = np.random.default_rng(1)

    def rate(number: int, factor: float) -> CellResult:
        made = planted.cell(number, planted.values(rng, factor))
        return replace(made, metrics={"rate": replace(made.metrics[planted.METRIC], better="higher", unit="1/s")})

    found = compare(planted.source("a", [rate(1, 1.0)]), planted.source("b", [rate(1, 0.8)]), 0.03)
    assert found.rows[0].verdict == "slower"
    assert found.rows[0].ratio == pytest.approx(1.25, rel=0.05)


def test_two_libraries_match_by_label_and_the_difference_is_named() -> None:
    rng = np.random.default_rng(1)
    a = planted.source("a", [planted.cell(1, planted.values(rng))])
    other = planted.cell(1, planted.values(rng, 1.5), key="other", mpi="openmpi", label="openmpi, cell 1")
    mpis = [an_mpi("openmpi", name="openmpi", version="5.0.11"), an_mpi("x", name="x", version="1")]
    found = compare(a, planted.source("b", [other], mpis=mpis), 0.03)
    row = found.rows[0]
    assert row.matched_by == "label"
    assert [(one.what, one.a, one.b) for one in row.differs] == [("MPI", "mpich 5.0.2", "openmpi 5.0.11")]
    assert row.verdict == "slower"
    assert "mpich 5.0.2 -> openmpi 5.0.11" in render_comparison(found)


def test_a_new_parameter_is_named_and_a_changed_one_is_another_cell() -> None:
    rng = np.random.default_rng(1)
    old = planted.cell(1, planted.values(rng))
    newer = replace(old, key="k", parameters={**old.parameters, "device": "auto", "samples": "9"})
    found = match(planted.source("a", [old]).results, planted.source("b", [newer]).results)
    assert [one.what for one in found.pairs[0].differs] == ["parameter device", "parameter samples"]
    changed = replace(old, key="k", parameters={**old.parameters, "message_bytes": "16"})
    found = match(planted.source("a", [old]).results, planted.source("b", [changed]).results)
    assert found.pairs == []
    assert "message_bytes is 16 against 8" in found.only_b[0].reason


def test_what_differs_between_the_runs_is_listed() -> None:
    rng = np.random.default_rng(1)
    machine = {
        **planted.MACHINE,
        "kernel": "6.12",
        "variables": {"UCX_TLS": "tcp"},
        "variables_not_recorded": {"SLURM_JWT": "its name says that it is a secret"},
        "load": [3.2, 1, 1],
    }
    b = planted.run_of(rng, "b", 2, machine=machine, started="2026-02-01T00:00:00+00:00", slowpath="0.2.0")
    told = {one.what: (one.a, one.b) for one in compare(planted.run_of(rng, "a", 2), b, 0.03).differences}
    assert told["kernel"] == ("6.1", "6.12")
    assert told["variable UCX_TLS"] == (None, "tcp")
    assert told["variable SLURM_JWT"] == (None, "set, value not recorded")
    assert told["load at the start"] == (None, "3")
    assert {"began", "slowpath"} < told.keys()
    assert "host" not in told


def test_a_comparison_says_on_one_screen_where_b_is_slower() -> None:
    rng = np.random.default_rng(1)
    a = planted.run_of(rng, "a", 40)
    found = compare(a, planted.run_of(rng, "b", 40, {3: 1.5, 7: 2.0, 9: 1.3, 11: 1.2}), 0.03)
    lines = render_comparison_brief(found).splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[0].startswith("B is slower than A in 4 of 40 comparisons by more than 3 %")
    first = [line for line in lines if line.startswith("  1. ")]
    assert "cell 7" in first[0]
    same = render_comparison_brief(compare(a, planted.run_of(rng, "c", 40), 0.03))
    assert same.startswith("B is not slower than A: ")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is not a results.json"),
        ("[]", "is not a results.json"),
        ("{}", "is not a results.json"),
        ('{"schema": "1"}', "is not a results.json"),
        ('{"schema": 0}', "another version"),
        ('{"schema": 2}', "another version"),
        ('{"schema": 1}', "is damaged"),
        ('{"schema": 1, "run": {}, "cells": []}', "is damaged"),
        ("[" * 100000, "is not a results.json"),
        ("\udcff", "is not a results.json"),
    ],
)
def test_a_file_that_is_no_results(tmp_path: Path, content: str, said: str) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(content.encode(errors="surrogateescape"))
    with pytest.raises(RecordError) as error:
        read_source(path)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_runs_that_can_not_be_compared(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    a = planted.run_of(rng, "a", 2)
    with pytest.raises(UsageError, match="the same run"):
        compare(a, a, 0.03)
    with pytest.raises(UsageError, match="no cell in common"):
        compare(a, planted.source("b", [planted.cell(9, [1.0], label="x")]), 0.03)
    with pytest.raises(UsageError, match="they have: half_round_trip_latency_s"):
        compare(a, planted.run_of(rng, "b", 2), 0.03, metrics=["nope"])
    with pytest.raises(RecordError, match="does not exist"):
        read_source(tmp_path / "nowhere")
    with pytest.raises(RecordError, match="run folder"):
        read_source(tmp_path)


# Two runs of Cannon's algorithm: computation and communication are compared for all styles.


def test_computation_stays_and_communication_is_slower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a = read_source(truth.make_run(tmp_path / "a"))
    slower = {variant: {n: 2 * ratio for n, ratio in by_n.items()} for variant, by_n in truth.EXPOSED.items()}
    monkeypatch.setattr(truth, "EXPOSED", slower)
    b = read_source(truth.make_run(tmp_path / "b"))
    found = compare(a, b, 0.3, by_parts=True)
    metrics = {row.metric for row in found.rows if row.experiment == "cannon"}
    assert metrics == {"multiply_s", "dgemm_s", "exposed_s"}
    verdicts = {
        metric: {row.verdict for row in found.rows if row.metric == metric} for metric in ("dgemm_s", "exposed_s")
    }
    assert verdicts["dgemm_s"] <= {"same", "undecided"}
    assert "slower" in verdicts["exposed_s"] <= {"slower", "undecided"}
    lines = part_lines(found)
    assert [line.split(":")[0] for line in lines] == [
        "Cannon, the whole of all styles", "Cannon, computation of all styles", "Cannon, communication of all styles"
    ]  # fmt: skip
    assert "slower" not in lines[1]
    assert re.search(r"\d+ slower.*; B over A", lines[2])
    for text in (render_comparison(found), render_comparison_brief(found)):
        assert "Cannon, communication of all styles" in " ".join(text.split())


# Two runs in one picture: a panel with both curves for each style over n, and for p2p over the message's length.


def p2p(name: str, seed: int, slow: float = 1.0) -> RunSource:
    rng = np.random.default_rng(seed)
    return source(name, [cell(i, values(rng, slow * i)) for i in (1, 2, 4, 8)])


def cannon(name: str, seed: int, slow: float = 1.0) -> RunSource:
    """Two styles with three orders each."""
    rng = np.random.default_rng(seed)
    cells: list[CellResult] = []
    for variant in ("sendrecv", "put_fence"):
        for n in (128, 256, 512):
            factor = (n / 128) ** 3 * (slow if variant == "put_fence" else 1.0)
            made = cell(len(cells), values(rng, factor))
            metrics = {"multiply_s": next(iter(made.metrics.values()))}
            parameters = {"pattern": "multiply", "variant": variant, "n": str(n), "repetitions": str(4096 // n)}
            cells.append(replace(made, experiment="cannon", parameters=parameters, metrics=metrics))
    return source(name, cells)


def rows(figure: Plot) -> list[list[object]]:
    assert figure.table is not None
    return [list(row) for row in figure.table.rows]


def test_each_style_has_a_panel_with_both_curves() -> None:
    a, b = cannon("a", 1), cannon("b", 2, slow=2.0)
    found = figures(compare(a, b, 0.03), a.results, b.results)
    assert [figure.title for figure in found] == ["Multiply, sendrecv", "Multiply, put fence"]
    for figure in found:
        assert [(series.label, len(series.points)) for series in figure.series] == [("A", 3), ("B", 3)]
        assert figure.x.title == "order n of the matrices"
        assert [row[0] for row in rows(figure)] == ["n = 128", "n = 256", "n = 512"]
    assert [row[-1] for row in rows(found[1])] == ["slower"] * 3


def test_the_page_has_every_row_and_what_differs() -> None:
    a, b = cannon("before", 1), cannon("after", 2, slow=2.0)
    b = RunSource(b.path, replace(b.results, run=replace(b.results.run, machine={"host": "n2"})))
    page = render_comparison_html(compare(a, b, 0.03), a.results, b.results)
    assert "3 slower" in page
    assert page.count("<svg") >= 2
    assert "n1" in page
    assert "n2" in page
    assert "<li>hardware: B does not state the machine" in page
    assert "://" not in page, "it opens without a network"


def test_the_command_writes_the_page(tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.json").write_bytes(
            msgspec.json.encode(run_of(np.random.default_rng(seed), name, 4).results)
        )
    page = tmp_path / "page.html"
    with pytest.raises(SystemExit) as ended:
        main(["compare", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "--html", str(page)])
    assert ended.value.code == 0
    assert "Both runs over size" in page.read_text()
