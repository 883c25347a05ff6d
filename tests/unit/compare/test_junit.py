# SPDX-License-Identifier: Apache-2.0
"""JUnit XML of a gate, read back as its readers read it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import planted_runs as planted
import pytest
from msgspec.structs import replace

from slowpath.compare.gate import Gate, Undecided, final_exit_code, gate
from slowpath.compare.views import render_junit
from slowpath.core.cell_results import CellResult

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


def test_the_fixture_holds_every_outcome(made: Gate) -> None:
    assert {judged.outcome for judged in made.rows} == {"pass", "regression", "undecided"}
    assert made.wrong
    assert made.comparison.uncompared
    assert [doubt.kind for doubt in made.doubts] == ["incomplete", "incomplete"]


def test_junit_has_the_shape_that_its_schema_asks_for(made: Gate) -> None:
    """Of Jenkins' junit-10.xsd: which elements stand where, which attributes they need, and counts that are right."""
    document = ElementTree.fromstring(render_junit(made))
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
def gates(made: Gate) -> dict[str, Gate]:
    """Gates of every outcome, and two that compare nothing, since the cell of both has no times in the run."""
    base = planted.source("base", a_cell(1))
    few, apart = planted.source("few", a_cell(2, 4)), planted.source("apart", [*a_failed_cell(), *a_cell(3, number=1)])
    return {
        "pass": gate(planted.source("passed", a_cell(2)), base),
        "undecided": gate(few, base),
        "regression": made,
        "uncompared": gate(apart, base),
        "nothing": gate(apart, base, accept=["incomplete"]),
    }


def a_failed_cell() -> list[CellResult]:
    return [replace(one, metrics={}) for one in a_cell(4)]


def a_cell(seed: int, launches: int = 8, number: int = 0) -> list[CellResult]:
    return [planted.cell(number, planted.values(np.random.default_rng(seed), 1.0, launches))]


@pytest.mark.parametrize("undecided", ["undecided", "pass", "fail"])
def test_junit_says_what_the_exit_code_says(gates: dict[str, Gate], undecided: Undecided) -> None:
    """A reader shows failures and errors as failed, skipped and empty test cases as fine."""
    for name, found in gates.items():
        suite = ElementTree.fromstring(render_junit(found, undecided))[0]
        failures, errors, tests = (int(suite.attrib[kind]) for kind in ("failures", "errors", "tests"))
        code = final_exit_code(found.outcome, undecided)
        assert tests > 0, name
        assert (failures + errors == 0) == (code == 0), name
        assert (failures > 0) == (code == 1), name
        if found.outcome == "undecided":
            assert {"undecided": errors, "fail": failures, "pass": int(suite.attrib["skipped"])}[undecided] > 0, name
