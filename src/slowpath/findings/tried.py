# SPDX-License-Identifier: Apache-2.0
"""A finding after remedies that its own run measured, in environments of their own. Pure.

The bar is that of a trial (docs/reference/diagnose.md): half of the excess is gone at the lower end, and what the
remedy must leave as it is was measured and stayed. A campaign has fewer rounds than a trial, which `slowpath diagnose`
may still make.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from msgspec.structs import replace

from slowpath.core.result import Interval
from slowpath.core.results import Finding, Leg, RemedyResult, RemovedRatio
from slowpath.core.units import share_words
from slowpath.findings.observation import Tried

LEAST_REMOVED_RATIO = 0.5
NO_EFFECT_RATIO = 0.1  # of the excess, at most: what removes less is no remedy
FEWEST_LAUNCHES = 5
FEWEST_COUNTED = 2  # launches that agree on a count
WithTrial = Callable[[Finding, RemedyResult, Leg], Finding]


def removed_ratio(share: float, interval: Interval, gap_s: float | None = None) -> RemovedRatio:
    """Of a share that may exceed 1: no more than all of a gap can go, and the rest is a second effect.

    Args: gap_s: seconds, what it is a share of; None: not known.
    """
    beyond_s = (share - 1) * gap_s if gap_s is not None and interval[0] > 1 else None
    return RemovedRatio(value=min(1.0, share), interval=(min(1.0, interval[0]), interval[1]), beyond_s=beyond_s)


def with_tried(finding: Finding, tried: Sequence[Tried], with_trial: WithTrial) -> Finding:
    """Each remedy of the finding that the run tried, with its verdict."""
    for one in tried:
        listed = next((remedy for remedy in finding.remedies if remedy.name == one.remedy), None)
        if listed is not None:
            verdict, leg = _judged(one)
            found = removed_ratio(one.removed[0], (one.removed[1], one.removed[2]))
            tried_one = replace(listed, removed_ratio=found, verdict=verdict, reason=leg.text)
            finding = with_trial(finding, tried_one, leg)
    return finding


def _judged(one: Tried) -> tuple[Literal["proven", "partial", "no effect"], Leg]:
    value, low, high = one.removed
    share = f"{share_words(value, (low, high))} of the excess"
    evidence = [*one.evidence, *([f"negative control: {one.control}"] if one.control else [])]
    if max(value, high) < NO_EFFECT_RATIO:
        return "no effect", Leg(state="missing", text=f"it removes {share}", evidence=evidence)
    if low < LEAST_REMOVED_RATIO:
        return "partial", Leg(state="missing", text=f"it removes {share}; a proof needs half", evidence=evidence)
    fewest = FEWEST_COUNTED if one.is_counted else FEWEST_LAUNCHES
    if one.launches < fewest:
        text = f"it removes {share} in {one.launches} launches; a proof needs {fewest}"
        return "partial", Leg(state="missing", text=text, evidence=evidence)
    if one.open is not None:
        return "partial", Leg(state="missing", text=f"it removes {share}, but {one.open}", evidence=evidence)
    if one.control is None:
        return "partial", Leg(
            state="missing", text=f"it removes {share}; no negative control was measured", evidence=evidence
        )
    if not one.held:
        text = f"it removes {share}, but the negative control may have changed as well: {one.control}"
        return "partial", Leg(state="missing", text=text, evidence=evidence)
    text = f"{one.remedy}, changed alone in launches of this run, removes {share}"
    return "proven", Leg(state="shown", text=text, evidence=evidence)
