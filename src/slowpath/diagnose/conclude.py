# SPDX-License-Identifier: Apache-2.0
"""Findings of a diagnosis from its steps and their results, in order. Pure: the same folders give the same findings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from slowpath.diagnose.pooled import with_earlier
from slowpath.diagnose.records import Step
from slowpath.diagnose.refine import narrow, times_of
from slowpath.experiments.registry import ROLES
from slowpath.findings.evaluate import findings as findings_of
from slowpath.findings.finding import with_trial
from slowpath.stats.laws.found import Bracket
from slowpath.stats.laws.refine import is_exact

Json = dict[str, Any]
Measured = tuple[Step, Any]
UNFORCED = "without your settings"


def conclude(measured: Sequence[Measured], forced: Sequence[Mapping[str, str]]) -> list[Json]:
    """All findings after these steps, the first of which is the survey.

    Args: forced: as Diagnosis.forced.
    """
    if not measured:
        return []
    base = dict(measured[0][1])
    for step, results in measured:
        if step.kind == "witness":
            base = with_witness(base, results)
    found = _findings(base, forced)
    for step, results in measured[1:]:
        if step.kind == "repeat":
            for other, counted in measured:
                results = with_witness(results, counted) if other.kind == "witness" else results
        found = _applied(found, step, with_earlier(step, results, measured), forced)
    return found


def advance(found: list[Json], measured: Sequence[Measured], forced: Sequence[Mapping[str, str]]) -> list[Json]:
    """`conclude(measured)`, from what it was without the last step: only a survey and a witness ask the rules anew."""
    step, results = measured[-1]
    if step.kind == "survey" and not forced:
        return list(results["findings"])  # the rules were asked when the results were built
    if step.kind in ("survey", "witness"):
        return conclude(measured, forced)
    return _applied(found, step, with_earlier(step, results, measured), forced)


def _applied(
    found: list[Json], step: Step, results: Mapping[str, Any], forced: Sequence[Mapping[str, str]]
) -> list[Json]:
    if step.kind == "repeat":
        return _repeat(found, step, _findings(results, forced))
    apply = _APPLY.get(step.kind)
    return found if apply is None else apply(found, step, results)


def _findings(results: Mapping[str, Any], forced: Sequence[Mapping[str, str]]) -> list[Json]:
    return [_user_s_own(one, forced) for one in findings_of(as_forced(results, forced), ROLES)]


def with_witness(base: Mapping[str, Any], witnessed: Mapping[str, Any]) -> Json:
    """`base` with what another run counted in its cells (the same key is the same cell); what it has itself stays."""
    counting = {e["name"] for e in witnessed["run"]["environments"] if e.get("witness")}
    there = {
        cell["key"]: cell["witness"]
        for cell in witnessed["cells"]
        if cell.get("witness") and cell["environment"] not in counting
    }
    cells = [
        {**cell, "witness": _filled(cell.get("witness"), there[cell["key"]])} if cell["key"] in there else cell
        for cell in base["cells"]
    ]
    run = dict(base["run"])
    if any(one.get("control_variables") for one in witnessed["run"].get("mpis") or ()):
        run["mpis"] = witnessed["run"]["mpis"]
    return {**base, "cells": cells, "run": run}


def _filled(mine: Any, other: Any) -> Any:
    """`mine`, with what only `other` has, at any depth; counts and times per operation are those of both."""
    if not isinstance(mine, Mapping) or not isinstance(other, Mapping):
        return other if mine is None else mine
    filled = {**other, **{name: _filled(value, other.get(name)) for name, value in mine.items()}}
    counted = [float(one.get("operations") or 0) for one in (mine, other)]
    if not all(counted):
        return filled
    for name in (one for one in mine if one.endswith("_per_op") and other.get(one) is not None):
        filled[name] = float(np.average([mine[name], other[name]], weights=counted))
    totals = ("operations", "involuntary_switches")
    return {**filled, **{name: mine[name] + other[name] for name in totals if name in mine and name in other}}


def as_forced(results: Mapping[str, Any], forced: Sequence[Mapping[str, str]]) -> Json:
    """Results in which a state that the user's own variables force is named as the survey names states.

    The rules ask which environment is in the state; here that is the user's own, and the one without the variables is
    what the library does by itself.
    """
    if not forced:
        return dict(results)
    states = list(dict.fromkeys(one["state"] for one in forced))
    entries = []
    for entry in results["run"]["environments"]:
        if entry["name"] == UNFORCED:
            entries.append({**entry, "unset": [], "variables": {}, "setting": None, "own": False})
        elif not (entry.get("variables") or entry.get("setting")):
            own = {one["name"]: one["value"] for one in forced}
            entries.append({**entry, "setting": states[0], "variables": own, "own": True})
        else:
            entries.append(entry)
    return {**results, "run": {**results["run"], "environments": entries}}


def _user_s_own(finding: Json, forced: Sequence[Mapping[str, str]]) -> Json:
    """A finding of the state that the user's variables force is the user's own, and says so."""
    if not forced or finding["environment"] in (UNFORCED, None) or finding["rule"] not in FORCED_RULES:
        return finding
    mine = [f"{one['name']}={one['value']}" for one in forced if FORCED_RULES[finding["rule"]] == one["state"]]
    if not mine or finding["environment"] != "default":
        return finding
    text = f"{finding['text'].rstrip('.')}; your environment sets {', '.join(mine)}."
    return {**finding, "usual": True, "text": text}


FORCED_RULES = {"SP009": "single_copy_off", "SP010": "network_path"}


def _trial(found: list[Json], step: Step, results: Mapping[str, Any]) -> list[Json]:
    from slowpath.diagnose.judge import judge_trial

    outcome = judge_trial(step.about, results)
    return _replaced(found, step.about["finding"], lambda one: with_outcome(one, step.about["remedy"], outcome))


def with_outcome(finding: Json, name: str, outcome: Mapping[str, Any]) -> Json:
    """The finding after a trial of one of its remedies."""
    before = next((one for one in finding["remedies"] if one["name"] == name), {"name": name})
    watched = list(before.get("side_effects") or [])
    remedy = {
        **before,
        "removed_ratio": outcome["removed_ratio"],
        "side_effects": [*outcome["side_effects"], *watched],
        "verdict": outcome["verdict"],
        "reason": outcome["reason"],
    }
    return with_trial(finding, {"remedy": remedy, "leg": outcome["leg"]})


def _refine(found: list[Json], step: Step, results: Mapping[str, Any]) -> list[Json]:
    """The bracket of the finding's law as the step's times leave it."""
    about = step.about
    bracket = Bracket(about["covariate"], about["above"], about["up_to"])
    times = times_of(results, bracket.covariate, about["metric"], about["phase"])
    if times is None:
        return found
    narrowed = narrow(bracket, *times)
    new: Json = {"covariate": bracket.covariate, "above": narrowed.bracket.above, "up_to": narrowed.bracket.up_to}
    new |= {"rising": narrowed.jump_ratio > 1} if narrowed.seen else {"unclear": True}
    confirmed = is_exact(narrowed.bracket) and about.get("exact") == narrowed.bracket.above
    new |= {"confirmed": True} if confirmed else {}

    def apply(finding: Json) -> Json:
        brackets = [new if _meant(b, bracket, about) else b for b in finding["law"]["brackets"]]
        return {**finding, "law": {**finding["law"], "brackets": brackets}}

    return _replaced(found, about["finding"], apply)


def _meant(one: Mapping[str, Any], bracket: Bracket, about: Mapping[str, Any]) -> bool:
    """Whether the step is about this bracket: one that it narrows, or an exact one that it measures once more."""
    if about.get("exact") is not None:
        return bool(one["covariate"] == bracket.covariate and one["above"] == about["exact"])
    return _same(one, bracket)


def _same(one: Mapping[str, Any], bracket: Bracket) -> bool:
    """Whether `bracket` lies within `one`: brackets only get narrower."""
    inside = one["above"] <= bracket.above and bracket.up_to <= one["up_to"]
    return bool(one["covariate"] == bracket.covariate and inside)


def _attribute(found: list[Json], step: Step, results: Mapping[str, Any]) -> list[Json]:
    from slowpath.diagnose.attribute import attribution

    told = attribution(step.about, results)
    if told is None:
        return found
    changed = _replaced(found, step.about["finding"], lambda one: told.apply(one))
    if told.speaks or not told.moved:
        return changed
    return [*changed, *(told.own_finding(one) for one in changed if one["id"] == step.about["finding"])]


def _separate(found: list[Json], step: Step, results: Mapping[str, Any]) -> list[Json]:
    """A finding whose law the new points decide takes that law."""
    fresh = {(one["rule"], one["mpi"], one["about"]): one for one in findings_of(results)}

    def apply(finding: Json) -> Json:
        other = fresh.get((finding["rule"], finding["mpi"], finding["about"]))
        if other is None or other["law"] is None or other["law"]["name"] is None:
            return finding
        kept = ("law", "legs", "status", "missing", "cause", "hypotheses", "text", "ratio", "interval", "excess_s")
        return {**finding, **{name: other[name] for name in kept}}

    return _replaced(found, step.about["finding"], apply)


def _repeat(found: list[Json], step: Step, fresh: Sequence[Json]) -> list[Json]:
    """What more pairs decided is a finding that the survey could not see."""
    known = {one["id"] for one in found}
    return [*found, *({**one, "run": step.folder} for one in fresh if one["id"] not in known)]


def _suspect(found: list[Json], step: Step, results: Mapping[str, Any]) -> list[Json]:
    from slowpath.diagnose.suspect import switch_finding

    seen = switch_finding(step, results)
    return found if seen is None else [*found, seen]


def _replaced(found: list[Json], wanted: str, change: Callable[[Json], Json]) -> list[Json]:
    return [change(one) if one["id"] == wanted else one for one in found]


_APPLY: dict[str, Callable[[list[Json], Step, Mapping[str, Any]], list[Json]]] = {
    "trial": _trial,
    "refine": _refine,
    "attribute": _attribute,
    "separate": _separate,
    "suspect": _suspect,
}
