# SPDX-License-Identifier: Apache-2.0
"""SP057: communicators, windows and datatypes that are made again and again, and never freed."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.program_pattern import NONE, ProgramCalls, ProgramSlowPath, SeenPattern
from slowpath.slowpaths.program.made import made_anew

# Of a rank. Whether datatypes are made in each iteration is not recorded; a program may make some hundred in one loop.
LEAST = {"communicator": 20, "window": 20, "datatype": 1000}
FREED = 0.1  # at most that share


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Of each place that makes them in each iteration, where the program frees hardly any."""
    return [
        SeenPattern(
            sites=(one.site,) if one.site != NONE else (),
            count=one.every,
            text=f"{one.every:,} {one.kind}s made by {one.call} in {{place}}, {one.each:,} on a rank, but only "
            f"{one.freed_share:.0%} of the program's {one.kind}s are freed",
            change=f"free the {one.kind} after its last use, or make it once",
            basis="",
            reported=True,
        )
        for one in made_anew(calls)
        if one.each >= LEAST[one.kind] and one.freed_share <= FREED
    ]


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP057",
    name="never freed",
    title="Communicators, windows or datatypes are made in each iteration and never freed",
    what="A program makes a communicator, a window or a datatype again and again, and does not free it.",
    shows="One place makes twenty or more on a rank, the program communicates between them, and at most a tenth of all "
    "that it makes is freed; of datatypes a thousand or more at one place.",
    why="Each holds memory and an identity of which a library has a limited number: MPICH ends a program after some "
    "2,000 communicators. Lists of them become longer, and what walks them slower.",
    needs="A watched program (docs/reference/watch.md): calls that make and free are counted exactly. No time is "
    "claimed.",
    remedy="MPI_Comm_free, MPI_Win_free, MPI_Type_free after the last use; better, make it once.",
    false_alarms="Calls that give MPI_COMM_NULL on a rank are counted as made.",
    sources=("MPI-4.1 sections 5.1.9, 7.4.3 and 12.2.5", "docs/reference/watch.md"),
    cause="The program never gives back what it makes.",
    needs_law=False,
    kind="property",
    pattern=see,
)
