# SPDX-License-Identifier: Apache-2.0
"""SP083: what a program makes in MPI, how often, and what it never frees or completes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from slowpath.findings.program_pattern import (
    NONE,
    Bools,
    Floats,
    Ints,
    ProgramCalls,
    ProgramSlowPath,
    SeenPattern,
    usual,
)


@dataclass(frozen=True)
class _Kind:
    """Objects of one kind.

    makes, frees, along: what calls are named behind MPI_ that make one, free it, and go with making it.  is_timed: each
    call has a time of its own.  least: made by a rank at one place, after communication each time where that is known.
    least_held: made by a rank at one place, hardly any freed.  once: what to write instead.  is_used_first: the first
    calls on a new one set it up, so that what they take may go as well.
    """

    name: str
    makes: str
    frees: str
    along: str = "(?!)"
    least: int = 50
    least_held: int = 1000
    once: str = ""
    is_timed: bool = False
    is_used_first: bool = False


_OF_ALL: Final = "(Comm|Win|Type|File|Session)_"
KINDS: Final = (
    _Kind(
        "communicator",
        r"Comm_(i?dup(_with_info)?|split(_type)?|create(_group|_from_group)?)|Cart_(create|sub)|(Dist_g|G)raph_create\w*"
        r"|Intercomm_(create|merge)\w*",
        "Comm_(free|disconnect)",
        least=10,
        least_held=20,
        is_timed=True,
    ),
    _Kind(
        *("window", r"Win_(create(_dynamic)?|allocate\w*)", "Win_free"),
        least=10,
        least_held=20,
        is_timed=True,
        is_used_first=True,
    ),
    _Kind(
        *("datatype", r"Type_(contiguous|h?vector|h?indexed|struct|dup|create_(?!keyval|f90)\w+)", "Type_free"),
        along="Type_commit",
    ),
    _Kind("group", r"(Comm|Win|File)_(get_)?(remote_)?group|Group_(\w*(in|ex)cl|\w+(ion|ence|pset))", "Group_free"),
    _Kind("info object", rf"Info_(create\w*|dup)|{_OF_ALL}get_info", "Info_free", "Info_set"),
    _Kind("persistent request", r"(?!Session|T_)\w+_init", "Request_free"),
    _Kind(
        *("attached region", "Win_attach", "Win_detach"),
        least=10,
        once="attach the memory once before the loop, and detach it after the loop",
    ),
    _Kind(
        *("send buffer", r"Buffer_attach|\w+_attach_buffer", r"Buffer_detach|\w+_detach_buffer"),
        once="attach the buffer once before the loop, and detach it after the loop",
    ),
    _Kind("MPI allocation", "Alloc_mem", "Free_mem", least=10),
    _Kind(
        *("file", "File_open", "File_close", "File_set_(view|size)"),
        least_held=100,
        once="open the file once before the loop, and close it after the loop",
    ),
    _Kind(
        *("file reservation", "File_preallocate", "(?!)", "(?!)", 10, 10**9),
        once="leave MPI_File_preallocate out where no space need be reserved: writing makes a file longer",
    ),
    _Kind("operation", "Op_create", "Op_free"),
    _Kind("session", "Session_init", "Session_finalize", least=10, least_held=20),
    _Kind("error handler", f"{_OF_ALL}create_errhandler|Errhandler_create", "Errhandler_free"),
    _Kind("attribute key", f"{_OF_ALL}create_keyval", f"{_OF_ALL}free_keyval", f"{_OF_ALL}(set|delete)_attr"),
)
MANAGING: Final = "|".join(names for kind in KINDS for names in (kind.makes, kind.frees, kind.along))
# No call counts for more than so many times the median of its kind: each is several steps of all ranks in turn, any of
# which may have to wait for a core.
LEAST, USUAL, MOST = 3.0, 10.0, 30.0
FREED: Final = 0.1  # at most that share of what is made
LEAST_REQUESTS: Final = 100  # of a rank at one place: those of a program that was stopped are few
# A nonblocking call; MPI_Info_create and the like begin with the same letter.
_REQUEST: Final = r"I(?!m?probe|n(it|fo|tercomm)|s_)\w+|Start(all)?|R(put|get|accumulate|get_accumulate)"


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Of each place: objects that are made again and again, or never freed, and requests that are never completed."""
    return [*(pattern for kind in KINDS for pattern in _of_kind(calls, kind)), *_requests(calls)]


def named_like(calls: ProgramCalls, pattern: str) -> Bools:
    """Of each name whether it is like this behind MPI_, shape (len(names),)."""
    return np.array([re.fullmatch(f"MPI_({pattern})(_c)?", name) is not None for name in calls.names], dtype=bool)


def _of_kind(calls: ProgramCalls, kind: _Kind) -> Iterator[SeenPattern]:
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


def _saved(calls: ProgramCalls, kind: _Kind, rounds_at: Mapping[int, int], part: float) -> tuple[Ints, Floats, float]:
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
    made_s, others_s = (float(calls.counted_s[which].sum()) for which in
                        ((makes & ~kept)[counted] & np.isin(site, places), (others & ~kept)[counted]))  # fmt: skip
    alone_s = (made_s + part * others_s) / calls.ranks * again
    saved_s = np.stack(ends, axis=1)
    if kind.is_used_first:
        uses = np.flatnonzero(calls.is_one_sided & ~(makes | others)[calls.call])
        rows = np.concatenate([rows, uses])
        saved_s = np.concatenate([saved_s, calls.own_s[uses, None] * np.array([0.0, 0.0, part * again])])
    return rows, saved_s, alone_s


def _rounds(calls: ProgramCalls, kind: _Kind, place: int, made: int) -> int:
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
    """Requests that were started at a place and neither completed nor freed.

    Those of which nobody knows where they were started, since the program moved them, may be any place's.
    """
    if calls.completions is None:
        return
    call, site, rank, count = calls.counted[named_like(calls, _REQUEST)[calls.counted[:, 0]]].T
    gone_site, gone_rank, gone = calls.completions.T
    unknown = np.bincount(gone_rank[gone_site == NONE], weights=gone[gone_site == NONE], minlength=calls.ranks)
    for place in np.unique(site).tolist():
        here, there = site == place, gone_site == place
        started = np.bincount(rank[here], weights=count[here], minlength=calls.ranks)
        ended = np.bincount(gone_rank[there], weights=gone[there], minlength=calls.ranks)
        left = np.maximum(started - ended - unknown, 0).astype(np.int64)
        if place == NONE or left.max() < LEAST_REQUESTS or left.sum() < (1 - FREED) * started.sum():
            continue
        name = calls.names[int(np.bincount(call[here], weights=count[here]).argmax())]
        yield SeenPattern(
            name="requests never completed",
            sites=(place,),
            count=int(left.sum()),
            text=f"{left.sum():,} requests by {name} in {{place}}, {left.max():,} on a rank, are neither completed nor "
            "freed",
            change="complete each request by MPI_Wait or MPI_Test before its buffer is used again",
            reported=True,
            more_s=_held_s(calls, left),
        )


PAGE_BYTES, MOST_HELD_BYTES = 4096, 2048


def _held_s(calls: ProgramCalls, left: Ints) -> tuple[float, float, float]:
    """What the pages take that requests hold, of the rank that has most.  Args: left: requests of each rank."""
    shares = calls.resources.ranks if calls.resources else ()
    pages = [min(share.grown_bytes or 0, MOST_HELD_BYTES * int(left[share.rank])) / PAGE_BYTES for share in shares]
    each_s = [share.elapsed_ratio * float(np.median(share.fault_s or (0.0,))) for share in shares]
    held_s = max((count * fault_s for count, fault_s in zip(pages, each_s, strict=True)), default=0.0)
    return held_s, 0.5 * held_s, 2.0 * held_s


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP083",
    name="made and freed",
    title="MPI objects are made again and again, or never freed or completed",
    summary="Making and freeing takes the time of several collectives, and what is never freed piles up.",
    needs="A watch shows ten or more windows or communicators, or fifty other objects, made at one place of a rank.",
    remedy="Make it once before the loop, and free it after the loop.",
    pattern=see,
)
