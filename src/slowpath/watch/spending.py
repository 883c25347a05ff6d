# SPDX-License-Identifier: Apache-2.0
"""What a watched program spends in MPI, in the terms of the experiments that measure such calls. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from slowpath.diagnose.program import ProgramUse, Spent
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


def _spent(results: WatchResults) -> Iterator[Spent]:
    families = {call.name: call.family for call in results.calls}
    for alike in results.classes:
        waited_s = alike.wait_s or 0.0
        seconds = alike.transfer_s if alike.transfer_s is not None else max(0.0, alike.time_s - waited_s)
        family = families.get(alike.call)
        if family not in ("point to point", "one-sided") or seconds <= 0:
            continue
        yield Spent(
            experiment="put" if family == "one-sided" else "p2p",
            seconds=seconds,
            low_bytes=alike.bytes_low,
            high_bytes=alike.bytes_high,
            memory=MEMORY.get(alike.memory, "host"),
            is_first=alike.first,
            is_strided=alike.block_bytes is not None,
            is_nonblocking=alike.call.startswith("MPI_I"),
        )
    for call in results.collectives or ():
        # One call is a call on each of its ranks: a rank outside of its communicator spends nothing there.
        seconds = call.work_s * call.count * call.ranks / max(1, results.program.ranks)
        if seconds > 0:
            yield Spent(
                experiment="coll",
                seconds=seconds,
                low_bytes=call.bytes,
                high_bytes=call.bytes,
                collective=call.collective,
            )
