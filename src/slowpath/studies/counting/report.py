# SPDX-License-Identifier: Apache-2.0
"""What was counted, as text and as JSON; against an earlier count. Pure.

A count is exact, so no test of chance is made. Where calls differ among themselves (a library that allocates on the
path), the median is what a usual call costs and the mean what all of them cost. Judged is what both say; where they
disagree it is undecided, and more calls settle it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePath
from typing import Literal

import msgspec

from slowpath.core.errors import RecordError, UsageError, unreadable
from slowpath.core.files import DAMAGE, read_bytes, why
from slowpath.studies.counting.trace import CallSpread, ProcessCount, SteppedFunction, spread

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
    outcomes = {change.outcome for change in made}
    if "more" in outcomes:
        return "more"
    return "not more" if outcomes == {"not more"} else "undecided"


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
        missing = f"no call {'now' if then else 'then'}"
        return ProcessChange(key[0], program, then, now, None, None, "undecided", missing, ())
    by_median, by_mean = now.median / then.median - 1, now.mean / then.mean - 1
    rises = [(now.median - then.median, then.median), (now.mean - then.mean, then.mean)]
    more = [rise > threshold_ratio * before for rise, before in rises]
    outcome: Outcome = "undecided" if len(set(more)) > 1 else "more" if more[0] else "not more"
    differ = "median and mean disagree; count more calls (--calls)"
    reason = differ if outcome == "undecided" else None
    changes = _function_changes(old, new, then.calls, now.calls)
    return ProcessChange(key[0], program, then, now, by_median, by_mean, outcome, reason, changes)


def _spread(count: ProcessCount | None) -> CallSpread | None:
    return spread([call.stepped for call in count.calls]) if count else None


def _function_changes(
    old: ProcessCount | None, new: ProcessCount | None, old_calls: int, new_calls: int
) -> tuple[FunctionChange, ...]:
    then = _per_call(old.shares, old.system_calls, old_calls) if old else {}
    now = _per_call(new.shares, new.system_calls, new_calls) if new else {}
    changes = [FunctionChange(*name, then.get(name, 0.0), now.get(name, 0.0)) for name in dict.fromkeys([*then, *now])]
    differing = [change for change in changes if change.old != change.new]
    return tuple(sorted(differing, key=lambda change: (-abs(change.new - change.old), change.library, change.function)))


def _per_call(shares: Sequence[SteppedFunction], made: Mapping[str, int], calls: int) -> dict[tuple[str, str], float]:
    """Instructions by library and function, and system calls. A place is no name: it differs in another build."""
    sums: dict[tuple[str, str], float] = {("kernel", f"calls of {name}"): n / calls for name, n in made.items()}
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
        notes.append(f"calls skipped before: {skipped}")
    if (programs := _sets(old, new, "program")) is not None:
        notes.append(f"programs: {programs}")
    return tuple(notes)


def _sets(old: Sequence[ProcessCount], new: Sequence[ProcessCount], field: str) -> str | None:
    """`A then, B now`; None where both are alike."""
    then, now = (sorted({str(getattr(count, field)) for count in side}) for side in (old, new))
    return None if then == now else f"{', '.join(then)} then, {', '.join(now)} now"


# Two counts against each other, for a terminal.

MOST_CHANGES = 10
HEADLINES = {
    "more": "MORE: {function} executes more instructions a call than before, by over {threshold:g} %.",
    "not more": "NOT MORE: {function} executes at most {threshold:g} % more instructions a call than before.",
    "undecided": "UNDECIDED: whether {function} executes over {threshold:g} % more instructions a call can't be said.",
}


def comparison_text(comparison: CountComparison) -> str:
    """The verdict, each process, and the functions that changed."""
    headline = HEADLINES[comparison.outcome].format(
        function=comparison.function, threshold=100 * comparison.threshold_ratio
    )
    lines = [headline, *(line for process in comparison.processes for line in _process(process))]
    return "\n".join([*lines, *(f"  note: {note}" for note in comparison.notes)]) + "\n"


def _process(process: ProcessChange) -> list[str]:
    who = f"  {process.program}" if process.rank is None else f"  rank {process.rank}"
    if process.old is None or process.new is None or process.change_ratio is None or process.mean_change_ratio is None:
        return [f"{who}: {process.outcome}: {process.reason}"]
    lines = [
        f"{who}: {_range(process.old)} -> {_range(process.new)} instructions a call, {_percent(process.change_ratio)}"
    ]
    if process.mean_change_ratio != process.change_ratio:
        mean = f"{process.old.mean:.2f} -> {process.new.mean:.2f}, {_percent(process.mean_change_ratio)}"
        lines.append(f"    mean: {mean}")
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


MOST_FUNCTIONS = 20
MOST_VALUES = 8


def as_json(
    counts: Sequence[ProcessCount], function: str, exit_code: int, comparison: CountComparison | None = None
) -> str:
    """One object: docs/how-to/count.md."""
    about = {"schema": SCHEMA, "function": function, "exit_code": exit_code}
    compared = {} if comparison is None else {"comparison": comparison}
    return msgspec.json.encode({**about, "processes": [_object(count) for count in counts], **compared}).decode()


def as_text(counts: Sequence[ProcessCount]) -> str:
    """A table for each process that called, one line for each that did not."""
    return "\n".join(_block(count) for count in counts)


def _object(count: ProcessCount) -> dict[str, object]:
    stepped, retired = (spread(values) for values in _values(count))
    return {
        **asdict(count),
        "stepped": asdict(stepped) if stepped else None,
        "retired": asdict(retired) if retired else None,
        "reason": None if stepped else _reason(count),
    }


def _values(count: ProcessCount) -> tuple[list[int | None], list[int | None]]:
    return [call.stepped for call in count.calls], [call.retired for call in count.calls]


def who(count: ProcessCount) -> str:
    """rank 0 (host, process 4711, app)"""
    known = f"{count.host}, process {count.pid}, {PurePath(count.program).name}"
    return f"rank {count.rank} ({known})" if count.rank is not None else known


def _reason(count: ProcessCount) -> str:
    """Why there is no number."""
    reasons = [f"{trouble.library or 'the process'}: {trouble.reason}" for trouble in count.troubles]
    reasons += [f"call {call.number}: {call.reason}" for call in count.calls if call.reason]
    if reasons:
        return "; ".join(dict.fromkeys(reasons))
    if count.calls_met:
        return f"{count.calls_met} calls, all skipped"
    return "not called" if count.calls_met == 0 else "no call ended"


def _block(count: ProcessCount) -> str:
    stepped, retired = (spread(values) for values in _values(count))
    if stepped is None or retired is None:
        return f"{count.function} in {who(count)}: nothing counted: {_reason(count)}\n"
    before = f", after {count.skip} skipped calls" if count.skip else ""
    lines = [
        f"{count.function} in {who(count)}: {stepped.calls} calls counted{before}",
        f"  in {', '.join(count.libraries)}",
        "",
        f"  {'instructions per call':30}{'median':>10}{'min':>10}{'max':>10}{'mean':>12}",
        _row("each iteration of rep", stepped),
        _row("rep once, like hardware", retired),
        "",
        *_distribution(stepped),
        "",
        *_functions(count, stepped.calls),
        *_remarks(count),
    ]
    return "\n".join(lines) + "\n"


def _row(name: str, numbers: CallSpread) -> str:
    return f"  {name:30}{numbers.median:>10g}{numbers.min:>10}{numbers.max:>10}{numbers.mean:>12.2f}"


def _distribution(numbers: CallSpread) -> list[str]:
    shown = numbers.distribution[:MOST_VALUES]
    rest = numbers.calls - sum(times for _, times in shown)
    parts = [f"{value} ({times}x)" for value, times in shown]
    return ["  how often: " + ", ".join(parts + ([f"other ({rest}x)"] if rest else []))]


def _functions(count: ProcessCount, calls: int) -> list[str]:
    total = sum(share.stepped for share in count.shares)
    lines = [f"  {'per call':>10}{'share':>8}  {'library':26}function"]
    for share in count.shares[:MOST_FUNCTIONS]:
        lines.append(
            f"  {share.stepped / calls:>10.2f}{share.stepped / total:>8.1%}  {share.library:26}{share.function}"
        )
    rest = count.shares[MOST_FUNCTIONS:]
    if rest:
        sum_of_rest = sum(share.stepped for share in rest)
        lines.append(f"  {sum_of_rest / calls:>10.2f}{sum_of_rest / total:>8.1%}  {'':26}{len(rest)} other functions")
    made = [f"  {times / calls:>10.2f}{'calls':>8}  {'kernel':26}{name}" for name, times in count.system_calls.items()]
    return [*lines, *made]


def _remarks(count: ProcessCount) -> list[str]:
    remarks = [f"{trouble.library or 'this process'}: {trouble.reason}" for trouble in count.troubles]
    reasons = Counter(call.reason for call in count.calls if call.reason)
    remarks += [f"{times} calls not counted: {reason}" for reason, times in reasons.items()]
    remarks += _nameless(count)
    if count.calls_met is None:
        remarks.append("ended early")
    return [f"  note: {remark}" for remark in remarks]


def _nameless(count: ProcessCount) -> list[str]:
    """Return which library hides functions, and where their names are found."""
    shares = [share for share in count.shares if has_no_name(share)]
    libraries = Counter(share.library for share in shares)
    total = sum(share.stepped for share in count.shares)
    return [
        f"{library}: {functions} functions without a name, {_of(shares, library) / total:.0%} of the instructions: "
        "install its debug package"
        for library, functions in libraries.most_common()
    ]


def _of(shares: Sequence[SteppedFunction], library: str) -> int:
    return sum(share.stepped for share in shares if share.library == library)


SCHEMA = 1


class Document(msgspec.Struct, frozen=True):
    """What one `slowpath count --json` printed, as far as a comparison needs it."""

    schema: int
    function: str
    processes: list[ProcessCount]


def read_earlier(path: Path, function: str) -> list[ProcessCount]:
    """The processes of an earlier count. Several lines are the processes that each showed itself.

    Raises: UsageError: it counted another function.  RecordError: it can't be read or holds no counted call.
    """
    try:
        lines = [line for line in read_bytes(path).splitlines() if line.strip()]
        documents = [msgspec.json.decode(line, type=Document) for line in lines]
    except RecordError as error:
        raise RecordError(f"--compare {error}") from error
    except DAMAGE as error:
        raise unreadable(f"--compare {path}", why(error), "name what slowpath count --json printed") from error
    newer = [document.schema for document in documents if document.schema != SCHEMA]
    if newer:
        raise unreadable(f"--compare {path}", f"its schema is {newer[0]}, not {SCHEMA}", "count again")
    other = [document.function for document in documents if document.function != function]
    if other:
        raise UsageError(f"--compare {path}: counted {other[0]}; say --call {other[0]}")
    processes = [process for document in documents for process in document.processes]
    if not any(process.counted for process in processes):
        raise unreadable(f"--compare {path}", f"no call of {function}", "count again")
    return processes
