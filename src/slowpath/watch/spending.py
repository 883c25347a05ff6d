# SPDX-License-Identifier: Apache-2.0
"""What a watched program spends in MPI, in the terms of the experiments that measure such calls. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from slowpath.diagnose.program import ProgramSpent, ProgramUse
from slowpath.diagnose.tune.request import Use, tunable
from slowpath.watch.messages import MEMORY
from slowpath.watch.results import WatchResults


def program_use(results: WatchResults) -> ProgramUse:
    """The program for a diagnosis; its groups of cells are not known yet."""
    ranks = max(1, len(results.ranks))
    return ProgramUse(
        name=results.program.program,
        ranks=results.program.ranks,
        span_s=sum(rank.span_s for rank in results.ranks) / ranks,
        mpi_s=sum(rank.mpi_s for rank in results.ranks) / ranks,
        spent=list(_spent(results)),
        place=list(results.place or ()),
    )


def _spent(results: WatchResults) -> Iterator[ProgramSpent]:
    families = {call.name: call.family for call in results.calls}
    for alike in results.classes:
        waited_s = alike.wait_s or 0.0
        seconds = alike.transfer_s if alike.transfer_s is not None else max(0.0, alike.time_s - waited_s)
        family = families.get(alike.call)
        if family not in ("point to point", "one-sided") or seconds <= 0:
            continue
        yield ProgramSpent(
            experiment="put" if family == "one-sided" else "p2p",
            seconds=seconds,
            low_bytes=alike.bytes_low,
            high_bytes=alike.bytes_high,
            memory=MEMORY.get(alike.memory, "host"),
            is_first=alike.first,
            is_strided=alike.block_bytes is not None,
            is_nonblocking=alike.call.startswith("MPI_I"),
        )
    for call in results.collectives:
        # One call is a call on each of its ranks: a rank outside of its communicator spends nothing there.
        seconds = call.work_s * call.count * call.ranks / max(1, results.program.ranks)
        if seconds > 0:
            yield ProgramSpent(
                experiment="coll",
                seconds=seconds,
                low_bytes=call.bytes,
                high_bytes=call.bytes,
                collective=call.collective,
            )


def collective_uses(results: WatchResults, library: str) -> tuple[list[Use], dict[str, float]]:
    """The blocking collectives of the program, most time of a rank first; and those that no tuning knows, with theirs.

    Lengths of one size class are one use. A communicator that not all ranks are in counts for those that are.

    Args: library: that is to be tuned.
    """
    world, known = max(1, results.program.ranks), set(tunable(library))
    found: dict[tuple[str, int, int], Use] = {}
    others: dict[str, float] = {}
    for kind in results.collectives:
        seconds = kind.work_s * kind.count * kind.ranks / world
        if kind.collective not in known:
            others[kind.call] = others.get(kind.call, 0.0) + seconds
            continue
        length = 0 if kind.collective == "barrier" else _whole(kind.bytes)
        key = (kind.collective, kind.ranks, length.bit_length())
        before = found.get(key, Use(kind.collective, kind.ranks, length, 0, 0.0))
        found[key] = replace(before, calls=before.calls + kind.count, seconds=before.seconds + seconds)
    uses = sorted(found.values(), key=lambda use: use.seconds, reverse=True)
    return uses, dict(sorted(others.items(), key=lambda item: -item[1]))


def _whole(length: int) -> int:
    """A length of the same class that is a whole number of doubles, or of ints."""
    return length - length % 8 if length >= 8 else length - length % 4 if length >= 4 else length
