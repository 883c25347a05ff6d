# SPDX-License-Identifier: Apache-2.0
"""Why nothing was measured in a run, for whoever would conclude something from it. Pure."""

from __future__ import annotations

from collections import Counter

from slowpath.core.results import Results


def nothing_measured(results: Results) -> str | None:
    """Why no cell of the run has a value; None: at least one has.

    The words of what was skipped come first, since they name what happened, and not the cells.
    """
    if any(cell.is_measured for cell in results.cells):
        return None
    if not results.cells:
        return "there is no cell"
    reasons = Counter({row.reason: 0 for row in results.skipped})
    for row in results.skipped:
        reasons[row.reason] += max(1, row.launches)
    if reasons:
        return reasons.most_common(1)[0][0].rstrip(".;")
    if not results.run.launches.done:
        return "no launch ended well"
    return "the launches hold no samples"
