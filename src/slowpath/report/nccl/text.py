# SPDX-License-Identifier: Apache-2.0
"""First uses of GPU libraries for a terminal."""

from __future__ import annotations

from slowpath.core.results import Results
from slowpath.report.nccl.first_uses import HEAD, first_uses, inside_words, row

_TITLE = "First use by steps, one after the other, on the slowest rank; MPI is initialised before:"
_LEFT = 3  # columns of words


def nccl_lines(results: Results) -> list[str]:
    """One line each, not wrapped; [] in a run without a first use."""
    found = first_uses(results)
    if not found:
        return []
    table = [list(HEAD), *(row(one) for one in found)]
    widths = [max(len(line[place]) for line in table) for place in range(len(HEAD))]
    lines = [_TITLE]
    for line in table:
        shown = [
            word.ljust(width) if place < _LEFT else word.rjust(width)
            for place, (word, width) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append("  " + "  ".join(shown).rstrip())
    for one in found:
        if words := inside_words(one):
            lines.append(f"  Inside init of {one.library}, by its own words ({one.environment}): {words}.")
    return lines
