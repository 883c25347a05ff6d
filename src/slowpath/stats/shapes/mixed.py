# SPDX-License-Identifier: Apache-2.0
"""Messages of a launch that are of two kinds, without a period. Pure.

Times are divided where the variance of their logarithms between the parts is largest (Otsu 1979, doi
10.1109/TSMC.1979.4310076). Any times can be divided so; they are of two kinds where the gap between the parts is wider
than each part is itself. Parts lose a tenth at each end before, since single messages are held up on any machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowpath.stats.inputs import Floats

FEWEST_MESSAGES = 64
FEWEST_LAUNCHES = 3
LEAST_SHARE = 0.15  # of the messages, in each kind; fewer are stalls
# Logarithms; 5000 draws of one normal, exponential or uniform law reach 1.1 at 64 messages, 0.4 at 599.
GAP_PER_SPREAD = 2.0
_QUICK, _SLOW = (0.1, 0.9), (0.1, 0.75)


@dataclass(frozen=True)
class MixedLaunch:
    """share: of the slow ones.  slow_s, fast_s: medians.  mean_s: of all messages, each at its kind's median.

    changes, expected: from one kind to the other in the order of the messages, and as many as a random order has.
    """

    share: float
    slow_s: float
    fast_s: float
    mean_s: float
    changes: int
    expected: float


def mixed_of(launches: Sequence[Floats]) -> list[MixedLaunch] | None:
    """Return what those launches show that are mixed; None: fewer than three of them, or less than half.

    Args: launches: each its messages' times in order, shape (messages,), > 0 s.
    """
    found = [_mixed(times) for times in launches]
    kept = [one for one in found if one is not None]
    return kept if len(kept) >= max(FEWEST_LAUNCHES, len(found) / 2) else None


def _mixed(times: Floats) -> MixedLaunch | None:
    size = times.size
    fewest = max(2, int(np.ceil(LEAST_SHARE * size)))
    if size < FEWEST_MESSAGES:
        return None
    logs = np.sort(np.log(times))
    sizes = np.arange(fewest, size - fewest + 1)
    sums = np.cumsum(logs)
    below = sums[sizes - 1] / sizes
    above = (sums[-1] - sums[sizes - 1]) / (size - sizes)
    cut = int(sizes[np.argmax(sizes * (size - sizes) * (above - below) ** 2)])
    low, high = np.quantile(logs[:cut], _QUICK), np.quantile(logs[cut:], _SLOW)
    gap, spread = float(high[0] - low[1]), float(max(low[1] - low[0], high[1] - high[0]))
    if gap <= GAP_PER_SPREAD * spread:
        return None
    slow = np.log(times) >= logs[cut]
    share = float(slow.mean())
    fast_s, slow_s = float(np.median(times[~slow])), float(np.median(times[slow]))
    return MixedLaunch(
        share=share,
        slow_s=slow_s,
        fast_s=fast_s,
        mean_s=share * slow_s + (1.0 - share) * fast_s,
        changes=int(np.count_nonzero(slow[1:] != slow[:-1])),
        expected=2.0 * share * (1.0 - share) * size,
    )
