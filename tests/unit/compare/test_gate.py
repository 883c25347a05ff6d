# SPDX-License-Identifier: Apache-2.0
"""The gate: what it catches, how often it is wrong, and when it does not know."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import planted_runs as planted
import pytest
from msgspec.structs import replace

from slowpath.analyse.reference import joined
from slowpath.analyse.references import add_reference, file_bytes, load_references, read_references, reduced
from slowpath.cli.main import exit_code
from slowpath.compare.gate import Gate, Undecided, final_exit_code, gate, of_nearest, suspects_of
from slowpath.compare.read import RunSource
from slowpath.compare.views import render_gate, render_junit
from slowpath.core.cell_results import CellResult, Floor
from slowpath.core.errors import RecordError, UsageError
from slowpath.core.files import data_folder, json_bytes
from slowpath.core.results import MOST_LINES
from slowpath.record.plan_files import begin_again, read_plan

CELLS = 50
TRIALS = 200


def outcomes(judged: Gate) -> dict[int, str]:
    return {row.row.b_cell: row.outcome for row in judged.rows}


@pytest.mark.needs("minutes")
def test_on_equal_runs_at_most_four_gates_in_a_hundred_fail() -> None:
    rng = np.random.default_rng(2)
    judged = [gate(planted.run_of(rng, "b", CELLS), planted.run_of(rng, "a", CELLS)) for _ in range(TRIALS)]
    assert sum(gate_.outcome == "regression" for gate_ in judged) <= 0.04 * TRIALS
    # An undecided gate is no failure, but a gate that never decides is of no use.
    assert sum(gate_.outcome == "pass" for gate_ in judged) >= 0.8 * TRIALS


@pytest.mark.needs("minutes")
@pytest.mark.parametrize("slowdown", [1.15, 1.20])
def test_one_slow_cell_of_fifty_is_caught(slowdown: float) -> None:
    rng = np.random.default_rng(3)
    caught = 0
    for _ in range(TRIALS):
        run, again = (planted.run_of(rng, name, CELLS, {17: slowdown}) for name in ("b", "b-again"))
        caught += gate(run, planted.run_of(rng, "a", CELLS), again=again).outcome == "regression"
    assert caught >= 0.9 * TRIALS


def test_a_lone_slow_cell_may_be_chance_until_it_is_measured_again() -> None:
    rng = np.random.default_rng(13)
    base, run = planted.run_of(rng, "a", CELLS), planted.run_of(rng, "b", CELLS, {17: 1.2})
    alone = gate(run, base)
    assert (alone.outcome, alone.why_not_again) == ("undecided", None)
    for outcome, slow in (("pass", {}), ("regression", {17: 1.2}), ("pass", {3: 2.0})):
        assert gate(run, base, again=planted.run_of(rng, "c", CELLS, slow)).outcome == outcome, slow
    spread = planted.source("b", [planted.cell(i, [8.5e-6, 14.5e-6] * 4 if i == 3 else [1e-5] * 8) for i in range(50)])
    assert suspects_of(gate(spread, base).comparison) == {3}
    changed = gate(spread, base, again=planted.run_of(rng, "c", CELLS, dict.fromkeys(range(CELLS), 1.3)))
    assert (changed.outcome, "(c) is not used: all short calls" in changed.notes[0]) == ("pass", True)
    clear = [gate(planted.run_of(rng, "b", CELLS, slow), base) for slow in ({17: 1.2, 3: 1.2}, {17: 1.6})]
    assert {judged.outcome for judged in clear} == {"regression"}


def test_a_run_that_does_not_pass_is_measured_again_on_its_own_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    machine = {**planted.MACHINE, "host": "here"}
    words = ["gate", str(planted.folder(tmp_path / "run", 3, {1: 1.5}, machine=machine))]
    words += ["--baseline", str(planted.folder(tmp_path / "base", 1))]
    for host, day, slow, code, why in (
        ("here", 5, {}, 0, ""),
        ("here", 6, {1: 1.5}, 1, ""),
        ("here", 2, {}, 1, "run-again: is older"),
        ("other", 5, {}, 1, "run was measured on here; --again measures it here"),
    ):
        again = planted.folder(tmp_path / "run-again", day, slow)  # of another day before the run's: not used
        monkeypatch.setattr("platform.node", lambda host=host: host)
        assert exit_code(words) == code, (host, day)
        said = capfd.readouterr().err
        assert (why in said, "not measured again" in said) == (True, why != ""), said
        assert (exit_code([*words, "--no-again"]), "again" in capfd.readouterr().err) == (1, False)
        shutil.rmtree(again)


def test_what_is_measured_again_is_all_of_the_run_twice_in_another_order(tmp_path: Path) -> None:
    run, again = planted.folder(tmp_path / "run", 1, cells=9), tmp_path / "run-again"
    begin_again(run, again, 2, "2026-02-01T00:00:00+00:00")
    was, plan = read_plan(run / "plan.json"), read_plan(again / "plan.json")
    assert (plan.rounds, len({launch.seed for launch in plan.launches})) == (2 * was.rounds, 2 * len(was.launches))
    assert [launch.round for launch in plan.launches] == [n + 8 * more for more in (0, 1) for n in range(8)]
    assert all(sorted(launch.cells) == was.launches[0].cells != launch.cells for launch in plan.launches)


def test_what_a_pass_excludes_never_simply_passes() -> None:
    """Of one noisy cell that is 52 % slower, where a pass excludes 50 %, at most 5 in 100 pass."""
    rng = np.random.default_rng(4)
    passed = 0
    for _ in range(TRIALS):
        slow = planted.source("b", [planted.cell(0, planted.values(rng, 1.52, sd=0.2))])
        passed += gate(slow, planted.source("a", [planted.cell(0, planted.values(rng, sd=0.2))])).outcome == "pass"
    assert passed <= 0.07 * TRIALS  # 5 % and two standard deviations of the count


@pytest.mark.parametrize("factor", [1.2, 1 / 1.2])
def test_a_machine_that_changed_as_a_whole_is_one_line_and_undecided(factor: float) -> None:
    rng = np.random.default_rng(5)

    def run(name: str, time_ratio: float) -> RunSource:
        flag = Floor(name="flag", text="", time_s=1e-7 * time_ratio, interval=None, launches=8, reason=None)
        made = [planted.cell(i, planted.values(rng, time_ratio), floors=[flag]) for i in range(CELLS)]
        return planted.source(name, made)

    slow = run("b", factor)
    judged = gate(slow, run("a", 1.0))
    assert (judged.outcome, judged.exit_code, judged.open_kinds) == ("undecided", 3, ["shared"])
    text = render_gate(judged)
    assert "as a whole" in text
    assert "cell 3" not in text
    near = of_nearest([judged, gate(slow, run("c", factor))])
    assert (near.outcome, near.notes) == ("pass", ["Nearest of 2 baselines, by work without MPI: c."])


def disturbed(
    rng: np.random.Generator, name: str, slow: Mapping[int, float] | None = None, sd: float = 0.15
) -> RunSource:
    """A run in which other work slows down each cell by a factor of its own, which its launches share."""
    factors = np.exp(rng.normal(0, sd, CELLS))
    cells = [planted.cell(i, planted.values(rng, f * (slow or {}).get(i, 1.0))) for i, f in enumerate(factors)]
    return planted.source(name, cells)


def test_cells_that_other_work_disturbed_are_no_regressions() -> None:
    rng = np.random.default_rng(6)
    judged = [gate(disturbed(rng, "b"), planted.run_of(rng, "a", CELLS)) for _ in range(40)]
    assert sum(each.outcome == "regression" for each in judged) <= 4
    assert sum(each.outcome == "pass" for each in judged) <= 30, "each of 50 cells may hide a slowdown"
    caught = [gate(disturbed(rng, "b", {7: 3.0}, 0.08), planted.run_of(rng, "a", CELLS)) for _ in range(20)]
    assert sum(outcomes(each)[7] == "regression" for each in caught) >= 18


def test_one_slow_cell_among_many_noisy_ones_is_undecided() -> None:
    rng = np.random.default_rng(9)
    sd = [0.6] * 12 + [0.02] * (CELLS - 12)
    made = [planted.cell(i, planted.values(rng, 6.0 if i == 20 else 1.0, sd=sd[i])) for i in range(CELLS)]
    judged = gate(planted.source("b", made), planted.run_of(rng, "a", CELLS))
    assert (judged.outcome, outcomes(judged)[20]) == ("undecided", "undecided")
    assert "cell 20" in render_gate(judged)


def test_a_pass_names_the_few_cells_that_are_too_noisy() -> None:
    rng = np.random.default_rng(10)
    a, b = ([planted.cell(i, [1e-5, 3e-5] * 4 if i < 2 else planted.values(rng)) for i in range(CELLS)] for _ in "ab")
    judged = gate(planted.source("b", b), planted.source("a", a))
    assert (judged.outcome, outcomes(judged)[0], outcomes(judged)[1]) == ("pass", "noisy", "noisy")
    assert "Too noisy to tell: cell 0; cell 1." in render_gate(judged)


@pytest.mark.parametrize(("slowdown", "outcome"), [(1.3, "undecided"), (2.0, "regression")])
def test_few_launches_show_only_what_a_pass_excludes(slowdown: float, outcome: str) -> None:
    rng = np.random.default_rng(11)
    slow, base = (planted.run_of(rng, side, 5, {1: slowdown} if side == "b" else {}, launches=5) for side in "ba")
    assert gate(slow, base).outcome == outcome


def test_cells_that_take_a_tick_of_the_clock_in_each_launch_are_equal() -> None:
    rng = np.random.default_rng(12)
    a, b = (planted.source(side, [planted.cell(0, [50e-9] * 8), planted.cell(1, planted.values(rng))]) for side in "ab")
    assert outcomes(gate(b, a))[0] == "pass"
    for time_s, expected in ((60e-9, "pass"), (100e-9, "regression")):
        slower = planted.source("b", [planted.cell(0, [time_s] * 8), planted.cell(1, planted.values(rng))])
        assert outcomes(gate(slower, a))[0] == expected


@pytest.mark.parametrize("outcome", ["pass", "regression", "undecided"])
def test_a_gate_fits_twelve_lines(outcome: str) -> None:
    rng = np.random.default_rng(8)
    slow = dict.fromkeys(range(12), 2.0) if outcome == "regression" else {}
    launches = 4 if outcome == "undecided" else 8
    changes = {"kernel": "7", "host": "n2", "load": [9.0, 1, 1], "distribution": "other", "governor": "powersave"}
    run = planted.run_of(rng, "b", CELLS, slow, launches=launches, machine={**planted.MACHINE, **changes})
    judged = gate(run, planted.run_of(rng, "a", CELLS))
    lines = render_gate(judged).splitlines()
    assert (judged.outcome, len(lines) <= MOST_LINES) == (outcome, True)
    assert judged.why_not_again == ("a cell has 4 of 8 launches" if launches == 4 else None)
    assert max(map(len, lines)) <= 100


def test_what_the_run_lacks_is_missing_and_wrong_bytes_are_a_regression() -> None:
    rng = np.random.default_rng(7)
    base = planted.run_of(rng, "a", 3)
    fewer = gate(planted.run_of(rng, "b", 2), base)
    assert fewer.outcome == "undecided"
    assert [(uncompared.side, uncompared.label) for uncompared in fewer.comparison.uncompared] == [("a", "cell 2")]
    failed = [planted.cell(i, planted.values(rng)) for i in range(3)]
    failed[1] = replace(failed[1], status="failed", reason="crashed", metrics={})
    crashed = gate(planted.source("b", failed), base)
    assert [(uncompared.side, uncompared.label) for uncompared in crashed.comparison.uncompared] == [("b", "cell 1")]
    assert (crashed.outcome, crashed.why_not_again) == ("undecided", "the runs differ in what was measured")
    wrong = [planted.cell(i, planted.values(rng)) for i in range(3)]
    wrong[2] = replace(wrong[2], wrong_bytes=4)
    judged = gate(planted.source("b", wrong, machine={**planted.MACHINE, "processor": "Q"}), base)
    assert judged.outcome == "regression"
    assert [cell.label for cell in judged.wrong] == ["cell 2"]
    assert judged.why_not_again == "messages arrived with wrong bytes"
    more = gate(planted.run_of(rng, "b", 4), base)
    assert more.outcome == "undecided"  # a cell that is new was held against nothing
    assert [(uncompared.side, uncompared.label) for uncompared in more.comparison.uncompared] == [("b", "cell 3")]
    assert gate(planted.run_of(rng, "b", 4), base, accept=["incomplete"]).outcome == "pass"


# JUnit XML of a gate, read back as its readers read it.


NASTY = 'cell "1" <a|b> & \\ 50 %, x: y\x07'
SEEN = NASTY.replace("\x07", "\\u0007")


@pytest.fixture(scope="module")
def made() -> Gate:
    """A regression, one that is undecided, a pass, a missing cell, wrong bytes."""
    rng = np.random.default_rng(1)
    run = [planted.cell(i, planted.values(rng, 1.3 if i == 1 else 1.0, 3 if i == 2 else 8)) for i in range(4)]
    run[1], run[3] = replace(run[1], label=NASTY), replace(run[3], wrong_bytes=7)
    base = [planted.cell(i, planted.values(rng)) for i in range(5)]
    return gate(planted.source("run", run), planted.source("base", base))


def test_junit_has_the_shape_that_its_schema_asks_for(made: Gate) -> None:
    """Of Jenkins' junit-10.xsd: which elements stand where, which attributes they need, and counts that are right."""
    document = ElementTree.fromstring(render_junit(made))
    assert document.tag == "testsuites"
    (suite,) = document
    assert [child.tag for child in suite if child.tag != "testcase"] == ["properties", "system-out"]
    cases = suite.findall("testcase")
    for holder in (document, suite):
        assert int(holder.attrib["tests"]) == len(cases) == 3
        assert int(holder.attrib["failures"]) == len(suite.findall("testcase/failure")) == 2
        assert (holder.attrib["errors"], holder.attrib["skipped"]) == ("0", "0")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    for case in cases:
        assert set(case.attrib) == {"name", "classname"}
        assert [child.tag for child in case] in ([], ["failure", "system-out"], ["failure"])
    assert all({"name", "value"} == set(element.attrib) for element in suite.iter("property"))
    assert len({(case.attrib["classname"], case.attrib["name"]) for case in cases}) == len(cases)
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert {"message", "type"} == set(failure.attrib)
    assert SEEN in failure.attrib["message"]


@pytest.fixture(scope="module")
def gates(made: Gate) -> dict[str, Gate]:
    """Gates of every outcome."""
    base, few = planted.source("base", a_cell(1)), planted.source("few", a_cell(2, 4))
    return {
        "pass": gate(planted.source("passed", a_cell(2)), base),
        "undecided": gate(few, base),
        "regression": made,
    }


def a_cell(seed: int, launches: int = 8) -> list[CellResult]:
    return [planted.cell(0, planted.values(np.random.default_rng(seed), 1.0, launches))]


@pytest.mark.parametrize("undecided", ["undecided", "pass", "fail"])
def test_junit_says_what_the_exit_code_says(gates: dict[str, Gate], undecided: Undecided) -> None:
    """A reader shows failures as failed, skipped and empty test cases as fine: an undecided gate is one of them."""
    for name, judged in gates.items():
        suite = ElementTree.fromstring(render_junit(judged, undecided))[0]
        failures, skipped, tests = (int(suite.attrib[kind]) for kind in ("failures", "skipped", "tests"))
        assert (failures > 0) == (final_exit_code(judged.outcome, undecided) == 1), name
        assert tests == 1 or name == "regression"
        if judged.outcome == "undecided":
            assert (failures, skipped) == ((1, 0) if undecided == "fail" else (0, 1)), name
            message = next(suite.iter("failure" if undecided == "fail" else "skipped")).attrib["message"]
            assert "--rounds 16" in message, name


# References: runs that are kept.


def run_at(name: str, factor: float, **changes: Any) -> RunSource:
    launches = [1e-5 * factor * factor_ for factor_ in (0.999, 1.0, 1.001, 1.0, 0.999, 1.0, 1.001, 1.0)]
    return planted.source(name, [planted.cell(1, launches)], **changes)


def test_references_are_added_listed_loaded_and_removed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWPATH_DATA_DIR", str(tmp_path / "own"))
    monkeypatch.setattr("slowpath.analyse.references.data_folder", lambda name: tmp_path / "shipped")
    files = [tmp_path / f"r{number}.json" for number in range(3)]
    for number, file in enumerate(files):
        file.write_bytes(json_bytes(run_at(f"r{number}", 1.0 + 0.01 * number, started=None).results))
    for _ in range(2):  # the same run is kept once
        assert exit_code(["reference", "add", *map(str, files)]) == 0
    assert capfd.readouterr().out.splitlines()[0] == f"{tmp_path}/own/references/r0@n1.json.xz"
    slow = run_at("r0", 1.0, started=None).results
    files[0].write_bytes(json_bytes(replace(slow, verdict=replace(slow.verdict, faults=1))))
    assert exit_code(["reference", "add", str(files[0])]) == 0
    assert "has faults" in capfd.readouterr().err
    (tmp_path / "own/references/broken.json.xz").write_text("{")
    assert exit_code(["reference", "list"]) == 0
    listed = capfd.readouterr()
    assert listed.out.startswith(
        f"yours, in {tmp_path}/own/references:\nr0@n1  own; mpich 5.0.2; P, 2; 0 ranks, 1 times"
    )
    assert "\nSlowpath's, in " in listed.out
    assert "left out: " in listed.err
    assert "broken.json.xz: is damaged" in listed.err
    shipped = joined([reduced(run_at("ours", 2.0, campaign="ours").results, "shipped")])
    (tmp_path / "shipped").mkdir()
    (tmp_path / "shipped/mpich.json.xz").write_bytes(file_bytes(shipped))
    loaded = load_references()
    assert [(run.name, run.source) for run in loaded.runs] == [
        ("ours-20260101-000000", "shipped"), ("r0@n1", "own"), ("r1@n1", "own"), ("r2@n1", "own"),
    ]  # fmt: skip
    assert list(loaded.values.values()) == [[2e-5, 1e-5, 1.01e-5, 1.02e-5]]
    assert exit_code(["reference", "remove", "r0@n1", "unknown"]) == 2
    assert exit_code(["reference", "remove", "r0@n1"]) == 0
    assert [run.name for run in load_references().runs] == ["ours-20260101-000000", "r1@n1", "r2@n1"]


def test_what_is_no_reference(tmp_path: Path) -> None:
    for words, changes in {
        "its status is interrupted": {"status": "interrupted"},
        "it was imported": {"imported": True},
        "several MPIs": {"mpis": [planted.model.an_mpi(name=name) for name in ("mpich", "openmpi")]},
    }.items():
        with pytest.raises(UsageError, match=words):
            add_reference(run_at("new", 1.0, **changes).results, tmp_path)
    wrong = planted.source("new", [replace(planted.cell(1, [1e-5] * 8), wrong_bytes=1)])
    with pytest.raises(UsageError, match="wrong bytes"):
        add_reference(wrong.results, tmp_path)
    with pytest.raises(RecordError, match="nothing was measured"):
        add_reference(planted.source("new", []).results, tmp_path)


def test_shipped_references_can_be_read() -> None:
    tables, left_out = read_references(data_folder("references"))
    assert left_out == []
    assert all(run.source == "shipped" for table in tables for run in table.runs)
