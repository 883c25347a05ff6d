# SPDX-License-Identifier: Apache-2.0
"""What a trial's outcome makes of its finding. Pure."""

from __future__ import annotations

from msgspec.structs import replace

from slowpath.core.results import Finding, Leg, Legs, RemedyResult, Snippet
from slowpath.diagnose.trials.verdict import TrialOutcome

_RANK = {"missing": 0, "refuted": 1, "shown": 2}
_ORDER = ("proven", "partial", "not tried", "no effect", "worse")


def with_outcome(finding: Finding, outcome: TrialOutcome) -> Finding:
    """The finding after a trial of one of its remedies.

    It is proven when any remedy's leg is shown; a refuted leg stands only while none is.
    """
    legs = replace(finding.legs, proven=_proven(finding.legs.proven, outcome.leg))
    is_proven = legs.proven.state == "shown"
    others = [one for one in finding.remedies if one.name != outcome.remedy]
    return replace(
        finding,
        status="proven" if is_proven else finding.status,
        legs=legs,
        missing=_missing(legs),
        remedies=sorted([_tried(finding, outcome), *others], key=lambda one: _ORDER.index(one.verdict)),
        next=[] if is_proven else finding.next,
    )


def _proven(before: Leg, now: Leg) -> Leg:
    kept = now if _RANK[now.state] >= _RANK[before.state] else before
    return replace(kept, evidence=list(dict.fromkeys([*before.evidence, *now.evidence])))


def _missing(legs: Legs) -> list[str]:
    named = {"observed": legs.observed, "explained": legs.explained, "proven": legs.proven}
    return [f"{name}: {leg.text}" for name, leg in named.items() if leg.state != "shown"]


def _tried(finding: Finding, outcome: TrialOutcome) -> RemedyResult:
    listed = next((one for one in finding.remedies if one.name == outcome.remedy), None)
    return RemedyResult(
        name=outcome.remedy,
        text=listed.text if listed else outcome.remedy,
        snippet=listed.snippet if listed else Snippet(),
        removed_ratio=outcome.removed_ratio,
        side_effects=[*outcome.side_effects, *(listed.side_effects if listed else ())],
        verdict=outcome.verdict,
        reason=outcome.reason,
    )
