# SPDX-License-Identifier: Apache-2.0
"""Every export, read back as the tools read it that it is for."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import planted_runs as planted
import pytest
from msgspec.structs import replace

from slowpath.compare.export import FORMATS, openmetrics, parse_exports, write_exports
from slowpath.compare.export.gate_formats import render_github_commands
from slowpath.compare.gate import Gate, Undecided, final_exit_code, flagged, gate, with_again
from slowpath.compare.read import RunSource
from slowpath.compare.remeasure import confirm
from slowpath.core.cell_results import CellResult
from slowpath.core.errors import EnvironmentFailure, UsageError
from support.change import change
from support.results import a_finding

NASTY = 'cell "1" <a|b> & \\ 50 %, x: y\x07'
SEEN = NASTY.replace("\x07", "\\u0007")
Made = tuple[Gate, RunSource]


@pytest.fixture(scope="module")
def made() -> Made:
    """A regression that fresh launches confirmed, one that is undecided, a pass, a missing cell, wrong bytes."""
    rng = np.random.default_rng(1)
    run = [planted.cell(i, planted.values(rng, 1.3 if i == 1 else 1.0, 3 if i == 2 else 8)) for i in range(4)]
    run[1], run[3] = replace(run[1], label=NASTY), replace(run[3], wrong_bytes=7)
    base = [planted.cell(i, planted.values(rng)) for i in range(5)]
    source = planted.source("run", run)
    found = gate(source, planted.source("base", base))
    fresh = {0: (planted.values(rng), planted.values(rng, 1.3))}
    return with_again(found, confirm(flagged(found), fresh, True, 0.05), "gate-1", ["a note"]), source


def text(made: Made, name: str) -> str:
    return FORMATS[name].render(*made, "undecided")


def test_the_fixture_holds_every_outcome(made: Made) -> None:
    assert {one.outcome for one in made[0].rows} == {"pass", "regression", "undecided"}
    assert made[0].wrong
    assert made[0].comparison.uncompared
    assert [one.kind for one in made[0].doubts] == ["incomplete", "incomplete"]


def test_junit_has_the_shape_that_its_schema_asks_for(made: Made) -> None:
    """Of Jenkins' junit-10.xsd: which elements stand where, which attributes they need, and counts that are right."""
    document = ElementTree.fromstring(text(made, "junit"))
    assert document.tag == "testsuites"
    (suite,) = document
    assert [child.tag for child in suite if child.tag != "testcase"] == ["properties", "system-out"]
    cases = suite.findall("testcase")
    for holder in (document, suite):
        assert int(holder.attrib["tests"]) == len(cases) == 8
        assert int(holder.attrib["failures"]) == len(suite.findall("testcase/failure")) == 2
        assert int(holder.attrib["errors"]) == len(suite.findall("testcase/error")) == 4  # two more: why
        assert holder.attrib["skipped"] == "0"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", suite.attrib["timestamp"])
    for case in cases:
        assert set(case.attrib) == {"name", "classname"}
        assert [child.tag for child in case] in (["failure", "system-out"], ["error"], ["error", "system-out"],
                                                 ["system-out"], ["failure"])  # fmt: skip
    assert all({"name", "value"} == set(one.attrib) for one in suite.iter("property"))
    assert len({(case.attrib["classname"], case.attrib["name"]) for case in cases}) == len(cases)
    failure = suite.find("testcase/failure")
    assert failure is not None
    assert {"message", "type"} == set(failure.attrib)
    assert SEEN in failure.attrib["message"]


@pytest.fixture(scope="module")
def gates(made: Made) -> dict[str, Made]:
    """Gates of every outcome, and two that compare nothing, since the cell of both has no times in the run."""
    base = planted.source("base", a_cell(1))
    few, apart = planted.source("few", a_cell(2, 4)), planted.source("apart", [*a_failed_cell(), *a_cell(3, number=1)])
    passed = planted.source("passed", a_cell(2))
    return {
        "pass": (gate(passed, base), passed),
        "undecided": (gate(few, base), few),
        "regression": made,
        "uncompared": (gate(apart, base), apart),
        "nothing": (gate(apart, base, accept=["incomplete"]), apart),
    }


def a_failed_cell() -> list[CellResult]:
    return [replace(one, metrics={}) for one in a_cell(4)]


def a_cell(seed: int, launches: int = 8, number: int = 0) -> list[CellResult]:
    return [planted.cell(number, planted.values(np.random.default_rng(seed), 1.0, launches))]


@pytest.mark.parametrize("undecided", ["undecided", "pass", "fail"])
def test_junit_says_what_the_exit_code_says(gates: dict[str, Made], undecided: Undecided) -> None:
    """A reader shows failures and errors as failed, skipped and empty test cases as fine."""
    for name, (found, run) in gates.items():
        suite = ElementTree.fromstring(FORMATS["junit"].render(found, run, undecided))[0]
        failures, errors, tests = (int(suite.attrib[kind]) for kind in ("failures", "errors", "tests"))
        code = final_exit_code(found.outcome, undecided)
        assert tests > 0, name
        assert (failures + errors == 0) == (code == 0), name
        assert (failures > 0) == (code == 1), name
        if found.outcome == "undecided":
            assert {"undecided": errors, "fail": failures, "pass": int(suite.attrib["skipped"])}[undecided] > 0, name


def test_accepted_gaps_of_a_run_are_skipped() -> None:
    base = planted.source("base", [*a_cell(1), *a_cell(2, number=1)])
    run = planted.source("run", a_cell(3))
    found = gate(run, base, accept=["incomplete"])
    assert found.outcome == "pass"
    suite = ElementTree.fromstring(FORMATS["junit"].render(found, run, "undecided"))[0]
    assert (suite.attrib["errors"], suite.attrib["skipped"]) == ("0", "1")


def test_openmetrics_follows_the_text_format(made: Made) -> None:
    lines = text(made, "openmetrics").splitlines()
    assert lines[-1] == "# EOF"
    family, seen = "", set()
    label = r'[a-z_]+="(?:[^"\\\n]|\\["\\n])*"'
    for line in lines[:-1]:
        if line.startswith("# TYPE "):
            family = line.split()[2]
            assert line == f"# TYPE {family} gauge"
            assert family not in seen
            seen.add(family)
        elif line.startswith("# UNIT "):
            assert family.endswith("_" + line.split()[3])
        elif not line.startswith(f"# HELP {family} "):
            found = re.fullmatch(rf"{family}\{{{label}(?:,{label})*\}} (\S+)", line)
            assert found, line
            float(found[1])
    assert {"slowpath_value_seconds", "slowpath_against_baseline_ratio", "slowpath_gate"} < seen


def test_every_sample_says_where_it_is_from(made: Made) -> None:
    found, run = made
    machine = {**run.run.machine, "host": "n1"}
    dated = replace(run.run, machine=machine, started="2026-01-31T12:00:00+01:00", campaign="checkup")
    here = replace(run, results=replace(run.results, run=dated))
    slow = [a_finding("SP008", ratio=3.0)]
    texts = [
        openmetrics.render(found, here),
        openmetrics.render_run(here, slow),
        openmetrics.render_comparison(found.comparison, here),
    ]
    for one in texts:
        samples = [line for line in one.splitlines() if not line.startswith("#")]
        assert samples
        assert all('campaign="checkup",host="n1",date="2026-01-31"}' in line for line in samples)
        assert one.endswith("# EOF\n")
    assert 'slowpath_finding_ratio{rule="SP008",' in texts[1]
    assert "slowpath_against_baseline_ratio{" in texts[2]
    undated = replace(run, results=replace(run.results, run=replace(dated, started=None, machine={})))
    assert "date=" not in openmetrics.render_run(undated, [])


def test_openmetrics_is_read_by_the_reference_parser(made: Made) -> None:
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    families = {one.name: one for one in parser.text_string_to_metric_families(text(made, "openmetrics"))}
    values = {s.labels["cell"]: s.value for s in families["slowpath_value_seconds"].samples}
    assert values[SEEN] == made[1].results.cells[1].metrics[planted.METRIC].phases["steady"].value
    state = {s.labels["outcome"]: s.value for s in families["slowpath_gate"].samples}
    assert state == {"pass": 0.0, "regression": 1.0, "undecided": 0.0}


def test_bencher_metric_format(made: Made) -> None:
    found = json.loads(text(made, "bencher"))
    assert len(found) == 4
    for measures in found.values():
        assert set(measures) == {f"{planted.METRIC}.steady"}
        for one in measures.values():
            assert set(one) == {"value", "lower_value", "upper_value"}
            assert one["lower_value"] <= one["value"] <= one["upper_value"]


def test_a_value_without_interval_has_no_bounds() -> None:
    single = planted.cell(0, [1e-5])
    change(single.metrics[planted.METRIC].phases["steady"], interval=None)
    run = planted.source("run", [single])
    found = gate(run, planted.source("base", [planted.cell(0, [1e-5])]))
    assert json.loads(FORMATS["bencher"].render(found, run, "undecided"))["cell 0"][
        f"{planted.METRIC}.steady"
    ].keys() == {"value"}
    assert "range" not in json.loads(FORMATS["action-benchmark"].render(found, run, "undecided"))[0]
    assert "slowpath_low" not in FORMATS["openmetrics"].render(found, run, "undecided")


def test_github_action_benchmark(made: Made) -> None:
    found = json.loads(text(made, "action-benchmark"))
    assert len(found) == len({one["name"] for one in found}) == 4
    for one in found:
        assert set(one) == {"name", "unit", "value", "range", "extra"}
        assert isinstance(one["value"], float)
        assert all(isinstance(one[key], str) for key in ("name", "unit", "range", "extra"))
        assert one["range"].startswith("± ")


def test_undecided_cells_of_one_reason_are_one_annotation() -> None:
    """59 of them were 59 warnings, among which nobody finds a regression."""
    rng = np.random.default_rng(1)
    run = [planted.cell(i, planted.values(rng, 1.0, 3)) for i in range(59)]
    base = [planted.cell(i, planted.values(rng, 1.0, 3)) for i in range(59)]
    found = gate(planted.source("run", run), planted.source("base", base))
    assert sum(judged.outcome == "undecided" for judged in found.rows) == 59
    lines = [line for line in render_github_commands(found).splitlines() if "more cells" in line]
    assert len(lines) == 1
    assert "and 58 more cells" in lines[0]


def test_github_summary_and_annotations(made: Made) -> None:
    summary = text(made, "github-summary")
    assert summary.startswith("## ")
    assert "<a" not in summary
    rows = [line for line in summary.splitlines() if line.startswith("|")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}
    lines = render_github_commands(made[0]).splitlines()
    assert all(re.match(r"::(error|warning|notice) title=slowpath gate::\S", line) for line in lines)
    assert sum(line.startswith("::error") for line in lines) == 3  # a regression, wrong bytes, the gate
    assert any("50 %25, x: y" in line for line in lines)


def test_exports_are_files_and_a_summary_is_appended(made: Made, tmp_path: Path) -> None:
    words = [f"{name}={tmp_path / name}" for name in FORMATS]
    for _ in range(2):
        write_exports(parse_exports(words), *made)
    for name in FORMATS:
        times = 2 if name == "github-summary" else 1
        assert (tmp_path / name).read_text() == times * text(made, name)


@pytest.mark.parametrize("word", ["junit", "junit=", "pdf=x", "=x", ""])
def test_an_export_that_is_none(word: str) -> None:
    with pytest.raises(UsageError, match="junit, github-summary"):
        parse_exports([word])


def test_a_file_that_can_not_be_written(made: Made, tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="cannot be written"):
        write_exports(parse_exports([f"junit={tmp_path / 'no' / 'x'}"]), *made)
