# SPDX-License-Identifier: Apache-2.0
"""SP052: windows, communicators and datatypes that are made anew in each iteration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slowpath.findings.program_pattern import NONE, ProgramCalls, ProgramSlowPath, SeenPattern, usual
from slowpath.slowpaths.program.made import FREES, MAKERS, WITH, Made, made_anew


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Of each place that makes such objects again and again: all but the first, with their freeing."""
    found = made_anew(calls)
    return [_pattern(calls, one, _share(found, one)) for one in found]


def _share(found: Sequence[Made], one: Made) -> float:
    """Of what is freed of this kind, the part that this place made."""
    alike = sum(other.every for other in found if other.kind == one.kind)
    return one.every / alike if alike else 1.0


def _pattern(calls: ProgramCalls, one: Made, part: float) -> SeenPattern:
    again = 1.0 - 1.0 / one.rounds
    here = calls.named(*MAKERS[one.kind]) & (calls.site == one.site)
    freed = calls.named(*FREES[one.kind])
    rows = np.flatnonzero(here | freed)
    share = np.where(freed[rows], part * again, again)
    own_s, call = calls.own_s[rows], calls.call[rows]
    ends = [usual(own_s, call) * share, usual(own_s, call, 1.0) * share, own_s * share]
    alone_s = _alone_s(calls, one, part) * again
    other = [int(site) for site in np.unique(calls.site[freed]) if site not in (one.site, NONE)]
    return SeenPattern(
        sites=(one.site, *other[:3]) if one.site != NONE else (),
        count=one.every,
        text=f"{one.every:,} {one.kind}s made by {one.call} in {{place}}, {one.each:,} on a rank, with "
        "communication between them",
        change=f"make the {one.kind} once before the loop, and free it after the loop",
        basis="the calls that make and free it, except the first, without their waits for late ranks and the first "
        f"use of a new {one.kind}",
        rows=rows,
        saved_s=np.stack(ends, axis=1),
        more_s=(alone_s, 0.9 * alone_s, alone_s),
    )


def _alone_s(calls: ProgramCalls, one: Made, part: float) -> float:
    """In calls of its kind that are counted and not kept, seconds a rank."""
    call, site = calls.counted[:, 0], calls.counted[:, 1]
    kept = np.zeros(len(calls.names), dtype=bool)
    kept[calls.call] = True
    makes = calls.name_is(*MAKERS[one.kind])[call] & (site == one.site) & ~kept[call]
    with_it = calls.name_is(*FREES[one.kind], *WITH[one.kind])[call] & ~kept[call]
    return float(calls.counted_s[makes].sum() + part * calls.counted_s[with_it].sum()) / calls.ranks


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP052",
    name="made anew in each iteration",
    title="A window, communicator or datatype is made and freed in each iteration",
    what="Making a window or a communicator agrees on an identity, exchanges addresses and maps memory; a datatype "
    "is flattened when it is committed.",
    needs="A watched program: one place makes windows or communicators ten times or more on a rank, or fifty "
    "datatypes. The saving is all but the first, without waiting for late ranks.",
    remedy="Make it once before the loop and free it behind it. For buffers that change, MPI_Win_create_dynamic, or "
    "one window over all of them.",
    cause="Making and freeing takes the time of several collectives.",
    needs_law=False,
    kind="property",
    pattern=see,
)
