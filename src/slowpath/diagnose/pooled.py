# SPDX-License-Identifier: Apache-2.0
"""A trial that noise left undecided is made once more, and judged by the pairs of both. Pure.

Every pair is of one round of one run, so pairs of two runs stand side by side as those of one run do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from slowpath.diagnose.records import Step
from slowpath.stats.contrast import paired
from slowpath.stats.verdict import judge

Json = Mapping[str, Any]
Measured = tuple[Step, Any]


def same_trial(one: Step, other: Step) -> bool:
    """Whether two steps try one remedy on one finding."""
    if one.kind != "trial" or other.kind != "trial":
        return False
    return bool(all(one.about[name] == other.about[name] for name in ("finding", "remedy")))


def with_earlier(step: Step, results: Json, measured: Sequence[Measured]) -> Json:
    """Results of a trial with the pairs of the same trial before it; any other step's as they are."""
    for earlier, before in measured:
        if earlier.number < step.number and same_trial(earlier, step):
            results = _joined(before, results)
    return results


def _joined(before: Json, results: Json) -> Json:
    known = {_key(one): one for one in before["contrasts"]}
    contrasts = [_both(known.get(_key(one)), one) for one in results["contrasts"]]
    return {**results, "contrasts": contrasts}


def _key(contrast: Json) -> tuple[str, str]:
    return contrast["group"], contrast["where"]


def _both(before: Json | None, now: Json) -> Json:
    pairs = [*(before["pairs"] if before else ()), *now["pairs"]]
    if before is None or not pairs:
        return now
    a_s, b_s = np.array(pairs, dtype=np.float64).T
    found = paired(a_s, b_s, now["minimum_effect"])
    told = judge(found, found.p)
    return {
        **now,
        "pairs": pairs,
        "launches": len(pairs),
        "ratio": found.ratio,
        "interval": list(found.interval) if found.interval else None,
        "verdict": told.word,
        "reason": told.reason,
        "a_value_s": float(np.median(a_s)),
        "b_value_s": float(np.median(b_s)),
    }
