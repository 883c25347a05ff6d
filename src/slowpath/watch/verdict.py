# SPDX-License-Identifier: Apache-2.0
"""The text verdict of a watch: what the program loses, the headline first. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from slowpath.core.result import Interval
from slowpath.core.units import format_interval, format_ratio, format_time, listed
from slowpath.slowpaths.registry import PROGRAM_REMEDIES, find
from slowpath.watch.findings import MOST_UNEXPLAINED, unexplained_share
from slowpath.watch.prices import NOT_MEASURED
from slowpath.watch.results import Wait, WaitKind, WatchFinding, WatchResults

MOST_WAITS: Final = 3
MOST_UNSEEN: Final = 4
_CODE, _NAME, _SECONDS = 6, 24, 8


def verdict_of(results: WatchResults, watch: str = "WATCH") -> tuple[str, ...]:
    """Lines. Args: results: complete but for the verdict.  watch: the folder, for the commands to copy."""
    lines = [headline(results, watch)]
    for finding in results.findings:
        lines += _finding(finding, watch)
    lines += [_row("late", _who(wait), seconds(wait.seconds), wait.text) for wait in results.waits[:MOST_WAITS]]
    lines += [f"  {'fine':<{_CODE}} {fine.text}" for fine in results.fine]
    lines += [f"  not priced: {one}" for one in results.unpriced]
    return (*lines, f"  {coverage(results)}", *(f"  note: {one}" for one in results.coverage.notes))


_LATE: Final[Mapping[WaitKind, tuple[str, str]]] = {
    # one rank that is waited for most, no one rank
    "late sender": ("rank {} sends late", "sends"),
    "late receiver": ("rank {} receives late", "receives"),
    "collective imbalance": ("rank {} comes last", "ranks in collectives"),
    "late progress": ("rank {} moves no message", "no progress"),
    "late target": ("rank {} lets others wait", "targets of RMA"),
    "unexpected copy": ("receives of rank {}", "receives"),
}


def _who(wait: Wait) -> str:
    one, nobody = _LATE[wait.kind]
    return nobody if wait.culprit is None else one.format(wait.culprit)


def headline(results: WatchResults, watch: str = "WATCH") -> str:
    """`lmp: 4 ranks, 41.2 s, of which 12.7 s a rank in MPI; 3.1 s [2.6, 3.5] of the run could be saved`."""
    program = results.program
    if not results.ranks:
        return f"{program.program}: no rank left a record, so nothing can be said of it"
    count = f"{program.ranks} rank{'s' if program.ranks != 1 else ''}"
    in_mpi = sum(one.mpi_s for one in results.ranks) / len(results.ranks)
    span = f", {seconds(program.span_s)}" if program.span_s is not None else ""
    return f"{program.program}: {count}{span}, of which {seconds(in_mpi)} a rank in MPI; {_gain(results, watch)}"


def _gain(results: WatchResults, watch: str) -> str:
    share = unexplained_share(results.ranks)
    if share > MOST_UNEXPLAINED:
        return (
            f"{100 * share:.0f} % of that has no explanation, which is more than {100 * MOST_UNEXPLAINED:.0f} %: "
            "nothing is claimed from it"
        )
    if results.saved_s is not None and results.saved_interval is not None:
        return f"{amount(results.saved_s, results.saved_interval)} of the run could be saved"
    if results.findings:
        top = results.findings[0]
        why = f" ({top.saved_reason})" if top.saved_reason else ""
        return f"{amount(top.seconds, top.interval)} a rank in messages that need not take it{why}"
    if open_ := sum(one.endswith(NOT_MEASURED) for one in results.unpriced):
        return f"{open_} possible slow path{'s are' if open_ > 1 else ' is'} not priced yet: slowpath replay {watch}"
    if results.unpriced:
        return "no slow path found in what could be priced; the rest is listed below"
    return "no slow path found that a rule names"


def _finding(finding: WatchFinding, watch: str) -> list[str]:
    value = finding.seconds if finding.saved_s is None else finding.saved_s
    lines = [_row(finding.rule, find(finding.rule).name, seconds(value), finding.text)]
    if finding.status == "proven":
        lines.append(f"{' ' * (_CODE + 3)}proven on this program")
    elif finding.status == "no effect":
        lines.append(f"{' ' * (_CODE + 3)}its remedy saves nothing on this program: {finding.prove}")
    elif finding.prove is not None:
        lines.append(f"{' ' * (_CODE + 3)}try  {_first_try(finding)}      slowpath prove {watch} {finding.prove}")
    elif finding.change is not None:
        lines.append(f"{' ' * (_CODE + 3)}change  {finding.change.splitlines()[0]}")
    return lines


def _first_try(finding: WatchFinding) -> str:
    """What the remedy sets for the program, as on a command line; else what it is called."""
    key = (finding.prove or "").split()[-1]
    known = next((one for one in PROGRAM_REMEDIES if one.key == key), None)
    if known is not None and known.variables and not known.preload:
        return " ".join(f"{name}={value}" for name, value in known.variables.items())
    return known.text.rstrip(".") if known else finding.remedies[0].name


def _row(code: str, name: str, value: str, text: str) -> str:
    return f"  {code:<{_CODE}} {name:<{_NAME}} {value:>{_SECONDS}}   {text}"


def coverage(results: WatchResults) -> str:
    """`not seen: 2 of 214 kinds of calls (MPI_File_*); 100 % of messages matched`."""
    seen = results.coverage
    words = f"all {seen.imported} kinds of calls seen"
    if seen.unseen:
        names = list(seen.unseen[:MOST_UNSEEN])
        more = [f"{len(seen.unseen) - MOST_UNSEEN} more"] if len(seen.unseen) > MOST_UNSEEN else []
        words = f"not seen: {len(seen.unseen)} of {seen.imported} kinds of calls ({listed([*names, *more])})"
    matched = seen.matched_share
    messages = "no messages to match" if matched is None else f"{_percent(matched)} of messages matched"
    return f"{words}; {messages}"


def _percent(share: float) -> str:
    """Never 100 % while something is missing."""
    return "100 %" if share == 1 else f"{min(100 * share, 99.9):.3g} %"


def seconds(value_s: float) -> str:
    """Three digits, as the run's own time is read: 41.2 s, 0.72 s, 920 us."""
    return f"{format_ratio(value_s)} s" if value_s >= 0.01 or value_s <= 0 else format_time(value_s)


def amount(value_s: float, interval: Interval) -> str:
    """`3.1 s [2.6, 3.5]`."""
    half = (interval[1] - interval[0]) / 2
    return f"{format_ratio(value_s, half)} s {format_interval(interval, value_s)}"
