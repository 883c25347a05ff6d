# SPDX-License-Identifier: Apache-2.0
"""Which printed times are doubtful. They are flagged and kept: nothing is dropped.

A time is suspect when, among the times of its cell and phase, it lies more than a factor 5 from the median
and, in logarithms, beyond 14.826 median absolute deviations (10 robust standard deviations: that of a normal
distribution is 1.4826 MAD; Rousseeuw and Croux, JASA 88, 1993). Times vary by factors rather than by sums,
hence logarithms. First messages vary legitimately, often by a factor 4 between the first allocation of a
process and the next, hence the factor. With fewer than 5 times nothing can be said.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from slowpath.record.imports.log import Time

FACTOR = 5.0
DEVIATIONS = 14.826
FEWEST = 5
RULE = f"more than {FACTOR:g} times from the median of its phase, and beyond {DEVIATIONS:g} MAD in logarithms"


def suspects(times: Sequence[Time]) -> dict[int, str]:
    """Line number -> why, for the suspect ones among the `times` of one cell and phase."""
    if len(times) < FEWEST:
        return {}
    logs = [math.log(max(time.ns, 1)) for time in times]
    middle = median(logs)
    mad = median(abs(value - middle) for value in logs)
    found = {}
    for time, value in zip(times, logs, strict=True):
        distance = abs(value - middle)
        if distance > math.log(FACTOR) and distance > DEVIATIONS * mad:
            side = "below" if value < middle else "above"
            found[time.line] = (
                f"line {time.line}: {time.text} s is suspect: {math.exp(distance):.3g} times {side} the "
                f"median {math.exp(middle) * 1e-9:.4g} s of the {len(times)} times of its phase "
                f"({RULE}); kept as it is"
            )
    return found
