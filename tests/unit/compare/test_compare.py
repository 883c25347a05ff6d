# SPDX-License-Identifier: Apache-2.0
"""Two runs compared: what is found, what is not, and what is said about the rest."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import planted_cannon as truth
import planted_runs as planted
import pytest
from msgspec.structs import replace
from planted_runs import cell, values

from slowpath.compare.comparison import Comparison, RunDifference, compare, match
from slowpath.compare.read import RunSource, read_source
from slowpath.compare.views import part_lines, render_comparison, render_comparison_brief
from slowpath.core.cell_results import CellResult, Floor
from slowpath.core.errors import RecordError, UsageError
from slowpath.core.results import MOST_LINES
from support.results import an_mpi

THREE = {1: 1.1, 2: 0.9}


def verdicts(comparison: Comparison) -> dict[int, str]:
    return {row.b_cell: row.verdict for row in comparison.rows}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    parent = tmp_path_factory.mktemp("runs")
    return planted.folder(parent / "a", 1), planted.folder(parent / "b", 2, THREE)


def test_planted_differences_are_found_in_run_folders(both: tuple[Path, Path]) -> None:
    comparison = compare(*map(read_source, both), 0.03, phases=("steady",))
    assert verdicts(comparison)[1] == "slower"
    assert verdicts(comparison)[2] == "faster"
    assert verdicts(comparison)[0] in ("same", "undecided")
    for row in comparison.rows:
        assert row.ratio == pytest.approx(THREE.get(row.b_cell, 1.0), rel=0.04)  # 4 standard deviations
        assert row.interval is not None
        assert row.interval[0] < row.ratio < row.interval[1] < 1.1 * row.interval[0]
        assert (row.a_launches, row.b_launches) == (planted.LAUNCHES, planted.LAUNCHES)
    assert "Not interleaved" in comparison.caution
    assert "separate launches" in comparison.rows[0].interval_kind


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
        comparison = compare(planted.run_of(rng, "a", 50), planted.run_of(rng, "b", 50), 0.03)
        alarms += any(word in ("faster", "slower") for word in verdicts(comparison).values())
    assert alarms <= 8


def test_where_more_is_better_less_is_slower() -> None:
    rng = np.random.default_rng(1)

    def rate(number: int, factor: float) -> CellResult:
        made = planted.cell(number, planted.values(rng, factor))
        return replace(made, metrics={"rate": replace(made.metrics[planted.METRIC], better="higher", unit="1/s")})

    comparison = compare(planted.source("a", [rate(1, 1.0)]), planted.source("b", [rate(1, 0.8)]), 0.03)
    assert comparison.rows[0].verdict == "slower"
    assert comparison.rows[0].ratio == pytest.approx(1.25, rel=0.05)


def test_two_libraries_match_and_the_difference_is_named() -> None:
    rng = np.random.default_rng(1)
    a = planted.source("a", [planted.cell(1, planted.values(rng))])
    other = planted.cell(1, planted.values(rng, 1.5), key="other", mpi="openmpi", label="openmpi, cell 1")
    mpis = [an_mpi("openmpi", name="openmpi", version="5.0.11"), an_mpi("x", name="x", version="1")]
    comparison = compare(a, planted.source("b", [other], mpis=mpis), 0.03)
    assert RunDifference("MPI", "mpich 5.0.2", "openmpi 5.0.11") in comparison.differences
    assert [row.verdict for row in comparison.rows] == ["slower"]
    assert "mpich 5.0.2 -> openmpi 5.0.11" in render_comparison(comparison)


@pytest.mark.parametrize(
    ("changes", "is_same"),
    [
        ({"samples": "9"}, True),
        ({"allocations": "9"}, True),
        ({"device": "auto"}, True),
        ({"message_bytes": "16"}, False),
        ({"what no experiment has": "1"}, False),
    ],
)
def test_cells_are_the_same_where_they_differ_in_effort_or_state_a_default(
    changes: dict[str, str], is_same: bool
) -> None:
    old = planted.cell(1, [1e-5] * 8)
    newer = replace(old, key="k", parameters={**old.parameters, **changes})
    pairs, alone = match(planted.results([old]), planted.results([newer]))
    assert (len(pairs), len(alone)) == ((1, 0) if is_same else (0, 2))


def test_the_same_cell_in_two_sweeps_is_matched_by_its_label() -> None:
    cells = [planted.cell(1, [1e-5] * 8, cell=n, label=f"sweep {n}") for n in range(2)]
    others = [replace(made, key=f"of another library {made.cell}", mpi="openmpi") for made in reversed(cells)]
    pairs, alone = match(planted.results(cells), planted.results(others))
    assert not alone
    assert [pair.a.label for pair in pairs] == [pair.b.label for pair in pairs]


def test_what_the_slower_cells_share_is_one_sentence() -> None:
    def run(name: str, seed: int, slow: float = 1.0) -> RunSource:
        rng = np.random.default_rng(seed)
        lengths = [8 << n for n in range(0, 20)]
        made = []
        for n, length in enumerate(lengths):
            parameters = {**planted.PARAMETERS, "message_bytes": str(length)}
            factor = slow if length >= 65536 else 1.0
            made.append(planted.cell(n, planted.values(rng, factor, sd=0.005), parameters=parameters))
        return planted.source(name, made)

    comparison = compare(run("a", 1), run("b", 2, 1.5), 0.03)
    (sentence,) = comparison.shared
    assert "of at least 64 KiB" in sentence
    assert "longer than in A (1.50x)" in sentence
    assert "in all 7 such cells, and in none of 13 others" in sentence
    assert sentence.split("(")[0].split()[0] in render_comparison_brief(comparison)


@pytest.mark.parametrize(
    ("yardstick", "removed", "word"), [(1.3, True, "same"), (1.0, False, "slower"), (None, False, "slower")]
)
def test_a_factor_of_the_machine_is_no_regression(yardstick: float | None, removed: bool, word: str) -> None:
    """All cells of B take 1.3 times as long, and cell 5 twice that: only cell 5 is slow if the machine is slower."""

    def run(name: str, seed: int, factor: float, flag: float | None) -> RunSource:
        rng = np.random.default_rng(seed)
        floors = [Floor(name="flag", text="", time_s=flag, interval=None, launches=8, reason=None)] if flag else []
        slow = {5: 2.0} if factor > 1 else {}
        return planted.source(
            name, [cell(i, values(rng, factor * slow.get(i, 1.0), sd=0.005), floors=floors) for i in range(10)]
        )

    a = run("a", 1, 1.0, 1e-7 if yardstick else None)
    comparison = compare(a, run("b", 2, 1.3, 1e-7 * yardstick if yardstick else None), 0.05)
    (factor,) = comparison.factors
    assert (factor.size, factor.is_removed) == ("short", removed)
    assert factor.ratio == pytest.approx(1.3, rel=0.02)
    words = verdicts(comparison)
    assert words.pop(5) == "slower"
    assert set(words.values()) == {word}
    assert "All short calls are 1.3" in render_comparison_brief(comparison)


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
    differences = {
        difference.fact: (difference.a, difference.b)
        for difference in compare(planted.run_of(rng, "a", 2), b, 0.03).differences
    }
    assert differences["kernel"] == ("6.1", "6.12")
    assert differences["variable UCX_TLS"] == (None, "tcp")
    assert differences["variable SLURM_JWT"] == (None, "set, value not recorded")
    assert differences["load"] == (None, "3")
    assert {"began", "slowpath"} < differences.keys()
    assert "host" not in differences


def test_a_comparison_says_on_one_screen_where_b_is_slower() -> None:
    rng = np.random.default_rng(1)
    a = planted.run_of(rng, "a", 40)
    comparison = compare(a, planted.run_of(rng, "b", 40, {3: 1.5, 7: 2.0, 9: 1.3, 11: 1.2}), 0.03)
    lines = render_comparison_brief(comparison).splitlines()
    assert len(lines) <= MOST_LINES
    assert lines[0].startswith("B is slower than A in 4 of 40 comparisons by more than 3 %")
    first = [line for line in lines if line.startswith("  1. ")]
    assert "cell 7" in first[0]
    same = render_comparison_brief(compare(a, planted.run_of(rng, "c", 40), 0.03))
    assert same.startswith(("B is not slower than A: ", "Undecided in "))


def test_where_nothing_is_decided_both_times_are_shown_all_the_same() -> None:
    rng = np.random.default_rng(3)
    comparison = compare(planted.run_of(rng, "a", 12), planted.run_of(rng, "b", 12), 0.03)
    open_rows = [replace(row, verdict="undecided") for row in comparison.rows]
    open_rows[5] = replace(open_rows[5], ratio=1.4)
    verdicts = {"slower": 0, "faster": 0, "same": 0, "undecided": 12}
    lines = render_comparison_brief(replace(comparison, rows=open_rows, verdicts=verdicts)).splitlines()
    assert lines[0].startswith("Undecided in 12 of 12 comparisons.")
    assert lines[1].startswith("Furthest apart, but undecided: cell 5")
    assert " instead of " in lines[1]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "cannot be read"),
        ("[]", "cannot be read"),
        ("{}", "cannot be read"),
        ('{"schema": "1"}', "cannot be read"),
        ('{"schema": 0}', "use the slowpath that wrote it"),
        ('{"schema": 2}', "use the slowpath that wrote it"),
        ('{"schema": 1}', "is damaged"),
        ('{"schema": 1, "run": {}, "cells": []}', "is damaged"),
        ("[" * 100000, "cannot be read"),
        ("\udcff", "cannot be read"),
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
    with pytest.raises(UsageError, match="no cell or metric in common"):
        compare(a, planted.source("b", [planted.cell(9, [1.0], label="x")]), 0.03)
    with pytest.raises(UsageError, match=r"no nope of phase .* in common; name one of half_round_trip_latency_s"):
        compare(a, planted.run_of(rng, "b", 2), 0.03, metrics=["nope"])
    with pytest.raises(RecordError, match="does not exist"):
        read_source(tmp_path / "nowhere")
    with pytest.raises(RecordError, match=r"no run\.json"):
        read_source(tmp_path)


# Two runs of Cannon's algorithm: computation and communication are compared for all styles.


def test_computation_stays_and_communication_is_slower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a = read_source(truth.make_run(tmp_path / "a"))
    slower = {variant: {n: 2 * ratio for n, ratio in by_n.items()} for variant, by_n in truth.EXPOSED.items()}
    monkeypatch.setattr(truth, "EXPOSED", slower)
    b = read_source(truth.make_run(tmp_path / "b"))
    comparison = compare(a, b, 0.3, by_parts=True)
    metrics = {row.metric for row in comparison.rows if row.experiment == "cannon"}
    assert metrics == {"multiply_s", "dgemm_s", "exposed_s"}
    verdicts = {
        metric: {row.verdict for row in comparison.rows if row.metric == metric} for metric in ("dgemm_s", "exposed_s")
    }
    assert verdicts["dgemm_s"] <= {"same", "undecided"}
    assert "slower" in verdicts["exposed_s"] <= {"slower", "undecided"}
    lines = part_lines(comparison)
    assert len(lines) == 3
    by_metric = {line.split(",")[0]: line for line in lines}
    assert "slower" not in by_metric["Dgemm"]
    assert "slower" in by_metric["Exposed"]
    for text in (render_comparison(comparison), render_comparison_brief(comparison)):
        assert by_metric["Exposed"] in " ".join(text.split())
