# SPDX-License-Identifier: Apache-2.0
"""A finding about the user's settings with the responsible ones named, and what a trial then takes away. Pure."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Collection, Sequence

from msgspec.structs import replace

from slowpath.core.results import Finding, Leg, RemedyResult, Snippet
from slowpath.diagnose.user_states import FORCED_STATES
from slowpath.findings.finding import legs_missing
from slowpath.findings.slow_path import Remedy, modulefile_lines, of_environment, shell_lines
from slowpath.mpi.own_settings import OwnSetting, without
from slowpath.mpi.settings import Forced
from slowpath.slowpaths.registry import codes_refined_by

AND = " and "
Sets = Sequence[Sequence[OwnSetting]]  # any one of them will do


MOST_SUSPECTS = 3  # in one sentence


def suspected(finding: Finding, settings: Sequence[OwnSetting]) -> Finding:
    """A finding about settings with all that it may be about named, and no cause. Others as they are."""
    if finding.rule not in codes_refined_by("settings") or not settings:
        return finding
    more = f" and {len(settings) - MOST_SUSPECTS} more" if len(settings) > MOST_SUSPECTS else ""
    return _with_suspects(finding, f" ({', '.join(one.name for one in settings[:MOST_SUSPECTS])}{more})")


def unconfirmed(finding: Finding) -> Finding:
    """A finding about settings out of a survey: no fault before launches of its own show it again. Others as they are.

    In the survey launches with the user's settings hold all cells, and those without them few: what went before a
    message differs as well (findings.difference.are_of_two_kinds has a case of 6x). And of 10 contrasts of the same
    few launches noise makes one slower in 1 to 2 of 100 diagnoses (tests/unit/diagnose/test_settings_noise.py).
    """
    return replace(finding, needs_cause=True) if finding.rule in codes_refined_by("settings") else finding


def named_if_only(finding: Finding, settings: Sequence[OwnSetting]) -> Finding:
    """A finding about settings with the only one that there is as its cause; else with its suspects."""
    if finding.rule not in codes_refined_by("settings") or len(settings) != 1:
        return suspected(finding, settings)
    return named(finding, [settings], [only_words(settings[0])])


def only_words(setting: OwnSetting) -> str:
    """Evidence where there is nothing to choose from."""
    return f"{setting.words} is the only setting that was unset"


def _with_suspects(finding: Finding, suspects: str) -> Finding:
    """The finding with these words behind those for the user's settings, in place of what stood there."""
    words = finding.settings_words
    if words is None:
        return finding
    return replace(
        finding,
        title=finding.title.replace(f"{words.title}{words.suspects}", f"{words.title}{suspects}", 1),
        text=finding.text.replace(f"{words.text}{words.suspects}", f"{words.text}{suspects}", 1),
        settings_words=replace(words, suspects=suspects),
    )


def named(finding: Finding, sets: Sets, evidence: Sequence[str], own_id: bool = True) -> Finding:
    """The finding with its cause.

    Args: sets: of responsible settings.  evidence: what showed it.  own_id: False: one of several made of a finding.
    """
    words = AND.join(one.words for some in sets for one in some)
    names = AND.join(one.name for some in sets for one in some)
    many = sum(len(some) for some in sets) > 1
    cause = f"{words} {'make' if many else 'makes'} messages slower{_how(sets)}."
    shown = Leg(state="shown", text="taking settings away leaves it alone", evidence=list(evidence))
    legs = replace(finding.legs, explained=shown)
    digest = hashlib.sha256(f"{finding.id}\n{names}".encode()).hexdigest()[:8]
    finding = _with_suspects(finding, "")
    own = finding.settings_words
    return replace(
        finding,
        id=finding.id if own_id else f"{finding.rule}:{digest}",
        text=finding.text if own is None else finding.text.replace(own.text, words, 1),
        settings_words=None,
        status="explained",
        cause=cause,
        hypotheses=[],
        legs=legs,
        missing=legs_missing(legs),
        remedies=[_listed(some) for some in sets],
        next=["try each remedy alone in interleaved pairs, with a control"],
    )


def _how(sets: Sets) -> str:
    if len(sets) > 1:
        return ", together: unsetting either one is enough"
    return ", each: both have to go" if len(sets[0]) == 2 else ", each: all have to go" if len(sets[0]) > 2 else ""


def remedy_name(settings: Sequence[OwnSetting]) -> str:
    """`unset A and B`, lines of files alike."""
    return "unset " + AND.join(setting.name for setting in settings)


def _text(settings: Sequence[OwnSetting]) -> str:
    reported = [
        f"Delete line {setting.line} of {setting.file} ({setting.name})" for setting in settings if setting.file
    ]
    names = [setting.name for setting in settings if not setting.file]
    return "; ".join([*([f"Unset {', '.join(names)}"] if names else []), *reported]) + "."


def _listed(settings: Sequence[OwnSetting]) -> RemedyResult:
    names = [setting.name for setting in settings if not setting.file]
    lines = [f"sed -i '{setting.line}s/^/# /' {shlex.quote(setting.file)}" for setting in settings if setting.file]
    shell = "\n".join([*filter(None, [shell_lines({}, names)]), *lines])
    return RemedyResult(
        name=remedy_name(settings),
        text=_text(settings),
        phrase=f"an environment without {', '.join(setting.name for setting in settings)}",
        snippet=Snippet(shell=shell or None, modulefile=modulefile_lines({}, names)),
        removed_ratio=None,
        side_effects=["whatever the setting was made for"],
        verdict="not tried",
        reason="no trial was run",
        own_settings=[setting.name for setting in settings],
    )


def remedies_of(finding: Finding, settings: Sequence[OwnSetting]) -> list[Remedy]:
    """What a trial takes away, for the settings that the finding names.

    Args: settings: all that can be taken away.
    """
    if finding.rule not in codes_refined_by("settings"):
        return []
    by_name = {setting.name: setting for setting in settings}
    found = []
    for listed in finding.remedies:
        gone = [by_name[name] for name in listed.own_settings if name in by_name]
        if not gone or len(gone) != len(listed.own_settings):
            continue
        bare = without(settings, gone)
        found.append(of_environment(listed, bare.variables, bare.unset))
    return found


def responsible(finding: Finding) -> set[str]:
    """Names of the settings that a named finding is about; empty where none is named."""
    return {name for remedy in finding.remedies for name in remedy.own_settings}


def without_unread(
    findings: Sequence[Finding], unread: Collection[str], settings: Sequence[OwnSetting]
) -> list[Finding]:
    """Findings less those that name a setting which nobody reads, and less those about settings of which nobody reads
    any: what can change nothing is no cause. A trial that toggled the setting alone knows more than what a library
    lists: MPICH reads names that its MPI_T does not.

    Args: settings: all that can be taken away.
    """
    about, idle = codes_refined_by("settings"), frozenset(unread)
    none_is_read = bool(settings) and all(one.name in idle for one in settings)

    def is_kept(finding: Finding) -> bool:
        if finding.rule not in about or finding.status == "proven":
            return True
        return not (none_is_read or responsible(finding) & idle)

    return [finding for finding in findings if is_kept(finding)]


def without_twins(findings: Sequence[Finding], forced: Sequence[Forced]) -> list[Finding]:
    """Findings less those about settings that another rule names already, by the state that they force."""
    kept = list(findings)
    for finding in findings:
        names = responsible(finding) if finding.rule in codes_refined_by("settings") else set[str]()
        twin = next((other for other in kept if names and names <= forcing(other, forced)), None)
        if twin is not None:
            kept = [_with(other, finding) if other is twin else other for other in kept if other is not finding]
    return kept


def forcing(finding: Finding, forced: Sequence[Forced]) -> set[str]:
    """Names of the user's variables that force the state that a finding is about."""
    if not finding.affects_default:
        return set()
    return {one.name for one in forced if FORCED_STATES.get(finding.rule) == one.state}


def _with(finding: Finding, twin: Finding) -> Finding:
    return replace(finding, merged=[*finding.merged, twin.id])
