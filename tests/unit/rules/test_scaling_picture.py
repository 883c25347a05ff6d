# SPDX-License-Identifier: Apache-2.0
"""Counts over the number of ranks in a report: what is predicted is marked, and what no law fixes is not predicted."""

from __future__ import annotations

from collective_plants import SOCKETS, counted, prefix_chain
from planted_results import Planted

from slowpath.core.results import Results
from slowpath.mpi import algorithms
from slowpath.report.figure import Plot
from slowpath.report.scaling import scaling_section
from slowpath.slowpaths.collectives.scalings import scalings
from support.blocks import every

RANKS = (2, 3, 4, 5, 6, 7, 8)


def run() -> Results:
    """A chain, whose law is exact, and a binary tree, to whose few counts a law with a ceiling fits."""
    made = Planted()
    made.environment("by sockets", SOCKETS)
    counted(made, "scan", prefix_chain, RANKS, environment="by sockets")
    counted(made, "bcast", lambda p: algorithms.down(p, algorithms.binary_parent), RANKS, environment="by sockets")
    found = made.results()
    return found if found.scalings else _with_scalings(found)


def _with_scalings(found: Results) -> Results:
    import msgspec

    return msgspec.structs.replace(found, scalings=scalings(found.cells))


def test_an_exact_law_is_drawn_beyond_what_was_counted_and_marked() -> None:
    (figure,) = every(scaling_section(run()), Plot)
    assert [band.label for band in figure.bands] == ["extrapolated →"]
    (beyond,) = [series.points for series in figure.series if series.marker == "hollow"]
    assert [point.x for point in beyond] == [64, 1024]  # the chain
    assert figure.table is not None
    law = ["scan of 8 B", "2 to 8", "p - 1", "1.00", "8 ranks: holds", "63 at 64; 1023 at 1024"]
    assert law in list(figure.table.rows)
