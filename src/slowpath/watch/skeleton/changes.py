# SPDX-License-Identifier: Apache-2.0
"""Changes of a script that an author could make in the program: what each does, and what to check before. Pure.

Each is a function of a script that gives the changed one, None where there is nothing to change, or why it can't be
done. A changed script that some rank could not play to its end is refused.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from slowpath.watch.skeleton.edit import Change, Edit, edited
from slowpath.watch.skeleton.rewrites import (
    aggregated,
    early_receives,
    fused,
    own_broadcasts,
    reused,
    shifted,
    without_barriers,
)
from slowpath.watch.skeleton.script import NEED_ALL, Operation, Refused, Script, why_inconsistent

LEAST_UNEVEN: Final = 1.05  # computing of the busiest rank over the mean, from which balance is worth a launch


@dataclass(frozen=True)
class Changed(Change):
    """With the codes of the slow paths that it takes away.  variables: set for its launches."""

    rules: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


def balanced(script: Script) -> Change | None:
    """All ranks compute as long, between any two collectives of all ranks."""
    world = [number for number, members in enumerate(script.communicators) if len(members) == len(script.ranks)]
    parts = [_parts(operations, world) for operations in script.ranks]
    if len({max(part, default=0) for part in parts}) > 1:
        parts = [[0] * len(operations) for operations in script.ranks]
    count = 1 + max((max(part, default=0) for part in parts), default=0)
    sums = [[0.0] * count for _ in script.ranks]
    for rank, operations in enumerate(script.ranks):
        for one, part in zip(operations, parts[rank], strict=True):
            sums[rank][part] += one.seconds
    means = [statistics.fmean(column) for column in zip(*sums, strict=True)]
    busiest = sum(max(column) for column in zip(*sums, strict=True))
    if not sum(means) or busiest < LEAST_UNEVEN * sum(means):
        return None
    edits = {rank: _scaled(operations, parts[rank], sums[rank], means) for rank, operations in enumerate(script.ranks)}
    text = f"the busiest rank computes {busiest / sum(means):.2f} times the mean; with the change, all compute the mean"
    return Change(edited(script, edits), text, "the work must be divisible; messages and their lengths stay the same")


def _parts(operations: Sequence[Operation], world: Sequence[int]) -> list[int]:
    """Of each operation how many collectives of all ranks that need all came before it."""
    found, now = [], 0
    for one in operations:
        found.append(now)
        now += one.kind in NEED_ALL and one.communicator in world
    return found


def _scaled(
    operations: Sequence[Operation], parts: Sequence[int], sums: Sequence[float], means: Sequence[float]
) -> Edit:
    edit, seen = Edit(), set()
    for at, (one, part) in enumerate(zip(operations, parts, strict=True)):
        if one.kind == "compute" and sums[part] > 0:
            edit.replaced[at] = dataclasses.replace(one, seconds=one.seconds * means[part] / sums[part])
            seen.add(part)
    return edit


CHANGES: Final[Mapping[str, Callable[[Script], Change | Refused | None]]] = {
    "aggregate": aggregated,
    "fuse": fused,
    "drop barriers": without_barriers,
    "use MPI_Bcast": own_broadcasts,
    "shift at once": shifted,
    "receive early": early_receives,
    "reuse buffers": reused,
    "balance": balanced,
}


def changes_of(script: Script, rules: Mapping[str, tuple[str, ...]]) -> dict[str, Changed | Refused]:
    """Every change that applies.  Args: rules: name of a change -> codes of the slow paths that it takes away."""
    found: dict[str, Changed | Refused] = {}
    for name, change in CHANGES.items():
        made = change(script)
        if isinstance(made, Change) and (why := why_inconsistent(made.script)) is not None:
            made = Refused(why)
        if isinstance(made, Change):
            found[name] = Changed(made.script, made.text, made.check, rules.get(name, ()))
        elif made is not None:
            found[name] = made
    return found
