# SPDX-License-Identifier: Apache-2.0
"""A sweep's centre at each point and how well it is known: what laws are chosen by.

What a whole launch adds (its placement, its neighbours, slow drift) is common to its points and is taken out first; it
would otherwise look like noise of each point. The standard error of a point comes from the same interval over launches
that reports show, so heavy tails and two-valued launches widen it; few launches estimate it badly, therefore it is
drawn towards the typical point of the sweep. Where launches are so few that their mean stands for them, wild values are
drawn in first.
Sources: the drawing together of variances is that of Smyth 2004, doi 10.2202/1544-6115.1027; a floor of 1 % stands for
what no law of this kind describes, as steady effects of single points on caches and alignment.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slowpath.stats.estimate import SIGNED_RANK_LAUNCHES, T_LAUNCHES, estimate_over_launches
from slowpath.stats.inputs import Floats
from slowpath.stats.laws.sweep import Sweep

FLOOR_RATIO = 0.01
PRIOR_DF = 4.0  # weight of the typical point, in launches
CLIP_SD = 3.0
_MAD_TO_SD = 1.4826  # for a normal law


@dataclass(frozen=True)
class CentreCurve:
    """centre_s, sigma_ratio: shape (points,). clipped_s: shape (launches, points), what single launches are fitted to:
    a wild value counts as one CLIP_SD standard deviations away.
    """

    centre_s: Floats
    sigma_ratio: Floats
    clipped_s: Floats


def curve(sweep: Sweep) -> CentreCurve:
    """Centre and standard error at each point, the floor included."""
    logs = np.log(sweep.launch_s)
    effect = _launch_effects(logs)
    levelled = logs - effect[:, None]
    if sweep.launches == 1:
        error = np.zeros(sweep.points) if sweep.within_ratio is None else sweep.within_ratio
        return CentreCurve(sweep.launch_s[0].copy(), np.hypot(error, FLOOR_RATIO), sweep.launch_s.copy())
    if sweep.launches < SIGNED_RANK_LAUNCHES:  # a mean of few launches is carried away by one wild value
        levelled = _clipped(levelled, np.nanmedian(levelled, axis=0))
    centre, error, df = _points(levelled)
    enough = df > 0
    typical = float(np.median(error[enough])) if enough.any() else 0.0
    drawn = np.sqrt((PRIOR_DF * typical**2 + df * error**2) / (PRIOR_DF + df))
    clipped_s = np.exp(effect[:, None] + _clipped(levelled, centre))
    return CentreCurve(np.exp(centre), np.hypot(drawn, FLOOR_RATIO), clipped_s)


def _clipped(levelled: Floats, centre: Floats) -> Floats:
    """Logarithms with none further from their point's centre than CLIP_SD standard deviations."""
    reach = CLIP_SD * np.hypot(_typical_spread(levelled - centre), FLOOR_RATIO)
    found: Floats = np.clip(levelled, centre - reach, centre + reach)
    return found


def _launch_effects(logs: Floats) -> Floats:
    """Return what each launch adds to all of its points, as a logarithm, shape (launches,); its median over launches is
    0.
    """
    deviations = logs - np.nanmedian(logs, axis=0)
    effect = np.nanmedian(deviations, axis=1)
    centred: Floats = effect - np.median(effect)
    return centred


def _points(levelled: Floats) -> tuple[Floats, Floats, Floats]:
    """Centre of the logarithms, its standard error and the degrees of freedom behind it, each shape (points,)."""
    points = levelled.shape[1]
    centre, error, df = np.zeros(points), np.zeros(points), np.zeros(points)
    for p in range(points):
        values = levelled[np.isfinite(levelled[:, p]), p]
        found = estimate_over_launches(np.exp(values))
        centre[p], df[p] = np.log(found.value), values.size - 1
        if values.size >= T_LAUNCHES and found.interval is not None:
            error[p] = 0.5 * np.log(found.interval[1] / found.interval[0]) / _t975(values.size - 1)
        elif values.size == 2:
            error[p] = 0.5 * abs(values[1] - values[0])
    return centre, error, df


def _typical_spread(deviations: Floats) -> Floats:
    """Standard deviation of single launches at each point by the median of their absolute deviations, which wild values
    don't move, drawn towards that of the whole sweep; shape (points,)."""
    absolute = np.abs(deviations)
    own = _MAD_TO_SD * np.nanmedian(absolute, axis=0)
    whole = _MAD_TO_SD * float(np.nanmedian(absolute))
    df = np.isfinite(deviations).sum(axis=0) - 1.0
    spread: Floats = np.sqrt((PRIOR_DF * whole**2 + df * own**2) / (PRIOR_DF + df))
    return spread


def _t975(df: int) -> float:
    from scipy import special

    return float(special.stdtrit(df, 0.975))
