# SPDX-License-Identifier: Apache-2.0
"""SP057: communicators, windows, datatypes and requests that are made again and again, and never freed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from slowpath.findings.program_pattern import NONE, ProgramCalls, ProgramSlowPath, SeenPattern
from slowpath.slowpaths.program.made import made_anew

# Of a rank. Whether datatypes are made in each iteration is not recorded; a program may make some hundred in one loop.
LEAST = {"communicator": 20, "window": 20, "datatype": 1000}
FREED = 0.1  # at most that share
LEAST_REQUESTS = 100  # of a rank at one place: those of a program that was stopped are few


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Of each place that makes them in each iteration, where the program frees hardly any."""
    return [*_made(calls), *_requests(calls)]


def _made(calls: ProgramCalls) -> list[SeenPattern]:
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


def _requests(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Sends that were started and neither completed nor freed, at places whose calls were all kept."""
    messages = calls.messages
    if calls.counted[calls.name_is("MPI_Request_free")[calls.counted[:, 0]], 3].sum():
        return  # which requests these were is not recorded
    sent = messages.sent[messages.sent != NONE]
    is_open = (messages.left == NONE)[messages.sent != NONE]
    for site in np.unique(calls.site[sent[is_open]]).tolist():
        here = calls.site[sent] == site
        each = np.bincount(calls.rank[sent[here & is_open]])
        counted = int(calls.counted[calls.counted[:, 1] == site, 3].sum())
        if site == NONE or counted != here.sum() or each.max() < LEAST_REQUESTS:
            continue
        if (here & is_open).sum() < (1 - FREED) * here.sum():
            continue
        name = calls.names[int(np.bincount(calls.call[sent[here]]).argmax())]
        yield SeenPattern(
            sites=(site,),
            count=int(each.sum()),
            text=f"{each.sum():,} requests by {name} in {{place}}, {each.max():,} on a rank, are never completed",
            change="complete each request by MPI_Wait or MPI_Test before its buffer is used again: until then the "
            "message may hold what was written later",
            basis="",
            reported=True,
        )


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP057",
    name="never freed",
    title="Communicators, windows, datatypes or requests are made in each iteration and never freed",
    what="Communicators, windows, datatypes or requests that are never freed hold memory and identities: MPICH ends "
    "a program after some 2,000 communicators.",
    needs="A watched program: one place makes twenty or more on a rank (a thousand datatypes, a hundred requests), "
    "and at most a tenth is freed. No time is claimed.",
    remedy="MPI_Comm_free, MPI_Win_free, MPI_Type_free after the last use; better, make it once. MPI_Wait or "
    "MPI_Test for requests.",
    cause="The program never gives back what it makes.",
    needs_law=False,
    kind="property",
    pattern=see,
)
