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
    lines = [headline, *(line for process in found.processes for line in _process(process))]
    return "\n".join([*lines, *(f"  note: {note}" for note in found.notes)]) + "\n"


def _process(process: ProcessChange) -> list[str]:
    who = f"  {process.program}" if process.rank is None else f"  rank {process.rank}"
    if process.old is None or process.new is None or process.change_ratio is None or process.mean_change_ratio is None:
        return [f"{who}: {process.outcome}: {process.reason}"]
    lines = [
        f"{who}: {_range(process.old)} -> {_range(process.new)} instructions a call, {_percent(process.change_ratio)}"
    ]
    if process.mean_change_ratio != process.change_ratio:
        mean = f"{process.old.mean:.2f} -> {process.new.mean:.2f}, {_percent(process.mean_change_ratio)}"
        lines.append(f"    the mean of {process.old.calls} and {process.new.calls} calls: {mean}")
    if process.reason:
        lines.append(f"    {process.outcome}: {process.reason}")
    if not process.changes:
        return lines
    lines.append(f"    {'change':>10}{'before':>10}{'now':>10}  {'library':26}function")
    for change in process.changes[:MOST_CHANGES]:
        numbers = f"{change.new - change.old:>+10.2f}{change.old:>10.2f}{change.new:>10.2f}"
        lines.append(f"    {numbers}  {change.library:26}{change.function}")
    if rest := process.changes[MOST_CHANGES:]:
        total = sum(change.new - change.old for change in rest)
        lines.append(f"    {total:>+10.2f}{'':20}  {'':26}{len(rest)} other functions")
    return lines


def _range(numbers: CallSpread) -> str:
    spread = f" ({numbers.min} to {numbers.max})" if numbers.min != numbers.max else ""
    return f"{numbers.median:g}{spread}"


def _percent(ratio: float) -> str:
    return "the same" if ratio == 0 else f"{100 * ratio:+.2f} %"
