# SPDX-License-Identifier: Apache-2.0
"""A contrast judged anew by other pairs than those of its run alone. Pure."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from slowpath.core.results import ContrastResult
from slowpath.stats.contrast import paired
from slowpath.stats.inputs import Floats
from slowpath.stats.verdict import judge


def judged_by(contrast: ContrastResult, pairs_s: Floats) -> ContrastResult:
    """The contrast with all that rests on its pairs; by itself, since nothing else is judged with these pairs.

    Args: pairs_s: of a and b, shape (pairs, 2), seconds, at least one.
    """
    found = paired(pairs_s[:, 0], pairs_s[:, 1], contrast.minimum_effect)
    verdict = judge(found, found.p)
    return replace(
        contrast,
        pairs=tuple((float(a_s), float(b_s)) for a_s, b_s in pairs_s),
        launches=len(pairs_s),
        a_value_s=float(np.median(pairs_s[:, 0])),
        b_value_s=float(np.median(pairs_s[:, 1])),
        ratio=found.ratio,
        interval=found.interval,
        interval_kind=found.kind,
        level=found.level,
        verdict=verdict.word,
        reason=verdict.reason,
        p=found.p,
        p_adjusted=found.p,
        family=contrast.id,
        family_size=1,
        more_pairs=verdict.more_pairs,
    )
