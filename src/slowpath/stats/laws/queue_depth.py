# SPDX-License-Identifier: Apache-2.0
"""Time per message by how many are in flight: what is waited for together is shared, and a longer queue is searched.

a is what each message costs whatever the depth; the shared term is the latency that a window waits for once; the
searched one the walk along a list of posted or unexpected messages (Underwood and
Brightwell, The Impact of MPI Queue Usage on Message Latency, ICPP 2004).
"""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.stats.laws.law import Column, Law, Variant, intercept, missing, single
from slowpath.stats.laws.probes import spread
from slowpath.stats.laws.sweep import Covariates

DEPTH = "in_flight"


def _both(covariates: Covariates) -> Sequence[Column]:
    depth = covariates[DEPTH]
    return [intercept(covariates), Column("shared", "window", 1.0 / depth), Column("searched", "message ahead", depth)]


_VARIANTS = (
    Variant("shared by the window", single("shared", "window", lambda c: 1.0 / c[DEPTH])),
    Variant("searched message by message", single("searched", "message ahead", lambda c: c[DEPTH])),
    Variant("shared and searched", _both),
)

LAW = Law(
    name="queue depth",
    formula="t = a + b / in_flight + c in_flight",
    needs=lambda c: missing(c, DEPTH) or (None if (c[DEPTH] > 0).all() else "in_flight is 0 at a point"),
    variants=lambda covariates: _VARIANTS,
    probes=lambda covariates: spread(covariates, DEPTH),
    along=(DEPTH,),
    fewest=4,
)
