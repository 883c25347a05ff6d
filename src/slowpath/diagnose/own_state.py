# SPDX-License-Identifier: Apache-2.0
"""What the first step finds of the user's own state: it speaks first, and later steps do not say it again. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from slowpath.core.results import Finding
from slowpath.diagnose.own_settings.named import forcing, responsible
from slowpath.diagnose.state import MeasuredStep, settings_of
from slowpath.diagnose.tasks import StateTask
from slowpath.findings.finding import by_cost
from slowpath.mpi.own_settings import removable
from slowpath.mpi.settings import Forced
from slowpath.slowpaths.registry import codes_refined_by

ASIDE_RATIO = 2.0  # times as slow as in a clean state, at least


def of_own_state(findings: Iterable[Finding], measured: Sequence[MeasuredStep]) -> list[Finding]:
    """Findings that the step about the user's own state made."""
    folders = {one.step.folder for one in measured if isinstance(one.step.task, StateTask)}
    return [finding for finding in findings if finding.run in folders]


def first_by_cost(findings: Iterable[Finding], measured: Sequence[MeasuredStep]) -> list[Finding]:
    """The user's own state first, then what costs most."""
    ordered = by_cost(findings)
    first = of_own_state(ordered, measured)
    return [*first, *(finding for finding in ordered if finding not in first)]


def set_aside(findings: Iterable[Finding], measured: Sequence[MeasuredStep]) -> tuple[str, ...]:
    """Names of the user's variables without which the survey and all behind it is measured: each was named as what
    makes everything slower by far, and no trial refuted it.

    Under such a setting one launch of the survey may take minutes, and would say of each cell what is known already.
    """
    found: dict[str, None] = {}
    for one in of_own_state(findings, measured):
        by_far = one.ratio is None or (one.interval is not None and one.interval[0] >= ASIDE_RATIO)
        if by_far and one.legs.proven.state != "refuted":
            found |= dict.fromkeys(sorted(responsible(one)) or _all_where_none_starts(one, measured))
    files = {setting.name for setting in settings_of(measured) if setting.file}
    return tuple(name for name in found if name not in files)


def _all_where_none_starts(finding: Finding, measured: Sequence[MeasuredStep]) -> list[str]:
    """All settings that can go, where no launch was measured with them: nothing else can be asked under them."""
    of_step = next((one.results for one in measured if one.step.folder == finding.run), None)
    slow = {cell.cell: cell for cell in of_step.cells} if of_step else {}
    has_times = any(slow[number].metrics for number in finding.slow_cells if number in slow)
    is_about = finding.rule in codes_refined_by("settings") and finding.ratio is None
    return [] if has_times or not is_about else [one.name for one in removable(settings_of(measured))]


def folded(first: Sequence[Finding], found: Sequence[Finding], forced: Sequence[Forced]) -> list[Finding]:
    """Findings of the own state and of a survey: what the survey says of the same cause is folded into the former."""
    kept, speaking = list[Finding](), list(first)
    for finding in found:
        place = next((number for number, own in enumerate(speaking) if _same(own, finding, forced)), None)
        if place is None:
            kept.append(finding)
        else:
            own = speaking[place]
            speaking[place] = replace(own, merged=list(dict.fromkeys([*own.merged, finding.id, *finding.merged])))
    return [*speaking, *kept]


def _same(own: Finding, other: Finding, forced: Sequence[Forced]) -> bool:
    """Whether another finding has the same cause: the same rule in one phase, or a state that the setting forces."""
    if own.rule == other.rule and own.phase == other.phase and own.axis == other.axis:
        return True
    names = responsible(own)
    return bool(names) and bool(forcing(other, forced)) and forcing(other, forced) <= names
