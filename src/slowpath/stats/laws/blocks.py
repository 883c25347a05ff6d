# SPDX-License-Identifier: Apache-2.0
"""Time by the contiguous blocks of a datatype: one copy, or one call of the GPU's driver, for each."""

from __future__ import annotations

from slowpath.stats.laws.law import Law, Variant, missing, single, with_transfer
from slowpath.stats.laws.probes import spread

BLOCKS = "blocks"

LAW = Law(
    name="blocks",
    formula="t = a + b blocks [+ c message_bytes]",
    needs=lambda covariates: missing(covariates, BLOCKS),
    variants=lambda c: with_transfer([Variant("blocks", single("blocks", "block", lambda d: d[BLOCKS]))], c),
    probes=lambda covariates: spread(covariates, BLOCKS),
    along=(BLOCKS,),
    fewest=4,
)
