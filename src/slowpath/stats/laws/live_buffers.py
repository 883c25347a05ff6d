# SPDX-License-Identifier: Apache-2.0
"""A step where more buffers are in use than a cache of handles or registrations holds.

Buffers used in turn miss a cache with least-recently-used replacement either never or every time, so the cost does not
grow: it begins. Known capacities: docs/internals/laws.md.
"""

from __future__ import annotations

from slowpath.stats.laws.law import Law, missing
from slowpath.stats.laws.probes import spread
from slowpath.stats.laws.steps import steps

LIVE = "live_buffers"

LAW = Law(
    name="live buffers",
    formula="t = a + b [live_buffers > K]",
    needs=lambda covariates: missing(covariates, LIVE),
    variants=lambda covariates: steps(covariates, LIVE, "miss", rising=True),
    probes=lambda covariates: spread(covariates, LIVE),
    shape_matters=False,
    along=(LIVE,),
    fewest=5,
)
