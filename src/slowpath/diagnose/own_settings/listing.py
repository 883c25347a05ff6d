# SPDX-License-Identifier: Apache-2.0
"""One line for each setting of the user's that needs one: ignored, left in, or helping. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from slowpath.core.results import ContrastResult, Results
from slowpath.core.units import format_bytes
from slowpath.diagnose.state import MeasuredStep, settings_of, survey_of
from slowpath.diagnose.tasks import SurveyTask
from slowpath.findings.facts import WITHOUT_USER
from slowpath.mpi.own_settings import OwnSetting, Value, is_unknown, removable, why_ignored, why_unread

OWN_WITNESSED = "default, witnessed"  # as the witness step calls the user's environment
_HELPS_FROM = 1.1  # times as long without


def lines(measured: Sequence[MeasuredStep], library: str) -> list[str]:
    """What is to be said of the settings, after these steps.  Args: library: name of the MPI."""
    settings = settings_of(measured)
    if not settings:
        return []
    task = survey_of(measured).step.task
    aside = task.aside if isinstance(task, SurveyTask) else []
    # What the library reads back was asked without those that were set aside.
    asked = [replace(setting, value=None) if setting.name in aside else setting for setting in settings]
    reported = list(_of_each(asked, library, _control_variables(measured), _unused(measured)))
    helps = _helps(survey_of(measured).results)
    return [*([helps] if helps else []), *reported]


def unread(measured: Sequence[MeasuredStep]) -> frozenset[str]:
    """Names of the user's settings that nobody reads, by all steps: none of them can be a cause."""
    settings = settings_of(measured)
    if not settings:
        return frozenset()
    library = survey_of(measured).results.run.mpi.name or "unknown"
    known, unused = _control_variables(measured), _unused(measured)
    names = (setting.name for setting in settings)
    return frozenset(name for name in names if why_unread(name, library, known, unused) is not None)


def _unused(measured: Sequence[MeasuredStep]) -> Mapping[str, str]:
    return survey_of(measured).results.run.mpi.unused_variables or {}


def _control_variables(measured: Sequence[MeasuredStep]) -> Mapping[str, Value]:
    """MPI_T's, of the first run that read any; their values where that was under the user's environment."""
    run = next((one.results.run for one in measured if one.results.run.mpi.control_variables), None)
    if run is None:
        return {}
    rows = run.mpi.control_variables or ()
    if not any(environment.name == OWN_WITNESSED for environment in run.environments):
        return {row.name: None for row in rows}
    return {row.name: (row.by_environment or {}).get(OWN_WITNESSED, row.value) for row in rows}


def _of_each(
    settings: Sequence[OwnSetting], library: str, control_variables: Mapping[str, Value], unused: Mapping[str, str]
) -> Iterator[str]:
    for setting in settings:
        ignored = why_ignored(setting, library, control_variables, unused)
        if ignored is not None:
            yield f"{setting.words}: {ignored}"
        elif setting.left_in is not None and setting.file:
            yield f"{setting.words}: left in: {setting.left_in}"
        elif setting.left_in is None and is_unknown(setting, library):
            yield f"{setting.words}: not known to be read by this library"
    names = [
        setting.name
        for setting in settings
        if setting.left_in is not None
        and not setting.file
        and why_unread(setting.name, library, control_variables, unused) is None
    ]
    if names:
        yield f"kept, because launches need them or they choose devices or code: {', '.join(names)}"
    yield f"taken away together: {len(removable(settings))}"


def _helps(survey: Results) -> str | None:
    """Where messages are faster with the settings, the clearest contrast."""
    sides = ((contrast, _without_over_with(survey, contrast)) for contrast in survey.contrasts)
    found = [(low, ratio, one) for one, (low, ratio) in sides if low > _HELPS_FROM]
    if not found:
        return None
    _, ratio, best = max(found, key=lambda row: row[0])
    length = survey.cell(best.b.cell).parameters.get("message_bytes")
    on = f" on {format_bytes(int(length))} messages" if length and length.isdecimal() else ""
    return f"your settings help: without them it takes {ratio:.2f}x{on}"


def _without_over_with(survey: Results, one: ContrastResult) -> tuple[float, float]:
    """How many times as long it takes without the settings: near end of the interval, and centre; 0: not compared."""
    decided = one.verdict in ("faster", "slower") and one.axis == "environment"
    if not decided or not one.ratio or not one.interval:
        return 0.0, 0.0
    a, b = (survey.cell(side.cell).environment for side in (one.a, one.b))
    if WITHOUT_USER not in (a, b):
        return 0.0, 0.0
    low, high = one.interval
    return (1 / high, 1 / one.ratio) if a == WITHOUT_USER else (low, one.ratio)
