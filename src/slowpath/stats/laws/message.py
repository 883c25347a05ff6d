# SPDX-License-Identifier: Apache-2.0
"""Time by the message's length: the postal model, alpha + beta n (Hockney 1994, doi 10.1016/S0167-8191(06)80021-9)."""

from __future__ import annotations

from slowpath.stats.laws.law import Law, Variant, missing, single
from slowpath.stats.laws.probes import spread

MESSAGE = "message_bytes"

LAW = Law(
    name="bytes",
    formula="t = a + b message_bytes",
    needs=lambda covariates: missing(covariates, MESSAGE),
    variants=lambda covariates: [Variant("bytes", single("transfer", "byte", lambda c: c[MESSAGE]))],
    probes=lambda covariates: spread(covariates, MESSAGE),
    along=(MESSAGE,),
    fewest=4,
)
