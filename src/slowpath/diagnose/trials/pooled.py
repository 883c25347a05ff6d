# SPDX-License-Identifier: Apache-2.0
"""A trial that noise left undecided is made a second time, and judged by the pairs of both. Pure.

Every pair is of one round of one run, so pairs of two runs stand next to each other as those of one run do.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from msgspec.structs import replace

from slowpath.core.results import ContrastResult, Results
from slowpath.diagnose.tasks import Task, TrialTask
from slowpath.diagnose.trials.pairs import judged_by


def same_trial(one: Task, other: Task) -> bool:
    """Whether both try one remedy on one finding."""
    if not isinstance(one, TrialTask) or not isinstance(other, TrialTask):
        return False
    return (one.finding, one.remedy) == (other.finding, other.remedy)


def pooled(results: Results, earlier: Iterable[Results]) -> Results:
    """Results of a trial with the pairs of the same trial in earlier runs."""
    for before in earlier:
        known = {_key(contrast): contrast for contrast in before.contrasts}
        results = replace(
            results, contrasts=[_both(known.get(_key(contrast)), contrast) for contrast in results.contrasts]
        )
    return results


def _key(contrast: ContrastResult) -> tuple[str, str]:
    return contrast.group, contrast.where


def _both(before: ContrastResult | None, now: ContrastResult) -> ContrastResult:
    pairs = [*(before.pairs if before else ()), *now.pairs]
    return now if before is None or not pairs else judged_by(now, np.array(pairs, dtype=np.float64))
