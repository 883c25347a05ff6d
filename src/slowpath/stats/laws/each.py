# SPDX-License-Identifier: Apache-2.0
"""Time by a plain count: ranks of a job, uses that were made before. Each one more costs the same."""

from __future__ import annotations

from slowpath.stats.laws.law import Law, Variant, missing, single
from slowpath.stats.laws.probes import spread

COUNT = "n"

LAW = Law(
    name="each",
    formula="t = a + b n",
    needs=lambda covariates: missing(covariates, COUNT),
    variants=lambda covariates: [Variant("linear", single("each", "one more", lambda c: c[COUNT]))],
    probes=lambda covariates: spread(covariates, COUNT),
    along=(COUNT,),
    fewest=4,
)
