# SPDX-License-Identifier: Apache-2.0
"""SP059: buffers that are allocated anew in each iteration, and whose pages are faulted in again each time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slowpath.core.units import format_bytes
from slowpath.findings.program_pattern import NONE, Ints, ProgramCalls, ProgramSlowPath, RankShare, SeenPattern, most

LEAST = 20  # new buffers of a rank at one place
LEAST_BYTES = 64 * 1024  # of one: shorter ones come from pages that malloc keeps
FAULTED = 0.5  # share of their pages that the rank has to have faulted in
KEPT = 0.5  # share of their bytes by which its memory may have grown: they were freed
PAGE_BYTES = 4096
# A fault of the program's takes so many times one that a rank measures alone: in the program it runs beside those of
# other ranks, on memory that the caches do not hold, or the kernel has the pages at hand. Seen on three machines: 0.64
# to 1.49 (docs/results/watch.md).
LEAST_RATIO, MOST_RATIO = 0.6, 1.5


def see(calls: ProgramCalls) -> Sequence[SeenPattern]:
    """Ranks whose page faults are as many as the pages of buffers that are new at each use, and whose memory stays."""
    if calls.resources is None:
        return ()
    shares = {one.rank: one for one in calls.resources.ranks if one.faults is not None and one.fault_s}
    fresh = calls.first_uses[calls.first_uses[:, 3] >= LEAST_BYTES]
    by_rank = {rank: fresh[fresh[:, 1] == rank] for rank in np.unique(fresh[:, 1]).tolist()}
    used = {rank: _repeated(rows) for rank, rows in by_rank.items()}
    used = {rank: rows for rank, rows in used.items() if rank in shares and _faults(rows, shares[rank])}
    return [_pattern(calls, used, shares)] if used else []


def _repeated(rows: Ints) -> Ints:
    """Those of places that bring new buffers again and again."""
    sites, place = np.unique(rows[:, 0], return_inverse=True)
    count = np.bincount(place.reshape(-1), weights=rows[:, 2], minlength=sites.size)
    return rows[count[place.reshape(-1)] >= LEAST]


def _pages(rows: Ints) -> int:
    return int((rows[:, 2] * (rows[:, 3] // PAGE_BYTES)).sum())


def _faults(rows: Ints, share: RankShare) -> bool:
    pages = _pages(rows)
    if not pages or share.faults is None or share.grown_bytes is None:
        return False
    return share.faults >= FAULTED * pages and share.grown_bytes < KEPT * pages * PAGE_BYTES


def _pattern(calls: ProgramCalls, used: dict[int, Ints], shares: dict[int, RankShare]) -> SeenPattern:
    every = np.concatenate(list(used.values()))
    faults = sum(min(shares[rank].faults or 0, _pages(rows)) for rank, rows in used.items())
    each_s = np.array([at_s for rank in used for at_s in shares[rank].fault_s])
    ends = [float(np.median(each_s)), LEAST_RATIO * float(each_s.min()), MOST_RATIO * float(each_s.max())]
    value, low, high = (faults * end / calls.ranks for end in ends)
    count = int(every[:, 2].sum())
    length = format_bytes(round(float((every[:, 2] * every[:, 3]).sum()) / count))
    known = every[every[:, 0] != NONE]
    return SeenPattern(
        sites=most(known[:, 0], (known[:, 2] * known[:, 3]).astype(float)),
        count=count,
        text=f"{count:,} buffers of {length} in {{place}} and elsewhere were new to MPI, and the ranks had {faults:,} "
        "page faults for them, in the program and in MPI",
        change="allocate the buffers once, before the loop, and reuse them",
        basis=f"that many faults of {ends[0] * 1e9:.0f} ns [{ends[1] * 1e9:.0f}, {ends[2] * 1e9:.0f}], measured at "
        f"begin and end; low and high: {LEAST_RATIO:g} and {MOST_RATIO:g} times the least and the most, "
        "because faults beside other ranks cost less or more",
        more_s=(value, low, high),
        outside=True,
    )


SLOW_PATH: ProgramSlowPath = ProgramSlowPath(
    code="SP059",
    name="buffers made anew",
    title="Buffers are allocated anew in each iteration, and their pages are faulted in each time",
    what="Memory that is freed goes back to the kernel, and the next buffer consists of pages that the kernel has "
    "to clear and enter at their first touch.",
    needs="A watched program on Linux: 20 or more new buffers of 64 KiB and longer at one place, page faults for "
    "half of their pages, and memory that does not grow. The saving is the faults times what one takes here.",
    remedy="Allocate before the loop. Else let glibc keep freed memory (`slowpath prove --remedy keep-freed-memory`).",
    cause="Each new buffer's pages are faulted in.",
    needs_law=False,
    kind="property",
    pattern=see,
)
