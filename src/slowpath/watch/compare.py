# SPDX-License-Identifier: Apache-2.0
"""Watches before and after a change of the program: what became faster, and whether it was what was promised. Pure.

Each side is one run or several. The runs were not interleaved, so a machine that became slower counts as the change.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple

import msgspec

from slowpath.core.errors import RecordError
from slowpath.core.result import Count, Interval, Name, NotNegative, Number, Result, Text, means
from slowpath.core.results import MOST_LINES, cut
from slowpath.core.units import format_interval, format_ratio, seconds
from slowpath.slowpaths.sp060_shared_processors import OTHERS
from slowpath.stats.contrast import unpaired
from slowpath.watch.analysis import concluded_watch
from slowpath.watch.findings import place_words
from slowpath.watch.folder import is_watch, record_files
from slowpath.watch.results import BEFORE_THE_RUN, AccountName, CallSite, WatchFinding, WatchResults, read_watch_results
from slowpath.watch.verdict import amount, run_seconds, saved_by

MINIMUM_EFFECT: Final = 0.03
FEWEST_RUNS: Final = 3  # on each side, for an interval
LEAST_SHARE: Final = 0.005  # of the run before, from which a difference is worth a row
GONE: Final = 0.5  # of what a finding cost before: what costs less after was changed
BUSY_SHARE: Final = 0.05  # of a side's time, without a processor: load may be the difference
MOST_ROWS: Final = 3  # of a kind, on a screen


class WatchSide(Result, frozen=True, kw_only=True):
    """The runs of one side."""

    folders: Annotated[tuple[Text, ...], means("of the watches")]
    program: Annotated[Name, means("file name of the program that called MPI")]
    ranks: Annotated[Count, means("of MPI_COMM_WORLD")]
    span_s: Annotated[NotNegative, means("from MPI_Init to MPI_Finalize, median of the runs")]


class AccountChange(Result, frozen=True, kw_only=True):
    """Time under one name, a rank, medians of the runs."""

    name: Annotated[AccountName, means("as in accounts of a watch")]
    before_s: Annotated[NotNegative, means("of A")]
    after_s: Annotated[NotNegative, means("of B")]


class PlaceChange(Result, frozen=True, kw_only=True):
    """Time in one MPI call of one function, a rank, medians of the runs."""

    call: Annotated[Name, means("MPI_Send and so on")]
    place: Annotated[Text, means("function, with the file and line of A, else of B")]
    before_s: Annotated[NotNegative, means("of A")]
    after_s: Annotated[NotNegative, means("of B")]


KeptWord = Literal["as promised", "more than promised", "less than promised", "not promised", "not decided"]


class PromisedChange(Result, frozen=True, kw_only=True):
    """A finding of the first run of A."""

    id: Annotated[Text, means("of the finding")]
    name: Annotated[Text, means("of the finding")]
    place: Annotated[Text | None, means("where; null: not known")]
    promised_s: Annotated[Number, means("of the run")]
    interval: Annotated[Interval, means("of promised_s")]
    is_made: Annotated[bool, means("B has no such finding at that place, or one that costs less than half")]


class WatchComparison(Result, frozen=True, kw_only=True):
    """What `slowpath compare A B` says of two watches."""

    a: WatchSide
    b: WatchSide
    ratio: Annotated[NotNegative, means("time of B over that of A")]
    interval: Annotated[Interval | None, means("of ratio, at 95 %; null: fewer than 3 runs on a side")]
    saved_s: Annotated[Number, means("time of A less that of B")]
    saved_interval: Annotated[Interval | None, means("of saved_s, at 95 %; null: as of interval")]
    busy_shares: Annotated[tuple[NotNegative, NotNegative], means("of A's and B's time without a processor")]
    differences: Annotated[tuple[Text, ...], means("between A and B, beside the program's own code")]
    accounts: Annotated[tuple[AccountChange, ...], means("the largest difference first")]
    places: Annotated[tuple[PlaceChange, ...], means("the largest difference first")]
    promised: Annotated[tuple[PromisedChange, ...], means("findings of A that save time, most first")]
    promised_s: Annotated[Number | None, means("by what was changed, together; null: nothing of it was changed")]
    promised_interval: Annotated[Interval | None, means("of promised_s")]
    kept_word: Annotated[
        KeptWord,
        means(
            "saved_s beside promised_interval; not decided: runs of one side differ as much as the sides, or the time "
            "without a processor decides"
        ),
    ]
    new: Annotated[tuple[Text, ...], means("findings of B that A has not")]


def watches_in(path: Path) -> list[Path]:
    """Return the watch at `path`, or all watches in that folder, by name; empty: there is none."""
    if not path.is_dir():
        return []
    return [path] if is_watch(path) else sorted(each for each in path.iterdir() if each.is_dir() and is_watch(each))


def read_side(path: Path) -> list[tuple[Path, WatchResults]]:
    """Analyse the runs of one side anew, as its results may be older.

    Raises: RecordError: a watch can't be read, or no rank left a record.
    """
    runs = []
    for folder in watches_in(path):
        results = concluded_watch(folder) if record_files(folder) else read_watch_results(folder)
        if not results.ranks or run_seconds(results) <= 0:
            raise RecordError(f"{folder}: no rank left a record; watch again")
        runs.append((folder, results))
    return runs


def compared(a: Sequence[tuple[Path, WatchResults]], b: Sequence[tuple[Path, WatchResults]]) -> WatchComparison:
    """Compare the runs of two sides, each at least one."""
    before, after = [results for _, results in a], [results for _, results in b]
    spans = [[run_seconds(results) for results in side] for side in (before, after)]
    medians = [statistics.median(side) for side in spans]
    estimate = unpaired(spans[0], spans[1], MINIMUM_EFFECT) if min(map(len, spans)) >= FEWEST_RUNS else None
    saved_s = medians[0] - medians[1]
    promised = _promised(before[0], after[0])
    made = [promise for promise in promised if promise.is_made]
    total_s, ends = _together(made, before[0])
    interval = None if estimate is None else estimate.interval
    each_s = [[{each.name: each.seconds for each in run.accounts} for run in side] for side in (before, after)]
    busy_s = [statistics.median(named_s.get("no processor", 0.0) for named_s in side_s) for side_s in each_s]
    words = {_kept_word(value_s, ends, interval) for value_s in (saved_s, saved_s - busy_s[0] + busy_s[1])}
    return WatchComparison(
        a=_side(a, medians[0]),
        b=_side(b, medians[1]),
        ratio=medians[1] / medians[0] if estimate is None else estimate.ratio,
        interval=interval,
        saved_s=saved_s,
        saved_interval=interval and (medians[0] * (1 - interval[1]), medians[0] * (1 - interval[0])),
        busy_shares=(busy_s[0] / medians[0], busy_s[1] / medians[1]),
        differences=_differences(before[0], after[0]),
        accounts=_accounts(before, after, LEAST_SHARE * medians[0]),
        places=_places(before, after, LEAST_SHARE * medians[0]),
        promised=tuple(promised),
        promised_s=total_s,
        promised_interval=ends,
        kept_word=words.pop() if len(words) == 1 else "not decided",
        new=tuple(
            f"{finding.name}{_at(_place(finding, after[0]))}"
            for finding in after[0].findings
            if saved_by(finding)[0] > 0 and _same(finding, after[0], before[0]) is None
        ),
    )


def _side(runs: Sequence[tuple[Path, WatchResults]], span_s: float) -> WatchSide:
    program = runs[0][1].program
    folders = [str(folder) for folder, _ in runs]
    return WatchSide(folders=tuple(folders), program=program.program, ranks=program.ranks, span_s=span_s)


def _differences(a: WatchResults, b: WatchResults) -> tuple[str, ...]:
    facts = (
        ("program", a.program.program, b.program.program),
        ("ranks", a.program.ranks, b.program.ranks),
        ("hosts", ", ".join(a.program.hosts), ", ".join(b.program.hosts)),
        ("library", a.program.library, b.program.library),
        ("command", " ".join(a.program.command), " ".join(b.program.command)),
    )
    return tuple(f"{name}: {first} and {other}" for name, first, other in facts if first != other)


def _accounts(
    before: Sequence[WatchResults], after: Sequence[WatchResults], least_s: float
) -> tuple[AccountChange, ...]:
    sides = [[{account.name: account.seconds for account in results.accounts} for results in side]
             for side in (before, after)]  # fmt: skip
    names = dict.fromkeys(name for side in sides for run in side for name in run)
    rows = [
        AccountChange(name=name, before_s=_median(sides[0], name), after_s=_median(sides[1], name)) for name in names
    ]
    rows = [row for row in rows if abs(row.before_s - row.after_s) >= least_s]
    return tuple(sorted(rows, key=lambda row: -abs(row.before_s - row.after_s)))


def _median(runs: Sequence[Mapping[Any, float]], key: Hashable) -> float:
    return statistics.median(run.get(key, 0.0) for run in runs)


class _Key(NamedTuple):
    """Of a place in both programs: lines and offsets move when a program changes."""

    call: str
    object: str
    function: str


def _places(before: Sequence[WatchResults], after: Sequence[WatchResults], least_s: float) -> tuple[PlaceChange, ...]:
    words: dict[_Key, str] = {}
    sides = [[_by_place(results, words) for results in side] for side in (before, after)]
    rows = [
        PlaceChange(call=key.call, place=place, before_s=_median(sides[0], key), after_s=_median(sides[1], key))
        for key, place in words.items()
    ]
    rows = [row for row in rows if abs(row.before_s - row.after_s) >= least_s]
    return tuple(sorted(rows, key=lambda row: -abs(row.before_s - row.after_s)))


def _by_place(results: WatchResults, words: dict[_Key, str]) -> dict[_Key, float]:
    seconds_of: dict[_Key, float] = defaultdict(float)
    for message_class in results.classes:
        if message_class.call in BEFORE_THE_RUN:
            continue
        site = results.sites[message_class.site]
        key = _Key(message_class.call, site.object, site.function or hex(site.offset))
        seconds_of[key] += message_class.time_s
        words.setdefault(key, place_words(site))
    return dict(seconds_of)


def _site(finding: WatchFinding, results: WatchResults) -> CallSite | None:
    return results.sites[finding.sites[0]] if finding.sites else None


def _place(finding: WatchFinding, results: WatchResults) -> str | None:
    site = _site(finding, results)
    return place_words(site) if site is not None else None


def _same(finding: WatchFinding, results: WatchResults, among: WatchResults) -> WatchFinding | None:
    """Return the finding of the other run that says the same of the same function."""
    site = _site(finding, results)
    function = site.function if site is not None else None
    for other in among.findings:
        there = _site(other, among)
        is_there = (there.function if there is not None else None) == function
        if other.id == finding.id or ((other.rule, other.name) == (finding.rule, finding.name) and is_there):
            return other
    return None


def _promised(a: WatchResults, b: WatchResults) -> list[PromisedChange]:
    changes = []
    for finding in a.findings:
        value_s, interval = saved_by(finding)
        after = _same(finding, a, b)
        is_made = after is None or saved_by(after)[0] < GONE * value_s
        if value_s > 0 and finding.status != "no effect" and finding.name != OTHERS:  # load is no change
            changes.append(
                PromisedChange(
                    id=finding.id,
                    name=finding.name,
                    place=_place(finding, a),
                    promised_s=value_s,
                    interval=interval,
                    is_made=is_made,
                )
            )
    return sorted(changes, key=lambda change: -change.promised_s)


def _together(made: Sequence[PromisedChange], a: WatchResults) -> tuple[float | None, Interval | None]:
    """What the changes that were made promised: of all of them as the watch says, else added up."""
    if not made:
        return None, None
    saving = [finding for finding in a.findings if saved_by(finding)[0] > 0]
    if len(made) == len(saving) and a.saved_s is not None and a.saved_interval is not None:
        return a.saved_s, a.saved_interval
    promises = zip(*((change.promised_s, *change.interval) for change in made), strict=True)
    total_s, low_s, high_s = (min(sum(values), run_seconds(a)) for values in promises)
    return total_s, (low_s, high_s)


def _kept_word(saved_s: float, ends: Interval | None, ratio: Interval | None) -> KeptWord:
    if ends is None:
        return "not promised"
    if ratio is not None and ratio[0] <= 1.0 <= ratio[1]:
        return "not decided"
    if ends[0] <= saved_s <= ends[1]:
        return "as promised"
    return "more than promised" if saved_s > ends[1] else "less than promised"


def _at(place: str | None) -> str:
    return f" at {place}" if place else ""


def comparison_lines(comparison: WatchComparison, full: bool = False) -> list[str]:
    """Return at most twelve lines, or all."""
    most = None if full else MOST_ROWS
    sentences = [_head(comparison), *_promise(comparison), *_rows(comparison, most)]
    open_ = [promise for promise in comparison.promised if not promise.is_made]
    for left in open_[:most]:
        sentences.append(f"Still there: {left.name}{_at(left.place)}, saves {amount(left.promised_s, left.interval)}.")
    sentences += [f"New: {words}." for words in comparison.new[:most]]
    sentences += [f"They differ in {words}." for words in comparison.differences]
    if max(comparison.busy_shares) >= BUSY_SHARE:
        shares = " and ".join(
            f"{100 * share:.0f} % of {name}'s time" for share, name in zip(comparison.busy_shares, "AB", strict=True)
        )
        sentences.insert(1, f"Load may be the difference: ranks lacked a processor for {shares}. Use a quiet machine.")
    lines: list[str] = []
    for sentence in sentences:
        wrapped = cut(sentence, 100)
        if full or len(lines) + len(wrapped) <= MOST_LINES:
            lines += [sentence] if full else wrapped
    return lines


def _head(comparison: WatchComparison) -> str:
    a, b = len(comparison.a.folders), len(comparison.b.folders)
    ratio = f"{format_ratio(comparison.ratio)}x"
    if comparison.interval is not None:
        runs = f"{ratio} {format_interval(comparison.interval, comparison.ratio)}, {a} and {b} runs"
    else:
        runs = f"{ratio}; {'one run each' if a == b == 1 else f'{a} and {b} runs'}, so without an interval"
    count = f"{comparison.b.ranks} rank{'s' if comparison.b.ranks != 1 else ''}"
    after_s, before_s = seconds(comparison.b.span_s), seconds(comparison.a.span_s)
    return f"{comparison.b.program}, {count}: {after_s} instead of {before_s} ({runs})."


def _promise(comparison: WatchComparison) -> list[str]:
    made = [promise for promise in comparison.promised if promise.is_made]
    if comparison.promised_s is None or comparison.promised_interval is None:
        return []
    names = "; ".join(f"{promise.name}{_at(promise.place)}" for promise in made[:MOST_ROWS])
    got = seconds(comparison.saved_s) if comparison.saved_s > 0 else "nothing"
    if comparison.saved_s > 0 and comparison.saved_interval is not None:
        got = amount(comparison.saved_s, comparison.saved_interval)
    elif comparison.saved_s > 0:
        got += " (no interval)"
    said = amount(comparison.promised_s, comparison.promised_interval)
    return [f"Promised {said} by {names}. Obtained {got}: {comparison.kept_word}."]


def _change_words(before_s: float, after_s: float) -> str:
    """`3.8 instead of 360 ms`."""
    scale, unit = (1.0, "s") if max(before_s, after_s) >= 1 else (1e3, "ms")
    return f"{scale * after_s:.3g} instead of {scale * before_s:.3g} {unit}"


def _rows(comparison: WatchComparison, most: int | None) -> list[str]:
    lines = []
    accounts = [(str(row.name), row.before_s, row.after_s) for row in comparison.accounts]
    places = [(f"{row.call} in {row.place}", row.before_s, row.after_s) for row in comparison.places]
    for head, rows in (("Time a rank", accounts), ("Places", places)):
        for word, chosen in (("less", [row for row in rows if row[1] > row[2]]),
                             ("more", [row for row in rows if row[1] < row[2]])):  # fmt: skip
            parts = [f"{name} {_change_words(a, b)}" for name, a, b in chosen[:most]]
            lines += [f"{head}, {word}: {'; '.join(parts)}."] if parts else []
    return lines


def comparison_json(comparison: WatchComparison) -> str:
    """Return all of it."""
    return msgspec.json.format(msgspec.json.encode(comparison), indent=1).decode()
