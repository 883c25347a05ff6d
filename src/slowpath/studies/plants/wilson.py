# SPDX-License-Identifier: Apache-2.0
"""A share and how well it is known: the score interval of Wilson 1927, doi 10.1080/01621459.1927.10502953."""

from __future__ import annotations

import math

_Z = 1.959964  # of a normal law at 95 %


def interval(hits: int, trials: int) -> tuple[float, float] | None:
    """95 %; None when nothing was tried.  Raises: ValueError: hits outside 0 .. trials."""
    if trials == 0:
        return None
    if not 0 <= hits <= trials:
        raise ValueError(f"{hits} of {trials} is no share")
    share, z2 = hits / trials, _Z**2
    middle = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = _Z * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials**2)) / (1 + z2 / trials)
    return max(0.0, middle - half), min(1.0, middle + half)
