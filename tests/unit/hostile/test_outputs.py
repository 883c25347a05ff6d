# SPDX-License-Identifier: Apache-2.0
"""Words that act, in every place of a document that takes words: in no output does one of them act."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import planted_runs
import pytest
from msgspec.structs import replace

from slowpath.cli.main import exit_code
from slowpath.cli.script import ScriptRequest, job_script
from slowpath.compare.comparison import compare
from slowpath.compare.comparison_page import render_comparison_html
from slowpath.compare.comparison_text import (
    render_comparison,
    render_comparison_brief,
    render_csv,
    render_gate,
)
from slowpath.compare.gate import Gate, gate
from slowpath.compare.junit import render_junit
from slowpath.compare.read import RunSource
from slowpath.compare.reference import hold, render_reference
from slowpath.core.results import Results
from slowpath.diagnose.page import files, text
from slowpath.mpi.batch_systems import SCRIPTED, script_for
from slowpath.plan.campaign import load
from slowpath.record.folder import read_run, write_run
from slowpath.report.numbers import text as numbers
from slowpath.report.put.study_table import study_csv, study_markdown, study_rows
from slowpath.report.trace import Span, Trace, TraceThread, write_trace
from slowpath.report.write import write_all
from support import checkup, diagnosed, report_studies
from support.hostile import ATTACK, controls_in, planted

FORGED = "PASS, said the label"
WORDS = f"{ATTACK}\n{FORGED} "
FORMULAS = ("=", "+", "-", "@", "\t", "\r")
DOCUMENTS = (checkup.results, checkup.imported, report_studies.put_results, report_studies.cannon_results)


@cache
def sources() -> tuple[RunSource, ...]:
    """Twenty launches of three cells, twice, the second with a slower cell."""
    rng = np.random.default_rng(1)
    about = {"started": "2026-03-01T00:00:00+00:00", "launches": 20}
    runs = [planted_runs.run_of(rng, name, 3, {1: factor}, **about) for name, factor in (("a", 1.0), ("b", 1.3))]
    return tuple(replace(one, results=planted(one.results, WORDS)) for one in runs)


def a_gate() -> Gate:
    """A regression."""
    return gate(sources()[1], sources()[0])


def tables() -> str:
    results = planted(checkup.results(), WORDS)
    return numbers.as_text(results, numbers.tables_of(results))


def a_diagnosis() -> str:
    return text.render(planted(diagnosed.diagnosis()[0], WORDS), f"folder{WORDS}")


def a_diagnosis_page() -> str:
    found, runs = diagnosed.diagnosis()
    return files.page(planted(found, WORDS), {name: planted(one, WORDS) for name, one in runs.items()})


LINES: dict[str, Callable[[], str]] = {
    "comparison": lambda: render_comparison(compare(*sources(), 0.03)),
    "comparison, brief": lambda: render_comparison_brief(compare(*sources(), 0.03)),
    "gate": lambda: render_gate(a_gate()),
    "reference": lambda: render_reference(hold(sources()[1], [sources()[0]] * 6, 0.05)),
    "tables": tables,
    "diagnosis": a_diagnosis,
    "diagnosis, brief": lambda: text.render_brief(planted(diagnosed.diagnosis()[0], WORDS), f"folder{WORDS}"),
}
OTHERS: dict[str, Callable[[], str]] = {
    "comparison.csv": lambda: render_csv(compare(*sources(), 0.03)),
    "comparison.html": lambda: render_comparison_html(compare(*sources(), 0.03), *(one.results for one in sources())),
    "diagnosis.html": a_diagnosis_page,
    "junit": lambda: render_junit(a_gate()),
}


def assert_no_formula(table: str) -> None:
    for row in csv.reader(io.StringIO(table, newline="")):
        for field in row:
            assert not field.startswith(FORMULAS) or field.replace("-", "", 1)[:1].isdigit(), field[:40]


@pytest.mark.parametrize("name", LINES)
def test_no_line_acts_and_none_is_forged(name: str) -> None:
    said = LINES[name]()
    assert controls_in(said) == set()
    assert not any(line.startswith(FORGED) for line in said.splitlines())
    if name not in ("reference", "diagnosis"):  # their own words alone, or wrapped ones
        assert "\\u001b" in said, "the words were planted where nobody sees them"


@pytest.mark.parametrize("name", OTHERS)
def test_no_control_is_in_any_other_output(name: str) -> None:
    assert controls_in(OTHERS[name]()) == set()


@pytest.mark.parametrize("make", DOCUMENTS)
def test_no_control_is_in_any_file_of_a_run(make: Callable[[], Results], tmp_path: Path) -> None:
    for path in write_all(tmp_path, planted(make(), WORDS)):
        content = path.read_bytes().decode()
        assert controls_in(content) == set(), path.name
        if path.suffix == ".csv":
            assert_no_formula(content)
        if path.name == "report.txt":
            assert not any(line.startswith(FORGED) for line in content.splitlines())
        if path.name == "report.html":
            assert "<img src=x" not in content


def test_results_mean_what_they_did(tmp_path: Path) -> None:
    """Escaped as JSON escapes: whoever reads the file gets the words as they were."""
    results = planted(checkup.results(), "a\x9bb\u202e")
    write_all(tmp_path, results)
    assert (
        json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["cells"][0]["label"]
        == results.cells[0].label
    )


def test_comparisons_and_studies_have_no_formula_and_no_markup() -> None:
    assert_no_formula(OTHERS["comparison.csv"]())
    rows = study_rows(planted(report_studies.put_results(), WORDS))
    assert_no_formula(study_csv(rows))
    for acting in ("![i]", "[l](", "<img", " www.e.x"):
        assert acting not in study_markdown(rows)


def test_xml_is_read() -> None:
    found = ElementTree.fromstring(OTHERS["junit"]())
    assert not [one for one in found.iter() if str(one.tag).endswith(("img", "script"))]


@pytest.mark.parametrize("name", SCRIPTED)
def test_a_title_is_one_line_of_a_job_script(name: str) -> None:
    campaign = replace(load("checkup"), title="t\nrm -rf ~ \x1b[2J")  # a file with such a title is refused, too
    script = job_script(campaign, script_for(name), ScriptRequest(campaign="a b; c", slowpath=["slowpath"], minutes=1))
    assert controls_in(script) == set()
    assert "# t\\u000arm -rf ~ \\u001b[2J\n" in script
    assert "'a b; c'" in script


def test_names_in_traces_have_no_control(tmp_path: Path) -> None:
    trace = Trace(f"run{ATTACK}", None, [TraceThread(0, f"n{ATTACK}", None, [Span(f"s{ATTACK}", 0, 9)])])
    content = write_trace(trace, tmp_path / "t").read_bytes()
    assert b"u001b]52" in content
    for acting in (b"\x1b]52", b"\x1b[2J", "\x9b2J".encode(), "\u202e".encode()):
        assert acting not in content


@pytest.mark.parametrize("command", [
    ["report"], ["report", "--json"], ["compare", "{other}"], ["table"], ["trace"], ["summary"],
    ["history"],
])  # fmt: skip
def test_no_command_on_a_folder_prints_a_control(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    folders = [planted_runs.folder(tmp_path / "runs" / name, seed, launches=2) for seed, name in enumerate("ab")]
    for folder in folders:
        info = read_run(folder)
        machine = {**info.machine, "host": f"n{WORDS}".replace("\udc9b", "")}
        write_run(folder, replace(info, title=f"T{ATTACK}".replace("\udc9b", ""), machine=machine))
    name, *options = (word.format(other=folders[1]) for word in command)
    where = folders[0].parent if name == "history" else folders[0]
    exit_code([name, str(where), *options])
    out, err = capsys.readouterr()
    assert out + err
    assert controls_in(out + err) == set()
    assert "this is a defect" not in err
