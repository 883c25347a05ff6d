# SPDX-License-Identifier: Apache-2.0
"""A path that opens at the n-th use of a buffer: earlier messages go another, slower way.

`repetition` counts uses from 1 on. n = 2 is a cost of the first use alone; MPICH's XPMEM opens at the fifth use of an
address (its source, src/mpid/ch4/shm/ipc/xpmem).
"""

from __future__ import annotations

from slowpath.stats.laws.law import Law, missing
from slowpath.stats.laws.probes import spread
from slowpath.stats.laws.steps import steps

REPETITION = "repetition"

LAW = Law(
    name="repetition",
    formula="t = a + b [repetition < n]",
    needs=lambda covariates: missing(covariates, REPETITION),
    variants=lambda covariates: steps(covariates, REPETITION, "before it opens", rising=False),
    probes=lambda covariates: spread(covariates, REPETITION),
    shape_matters=False,
    along=(REPETITION,),
    fewest=5,
)
