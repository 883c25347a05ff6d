# SPDX-License-Identifier: Apache-2.0
"""Time by the pages that a message touches: pinning, page faults, copying page by page.

Pages = floor((address + bytes - 1) / P) - floor(address / P) + 1. P is the host's where the sweep says it (page_bytes,
which tells small from huge pages), else each power of two is tried. Without an address a message begins on a page.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slowpath.core.units import format_bytes
from slowpath.stats.inputs import Floats
from slowpath.stats.laws.found import per_one, per_page
from slowpath.stats.laws.law import Law, Place, Variant, missing, single, varies, with_transfer
from slowpath.stats.laws.linear import MESSAGE
from slowpath.stats.laws.probes import near
from slowpath.stats.laws.sweep import Covariates

SIZES = tuple(2**power for power in range(12, 31))
OFFSET, PAGE = "offset_bytes", "page_bytes"


def pages(first_bytes: Floats, length_bytes: Floats, page_bytes: Floats | int) -> Floats:
    """Pages that the bytes [first, first + length) touch, shape (points,); no bytes touch none."""
    last = np.floor((first_bytes + length_bytes - 1) / page_bytes)
    touched: Floats = np.where(length_bytes > 0, last - np.floor(first_bytes / page_bytes) + 1, 0.0)
    return touched


def first_byte(covariates: Covariates) -> Floats:
    """Return where the message begins, relative to a page boundary or as an address."""
    zero = np.zeros_like(covariates[MESSAGE])
    place: Floats = covariates.get("base", zero) + covariates.get(OFFSET, zero)
    return place


def _of_size(page: int) -> Variant:
    return Variant(
        f"{format_bytes(page)} pages", single("pages", per_page(page), lambda c: pages(first_byte(c), c[MESSAGE], page))
    )


def _observed() -> Variant:
    per = per_one("page of the host", "pages")
    return Variant("the host's pages", single("pages", per, lambda c: pages(first_byte(c), c[MESSAGE], c[PAGE])))


def _variants(covariates: Covariates) -> Sequence[Variant]:
    if varies(covariates, PAGE):
        return with_transfer([_observed()], covariates)
    longest = float(covariates[MESSAGE].max())
    sizes = [size for size in SIZES if size < longest] or [SIZES[0]]
    return with_transfer([_of_size(size) for size in sizes], covariates)


def _probes(covariates: Covariates) -> list[Place]:
    return near(covariates, MESSAGE, [1, *(-size // 2 for size in SIZES[:12])])


LAW = Law(
    name="pages",
    formula="t = a + b pages(P) [+ c message_bytes]",
    needs=lambda c: missing(c, MESSAGE, PAGE) or (None if MESSAGE in c else "the sweep does not say message_bytes"),
    variants=_variants,
    probes=_probes,
    along=(MESSAGE,),
)
