# SPDX-License-Identifier: Apache-2.0
"""Time by the allocation's length: what registers or maps a buffer often does so with all of it, however short the
message."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.stats.laws.found import per_byte_of
from slowpath.stats.laws.law import Law, Place, Variant, missing, single, varies, with_transfer
from slowpath.stats.laws.probes import spread
from slowpath.stats.laws.sweep import Covariates

# Whose allocation: both sides' where they are alike, else each may be the one that counts.
SIDES = {
    "allocation_bytes": "allocation",
    "sender_allocation_bytes": "sender's allocation",
    "receiver_allocation_bytes": "receiver's allocation",
}


def sides(covariates: Covariates) -> dict[str, str]:
    """Return the names of the allocations whose length varies in this sweep."""
    return {name: text for name, text in SIDES.items() if varies(covariates, name)}


def _variant(name: str, text: str) -> Variant:
    return Variant(text, single("by length", per_byte_of(text), lambda c: c[name]))


def _variants(covariates: Covariates) -> Sequence[Variant]:
    return with_transfer([_variant(name, text) for name, text in sides(covariates).items()], covariates)


def _probes(covariates: Covariates) -> list[Place]:
    return [place for name in sides(covariates) for place in spread(covariates, name)]


LAW = Law(
    name="allocation",
    formula="t = a + b allocation_bytes",
    needs=lambda covariates: missing(covariates, *SIDES),
    variants=_variants,
    probes=_probes,
    along=tuple(SIDES),
    fewest=4,
)
