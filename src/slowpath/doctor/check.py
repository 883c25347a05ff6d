# SPDX-License-Identifier: Apache-2.0
"""What one check of the doctor found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

# From the checks: what can be measured here, and what can't and why.


class Ability(msgspec.Struct, frozen=True):
    """One thing to measure, whether it can be here, and why not."""

    task: str
    possible: bool
    why: str | None = None


# What to measure, and the checks without which it can't be.
NEEDS = (
    ("messages between two ranks", ("MPI", "engine")),
    ("Cannon's algorithm", ("MPI", "engine", "BLAS")),
    ("huge pages by madvise", ("transparent huge pages",)),
    ("single copy", ("CMA",)),
    ("pinned host memory", ("GPU",)),
    ("GPU memory", ("GPU", "MPI and GPU memory")),
)


def abilities(checks: Sequence[Check]) -> list[Ability]:
    """Return what NEEDS states for these checks."""
    by_name = {check.name: check for check in checks}
    return [Ability(task, *_possible([by_name[name] for name in names if name in by_name])) for task, names in NEEDS]


def _possible(needed: list[Check]) -> tuple[bool, str | None]:
    for check in needed:
        if check.status == "missing" or check.value == "refused":
            return False, check.means
    return True, None


Status = Literal["ok", "warn", "missing"]


class Check(msgspec.Struct, frozen=True):
    """One fact about this machine.

    value: what was found, in words; None if it can't be known, and then `means` has the reason.  means: empty: fine.
    status: ok; warn (measuring works, numbers may suffer); missing (something can't be measured).
    do: what to do about it, None if nothing.
    """

    name: str
    value: str | None
    status: Status
    means: str = ""
    do: str | None = None
