# SPDX-License-Identifier: Apache-2.0
"""The user's own settings: what is said of each, what a finding about them names, and which of many it is. Pure."""

from __future__ import annotations

import dataclasses
import hashlib
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from msgspec.structs import replace

from slowpath.core.results import Finding, Leg, RemedyResult, Results, Snippet
from slowpath.core.units import format_bytes, ratio_words
from slowpath.diagnose.state import MeasuredStep, settings_of, survey_of
from slowpath.diagnose.tasks import StateTask, SurveyTask
from slowpath.findings.finding import by_cost, with_explained
from slowpath.findings.slow_path import Remedy, modulefile_lines, of_environment, shell_lines
from slowpath.mpi.own_settings import OwnSetting, Value, removable, why_ignored, without
from slowpath.slowpaths.registry import codes_refined_by
from slowpath.stats.contrast import ContrastEstimate, judge, paired
from slowpath.stats.estimate import Floats

# One line for each setting of the user's that needs one: ignored, left in, or helping.

OWN_WITNESSED = "default, witnessed"  # as the witness step calls the user's environment
_HELPS_FROM = 1.1  # times as long without


def lines(measured: Sequence[MeasuredStep], library: str) -> list[str]:
    """What is to be said of the settings, after these steps.  Args: library: name of the MPI."""
    settings = settings_of(measured)
    if not settings:
        return []
    task = survey_of(measured).step.task
    aside = task.aside if isinstance(task, SurveyTask) else []
    unused = survey_of(measured).results.run.mpi.unused_variables or {}
    known = _control_variables(measured)
    said = [helps for done in measured if isinstance(done.step.task, StateTask) for helps in _helps(done.results)]
    kept = list[str]()
    for setting in settings:
        # What the library reads back was asked without those that were set aside.
        asked = dataclasses.replace(setting, value=None) if setting.name in aside else setting
        ignored = why_ignored(asked, library, known, unused)
        if ignored is not None:
            said.append(f"{asked.words}: {ignored}")
        elif setting.left_in is not None and setting.file:
            said.append(f"{asked.words}: left in: {setting.left_in}")
        elif setting.left_in is not None:
            kept.append(setting.name)
    if kept:
        said.append(f"kept for launches: {', '.join(kept)}")
    return [*said, f"taken away together: {len(removable(settings))}"]


def _control_variables(measured: Sequence[MeasuredStep]) -> Mapping[str, Value]:
    run = next((done.results.run for done in measured if done.results.run.mpi.control_variables), None)
    if run is None:
        return {}
    rows = run.mpi.control_variables or ()
    if not any(environment.name == OWN_WITNESSED for environment in run.environments):
        return {row.name: None for row in rows}
    return {row.name: (row.by_environment or {}).get(OWN_WITNESSED, row.value) for row in rows}


def _helps(results: Results) -> Iterator[str]:
    """Where calls are faster with the settings, the clearest contrast."""
    faster = [
        (contrast.interval[1], contrast.ratio, contrast)
        for contrast in results.contrasts
        if contrast.verdict == "faster" and contrast.interval and contrast.ratio and contrast.axis == "environment"
    ]
    high, ratio, best = min(faster, key=lambda row: row[0], default=(1.0, 1.0, None))
    if best is not None and high < 1 / _HELPS_FROM:
        length = results.cell(best.b.cell).parameters.get("message_bytes")
        on = f" on {format_bytes(int(length))} messages" if length and length.isdecimal() else ""
        yield f"your settings help: without them, calls are {1 / ratio:.2f}x slower{on}"


# A finding about the user's settings with the responsible ones named, and what a trial then takes away.

AND = " and "
Sets = Sequence[Sequence[OwnSetting]]  # any one of them will do
MOST_SUSPECTS = 3  # in one sentence
_SETTINGS = re.compile(r"your settings(?: \([^)]*\))?")  # as SP035 and `suspected` have it


def is_about_settings(finding: Finding) -> bool:
    """Whether its rule compares the user's environment with one that lacks all settings."""
    return finding.rule in codes_refined_by("settings")


def suspected(finding: Finding, settings: Sequence[OwnSetting]) -> Finding:
    """A finding with all settings that it may be about."""
    more = f"{AND}{len(settings) - MOST_SUSPECTS} more" if len(settings) > MOST_SUSPECTS else ""
    names = ", ".join(setting.name for setting in settings[:MOST_SUSPECTS])
    return _about(finding, f"your settings ({names}{more})")


def _about(finding: Finding, words: str) -> Finding:
    return replace(finding, text=_SETTINGS.sub(lambda _: words, finding.text, count=1))


def only_words(setting: OwnSetting) -> str:
    """Evidence where there is nothing to choose from."""
    return f"{setting.words}: only setting"


def named(finding: Finding, sets: Sets, evidence: Sequence[str], own_id: bool = True) -> Finding:
    """The finding with its cause.

    Args: sets: of responsible settings.  evidence: what showed it.  own_id: False: one of several made of a finding.
    """
    words = AND.join(setting.words for some in sets for setting in some)
    digest = hashlib.sha256(f"{finding.id}\n{words}".encode()).hexdigest()[:8]
    shown = Leg(state="shown", text="without it calls are fast again", evidence=list(evidence))
    cause = f"{words} {'make' if sum(map(len, sets)) > 1 else 'makes'} messages slower{_how(sets)}."
    return replace(
        with_explained(_about(finding, words), shown, cause),
        id=finding.id if own_id else f"{finding.rule}:{digest}",
        status="explained",
        needs_cause=False,
        remedies=[_listed(some) for some in sets],
        next=["try each remedy: slowpath diagnose"],
    )


def _how(sets: Sets) -> str:
    if len(sets) > 1:
        return " together; unset either"
    return "; unset both" if len(sets[0]) == 2 else "; unset all" if len(sets[0]) > 2 else ""


def _listed(settings: Sequence[OwnSetting]) -> RemedyResult:
    names = [setting.name for setting in settings if not setting.file]
    of_files = [setting for setting in settings if setting.file is not None]
    text = [f"Unset {', '.join(names)}"] if names else []
    text += [f"Delete line {setting.line} of {setting.file} ({setting.name})" for setting in of_files]
    shell = [
        shell_lines({}, names),
        *(f"sed -i '{setting.line}s/^/# /' {shlex.quote(setting.file or '')}" for setting in of_files),
    ]
    return RemedyResult(
        name="unset " + AND.join(setting.name for setting in settings),
        text=f"{'; '.join(text)}.",
        phrase=f"an environment without {', '.join(setting.name for setting in settings)}",
        snippet=Snippet(shell="\n".join(filter(None, shell)) or None, modulefile=modulefile_lines({}, names)),
        removed_ratio=None,
        side_effects=[],
        verdict="not tried",
        reason="no trial was run",
        own_settings=[setting.name for setting in settings],
    )


def remedies_of(finding: Finding, settings: Sequence[OwnSetting]) -> Iterator[Remedy]:
    """What a trial takes away, for the settings that the finding names.

    Args: settings: all that can be taken away.
    """
    by_name = {setting.name: setting for setting in settings}
    for listed in finding.remedies if is_about_settings(finding) else ():
        if listed.own_settings and by_name.keys() >= set(listed.own_settings):
            bare = without(settings, [by_name[name] for name in listed.own_settings])
            yield of_environment(listed, bare.variables, bare.unset)


def responsible(finding: Finding) -> set[str]:
    """Names of the settings that a named finding is about; empty where none is named."""
    return {name for remedy in finding.remedies for name in remedy.own_settings}


# Which of many settings is responsible, by taking away sets of them: what to take away next, and what follows.
#
# A slowdown that goes without all settings goes without some smallest set of them. Parts of a set are taken away, all
# in one campaign, and the search goes on in one without which it is fast. Where no part is enough, parts are left in.

# What taking a set away does: the slowdown goes, remains, goes in part; no launch works; the times do not decide.
Outcome = Literal["gone", "stays", "partly", "failed", "unclear"]
Set = frozenset[int]
Seen = Mapping[Set, Outcome]

MOST_PARTS = 6  # of a set, that are taken away in one campaign


@dataclass(frozen=True)
class Responsible:
    """sets: each is as small as can be, and without any one of them it is as fast as without any setting. Two of them:
    it is slow only where both are there.
    """

    sets: tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class ToTry:
    """Sets to take away next, in one campaign.  again: they were tried, and noise hid the outcome."""

    sets: tuple[Set, ...]
    again: bool = False


class _Missing(Exception):
    """An outcome that the search needs and that is not there."""

    def __init__(self, sets: Sequence[Set], again: bool) -> None:
        super().__init__()
        self.to_try = ToTry(tuple(sets), again)


def search(count: int, seen: Seen) -> Responsible | ToTry:
    """What is responsible, or what to try.

    Args: count: of settings, 1 or more, without all of which the slowdown goes.  seen: set that was taken away ->
          outcome.
    """
    every = frozenset(range(count))
    known: dict[Set, Outcome] = {**seen, every: "gone", frozenset(): "stays"}
    try:
        return Responsible(tuple(tuple(sorted(positions)) for positions in _found(every, known)))
    except _Missing as missing:
        return missing.to_try


def _found(current: Set, known: Seen, most: int = MOST_PARTS) -> list[Set]:
    """The smallest parts of a set without which it is fast.  Args: most: parts of it.  Raises: _Missing."""
    if len(current) == 1:
        return [current]
    parts = [frozenset(sorted(current)[number::most]) for number in range(min(len(current), most))]
    if gone := _gone(parts, known):
        return [position for part in gone for position in _found(part, known)]
    if idle := [current - less for less in _gone([current - part for part in parts], known)]:
        left = current.difference(*idle)
        return _found(left if left and _gone([left], known) else current - idle[0], known)
    return [current] if most >= len(current) else _found(current, known, len(current))


def _gone(wanted: Sequence[Set], known: Seen) -> list[Set]:
    """Those without which it is fast.  Raises: _Missing: some are not known, or unclear."""
    if unknown := [positions for positions in wanted if positions not in known]:
        raise _Missing(unknown, again=False)
    if unclear := [positions for positions in wanted if known[positions] == "unclear"]:
        raise _Missing(unclear, again=True)
    return [positions for positions in wanted if known[positions] == "gone"]


# What launches without some of the user's settings show: whether a slowdown is there again, and how much of it goes.
# Pure: times in.

_HALF = 0.5  # of the slowdown: the whole interval lies above, or below
_PARTLY = (0.1, 0.9)  # the whole interval lies between
_LEAST_ERROR = 0.02  # of the share, where all pairs agree by chance
FEWEST_PAIRS = 3
FEWEST_ROBUST = 4  # pairs, from which on the median deviation is the spread
MOST_TRIES = 2  # of one set, where noise hides the outcome
LEAST_EFFECT = 0.03  # of all settings together
CLEARLY_RATIO = 2.5  # times as slow, at least, as no drift of the machine hides: no simulated search went wrong
_WIDE = 2.6  # standard errors to either side: many sets are judged at once


@dataclass(frozen=True)
class Share:
    """The part of a slowdown that goes with a set, as a logarithm over that of all settings. pairs: of launches."""

    value: float
    low: float
    high: float
    pairs: int

    @property
    def outcome(self) -> Outcome:
        """In words of the search."""
        if _PARTLY[0] < self.low and self.high < _PARTLY[1]:
            return "partly" if self.pairs >= FEWEST_ROBUST else "unclear"
        return "gone" if self.low > _HALF else "stays" if self.high < _HALF else "unclear"

    @property
    def words(self) -> str:
        """`removes 98% [95%, 101%] of the difference, 5 pairs`."""
        return f"removes {self.value:.0%} [{self.low:.0%}, {self.high:.0%}] of the gap, {self.pairs} pairs"


def share(gone: Floats, every: Floats) -> Share | None:
    """How much of the slowdown goes with a set.

    Args:    gone: without the set and as it is, seconds, shape (pairs, 2).  every: without all settings likewise.
    Returns: None where there are too few pairs, or where all settings together make nothing slower.
    """
    if min(gone.shape[0], every.shape[0]) < FEWEST_PAIRS:
        return None
    mine, whole = (np.log(pairs[:, 1] / pairs[:, 0]) for pairs in (gone, every))
    (gap, error_of_gap), (value, error) = _centre(whole), _centre(mine)
    if gap <= 0:
        return None
    if mine.size < FEWEST_ROBUST:  # two of three agree by chance, and the third alone would say how launches spread
        residuals = np.concatenate([mine - value, whole - gap])
        error = float(np.sqrt(np.square(residuals).sum() / (residuals.size - 2) / mine.size))
    value /= gap
    wide = _WIDE * max(_LEAST_ERROR, float(np.hypot(error / gap, value * error_of_gap / gap)))
    return Share(value, value - wide, value + wide, int(gone.shape[0]))


SeenShare = Literal["shown", "gone", "open"]


@dataclass(frozen=True)
class Again:
    """What the launches of these steps alone show of a slowdown. estimate: as it is over without all settings."""

    estimate: ContrastEstimate
    seen: SeenShare

    @property
    def words(self) -> str:
        """`with your settings 1.31x [1.28x, 1.35x] slower than without any, 8 pairs`."""
        ratio = ratio_words(self.estimate.ratio, self.estimate.interval)
        return f"with your settings {ratio} slower than without any, {self.estimate.n} pairs"


def again(every: Floats, contrasts: int) -> Again:
    """Whether the slowdown is there again.

    Args: every: without all settings and as it is, seconds, shape (pairs, 2).  contrasts: that are looked at with it,
          of which any may be named: p is multiplied by their number and by the looks at them (Bonferroni; all share
          their launches, and a second step is looked at together with the first).
    """
    estimate = paired(every[:, 0], every[:, 1], LEAST_EFFECT)
    word = judge(estimate, None if estimate.p is None else min(1.0, MOST_TRIES * contrasts * estimate.p)).word
    beyond = estimate.low is not None and estimate.low > 1 + LEAST_EFFECT
    seen: dict[str, SeenShare] = {"slower": "shown" if beyond else "open", "same": "gone", "faster": "gone"}
    return Again(estimate, seen.get(word, "open"))


def rounds_for(ratio: float) -> int:
    """How many pairs distinguish gone from stays at this slowdown, where a launch varies by 5 %."""
    gap, fewest = float(np.log(max(ratio, 1.01))), FEWEST_ROBUST if ratio < CLEARLY_RATIO else FEWEST_PAIRS
    return int(np.clip(np.ceil(6 * (0.3 / gap) ** 2), fewest, 16))


def _centre(values: Floats) -> tuple[float, float]:
    """Median and its standard error: what disturbs one launch must not decide."""
    centre = float(np.median(values))
    return centre, 1.25 * 1.4826 * float(np.median(np.abs(values - centre))) / float(np.sqrt(values.size))


# What the first step finds of the user's own state: it speaks first, and later steps do not say it again.

ASIDE_RATIO = 2.0  # times as slow as in a clean state, at least


def is_by_far(finding: Finding) -> bool:
    """Whether it is slower than noise makes it: no launch ends, or the interval's low end is 2 or more."""
    return finding.ratio is None or (finding.interval is not None and finding.interval[0] >= ASIDE_RATIO)


def of_own_state(findings: Iterable[Finding], measured: Sequence[MeasuredStep]) -> list[Finding]:
    """Findings that the step about the user's own state made."""
    folders = {done.step.folder for done in measured if isinstance(done.step.task, StateTask)}
    return [finding for finding in findings if finding.run in folders]


def first_by_cost(findings: Iterable[Finding], measured: Sequence[MeasuredStep]) -> list[Finding]:
    """The user's own state first, then what costs most."""
    ordered = by_cost(findings)
    first = of_own_state(ordered, measured)
    return [*first, *(finding for finding in ordered if finding not in first)]


def set_aside(findings: Iterable[Finding], measured: Sequence[MeasuredStep]) -> tuple[str, ...]:
    """Names of the user's variables without which the survey and all behind it is measured: each was named as what
    makes everything slower by far, and no trial refuted it. All of them, where launches with them do not end.

    Under such a setting one launch of the survey may take minutes, and would say of each cell what is known already.
    """
    ordered: dict[str, None] = {}
    settings = removable(settings_of(measured))
    for finding in of_own_state(findings, measured):
        if is_by_far(finding) and finding.legs.proven.state != "refuted":
            names = responsible(finding)
            if is_about_settings(finding) and finding.ratio is None and not names:
                names = {setting.name for setting in settings}
            ordered |= dict.fromkeys(sorted(names))
    files = {setting.name for setting in settings if setting.file}
    return tuple(name for name in ordered if name not in files)


def folded(first: Sequence[Finding], later: Sequence[Finding]) -> list[Finding]:
    """Findings of the own state and of a survey: what the survey says of the same cause, by the same rule in one phase,
    is folded into the former.
    """
    kept, speaking = list[Finding](), list(first)
    for finding in later:
        about = finding.rule, finding.phase, finding.axis
        place = next((n for n, own in enumerate(speaking) if (own.rule, own.phase, own.axis) == about), None)
        if place is None:
            kept.append(finding)
        else:
            own = speaking[place]
            speaking[place] = replace(own, merged=list(dict.fromkeys([*own.merged, finding.id, *finding.merged])))
    return [*speaking, *kept]
