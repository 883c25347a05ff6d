# SPDX-License-Identifier: Apache-2.0
"""Negative controls among collectives: what a change must leave as it is, measured with and without it. Pure."""

from __future__ import annotations

from slowpath.findings.gather.contrasts import ratio_of
from slowpath.findings.observation import Stayed
from slowpath.stats.inputs import Floats

CONTROL_WITHIN_RATIO = 1.1


def stayed(environment: str, words: str, own_s: Floats, changed_s: Floats, factor: float) -> Stayed:
    """It stayed where it is within 10 %, and its interval leaves open less than half of the effect (its root).

    Args: own_s, changed_s: of the same launches, shape (launches,).  factor: the effect, above 1.
    """
    found = ratio_of(changed_s, own_s, 0.0)
    low, high = found.interval or (found.value, found.value)
    within = 1 / CONTROL_WITHIN_RATIO <= found.value <= CONTROL_WITHIN_RATIO
    return Stayed(environment, words, found.value, (low, high), within and max(high, 1 / low) < factor**0.5)
