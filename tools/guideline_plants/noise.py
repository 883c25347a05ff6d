# SPDX-License-Identifier: Apache-2.0
"""The campaign of clean noise: the library's own call of each collective and length, five times in each launch."""

from __future__ import annotations

COLLECTIVES = (
    *("bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv", "alltoall", "alltoallv"),
    *("alltoallw", "reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"),
    *("neighbor_allgather", "neighbor_allgatherv", "neighbor_alltoall", "neighbor_alltoallv"),
)
LENGTHS = ("8", "64", "256", "1KiB", "4KiB", "8KiB", "16KiB", "32KiB", "64KiB", "128KiB")
COPIES = 5
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan")

HEAD = """\
[campaign]
name = "guideline-noise"
title = "The library's own collectives, five times each"
ranks = 2
rounds = 12
minimum_effect = 0.05
"""


def campaign_text() -> str:
    """200 points, each COPIES times."""
    return "\n".join([HEAD, *(_cells(name) for name in COLLECTIVES)])


def _cells(collective: str) -> str:
    lengths = ", ".join(f'"{length}"' for length in LENGTHS)
    typed = 'datatype = "double"\n' if collective in REDUCTIONS else ""
    return (
        f'[[cells]]\nname = "{collective}"\nexperiment = "coll"\ncopies = {COPIES}\n[cells.parameters]\n'
        f'collective = "{collective}"\nmessage_bytes = [{lengths}]\n{typed}'
        "samples = 30\ntime_limit_s = 0.006\nwarmup_s = 0.001\n"
    )
