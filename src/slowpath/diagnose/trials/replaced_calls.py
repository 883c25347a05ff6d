# SPDX-License-Identifier: Apache-2.0
"""What libslowpath-coll.so reported of each launch of a trial: whether the remedy acted, by its own count."""

from __future__ import annotations

from pathlib import Path

from slowpath.mpi.tuning import REPLACED_CALLS, read_replaced


def replaced_words(run: Path) -> str | None:
    """`libslowpath-coll.so replaced 5,120 calls in 10 of 10 launches with a table`; None: no launch had one.

    Args: run: folder of a run.
    """
    reports = [path for launch in sorted((run / "launches").glob("*")) if (path := launch / REPLACED_CALLS).is_file()]
    if not reports:
        return None
    calls = [replaced.calls for path in reports if (replaced := read_replaced(path)) is not None]
    acted = sum(count > 0 for count in calls)
    return f"libslowpath-coll.so replaced {sum(calls):,} calls in {acted} of {len(reports)} launches that reported"
