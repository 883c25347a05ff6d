# SPDX-License-Identifier: Apache-2.0
"""What the largest pages of a law of granules cost at most. Pure.

Allocations that all have about the same number of the largest pages can't tell their cost from a constant. The constant
is then an upper bound of it, which is worth saying beside the cost of the smaller pages.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from slowpath.core.units import format_bytes
from slowpath.findings.evidence.lawfound import LawFound
from slowpath.findings.evidence.lines import Line
from slowpath.stats.laws.coefficient import Coefficient
from slowpath.stats.laws.granules import alignment

ALIKE = 1.25  # most over fewest pages that can't tell a cost by the page from a constant
_KIND = "upper bound: the constant, shared out among the pages of the shortest such allocation"


def with_bound(line: Line) -> LawFound:
    """The line's law; of granules with a constant for the best aligned lengths also the bound on their pages."""
    law = line.law
    if law.name != "granules" or not law.brackets or law.coefficients[0].name != "constant":
        return law
    lengths = next((line.sweep.covariates[n] for n in line.sweep.varied() if n.endswith("allocation_bytes")), None)
    page = law.brackets[-1].up_to
    if lengths is None or any(one.name.startswith(format_bytes(int(page))) for one in law.coefficients):
        return law
    pages = np.ceil(lengths[alignment(lengths) >= page] / page)
    if not pages.size or pages.max() > ALIKE * pages.min():
        return law
    first, name = law.coefficients[0], format_bytes(int(page))
    bound = Coefficient(
        f"{name} granules at most",
        f"s per {name} page",
        first.value / float(pages.min()),
        None,
        _KIND,
        None,
        tuple(value / float(pages.min()) for value in first.launch_values),
    )
    return replace(law, coefficients=(*law.coefficients, bound))
