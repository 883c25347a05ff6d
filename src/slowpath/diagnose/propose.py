# SPDX-License-Identifier: Apache-2.0
"""What to measure next, the most valuable first. Pure: findings and what was done in, proposals out.

A finding of the user's own speaks before one of a state that nobody chose, and of these the one that costs most. Of one
finding, the limit is refined before it is attributed, and attributed before remedies are tried.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from slowpath.diagnose import attribute, refine, suspect, together, trial
from slowpath.diagnose.again import repeat_campaign, separate_campaign
from slowpath.diagnose.conclude import FORCED_RULES, UNFORCED
from slowpath.diagnose.judge import is_open, judge_trial
from slowpath.diagnose.known import Known, Proposal
from slowpath.diagnose.pooled import same_trial
from slowpath.diagnose.records import Step
from slowpath.diagnose.sides import Sides, sides_of
from slowpath.diagnose.witness import witness_campaign
from slowpath.findings.remedies.registry import remedies_for
from slowpath.findings.remedies.remedy import Remedy
from slowpath.mpi.switches import switches_of
from slowpath.stats.laws.found import Bracket
from slowpath.stats.laws.refine import is_exact

Json = Mapping[str, Any]
REFINED = ("message_bytes", "live_buffers")
MOST_REFINEMENTS = 12  # of one finding; each divides a limit by up to 16
MOST_TRIES = 2  # to narrow the same bracket
MOST_REPEATS = 4
APART_RATIO = 1.25  # of an undecided contrast that is worth more pairs
MOST_SUSPECTS = 3  # of one switch


def proposals(known: Known, name_only: bool = False) -> Iterator[Proposal]:
    """In the order of their value; those that were made already are left out.

    Args: name_only: only what may name another slow path; nothing is refined, explained or tried.
    """
    yield from _own_settings(known)
    yield from _own_switches(known)
    if name_only:
        return
    yield from _witnesses(known)
    ordered = sorted(known.findings, key=lambda one: _value(one, known), reverse=True)
    for finding in ordered:
        yield from _of(finding, known)
    yield from _repeats(known)
    yield from _open_trials(known)
    for finding in ordered:
        yield from _other_limits(finding, known)
    yield from _together(known)


def _value(finding: Json, known: Known) -> tuple[bool, bool, bool, float]:
    """What users have themselves, what they set themselves, what is explained and lacks the proof alone, what costs
    most."""
    set_by_user = any(one["name"].startswith("unset ") and "environment" in one["text"] for one in finding["remedies"])
    set_by_user |= any(_suspected(one, known) for one in (finding["law"] or {}).get("brackets", ()))
    return finding["usual"] is not False, set_by_user, finding["status"] == "explained", finding["excess_s"] or 0.0


def _of(finding: Json, known: Known) -> Iterator[Proposal]:
    """What a finding itself needs: of the limits of its law the one that it speaks of, and those that users set."""
    results = known.others.get(finding.get("run") or "", known.results)
    sides = sides_of(finding, results)
    if sides is None:
        return
    limits = [one for i, one in enumerate(_limits(finding)) if i == 0 or _suspected(one, known)]
    yield from _separations(finding, known, results)
    yield from _attributions(finding, known, sides, limits)
    yield from _trials(finding, known, _switched(finding, known, sides))
    yield from _refinements(finding, known, sides, limits)
    yield from _trials(finding, known, ((one, sides) for one in _table(finding, known)))


def _other_limits(finding: Json, known: Known) -> Iterator[Proposal]:
    """The other limits of its law, after all that findings themselves need."""
    sides = sides_of(finding, known.others.get(finding.get("run") or "", known.results))
    if sides is not None:
        yield from _attributions(finding, known, sides, _limits(finding))
        yield from _refinements(finding, known, sides, _limits(finding))


def _limits(finding: Json) -> list[Json]:
    return list((finding["law"] or {}).get("brackets", ()))


def _made(known: Known, kind: str, finding: str) -> list[Step]:
    return [step for step in known.steps if step.kind == kind and step.about.get("finding") == finding]


def _separations(finding: Json, known: Known, results: Json) -> Iterator[Proposal]:
    law = finding["law"]
    if law is None or not law["separating"] or law["name"] is not None or _made(known, "separate", finding["id"]):
        return
    why = f"two laws fit {finding['rule']} as well: {law['refused']}"
    campaign = separate_campaign(finding, results, known.ranks, why)
    if campaign is not None:
        yield Proposal("separate", {"finding": finding["id"]}, campaign, why)


def _refinements(finding: Json, known: Known, sides: Sides, limits: Sequence[Json]) -> Iterator[Proposal]:
    """Brackets in which a variable of the library has its value first: those can be explained."""
    if len(_made(known, "refine", finding["id"])) >= MOST_REFINEMENTS:
        return
    entries = [one for one in limits if one["covariate"] in REFINED]
    for entry in sorted(entries, key=lambda one: not _suspected(one, known)):
        bracket = Bracket(entry["covariate"], entry["above"], entry["up_to"])
        if entry.get("unclear") or entry.get("confirmed") or entry.get("attributed_to"):
            continue
        if bracket.covariate not in sides.slow["parameters"]:
            continue
        about = {"finding": finding["id"], "covariate": bracket.covariate, "metric": finding["metric"]}
        about |= {"phase": finding["phase"]}
        why = f"the limit of {finding['rule']} lies after {bracket.above:.0f} and up to {bracket.up_to:.0f}"
        if is_exact(bracket):
            about["exact"] = bracket.above
            why = f"once more: {finding['rule']} changes after {bracket.above:.0f}"
            bracket = refine.around(bracket)
        if _tries(known, finding, bracket) >= MOST_TRIES:
            continue
        about |= {"above": bracket.above, "up_to": bracket.up_to}
        under, exact = sides.slow_under, about.get("exact")
        made_of = refine.campaign(bracket, sides.slow, under, known.ranks, why=why, exact=exact)
        yield Proposal("refine", about, made_of, why)


def _suspected(entry: Json, known: Known) -> bool:
    """Whether a variable that could set it has its value in the bracket, or as near as a header is long."""
    library = known.library
    values = [
        value
        for one in switches_of(library.name, library.version, library.transport)
        if one.variable in known.environ and (value := one.value(known.environ)) is not None
    ]
    return any(_holds(entry, value) for value in values)


def _holds(entry: Json, value: int) -> bool:
    reach = attribute.MOST_HEADER_BYTES
    return bool(not entry.get("unclear") and entry["above"] - reach <= value <= entry["up_to"] + reach)


def _tries(known: Known, finding: Json, bracket: Bracket) -> int:
    """How often this very bracket was measured and stayed as it is."""
    made = _made(known, "refine", finding["id"])
    return sum((step.about["above"], step.about["up_to"]) == (bracket.above, bracket.up_to) for step in made)


def _attributions(finding: Json, known: Known, sides: Sides, limits: Sequence[Json]) -> Iterator[Proposal]:
    tried = {step.about["variable"] for step in _made(known, "attribute", finding["id"])}
    library = known.library
    switches = switches_of(library.name, library.version, library.transport)
    for entry in limits:
        bracket = Bracket(entry["covariate"], entry["above"], entry["up_to"])
        if bracket.covariate != "message_bytes" or not entry.get("confirmed") or entry.get("attributed_to"):
            continue
        found = attribute.suspects(switches, bracket.above, known.environ, known.control_variables, library.name)
        for one in found[:MOST_SUSPECTS]:
            name = one.switch.variable
            if name in tried:
                continue
            rising = entry.get("rising", int(sides.slow["parameters"]["message_bytes"]) > bracket.above)
            about, campaign = attribute.design(finding["id"], one, bracket, sides, known.ranks, rising)
            # The first bracket is what the finding speaks of; another one that is attributed gets a finding of its own.
            about |= {"speaks": entry == _limits(finding)[0], "set_by_user": name in known.environ}
            yield Proposal("attribute", about, campaign, f"{name} is {one.value}, where {finding['rule']} changes")


def _trials(finding: Json, known: Known, remedies: Iterable[tuple[Remedy, Sides]]) -> Iterator[Proposal]:
    if finding["status"] == "proven":
        return
    tried = {step.about["remedy"] for step in _made(known, "trial", finding["id"])}
    for remedy, of in remedies:
        if remedy.name in tried:
            continue
        made = trial.design(of, remedy, frozenset(known.environ), known.ranks, constant_s=_constant(finding), why="")
        if isinstance(made, str):
            continue
        yield Proposal("trial", made.about(finding["id"]), made.campaign, f"{remedy.name} against {finding['rule']}")


def _open_trials(known: Known) -> Iterator[Proposal]:
    """Trials that noise left undecided, once more: the remedies and cells that they had."""
    trials = [step for step in known.steps if step.kind == "trial"]
    proven = {one["id"] for one in known.findings if one["status"] == "proven"}
    for step in trials:
        results = known.others.get(step.folder)
        alike = sum(same_trial(step, other) for other in trials)
        if results is None or alike > 1 or step.about["finding"] in proven:
            continue
        finding = next((one for one in known.findings if one["id"] == step.about["finding"]), None)
        if finding is None or not is_open(judge_trial(step.about, results)):
            continue
        untried = replace(known, steps=[one for one in known.steps if one is not step])
        again = (one for one in _of(finding, untried) if one.kind == "trial")
        yield from (one for one in again if one.about["remedy"] == step.about["remedy"])


def _table(finding: Json, known: Known) -> tuple[Remedy, ...]:
    library = known.library
    return remedies_for(finding["rule"], None, library.name, library.version, library.transport)


def _switched(finding: Json, known: Known, sides: Sides) -> Iterator[tuple[Remedy, Sides]]:
    """The variable that a switch was attributed to, tried on the first length that goes the new way."""
    names = {entry.get("attributed_to") for entry in (finding["law"] or {}).get("brackets", ())[:1]}
    for step in known.steps:
        about = step.about
        if step.kind != "attribute" or about["variable"] not in names:
            continue
        remedies = attribute.remedies_of(about, known.library.name)
        named = {one["name"]: one["verdict"] for one in finding["remedies"]}
        if named.get(remedies[0].name, "no effect") == "no effect":
            continue
        limit = int(about["limit"])
        slow, fast = (
            {**sides.slow, "parameters": {**sides.slow["parameters"], "message_bytes": str(length)}}
            for length in ((limit + 1, limit) if about["rising"] else (limit, limit + 1))
        )
        under, metric, phase = sides.slow_under, finding["metric"], finding["phase"]
        of = Sides(slow, under, fast, under, "message_bytes", metric, phase, phase)
        yield from ((remedy, of) for remedy in remedies)


def _constant(finding: Json) -> float | None:
    """The law's constant part, seconds."""
    terms = (finding["law"] or {}).get("coefficients") or ()
    return next((float(term["value"]) for term in terms if term["per"] is None), None)


def _witnesses(known: Known) -> Iterator[Proposal]:
    """One run for all findings that lack a witness; a second one where repeats brought new findings is not made."""
    if any(step.kind == "witness" for step in known.steps):
        return
    campaign = witness_campaign(known.findings, known.results, known.others, known.ranks)
    if campaign is not None:
        yield Proposal("witness", {}, campaign, "count what the library calls in the cells that findings rest on")


def _own_settings(known: Known) -> Iterator[Proposal]:
    """What the user's own variables do is asked first, where the survey showed nothing of it."""
    if any(one["usual"] and one["rule"] in FORCED_RULES for one in known.findings):
        return
    yield from (one for one in _repeats(known) if UNFORCED in one.about["contrast_of"])


def _own_switches(known: Known) -> Iterator[Proposal]:
    """A variable of the user's that sets a switch, where no finding has a limit near its value."""
    library = known.library
    table = switches_of(library.name, library.version, library.transport)
    asked = {step.about["variable"] for step in known.steps if step.kind == "suspect"}
    limits = [entry for one in known.findings for entry in (one["law"] or {}).get("brackets", ())]
    for switch, value in suspect.own_switches(table, known.environ):
        near = any(_holds(entry, value) for entry in limits if entry["covariate"] == "message_bytes")
        made = suspect.suspect_campaign(switch, value, known.results, known.ranks)
        if not near and switch.variable not in asked and made is not None:
            why = f"your environment sets {switch.variable}={value}: is there a switch?"
            yield Proposal("suspect", *made, why)


def _repeats(known: Known) -> Iterator[Proposal]:
    """Contrasts that look clear and are not decided yet, the largest first."""
    made = [step for step in known.steps if step.kind == "repeat"]
    done = {step.about["contrast"] for step in made}
    if len(made) >= MOST_REPEATS:
        return
    for contrast in sorted(known.results["contrasts"], key=_apart, reverse=True):
        if contrast["id"] in done or contrast["axis"] == "phase" or not _open(contrast):
            continue
        why = f"'{contrast['group']}' is undecided at {contrast['ratio']:.2f}"
        about = {"contrast": contrast["id"], "contrast_of": [contrast["a"]["value"], contrast["b"]["value"]]}
        yield Proposal("repeat", about, repeat_campaign(contrast, known.results, known.ranks, why), why)


def _together(known: Known) -> Iterator[Proposal]:
    """Once for each set of cells and remedies that meet in them."""
    environ = frozenset(known.environ)
    made = together.design(known.findings, known.steps, known.others, environ, known.ranks, known.library.name)
    done = [step.about["cases"] for step in known.steps if step.kind == "together"]
    if made is not None and made[0]["cases"] not in done:
        yield Proposal("together", *made, "proven remedies together: does each still help?")


def _open(contrast: Json) -> bool:
    return contrast["verdict"] == "undecided" and not contrast["control"] and _apart(contrast) > APART_RATIO


def _apart(contrast: Json) -> float:
    """How many times as long the slower side takes."""
    ratio = contrast["ratio"]
    return max(ratio, 1 / ratio) if ratio else 0.0
