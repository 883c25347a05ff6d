# SPDX-License-Identifier: Apache-2.0
"""The finding that stands in results.json and diagnosis.json, made from an observation and its rule. Pure.

docs/reference/findings.md has the fields. A finding is *observed* by its contrast or law, *explained* only where law
and witness agree, *proven* only by a trial.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from slowpath.findings.remedies.registry import remedies_for
from slowpath.findings.remedies.remedy import Remedy
from slowpath.findings.remedies.snippet import snippet
from slowpath.findings.rule import Leg, Observation, Rule
from slowpath.findings.words import law_words

Finding = dict[str, Any]
LEGS = ("observed", "explained", "proven")
UNTRIED = "no remedy was tried in fresh interleaved pairs; run slowpath diagnose"
_NO_LAW = "points from which a law can be fitted: vary the length of the message or the allocation, 5 lengths or more"


def finding_id(rule: str, observation: Observation) -> str:
    """`SP001:` and 8 hex digits of what it is about: the same question on the same machine has the same one."""
    place = observation.place
    about = "\n".join(str(part) for part in (rule, place.mpi, place.environment, place.placement, observation.about))
    return f"{rule}:{hashlib.sha256(about.encode()).hexdigest()[:8]}"


def build(rule: Rule, observation: Observation, witness: Leg, mpi: Mapping[str, Any]) -> Finding:
    """One finding without a trial.

    Args: witness: what the rule's witness says; it explains only together with a law, where the rule asks for one.
          mpi: the entry of run.mpis of the library that it was seen under.
    """
    explained = _explained(rule, observation, witness)
    shown = explained.state == "shown"
    legs = {
        "observed": Leg("shown", "a difference beyond the minimum effect", _observed(observation)),
        "explained": explained,
        "proven": Leg("missing", UNTRIED),
    }
    place = observation.place
    return {
        "id": finding_id(rule.code, observation),
        "rule": rule.code,
        "title": rule.title,
        "text": observation.text,
        "about": observation.about,
        "where": place.words,
        "mpi": place.mpi,
        "environment": place.environment,
        "placement": place.placement,
        "status": "explained" if shown else "observed",
        "usual": observation.usual,
        "ratio": observation.ratio,
        "interval": list(observation.interval) if observation.interval else None,
        "excess_s": observation.excess_s,
        "metric": observation.metric,
        "phase": observation.phase,
        "law": observation.law.as_dict() | {"text": law_words(observation.law)} if observation.law else None,
        "legs": {name: _leg(leg) for name, leg in legs.items()},
        "missing": [f"{name}: {leg.text}" for name, leg in legs.items() if leg.state != "shown"],
        "cause": rule.cause if shown else None,
        "hypotheses": [] if shown else list(observation.hypotheses or rule.hypotheses or (rule.cause,)),
        "contrasts": list(observation.contrasts),
        "cells": list(observation.cells),
        "slow_cells": list(observation.slow_cells),
        "fast_cells": list(observation.fast_cells),
        "merged": [],
        "doubts": list(observation.doubts),
        "remedies": _remedies(rule, observation, mpi),
        "next": _next(observation),
    }


def _observed(observation: Observation) -> tuple[str, ...]:
    law = observation.law
    return (*observation.evidence, *([f"law {law_words(law)}"] if law and law.name else []))


def _explained(rule: Rule, observation: Observation, witness: Leg) -> Leg:
    """Law and witness, or which of the two is missing."""
    if witness.state == "refuted" or not rule.needs_law:
        return witness
    law = observation.law
    if law is not None and law.name is not None:
        return witness
    why = f"no law: {law.refused}" if law is not None and law.refused else f"no law; needed: {_NO_LAW}"
    if witness.state == "shown":
        return Leg("missing", why, witness.evidence)
    return Leg("missing", f"{why}; {witness.text}", witness.evidence)


def _leg(leg: Leg) -> dict[str, Any]:
    return {"state": leg.state, "text": leg.text, "evidence": list(leg.evidence)}


def _remedies(rule: Rule, observation: Observation, mpi: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Those of the table, with what sets or unsets the variables in which the two sides differ before them."""
    table = _fitting(rule.code, mpi)
    names = ", ".join(observation.exports or observation.unsets)
    own: list[Remedy] = []
    if observation.exports:
        own = [
            Remedy(
                f"set {names}",
                f"Set {names}, as the fast side does.",
                (),
                ("environment",),
                variables=observation.exports,
            )
        ]
        table = tuple(one for one in table if not one.unset)
    elif observation.unsets:
        table = tuple(one for one in table if set(one.unset) <= set(observation.unsets))
        if not any(one.unset for one in table):
            own = [
                Remedy(
                    f"unset {names}",
                    f"Unset {names}, which the slow side sets.",
                    (),
                    ("environment",),
                    unset=observation.unsets,
                )
            ]
    return [_untried(remedy, mpi) for remedy in (*own, *table)]


def _fitting(code: str, mpi: Mapping[str, Any]) -> tuple[Remedy, ...]:
    return remedies_for(code, None, mpi.get("name") or "", mpi.get("version"), mpi.get("transport"))


def _untried(remedy: Remedy, mpi: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": remedy.name,
        "text": remedy.text,
        "snippet": snippet(remedy, mpi.get("name")),
        "removed_ratio": None,
        "side_effects": list(remedy.side_effects),
        "verdict": "not tried",
        "reason": remedy.untried or "no trial was run",
    }


def _next(observation: Observation) -> list[str]:
    law = observation.law
    found = []
    if law is not None and law.separating:
        places = "; ".join(", ".join(f"{k}={v:.12g}" for k, v in place.items()) for place in law.separating)
        found.append(f"measure {places}, which tells the laws apart")
    elif law is None or law.name is None:
        found.append(_NO_LAW)
    if law is not None:
        found += [
            f"refine {b.covariate} between {b.above:.12g} and {b.up_to:.12g}"
            for b in law.brackets
            if b.up_to - b.above > 1
        ]
    return [*found, "try the remedies one by one in interleaved pairs, with a control"]


def with_trial(finding: Mapping[str, Any], outcome: Mapping[str, Any]) -> Finding:
    """The finding after a trial.

    Args: outcome: of one remedy: {"remedy": an element of `remedies` with its verdict, "leg": {state, text, evidence},
          "cells": [..] (of the trial's own run, may be missing)}.  A remedy of the same name is replaced.
    Returns: a new finding. It is proven when any remedy's leg is shown; a refuted leg stands only while none is.
    """
    remedy, leg = dict(outcome["remedy"]), dict(outcome["leg"])
    others = [one for one in finding["remedies"] if one["name"] != remedy["name"]]
    before = finding["legs"]["proven"]
    rank = {"missing": 0, "refuted": 1, "shown": 2}
    kept = leg if rank[leg["state"]] >= rank[before["state"]] else before
    evidence = list(dict.fromkeys([*before["evidence"], *leg["evidence"]]))
    legs = {**finding["legs"], "proven": {**kept, "evidence": evidence}}
    proven = legs["proven"]["state"] == "shown"
    status = "proven" if proven else finding["status"]
    return {
        **finding,
        "status": status,
        "legs": legs,
        "missing": [f"{name}: {legs[name]['text']}" for name in LEGS if legs[name]["state"] != "shown"],
        "remedies": sorted([remedy, *others], key=_by_verdict),
        "next": [] if proven else finding["next"],
    }


_ORDER = ("proven", "partial", "not tried", "no effect", "worse")


def _by_verdict(remedy: Mapping[str, Any]) -> int:
    return _ORDER.index(remedy["verdict"]) if remedy["verdict"] in _ORDER else len(_ORDER)
