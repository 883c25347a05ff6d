# SPDX-License-Identifier: Apache-2.0
"""Time by the entries that stand in front in a queue of receives or messages: each is looked at before the match."""

from __future__ import annotations

from slowpath.stats.laws.law import Law, Variant, missing, single
from slowpath.stats.laws.probes import spread

QUEUE = "queue"

LAW = Law(
    name="queue",
    formula="t = a + b queue",
    needs=lambda covariates: missing(covariates, QUEUE),
    variants=lambda covariates: [Variant("linear", single("queue", "entry in front", lambda c: c[QUEUE]))],
    probes=lambda covariates: spread(covariates, QUEUE),
    along=(QUEUE,),
)
