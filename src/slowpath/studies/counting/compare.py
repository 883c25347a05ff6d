# SPDX-License-Identifier: Apache-2.0
"""Two counts of one function against each other: more instructions a call, or not. Pure.

A count is exact, so no test of chance is made. Where calls differ among themselves (a library that allocates on the
path), the median is what a usual call costs and the mean what all of them cost. Judged is what both say; where
they disagree it is undecided, and more calls settle it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from slowpath.studies.counting.model import CallSpread, ProcessCount, SteppedFunction, spread

Outcome = Literal["not more", "more", "undecided"]
EXIT_CODES: dict[Outcome, int] = {"not more": 0, "more": 1, "undecided": 3}
Key = tuple[str | None, str, int]
NO_NAME = "functions without a name"


@dataclass(frozen=True)
class FunctionChange:
    """Instructions of one function a call (mean), then and now; 0: no instruction of it was executed."""

    library: str
    function: str
    old: float
    new: float


@dataclass(frozen=True)
class ProcessChange:
    """One process then and now.

    change_ratio  of the median, new / old - 1; None: one side has no counted call, `reason` says which
    changes       largest difference first; equal functions are left out
    """

    rank: str | None
    program: str
    old: CallSpread | None
    new: CallSpread | None
    change_ratio: float | None
    mean_change_ratio: float | None
    outcome: Outcome
    reason: str | None
    changes: tuple[FunctionChange, ...]


@dataclass(frozen=True)
class CountComparison:
    """threshold_ratio: a change above it is more.  notes: why the two may differ in other things than the library."""

    function: str
    threshold_ratio: float
    outcome: Outcome
    processes: tuple[ProcessChange, ...]
    notes: tuple[str, ...]


def compare_counts(
    old: Sequence[ProcessCount], new: Sequence[ProcessCount], function: str, threshold_ratio: float
) -> CountComparison:
    """Process by process: those of one rank, else of one program in the order in which they are listed."""
    before, after = _by_key(old), _by_key(new)
    keys = [key for key in dict.fromkeys([*before, *after]) if _counted(before.get(key)) or _counted(after.get(key))]
    made = tuple(_change(key, before.get(key), after.get(key), threshold_ratio) for key in keys)
    return CountComparison(function, threshold_ratio, _overall(made), made, _notes(old, new))


def has_no_name(share: SteppedFunction) -> bool:
    """Whether the function is a mere place in a stripped library."""
    return share.function.startswith(f"{share.library}+0x")


def _overall(made: Sequence[ProcessChange]) -> Outcome:
    """More in one process is more, whatever the others are."""
    found = {change.outcome for change in made}
    if "more" in found:
        return "more"
    return "not more" if found == {"not more"} else "undecided"


def _by_key(counts: Sequence[ProcessCount]) -> dict[Key, ProcessCount]:
    made: dict[Key, ProcessCount] = {}
    seen: Counter[tuple[str | None, str]] = Counter()
    for count in counts:
        who = (count.rank, "" if count.rank is not None else PurePath(count.program).name)
        made[(*who, seen[who])] = count
        seen[who] += 1
    return made


def _counted(count: ProcessCount | None) -> bool:
    return count is not None and bool(count.counted)


def _change(key: Key, old: ProcessCount | None, new: ProcessCount | None, threshold_ratio: float) -> ProcessChange:
    then, now = _spread(old), _spread(new)
    counted = new or old
    program = PurePath(counted.program).name if counted else ""
    if then is None or now is None:
        missing = f"{'now' if then else 'then'} no call of this process was counted"
        return ProcessChange(key[0], program, then, now, None, None, "undecided", missing, ())
    by_median, by_mean = now.median / then.median - 1, now.mean / then.mean - 1
    rises = [(now.median - then.median, then.median), (now.mean - then.mean, then.mean)]
    more = [rise > threshold_ratio * before for rise, before in rises]
    outcome: Outcome = "undecided" if len(set(more)) > 1 else "more" if more[0] else "not more"
    differ = "median and mean disagree, as calls differ among themselves; count more calls (--calls)"
    reason = differ if outcome == "undecided" else None
    changes = _function_changes(old, new, then.calls, now.calls)
    return ProcessChange(key[0], program, then, now, by_median, by_mean, outcome, reason, changes)


def _spread(count: ProcessCount | None) -> CallSpread | None:
    return spread([call.stepped for call in count.calls]) if count else None


def _function_changes(
    old: ProcessCount | None, new: ProcessCount | None, old_calls: int, new_calls: int
) -> tuple[FunctionChange, ...]:
    then = _per_call(old.shares if old else (), old_calls)
    now = _per_call(new.shares if new else (), new_calls)
    changes = [FunctionChange(*name, then.get(name, 0.0), now.get(name, 0.0)) for name in dict.fromkeys([*then, *now])]
    differing = [change for change in changes if change.old != change.new]
    return tuple(sorted(differing, key=lambda change: (-abs(change.new - change.old), change.library, change.function)))


def _per_call(shares: Sequence[SteppedFunction], calls: int) -> dict[tuple[str, str], float]:
    """Return the instructions by library and function. A place is no name: the same function lies elsewhere in
    another build.
    """
    sums: dict[tuple[str, str], float] = {}
    for share in shares:
        function = NO_NAME if has_no_name(share) else share.function
        name = (re.sub(r"\.so[.\d]*$", ".so", share.library), function)
        sums[name] = sums.get(name, 0.0) + share.stepped / calls
    return sums


def _notes(old: Sequence[ProcessCount], new: Sequence[ProcessCount]) -> tuple[str, ...]:
    notes = []
    if (hosts := _sets(old, new, "host")) is not None:
        notes.append(f"counted on {hosts}: the C library chooses its memcpy by the processor")
    if (skipped := _sets(old, new, "skip")) is not None:
        notes.append(f"calls let through before: {skipped}; warm caches of a library need fewer instructions")
    if (programs := _sets(old, new, "program")) is not None:
        notes.append(f"programs: {programs}")
    return tuple(notes)


def _sets(old: Sequence[ProcessCount], new: Sequence[ProcessCount], field: str) -> str | None:
    """`A then, B now`; None where both are alike."""
    then, now = (sorted({str(getattr(count, field)) for count in side}) for side in (old, new))
    return None if then == now else f"{', '.join(then)} then, {', '.join(now)} now"
