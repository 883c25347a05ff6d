# SPDX-License-Identifier: Apache-2.0
"""SP077: polls that find nothing, so often that they take time from the computing between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from slowpath.findings.program_pattern import NONE, Ints, ProgramCalls, ProgramSlowPath, SeenPattern, most

LEAST = 10  # polls in vain for each that found something: fewer are what it takes to look
FEWER = 10  # times: as often would do
MOST_LOOPS = 0.1  # of the polls of a place: more belong to loops that wait, whose time is a wait


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Places of MPI_Test and MPI_Iprobe whose calls find nothing, with computing between them."""
    if calls.in_vain is None or not calls.in_vain.any():
        return ()
    vain = np.flatnonzero(calls.in_vain)
    return [one for site in np.unique(calls.site[vain]).tolist() if site != NONE for one in _at(calls, vain, site)]


def _at(calls: ProgramCalls, vain: Ints, site: int) -> Iterator[SeenPattern]:
    here = vain[calls.site[vain] == site]
    rows = here[calls.end_s[here] > calls.start_s[here]]  # what belongs to a loop that waits has no time of its own
    if here.size - rows.size > MOST_LOOPS * here.size:
        return
    call = int(np.bincount(calls.call[rows]).argmax())
    found = (calls.site == site) & (calls.call == call)
    found[here] = False
    of_place = (calls.counted[:, 1] == site) & (calls.counted[:, 0] == call)
    hits = calls.stood_for(np.flatnonzero(found))
    count = int(calls.counted[of_place, 3].sum()) - hits
    if not hits or count < LEAST * hits:  # polls that never find anything are there to let the library make progress
        return
    name = calls.names[call]
    yield SeenPattern(
        sites=most(calls.site[rows], calls.own_s[rows]),
        count=count,
        text=f"{count:,} {name} in {{place}} found nothing, {count // hits:,} for each that found "
        "something, with computing between them",
        change=f"call {name} a tenth as often; where the rank has nothing else to do, wait instead",
        basis="the time of these calls, less one of ten; low: half of it, since a library may move messages in them; "
        "high: all of it",
        rows=rows,
        saved_s=calls.own_s[rows, None] * np.array([1 - 1 / FEWER, 0.5, 1.0]),
    )


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP077",
    name="polls in vain",
    title="The program polls more often than messages come",
    what="MPI_Test, MPI_Iprobe and their like are called between pieces of work, nearly all of them find nothing, "
    "and each takes the library through its queues and networks.",
    needs="A watched program: at one place ten polls or more find nothing for each that finds something, and they "
    "take 1 % of the run.",
    remedy="Poll a tenth as often, by time or by pieces of work. A rank that has nothing else to do calls MPI_Wait, "
    "MPI_Waitsome or MPI_Probe.",
    cause="A poll costs a pass over the library's queues.",
    needs_law=False,
    kind="property",
    pattern=see,
)
