# SPDX-License-Identifier: Apache-2.0
"""Two counts against each other, for a terminal."""

from __future__ import annotations

from slowpath.studies.counting.compare import CountComparison, ProcessChange
from slowpath.studies.counting.summary import CallSpread

MOST_CHANGES = 10
HEADLINES = {
    "more": "MORE: {function} executes more instructions a call than before, by over {threshold:g} %.",
    "not more": "NOT MORE: {function} executes at most {threshold:g} % more instructions a call than before.",
    "undecided": "UNDECIDED: whether {function} executes over {threshold:g} % more instructions a call can't be said.",
}


def comparison_text(found: CountComparison) -> str:
    """The verdict, each process, and the functions that changed."""
    headline = HEADLINES[found.outcome].format(function=found.function, threshold=100 * found.threshold_ratio)
    lines = [headline, *(line for one in found.processes for line in _process(one))]
    return "\n".join([*lines, *(f"  note: {note}" for note in found.notes)]) + "\n"


def _process(one: ProcessChange) -> list[str]:
    who = f"  {one.program}" if one.rank is None else f"  rank {one.rank}"
    if one.old is None or one.new is None or one.change_ratio is None or one.mean_change_ratio is None:
        return [f"{who}: {one.outcome}: {one.reason}"]
    lines = [f"{who}: {_range(one.old)} -> {_range(one.new)} instructions a call, {_percent(one.change_ratio)}"]
    if one.mean_change_ratio != one.change_ratio:
        mean = f"{one.old.mean:.2f} -> {one.new.mean:.2f}, {_percent(one.mean_change_ratio)}"
        lines.append(f"    the mean of {one.old.calls} and {one.new.calls} calls: {mean}")
    if one.reason:
        lines.append(f"    {one.outcome}: {one.reason}")
    if not one.changes:
        return lines
    lines.append(f"    {'change':>10}{'before':>10}{'now':>10}  {'library':26}function")
    for change in one.changes[:MOST_CHANGES]:
        numbers = f"{change.new - change.old:>+10.2f}{change.old:>10.2f}{change.new:>10.2f}"
        lines.append(f"    {numbers}  {change.library:26}{change.function}")
    if rest := one.changes[MOST_CHANGES:]:
        total = sum(change.new - change.old for change in rest)
        lines.append(f"    {total:>+10.2f}{'':20}  {'':26}{len(rest)} other functions")
    return lines


def _range(numbers: CallSpread) -> str:
    spread = f" ({numbers.min} to {numbers.max})" if numbers.min != numbers.max else ""
    return f"{numbers.median:g}{spread}"


def _percent(ratio: float) -> str:
    return "the same" if ratio == 0 else f"{100 * ratio:+.2f} %"
