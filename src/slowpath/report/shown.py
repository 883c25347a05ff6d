# SPDX-License-Identifier: Apache-2.0
"""Limits of what one page shows of a large run, so that it stays below a megabyte. The CSV files have everything."""

from __future__ import annotations

from msgspec.structs import replace

from slowpath.core.results import Results

MOST = 80  # cells in pictures, tables and commands of single cells, and contrasts that open to their pairs
FEWER = (MOST, 40, 20, 8)  # the first with which the page is no larger than it may be
PAGE_BYTES = 940_000
SAMPLES_BYTES = 400_000  # of the explorer, at most
LEAST_SAMPLES_BYTES = 20_000  # less shows nothing


def shown_cells(results: Results, most: int = MOST) -> Results:
    """Return the results with at most `most` cells, in their order.

    Cells of findings come first, then those of the verdict and of contrasts, then the first cells.
    """
    if len(results.cells) <= most:
        return results
    named = {line.contrast for line in results.verdict.lines}
    sides = sorted(results.contrasts, key=lambda contrast: contrast.id not in named)
    wanted = [cell for finding in results.findings for cell in (*finding.slow_cells[:1], *finding.fast_cells[:1])]
    wanted += [side.cell for contrast in sides for side in (contrast.a, contrast.b)]
    wanted += [cell.cell for cell in results.cells]
    kept = set(list(dict.fromkeys(wanted))[:most])
    return replace(results, cells=[cell for cell in results.cells if cell.cell in kept])


def samples_budget(page_bytes: int) -> int:
    """Return the bytes left for the explorer next to a page of this size, or 0 if they are too few to be useful."""
    left = min(SAMPLES_BYTES, PAGE_BYTES - page_bytes)
    return left if left >= LEAST_SAMPLES_BYTES else 0
