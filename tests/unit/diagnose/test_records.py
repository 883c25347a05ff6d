# SPDX-License-Identifier: Apache-2.0
"""diagnosis.json comes back as it was, from this version and from older ones; text and page hold what matters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from made_results import finding, law, remedy, step
from msgspec.structs import replace

from slowpath.core.errors import RecordError
from slowpath.core.finding_results import SettingsWords
from slowpath.core.results import Snippet
from slowpath.diagnose.page.files import page
from slowpath.diagnose.page.text import render
from slowpath.diagnose.records import (
    FILE,
    SCHEMA,
    Diagnosis,
    DiagnosisStep,
    out_of_sentences,
    read_diagnosis,
    write_diagnosis,
)
from slowpath.diagnose.tasks import (
    AttributeTask,
    CombinedTask,
    RefineTask,
    RepeatTask,
    SingleTask,
    SurveyTask,
    TrialTask,
)

CMA = "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD"
LIMIT = 50020


@pytest.fixture
def made() -> Diagnosis:
    """One that proved a remedy and ran out of its budget."""
    proven = remedy(
        f"set {CMA}", "proven", (1.0, 0.9, 1.1), reason="it <moved>", snippet=Snippet(shell=f"export {CMA}=44519")
    )
    survey = DiagnosisStep(number=1, folder="01-survey", why="where?", estimate_s=1.0, task=SurveyTask(), wall_s=2.0,
                  summary="1 finding")  # fmt: skip
    return Diagnosis(
        schema=SCHEMA, slowpath="0", command=["slowpath"], started="now", budget_s=60.0, mpi="mpich 5.0.2",
        status="budget", spent_s=12.0, steps=[survey, step(2)],
        findings=[finding(law=law((LIMIT, LIMIT + 1)), remedies=[proven])], next=["more <of> it"],
    )  # fmt: skip


def test_the_file_comes_back(made: Diagnosis, tmp_path: Path) -> None:
    write_diagnosis(tmp_path, made)
    assert read_diagnosis(tmp_path) == made


def test_text_and_page_hold_what_matters(made: Diagnosis) -> None:
    text = render(made, "here")
    assert f"export {CMA}=44519" in text
    assert "removes 100 % [90, 100]" in text
    assert "exactly" in text
    html = page(made, {})
    assert "it &lt;moved&gt;" in html
    assert "more &lt;of&gt; it" in html
    assert "http://" not in html
    assert html.count("<script") == 1  # the buttons that copy: lines can be selected without it


def schema_1(kind: str, about: dict[str, Any], number: int = 1) -> dict[str, Any]:
    """A step as versions before schema 2 wrote it."""
    return {"number": number, "kind": kind, "folder": f"{number:02d}-{kind}", "why": "w", "estimate_s": 1.0,
            "about": about, "wall_s": 2.0, "said": "1 finding"}  # fmt: skip


def test_a_law_of_schema_2_is_read_by_its_name_of_today(tmp_path: Path) -> None:
    one = msgspec.to_builtins(finding(law=law((4, 5))))
    one["law"]["foretold"] = one["law"].pop("predicted")
    (tmp_path / FILE).write_text(json.dumps({
        "schema": 2, "slowpath": "0", "command": [], "started": "now", "budget_s": 60.0, "mpi": None,
        "status": "settled", "findings": [one],
    }))  # fmt: skip
    read = read_diagnosis(tmp_path)
    assert read.schema == SCHEMA
    assert read.findings[0].law == law((4, 5))


def test_a_file_of_schema_1_is_read_with_its_tasks_by_their_names_of_today(tmp_path: Path) -> None:
    where = {"finding": "SP013:00000000", "metric": "m", "phase": "steady"}
    switch = {"variable": CMA, "does": "d", "value": 5, "told_by": "MPI_T", "moved": 7, "limit": 4, "foretold": 6,
              "rising": True, "speaks": True, "set_by_user": False}  # fmt: skip
    trial = {"remedy": "r", "axis": "pages", "slow": "small", "remedied": "huge", "fast": None, "constant_s": None,
             "control": "c", "uncontrolled": None}  # fmt: skip
    case = {"finding": "f", "rule": "SP008", "remedy": "r", "others": ["o"], "links": ["environment"]}
    listed = [{"finding": "f", "rule": "SP009", "remedy": "r", "why": "w"}]
    snippet = {"shell": "unset X", "modulefile": None}
    together = {"cases": [case], "job": ["o"], "listed": listed, "snippet": snippet}
    one = msgspec.to_builtins(finding(law=law((4, 5)), remedies=[remedy("set X")]))
    one["law"]["brackets"][0] |= {"told": "it moved", "attributed_to": CMA}
    del one["remedies"][0]["text"], one["remedies"][0]["snippet"]  # a trial of a remedy that was not listed
    outcome = {
        "folder": "06-together", "job": ["o"], "listed": listed, "snippet": snippet, "reason": None,
        "side_effects": [{"where": "w", "ratio": 1.2, "interval": None, "verdict": "slower"}],
        "findings": [{"finding": "f", "rule": "SP008", "remedy": "r", "others": ["o"], "verdict": "keeps", "text": "t",
                      "ratio": 1.0, "interval": [0.9, 1.1], "pairs": 10, "as_it_is_s": 3.0, "alone_s": 1.0,
                      "together_s": 1.0}],
    }  # fmt: skip
    steps = [
        schema_1("survey", {}),
        schema_1("repeat", {"contrast": "c", "contrast_of": ["a", "b"]}, 2),
        schema_1("refine", where | {"covariate": "message_bytes", "above": 1.0, "up_to": 9.0, "exact": 4.0}, 3),
        schema_1("attribute", where | switch, 4),
        schema_1("trial", where | trial, 5),
        schema_1("together", together, 6),
    ]
    forced = [{"state": "single_copy_off", "name": "X", "value": "0"}]
    (tmp_path / FILE).write_text(json.dumps({
        "schema": 1, "slowpath": "0", "command": [], "started": "now", "budget_s": 60.0, "mpi": None,
        "status": "settled", "forced": forced, "steps": steps, "findings": [one], "together": outcome,
    }))  # fmt: skip
    read = read_diagnosis(tmp_path)
    tasks = [step.task for step in read.steps]
    assert tasks[:2] == [SurveyTask(), RepeatTask(contrast="c", sides=["a", "b"])]
    assert isinstance(tasks[2], RefineTask)
    assert tasks[2].exact_limit == 4.0
    assert isinstance(tasks[3], AttributeTask)
    assert (tasks[3].expected_bytes, tasks[3].value_source, tasks[3].is_main_limit) == (6, "MPI_T", True)
    assert isinstance(tasks[4], TrialTask)
    assert tasks[4].remedied == "huge"
    assert isinstance(tasks[5], CombinedTask)
    assert tasks[5].left_out[0].rule == "SP009"
    assert read.steps[5].folder == "06-together"
    assert read.steps[0].summary == "1 finding"
    assert read.findings[0].law is not None
    assert read.findings[0].law.brackets[0].attribution == "it moved"
    assert read.findings[0].remedies[0].text == "set X"
    assert read.forced[0].name == "X"
    assert read.combined is not None
    assert read.combined.findings[0].combined_s == 1.0
    write_diagnosis(tmp_path, msgspec.structs.replace(read, schema=SCHEMA))
    assert read_diagnosis(tmp_path) == msgspec.structs.replace(read, schema=SCHEMA)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not a diagnosis"),
        ('{"schema": 99}', "newer slowpath"),
        ('{"schema": 1}', "is not a diagnosis"),
        ('{"schema": 1, "steps": [{}]}', "is not a diagnosis"),
        ('{"schema": 1, "steps": 3}', "is not a diagnosis"),
    ],
)
def test_what_is_no_diagnosis_is_refused(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / FILE).write_text(content)
    with pytest.raises(RecordError, match=message):
        read_diagnosis(tmp_path)


def test_what_older_versions_wrote_in_sentences_alone_is_read_out_of_them_when_the_file_is(tmp_path: Path) -> None:
    asked = finding(
        "SP035",
        cause=None,
        title="Your own settings (UCX_TLS and 1 more) make messages slower",
        text="8 B messages with your settings (UCX_TLS and 1 more) are 2.00x slower than without any of your settings.",
        doubts=["varied alone, it had no effect: it needs another one as well, or it was a disturbance"],
    )
    proven = replace(
        asked.legs.proven, text="no remedy was tried in fresh interleaved pairs; run slowpath diagnose", untried=False
    )
    old = msgspec.to_builtins(replace(asked, legs=replace(asked.legs, proven=proven)))
    steps = [schema_1("single", {"factors": ["offset_bytes of the sender", "idle_s"]})]
    (tmp_path / FILE).write_text(json.dumps({
        "schema": 1, "slowpath": "0", "command": [], "started": "now", "budget_s": 60.0, "mpi": None,
        "status": "settled", "steps": steps, "findings": [old],
    }))  # fmt: skip
    read = read_diagnosis(tmp_path)
    (task,), (one,) = [step.task for step in read.steps], read.findings
    assert isinstance(task, SingleTask)
    assert task.parameters == ["offset_bytes", "idle_s"]
    assert one.legs.proven.untried
    assert one.not_alone
    words = SettingsWords(title="Your own settings", text="your settings", suspects=" (UCX_TLS and 1 more)")
    assert one.settings_words == words
    assert read_diagnosis(write_again(tmp_path, read)).findings == [one]
    plain = replace(one, title="a title", text="a text", doubts=[], not_alone=False, settings_words=None)
    assert out_of_sentences(plain) == plain


def write_again(folder: Path, diagnosis: Diagnosis) -> Path:
    write_diagnosis(folder, diagnosis)
    return folder
