# SPDX-License-Identifier: Apache-2.0
"""The user's own settings: listed, named in findings, searched, and their shares. Pure."""

from __future__ import annotations

import dataclasses
import hashlib
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from msgspec.structs import replace

from slowpath.core.results import ContrastResult, Finding, Leg, RemedyResult, Results, Snippet
from slowpath.core.units import format_bytes, ratio_words
from slowpath.diagnose.state import MeasuredStep, settings_of, survey_of
from slowpath.diagnose.tasks import StateTask, SurveyTask
from slowpath.experiments.registry import ROLES
from slowpath.findings.facts import WITHOUT_USER, UserState
from slowpath.findings.finding import by_cost, legs_missing
from slowpath.findings.slow_path import Remedy, modulefile_lines, of_environment, shell_lines
from slowpath.mpi.own_settings import OwnSetting, Value, is_unknown, removable, why_ignored, why_unread, without
from slowpath.mpi.settings import Forced
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.registry import SLOW_PATHS, codes_refined_by
from slowpath.stats.contrast import ContrastEstimate, judge, paired
from slowpath.stats.estimate import Floats

# What the user's own variables force, and the findings that are therefore the user's own.

FORCED_STATES = {path.code: path.forced_state for path in SLOW_PATHS if path.forced_state}


def user_state(forced: Sequence[Forced]) -> UserState | None:
    """What rules are given of the user's variables; None: none forces a state."""
    if not forced:
        return None
    return UserState(forced[0].state, {one.name: one.value for one in forced}, WITHOUT_USER)


def findings_under(results: Results, forced: Sequence[Forced]) -> list[Finding]:
    """What the rules see in a run that the user's variables were part of."""
    found = findings(results, ROLES, user_state=user_state(forced))
    return [_as_users_own(one, forced) for one in found]


def is_users_own(finding: Finding) -> bool:
    """Whether it is of settings, or of a state that users can force, and holds for those who change nothing."""
    return bool(finding.affects_default) and finding.rule in (*FORCED_STATES, *codes_refined_by("settings"))


def _as_users_own(finding: Finding, forced: Sequence[Forced]) -> Finding:
    """A finding of the state that the user's variables force is the user's own, and says so."""
    if finding.environment != "default" or finding.rule not in FORCED_STATES:
        return finding
    own = [f"{one.name}={one.value}" for one in forced if FORCED_STATES[finding.rule] == one.state]
    if not own:
        return finding
    text = f"{finding.text.rstrip('.')}; your environment sets {', '.join(own)}."
    return replace(finding, affects_default=True, text=text)


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
    # What the library reads back was asked without those that were set aside.
    asked = [dataclasses.replace(setting, value=None) if setting.name in aside else setting for setting in settings]
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


# A finding about the user's settings with the responsible ones named, and what a trial then takes away.

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
        name="unset " + AND.join(setting.name for setting in settings),
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


# Which of many settings is responsible, by taking away sets of them: what to take away next, and what follows.
#
# A slowdown that goes without all settings goes without some smallest set of them. Few settings are taken away one by
# one, all in one campaign. Of many, each has a number, and for each binary digit those with a 0 are taken away and
# those with a 1: one setting alone leaves exactly one of the two fast at each digit, and the digits are its number. So
# a single one among 64 takes 12 sets in place of 64, all at once, in place of 6 campaigns one after the other. What one
# setting does not explain is searched by leaving parts of a set in.

# What taking a set away does: the slowdown goes, remains, goes in part; no launch works; the times do not decide.
Outcome = Literal["gone", "stays", "partly", "failed", "unclear"]
Set = frozenset[int]
Seen = Mapping[Set, Outcome]

MOST_PARTS = 6  # of a set, which are left in one by one


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
        return Responsible(tuple(tuple(sorted(one)) for one in _found(every, known)))
    except _Missing as missing:
        return missing.to_try


def first_sets(count: int) -> tuple[Set, ...]:
    """What is taken away first: each alone, or by binary digits of its number where these are fewer sets."""
    if is_one_by_one(count):
        return tuple(frozenset({number}) for number in range(count))
    halves = ((digit, value) for digit in range((count - 1).bit_length()) for value in (0, 1))
    return tuple(frozenset(n for n in range(count) if n >> digit & 1 == value) for digit, value in halves)


def is_one_by_one(count: int) -> bool:
    """Whether so many settings are taken away one by one."""
    return count <= 2 * (count - 1).bit_length() or count == 1


def _found(every: Set, known: Mapping[Set, Outcome]) -> list[Set]:
    if len(every) == 1:
        return [every]
    first = first_sets(len(every))
    _look(known, first)
    gone = [one for one in first if known[one] == "gone"]
    if is_one_by_one(len(every)):
        if gone:
            return gone
    elif (reported := _reported_by_digits(every, known)) is not None:
        return reported
    smallest = _smallest(min((every, *gone), key=len), known)
    rest = every - smallest
    _look(known, [rest])
    return [smallest, _smallest(rest, known)] if rest and known[rest] == "gone" else [smallest]


def _reported_by_digits(every: Set, known: Mapping[Set, Outcome]) -> list[Set] | None:
    """One setting, or two: at digits in which two differ, both halves are gone where one will do, and neither where
    both have to go.

    Returns: None where it takes more than two, or some of it is gone in part.
    """
    digits = range((len(every) - 1).bit_length())
    halves = {(d, v): frozenset(n for n in every if n >> d & 1 == v) for d in digits for v in (0, 1)}
    gone = {place: known[some] == "gone" for place, some in halves.items()}
    if "partly" in [known[some] for some in halves.values()]:
        return None
    alike = [(d, v) for (d, v), one in gone.items() if one and not gone[d, 1 - v]]
    apart = [d for d in digits if gone[d, 0] == gone[d, 1]]
    fitting = every.intersection(*(halves[place] for place in alike))
    if not apart:
        return [fitting] if fitting else None
    if len({gone[d, 0] for d in apart}) > 1:
        return None
    one_will_do, first = gone[apart[0], 0], fitting & halves[apart[0], 0]
    sets = {d: first & halves[d, 0] for d in apart[1:]}
    tried = {d: some if one_will_do else every - some for d, some in sets.items()}
    _look(known, list(tried.values()))
    zero = {d: (known[some] == "gone") == one_will_do for d, some in tried.items()}
    one = [n for n in first if all((n >> d & 1 == 0) == is_zero for d, is_zero in zero.items())]
    other = [n ^ sum(1 << d for d in apart) for n in one]
    if len(one) != 1 or other[0] not in every:
        return None
    return _confirmed(frozenset(one), frozenset(other), one_will_do, known)


def _confirmed(one: Set, other: Set, one_will_do: bool, known: Mapping[Set, Outcome]) -> list[Set] | None:
    """Two settings, taken away alone and together."""
    _look(known, [one, other] if one_will_do else [one, other, one | other])
    alone = [known[some] == "gone" for some in (one, other)]
    if one_will_do:
        return [one, other] if all(alone) else None
    return [one | other] if known[one | other] == "gone" and not any(alone) else None


def _look(known: Mapping[Set, Outcome], wanted: Sequence[Set]) -> None:
    """Raises: _Missing: some are not known, or unclear."""
    unknown = [one for one in wanted if one not in known]
    if unknown:
        raise _Missing(unknown, again=False)
    unclear = [one for one in wanted if known[one] == "unclear"]
    if unclear:
        raise _Missing(unclear, again=True)


def _smallest(start: Set, known: Mapping[Set, Outcome]) -> Set:
    """The smallest part of `start` without which it is fast: nothing of it can be left in.

    Raises: _Missing.
    """
    current = start
    while len(current) > 1:
        parts = _parts(current, MOST_PARTS)
        idle = _idle(current, parts, known)
        if not idle and len(parts) < len(current):
            idle = _idle(current, _parts(current, len(current)), known)
        if not idle:
            return current
        left = current.difference(*idle)
        if left:
            _look(known, [left])
        current = left if left and known[left] == "gone" else current - idle[0]
    return current


def _idle(current: Set, parts: Sequence[Set], known: Mapping[Set, Outcome]) -> list[Set]:
    """Parts that can be left in: it is fast without the others alone."""
    _look(known, [current - part for part in parts])
    return [part for part in parts if known[current - part] == "gone"]


def _parts(current: Set, most: int) -> list[Set]:
    ordered = sorted(current)
    count = min(len(ordered), most)
    return [frozenset(ordered[number::count]) for number in range(count)]


# What launches without some of the user's settings show: whether a slowdown is there again, and how much of it goes.
# Pure: times in.

GONE_FROM, STAYS_TO = 0.7, 0.3  # of the slowdown: the whole interval lies above, or below
_PARTLY = (0.1, 0.9)  # the whole interval lies between
_LEAST_ERROR = 0.02  # of the share, where all pairs agree by chance
FEWEST_PAIRS = 3
FEWEST_ROBUST = 4  # pairs, from which on the median deviation is the spread
MOST_TRIES = 2  # of one set, where noise hides the outcome
LEAST_EFFECT = 0.03  # of all settings together, as that of the survey
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
        if self.low > GONE_FROM:
            return "gone"
        if self.high < STAYS_TO:
            return "stays"
        return "partly" if _PARTLY[0] < self.low and self.high < _PARTLY[1] else "unclear"

    @property
    def words(self) -> str:
        """`98% [95%, 101%] of the difference goes, 5 pairs`."""
        return f"{self.value:.0%} [{self.low:.0%}, {self.high:.0%}] of the difference goes, {self.pairs} pairs"


def share(gone: Floats, every: Floats) -> Share | None:
    """How much of the slowdown goes with a set.

    Args:    gone: without the set and as it is, seconds, shape (pairs, 2).  every: without all settings likewise.
    Returns: None where there are too few pairs, or where all settings together make nothing slower.
    """
    if min(gone.shape[0], every.shape[0]) < FEWEST_PAIRS:
        return None
    mine, whole = (np.log(pairs[:, 1] / pairs[:, 0]) for pairs in (gone, every))
    gap, error_of_gap = _centre(whole)
    if gap <= 0:
        return None
    value, error = _centre(mine)
    value /= gap
    wide = _WIDE * max(_LEAST_ERROR, float(np.hypot(error / gap, value * error_of_gap / gap)))
    return Share(value, value - wide, value + wide, int(gone.shape[0]))


SeenShare = Literal["shown", "gone", "open"]


@dataclass(frozen=True)
class Again:
    """What the launches of this step alone show of a slowdown. estimate: as it is over without all settings."""

    estimate: ContrastEstimate
    seen: SeenShare

    @property
    def words(self) -> str:
        """`launches of their own show it again: 1.31x [1.28x, 1.35x] the time, 8 pairs`."""
        ratio = ratio_words(self.estimate.ratio, self.estimate.interval)
        return f"separate launches confirm it: {ratio} the time, {self.estimate.n} pairs"


def again(every: Floats, contrasts: int) -> Again:
    """Whether the slowdown is there again.

    Args: every: without all settings and as it is, seconds, shape (pairs, 2).  contrasts: that are looked at with it,
          of which any may be named: p is multiplied by their number and by the looks at them (Bonferroni; all share
          their launches, and a second step is looked at together with the first).
    """
    found = paired(every[:, 0], every[:, 1], LEAST_EFFECT)
    word = judge(found, None if found.p is None else min(1.0, MOST_TRIES * contrasts * found.p)).word
    beyond = found.low is not None and found.low > 1 + LEAST_EFFECT
    seen: dict[str, SeenShare] = {"slower": "shown" if beyond else "open", "same": "gone", "faster": "gone"}
    return Again(found, seen.get(word, "open"))


def rounds_for(ratio: float) -> int:
    """How many pairs tell gone from stays at this slowdown, where a launch varies by 5 %."""
    gap = float(np.log(max(ratio, 1.01)))
    return int(np.clip(np.ceil(6 * (0.3 / gap) ** 2), FEWEST_PAIRS, 16))


def _centre(values: Floats) -> tuple[float, float]:
    """Median and its standard error: what disturbs one launch must not decide. Of three pairs two often agree by
    chance, and the median deviation then forgets the third: there one that disagrees leaves it open.
    """
    centre = float(np.median(values))
    spread = 1.25 * 1.4826 * float(np.median(np.abs(values - centre)))
    if values.size < FEWEST_ROBUST:
        spread = max(spread, float(np.std(values, ddof=1)))
    return centre, spread / float(np.sqrt(values.size))


# What the first step finds of the user's own state: it speaks first, and later steps do not say it again.

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
