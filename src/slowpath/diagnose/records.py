# SPDX-License-Identifier: Apache-2.0
"""diagnosis.json: what was done and what follows from it. Written after every step, so that nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from slowpath.core.decoding import DAMAGE, decoded, schema_in, why
from slowpath.core.diagnosis_folder import DIAGNOSIS_FILE, StepFolder
from slowpath.core.errors import RecordError
from slowpath.core.files import json_bytes, read_bytes, write_atomically
from slowpath.core.finding_results import SettingsWords
from slowpath.core.limits import FILE_BYTES, MOST_STEPS, Name, Text
from slowpath.core.result import Count, Interval, NotNegative, Number, Whole
from slowpath.core.results import Finding, SideEffect, Snippet, Verdict
from slowpath.diagnose.program import ProgramUse
from slowpath.diagnose.tasks import LeftOut, SingleTask, SurveyTask, Task
from slowpath.findings.least_seen import LeastSeen
from slowpath.mpi.forced import Forced
from slowpath.slowpaths.registry import codes_refined_by, known

Json = dict[str, Any]  # what a program of then wrote; its shape is checked when it is converted

_KINDS = {"together": "combined"}
_FIELDS: Mapping[str, Mapping[str, str]] = {
    "repeat": {"contrast_of": "sides"},
    "suspect": {"value": "value_bytes"},
    "refine": {"exact": "exact_limit"},
    "attribute": {
        "does": "effect",
        "value": "value_bytes",
        "told_by": "value_source",
        "moved": "moved_bytes",
        "limit": "limit_bytes",
        "foretold": "expected_bytes",
        "speaks": "is_main_limit",
    },
    "together": {"listed": "left_out"},
}


_RENAMED_IN_3: Mapping[str, str] = {"foretold": "predicted", "foretold_s": "predicted_s"}


def upgraded(diagnosis: Json) -> Json:
    """Return the same diagnosis in schema 3.

    Raises:
        KeyError, TypeError, AttributeError: it is no diagnosis.
    """
    in_schema_2 = diagnosis if diagnosis["schema"] == 2 else _schema_2(diagnosis)
    return {**_renamed_everywhere(in_schema_2), "schema": 3}


def _renamed_everywhere(value: Any) -> Any:
    if isinstance(value, dict):
        return {_RENAMED_IN_3.get(name, name): _renamed_everywhere(inner) for name, inner in value.items()}
    return [_renamed_everywhere(inner) for inner in value] if isinstance(value, list) else value


def _schema_2(diagnosis: Json) -> Json:
    outcome = diagnosis.pop("together", None)
    return {
        **diagnosis,
        "schema": 2,
        "steps": [_step(one) for one in diagnosis.get("steps", ())],
        "findings": [_finding(one) for one in diagnosis.get("findings", ())],
        "combined": None if outcome is None else _combined(outcome),
    }


def _step(step: Json) -> Json:
    kind = step.pop("kind")
    task = _renamed(step.pop("about", {}), _FIELDS.get(kind, {}))
    return {**_renamed(step, {"said": "summary"}), "task": {"kind": _KINDS.get(kind, kind), **task}}


def _finding(finding: Json) -> Json:
    law = finding["law"]
    if law is not None:
        law = {**law, "brackets": [_renamed(one, {"told": "attribution"}) for one in law["brackets"]]}
    remedies = [{"text": one["name"], "snippet": {}, **one} for one in finding["remedies"]]
    return {**finding, "law": law, "remedies": remedies}


def _combined(outcome: Json) -> Json:
    findings = [_renamed(one, {"together_s": "combined_s"}) for one in outcome["findings"]]
    return {**_renamed(outcome, {"listed": "left_out"}), "findings": findings}


def _renamed(fields: Json, names: Mapping[str, str]) -> Json:
    return {names.get(name, name): value for name, value in fields.items()}


SCHEMA = 3
FILE = DIAGNOSIS_FILE

Status = Literal["running", "settled", "named", "budget", "interrupted"]


class DiagnosisStep(msgspec.Struct, frozen=True, kw_only=True):
    """One run of the diagnosis. wall_s, summary (what came out, one line): None until it is over.

    launches_left_out: of a survey that its share of the budget ended.
    """

    number: Whole
    folder: StepFolder
    why: Text
    estimate_s: NotNegative
    task: Task
    wall_s: NotNegative | None = None
    summary: Text | None = None
    launches_left_out: Count = 0


class CombinedFinding(msgspec.Struct, frozen=True, kw_only=True):
    """A finding under all remedies. ratio: of the time with all over that with its own alone; times are medians."""

    finding: str
    rule: str
    remedy: str
    others: list[str]
    verdict: Literal["keeps", "loses", "undecided"]
    text: str
    ratio: Number | None = None
    interval: Interval | None = None
    pairs: Count = 0
    as_it_is_s: Number | None = None
    alone_s: Number | None = None
    combined_s: Number | None = None


class CombinedOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What proven remedies do all at once. snippet: None, with a reason, where not all of them can be recommended."""

    folder: str
    job: list[str]
    findings: list[CombinedFinding]
    side_effects: list[SideEffect]
    left_out: list[LeftOut]
    snippet: Snippet | None
    reason: str | None


class ScreenedSuspect(msgspec.Struct, frozen=True, kw_only=True):
    """An alternative that looked faster. cells, ratios: time as it is over time with it, of each, the most first."""

    name: Name
    cells: list[Name]
    ratios: list[Number]


class AlternativesOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a screening of the library's own choices showed.

    rows: alternatives that were measured alone.  failed: of those, alternative -> why no launch with it worked.
    slower: that slow down a cell by themselves.  suspects: that looked faster; findings are of fresh launches.
    left_out: alternative of this library -> why it can change nothing here.
    """

    rows: Whole
    failed: dict[Name, Text]
    slower: list[Name]
    suspects: list[ScreenedSuspect]
    left_out: dict[Name, Text]


class Diagnosis(msgspec.Struct, frozen=True, kw_only=True):
    """A whole diagnosis.

    status: named: no more than names was asked for; budget: stopped at it.  forced: variables of the user's that are
    known to force a slow state.  name_only: nothing is explained, refined or tried.  next: what would be measured next.
    combined: None: no two proven remedies were measured together.  verdict: by the judge of every run; None: nothing
    was measured yet, or an older version wrote it.
    only: rules and questions that were asked for; empty: all.  not_tried: remedies that can't help on this machine.
    program: that it is for; None: for no program in particular.
    own_settings: a line for each setting of the user's that is ignored, left in or otherwise worth one.
    paths: what carries messages, a line for each path, or why it is not known; empty: no launch was asked.
    least: what the survey would have decided, by its own spread; empty: an older version wrote it, or nothing has one.
    alternatives: None: the library's own choices were not screened.
    """

    schema: Whole
    slowpath: Name
    command: list[Text]
    started: Name
    budget_s: NotNegative
    mpi: Name | None
    status: Status = "running"
    finished: Name | None = None
    spent_s: NotNegative = 0.0
    forced: list[Forced] = []
    steps: Annotated[list[DiagnosisStep], Meta(max_length=MOST_STEPS)] = []
    findings: list[Finding] = []
    next: list[str] = []
    name_only: bool = False
    combined: CombinedOutcome | None = None
    verdict: Verdict | None = None
    only: list[str] = []
    not_tried: list[LeftOut] = []
    own_settings: list[Text] = []
    paths: list[Text] = []
    least: list[LeastSeen] = []
    program: ProgramUse | None = None
    alternatives: AlternativesOutcome | None = None

    @property
    def launches_left_out(self) -> int:
        """Of the survey, by its share of the budget."""
        return sum(step.launches_left_out for step in self.steps)


def survey_step(diagnosis: Diagnosis) -> DiagnosisStep | None:
    """The survey; the first step where there is none; None: there is no step."""
    surveys = (step for step in diagnosis.steps if isinstance(step.task, SurveyTask))
    return next(surveys, diagnosis.steps[0] if diagnosis.steps else None)


def write_diagnosis(folder: Path, diagnosis: Diagnosis) -> None:
    """Raises: EnvironmentFailure when the disk refuses."""
    write_atomically(folder / FILE, json_bytes(diagnosis))


def read_diagnosis(folder: Path) -> Diagnosis:
    """Of this schema or an older one.  Raises: RecordError: it is missing, damaged or from a newer version."""
    path = folder / FILE
    content = read_bytes(path, FILE_BYTES[FILE], within=folder)
    advice = "name a folder that slowpath diagnose wrote"
    schema = schema_in(content, path, SCHEMA, advice, "is not a diagnosis")
    if schema == SCHEMA:
        return _with_kinds(decoded(content, Diagnosis, path, advice, "is not a diagnosis"))
    try:
        return _with_kinds(msgspec.convert(upgraded(msgspec.json.decode(content)), Diagnosis))
    except (*DAMAGE, KeyError, TypeError, AttributeError, ValueError) as error:
        raise RecordError(f"{path}: is not a diagnosis: {why(error)}; {advice}") from error


def _with_kinds(diagnosis: Diagnosis) -> Diagnosis:
    """With what older versions did not write, or wrote in sentences alone."""
    return replace(
        diagnosis,
        steps=[replace(step, task=with_parameters(step.task)) for step in diagnosis.steps],
        findings=[out_of_sentences(_with_kind(finding)) for finding in diagnosis.findings],
    )


def _with_kind(finding: Finding) -> Finding:
    path = known(finding.rule)
    if finding.kind is not None or path is None:
        return finding
    return replace(finding, kind=path.kind, concerns=path.concerns)


# What older versions wrote in sentences alone. Nothing else reads a sentence.

_THEN_NOT_ALONE = "varied alone, it had no effect: it needs another one as well, or it was a disturbance"
_THEN_UNTRIED = "no remedy was tried in fresh interleaved pairs; run slowpath diagnose"
_THEN_SETTINGS = re.compile(r"(your (?:own )?settings)( \([^)]*\))?", re.IGNORECASE)


def with_parameters(task: Task) -> Task:
    """With the parameters of factors, which were the first words of their names."""
    if not isinstance(task, SingleTask) or task.parameters:
        return task
    return replace(task, parameters=list(dict.fromkeys(factor.partition(" ")[0] for factor in task.factors)))


def out_of_sentences(finding: Finding) -> Finding:
    """With fields for what its title, its text, its doubts and its leg say."""
    proven = finding.legs.proven
    untried = proven.untried or proven.text == _THEN_UNTRIED
    return replace(
        finding,
        legs=replace(finding.legs, proven=replace(proven, untried=untried)),
        not_alone=finding.not_alone or _THEN_NOT_ALONE in finding.doubts,
        settings_words=finding.settings_words or _settings_words(finding),
    )


def _settings_words(finding: Finding) -> SettingsWords | None:
    if finding.cause or finding.rule not in codes_refined_by("settings"):
        return None
    title, text = (_THEN_SETTINGS.search(sentence) for sentence in (finding.title, finding.text))
    if title is None or text is None or title[2] != text[2]:
        return None
    return SettingsWords(title=title[1], text=text[1], suspects=text[2] or "")
