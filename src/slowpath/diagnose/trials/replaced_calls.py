# SPDX-License-Identifier: Apache-2.0
"""What libslowpath-coll.so reported of each launch of a trial: whether the remedy acted, by its own count."""

from __future__ import annotations

from pathlib import Path

import msgspec

from slowpath.core.decoding import DAMAGE
from slowpath.mpi.tuning import REPLACED_CALLS


class _Row(msgspec.Struct, frozen=True):
    calls: int


class _Report(msgspec.Struct, frozen=True):
    rows: list[_Row]


def replaced_words(run: Path) -> str | None:
    """`libslowpath-coll.so replaced 5,120 calls in 10 of 10 launches with a table`; None: no launch had one.

    Args: run: folder of a run.
    """
    tables, calls = 0, list[int]()
    for launch in sorted((run / "launches").glob("*")):
        if not (launch / REPLACED_CALLS).is_file():
            continue
        tables += 1
        try:
            said = msgspec.json.decode((launch / REPLACED_CALLS).read_bytes(), type=_Report)
        except (OSError, *DAMAGE):
            continue
        calls.append(sum(row.calls for row in said.rows))
    if not tables:
        return None
    acted = sum(one > 0 for one in calls)
    return f"libslowpath-coll.so replaced {sum(calls):,} calls in {acted} of {tables} launches that reported"
