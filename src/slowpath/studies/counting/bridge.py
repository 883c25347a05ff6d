# SPDX-License-Identifier: Apache-2.0
"""From a program's count of MPI_Put to the number of the campaign put-overhead: what makes the difference. Pure.

Both are counted instruction by instruction, so the difference is made of functions. Means are compared, because the
means of the functions add up to them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from slowpath.core.put_results import PutSplit
from slowpath.core.results import Results
from slowpath.studies.counting.compare import NO_NAME
from slowpath.studies.counting.model import ProcessCount
from slowpath.studies.counting.summary import CallSpread, spread

CAMPAIGN_CALL = "MPI_Put"
SHOWN = 3  # functions of a line
SMALL = 0.5  # instructions: a smaller difference of a function is none
_ALLOCATES = re.compile(r"malloc|calloc|realloc|memalign|free|_int_|arena|unlink_chunk")
Functions = Mapping[tuple[str, str], float]


def bridge_lines(counts: Sequence[ProcessCount], results: Results) -> list[str]:
    """Return one line for each process that counted calls, or one that says why there is none."""
    splits = [split for split in results.put.splits if split.design == "mpi"] if results.put else []
    if not splits:
        return ["bridge to the campaign: its run counted no MPI_Put function by function (instructions above 0)"]
    lines = []
    for count in counts:
        mine = spread([call.stepped for call in count.calls])
        if mine is None or count.function != CAMPAIGN_CALL:
            continue
        own = _of_process(count, mine.calls)
        split = min(splits, key=lambda one: sum(abs(change) for change in _changes(_of_split(one), own).values()))
        lines.append(_line(count, mine, own, split, results))
    return lines or [f"bridge to the campaign: no call of {CAMPAIGN_CALL} was counted, which is what it counts"]


def _of_process(count: ProcessCount, calls: int) -> Functions:
    return _summed([(share.library, share.function, share.stepped / calls) for share in count.shares])


def _of_split(split: PutSplit) -> Functions:
    return _summed([(part.library, part.function, part.per_call) for part in split.parts])


def _summed(parts: Sequence[tuple[str, str, float]]) -> Functions:
    """Return the instructions of a call by library, without its version, and function; places are no names."""
    found: dict[tuple[str, str], float] = {}
    for library, function, per_call in parts:
        name = NO_NAME if function.startswith(f"{library}+0x") else function
        key = (re.sub(r"\.so[.\d]*$", ".so", library), name)
        found[key] = found.get(key, 0.0) + per_call
    return found


def _changes(campaign: Functions, program: Functions) -> Functions:
    """Return program less campaign by function."""
    keys = dict.fromkeys([*program, *campaign])
    return {key: program.get(key, 0.0) - campaign.get(key, 0.0) for key in keys}


def _line(count: ProcessCount, mine: CallSpread, own: Functions, split: PutSplit, results: Results) -> str:
    cell = results.cell(split.cell)
    counted = cell.instructions.put.per_call.stepped if cell.instructions and cell.instructions.put else None
    theirs = sum(part.per_call for part in split.parts)
    changes = {key: change for key, change in _changes(_of_split(split), own).items() if abs(change) >= SMALL}
    who = f"rank {count.rank}" if count.rank is not None else f"process {count.pid}"
    whose = f" of {split.mpi}" if split.mpi else ""
    median = f" (medians {mine.median:g} and {counted.median:g})" if counted else ""
    start = f"bridge to the campaign, {who}: {mine.mean:.1f} instructions a call here, {theirs:.1f} in its cell "
    start += f"{split.cell}{whose}{median}: "
    if not changes:
        return start + "no function differs"
    ordered = sorted(changes.items(), key=lambda item: -abs(item[1]))
    parts = [f"{function} ({library}) {change:+.1f}" for (library, function), change in ordered[:SHOWN]]
    if rest := ordered[SHOWN:]:
        parts.append(f"{len(rest)} others {sum(change for _, change in rest):+.1f}")
    return f"{start}{mine.mean - theirs:+.1f}, made of {', '.join(parts)}{_why(changes)}"


def _why(changes: Functions) -> str:
    """Return what an allocator on the path means, if most of the difference is in one."""
    allocated = sum(abs(change) for (_, function), change in changes.items() if _ALLOCATES.search(function))
    if allocated <= 0.5 * sum(abs(change) for change in changes.values()):
        return ""
    return ". The library allocates in the call, so the number depends on what the program's heap holds"
