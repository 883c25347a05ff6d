# SPDX-License-Identifier: Apache-2.0
"""SP083: what a program makes in MPI, how often, and what it never frees or completes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import msgspec
import numpy as np

from slowpath.findings.program_pattern import (
    NONE,
    Floats,
    Ints,
    ProgramCalls,
    ProgramSlowPath,
    SeenPattern,
    most,
    usual,
)
from slowpath.mpi.libraries import read_rows
from slowpath.slowpaths.program.excess import RECEIVES, saved_by, searching, unfinished
from slowpath.slowpaths.program.repeats import around_s, named_like
from slowpath.slowpaths.remedies import page_of


class Kind(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Objects of one kind.

    makes, frees, along: what calls are named behind MPI_ that make one, free it, and go with making it.  is_timed: each
    call has a time of its own.  least: made by a rank at one place, after communication each time where that is known.
    least_held: made by a rank at one place, hardly any freed.  once: what to write instead.  is_used_first: the first
    calls on a new one set it up, so that what they take may go as well.
    """

    name: str
    makes: str
    frees: str = "(?!)"
    along: str = "(?!)"
    least: int = 50
    least_held: int = 1000
    once: str = ""
    is_timed: bool = False
    is_used_first: bool = False


KINDS: Final = read_rows("calls", "objects", Kind)
MANAGING: Final = "|".join(names for kind in KINDS for names in (kind.makes, kind.frees, kind.along))
# No call counts for more than so many times the median of its kind: each is several steps of all ranks in turn, any of
# which may have to wait for a core.
LEAST, USUAL, MOST = 3.0, 10.0, 30.0
FREED: Final = 0.1  # at most that share of what is made


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Of each place: objects that are made again and again, or never freed, and requests that are never completed."""
    return [*(pattern for kind in KINDS for pattern in _of_kind(calls, kind)), *_requests(calls)]


def _of_kind(calls: ProgramCalls, kind: Kind) -> Iterator[SeenPattern]:
    """All places that make them again and again are one change; so are those whose objects are never freed."""
    call, site, rank, count = calls.counted.T
    makes = named_like(calls, kind.makes)[call]
    made, freed = (int(count[here].sum()) for here in (makes, named_like(calls, kind.frees)[call]))
    again: dict[bool, dict[int, int]] = {True: {}, False: {}}  # whether they are held, place, rounds
    for place in np.unique(site[makes]).tolist():
        here = makes & (site == place)
        each = np.bincount(rank[here], weights=count[here])
        rounds = _rounds(calls, kind, place, int(each.max()))
        if rounds >= kind.least:
            is_held = freed <= FREED * made and each.max() >= kind.least_held
            again[is_held][place] = rounds
    for is_held, rounds_at in again.items():
        if not rounds_at:
            continue
        here = makes & np.isin(site, list(rounds_at))
        every, at_most = int(count[here].sum()), int(np.bincount(rank[here], weights=count[here]).max())
        name = calls.names[int(np.bincount(call[here], weights=count[here]).argmax())]
        rows, saved_s, alone_s = _saved(calls, kind, rounds_at, every / made)
        took_s = np.bincount(site[here] + 1, weights=calls.counted_s[here], minlength=1)
        places = sorted(rounds_at, key=lambda at: -took_s[at + 1])
        other = [int(at) for at in np.unique(calls.site[rows]) if at not in (*places, NONE)]
        text = (
            f"{every:,} {kind.name}s made by {name} in {{place}}"
            f"{f' and at {len(places) - 1} more' if len(places) > 1 else ''}, {at_most:,} on a rank, with "
            "communication between them"
        )
        held = f"; only {freed / made:.0%} of the program's {kind.name}s are freed"
        once = kind.once or f"make the {kind.name} once before the loop, and free it after the loop"
        yield SeenPattern(
            name=f"{kind.name}s never freed" if is_held else f"{kind.name}s made anew",
            sites=(*(at for at in places if at != NONE), *other[:3]) if places[0] != NONE else (),
            count=every,
            text=text + held if is_held else text,
            change=f"{once}, or at least free each {kind.name} after its last use" if is_held else once,
            rows=rows,
            saved_s=saved_s,
            more_s=(alone_s, 0.9 * alone_s, alone_s),
            reported=is_held,
        )


def _saved(calls: ProgramCalls, kind: Kind, rounds_at: Mapping[int, int], part: float) -> tuple[Ints, Floats, float]:
    """Kept calls with what each would take less, and seconds a rank in calls that are only counted.

    Args: rounds_at: of each place, how often a rank makes them there.  part: of what the program makes of this kind.
    """
    again = 1.0 - 1.0 / max(rounds_at.values())
    places = list(rounds_at)
    makes, others = named_like(calls, kind.makes), named_like(calls, f"{kind.frees}|{kind.along}")
    here = makes[calls.call] & np.isin(calls.site, places)
    rows = np.flatnonzero(here | others[calls.call])
    share = np.where(here[rows], again, part * again)
    own_s, call = calls.own_s[rows], calls.call[rows]
    ends = [usual(own_s, call, times) * share for times in (USUAL, LEAST, MOST)]
    kept = np.zeros(len(calls.names), dtype=bool)
    kept[calls.call] = True
    counted, site = calls.counted[:, 0], calls.counted[:, 1]
    every_s = calls.counted_s + around_s(calls)
    made_s, others_s = (float(every_s[which].sum()) for which in
                        ((makes & ~kept)[counted] & np.isin(site, places), (others & ~kept)[counted]))  # fmt: skip
    alone_s = (made_s + part * others_s) / calls.ranks * again
    saved_s = np.stack(ends, axis=1)
    if kind.is_used_first:
        uses = np.flatnonzero(calls.is_one_sided & ~(makes | others)[calls.call])
        rows = np.concatenate([rows, uses])
        saved_s = np.concatenate([saved_s, calls.own_s[uses, None] * np.array([0.0, 0.0, part * again])])
    return rows, saved_s, alone_s


def _rounds(calls: ProgramCalls, kind: Kind, place: int, made: int) -> int:
    """How often a rank makes them after it has communicated: once, where it makes all that it needs in one loop.

    Args: made: by the rank that makes most; it has to do where calls of this kind have no times.
    """
    rows = np.flatnonzero(named_like(calls, kind.makes)[calls.call] & (calls.site == place))
    if not rows.size:
        return 0 if kind.is_timed else made
    managing = named_like(calls, MANAGING)[calls.call]
    traffic = np.cumsum((calls.is_message | calls.is_collective | calls.is_one_sided) & ~managing)
    first = np.ones(rows.size, dtype=bool)
    first[1:] = (calls.rank[rows][1:] != calls.rank[rows][:-1]) | (traffic[rows[1:] - 1] > traffic[rows[:-1]])
    return int(np.bincount(calls.rank[rows[first]]).max())


def _requests(calls: ProgramCalls) -> Iterator[SeenPattern]:
    """Requests that were started at a place and neither completed nor freed; open receives with what searches them."""
    rows, saved_s = saved_by(calls, searching(calls) if calls.completions is not None else ())
    for place, number, left in unfinished(calls):
        is_searched = rows.size > 0 and bool(named_like(calls, RECEIVES)[number])
        here = calls.site[rows[: rows.size * is_searched]]
        yield SeenPattern(
            name="requests never completed",
            sites=(place, *(at for at in most(here, saved_s[: here.size, 0]) if at != place)),
            count=int(left.sum()),
            text=f"{left.sum():,} requests by {calls.names[number]} in {{place}}, {left.max():,} on one rank, are not "
            f"completed and not freed{', and receives in {other} may search past them' if is_searched else ''}",
            change="complete each request by MPI_Wait or MPI_Test before its buffer is used again"
            + ", or post the receive once, before the loop, and test it in each step" * is_searched,
            reported=True,
            rows=rows[: here.size],
            saved_s=saved_s[: here.size],
            more_s=_held_s(calls, left),
        )


PAGE_BYTES, MOST_HELD_BYTES = 4096, 2048


def _held_s(calls: ProgramCalls, left: Ints) -> tuple[float, float, float]:
    """What the pages take that requests hold, of the rank that has most.  Args: left: requests of each rank."""
    held_s = 0.0
    for share in calls.shares:
        pages = min(share.grown_bytes or 0, MOST_HELD_BYTES * int(left[share.rank])) / PAGE_BYTES
        held_s = max(held_s, pages * calls.elapsed_ratio[share.rank] * float(np.median(share.fault_s or (0.0,))))
    return held_s, 0.5 * held_s, 2.0 * held_s


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(pattern=see, **page_of("SP083"))
