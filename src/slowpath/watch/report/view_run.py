# SPDX-License-Identifier: Apache-2.0
"""The watched run as its page shows it: head, calls, coverage, the program, and what the ranks waited for."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from slowpath.core.units import listed
from slowpath.report import format as fmt
from slowpath.report.figure import FigureTable
from slowpath.report.view_run import date
from slowpath.watch.findings import MOST_UNEXPLAINED, unexplained_share
from slowpath.watch.report import words
from slowpath.watch.result_parts import RankResources
from slowpath.watch.results import Coverage, Wait, WatchedProgram, WatchResults
from slowpath.watch.verdict import ranks_words, standing_groups

CALLS_SHOWN = 12
Facts = list[tuple[str, str]]


def place(program: WatchedProgram) -> list[str]:
    """Where, with what, when, and how it ended when it did not end well."""
    hosts = listed(program.hosts[:3]) if len(program.hosts) <= 3 else f"{words.count(len(program.hosts))} hosts"
    parts = [f"{program.program}, {fmt.plural(program.ranks, 'rank')}", hosts, program.library, date(program.started)]
    return [part for part in (*parts, *ended(program)) if part]


def ended(program: WatchedProgram) -> list[str]:
    """How the command ended, unless well."""
    if program.signal is not None:
        return [f"ended by signal {program.signal}"]
    return [f"exit code {program.exit_code}"] if program.exit_code else []


def numbers(results: WatchResults) -> list[tuple[str, str]]:
    """The few numbers under the headline."""
    found = [(fmt.time(results.program.wall_s), "run")]
    if results.ranks:
        mean = sum(rank.mpi_s for rank in results.ranks) / len(results.ranks)
        found.append((fmt.time(mean), "in MPI a rank"))
    if results.saved_s is not None:
        found.append((fmt.time(results.saved_s, results.saved_interval), "could be saved"))
    waiting_s = sum(rank.waiting_s for rank in results.ranks) / max(1, len(results.ranks))
    found += [(fmt.time(waiting_s), "waiting for others a rank")] if waiting_s else []
    return [*found, (fmt.percent(results.coverage.matched_share, 0), "of recorded messages matched")]


def warnings(results: WatchResults) -> list[str]:
    """What a reader has to know before anything else."""
    program, found = results.program, []
    if not program.recorded_ranks:
        found.append("No rank left a record.")
    elif program.recorded_ranks < program.ranks:
        found.append(f"{program.recorded_ranks} of {fmt.plural(program.ranks, 'rank')} left a readable record.")
    cut = [rank.rank for rank in results.ranks if rank.ended in ("killed", "without finalize")]
    if cut:
        few = listed([str(rank) for rank in cut[:6]])
        found.append(
            f"Rank {few}{f' and {len(cut) - 6} more' if len(cut) > 6 else ''} ended without MPI_Finalize: its data "
            "up to that point is shown."
        )
    share = unexplained_share(results.ranks)
    if share > MOST_UNEXPLAINED and not results.verdict:  # the verdict's headline says so
        found.append(f"{fmt.percent(share, 0)} of the time in MPI is unexplained, so no claim is based on it.")
    if results.coverage.contradictions:
        found.append(f"{words.count(results.coverage.contradictions)} matched pairs contradict each other.")
    return found


def calls(results: WatchResults) -> tuple[FigureTable, FigureTable]:
    """The calls with the most time, and the others."""
    whole_s = results.program.span_s or results.program.wall_s
    head = ["Call", "Kind", "Calls", "Time a rank", "Of the run", "A call", "Bytes"]
    ranks = max(1, results.program.recorded_ranks)
    rows = [
        [
            call.name,
            call.family,
            words.count(call.calls),
            words.time(call.time_s),
            fmt.percent(call.time_s / whole_s) if whole_s else fmt.MISSING,
            words.time(call.time_s * ranks / call.calls) if call.calls else fmt.MISSING,
            words.spelled_bytes(call.bytes) if call.bytes else "0 B",
        ]
        for call in results.calls
    ]
    return FigureTable(head, rows[:CALLS_SHOWN]), FigureTable(head, rows[CALLS_SHOWN:])


def coverage(seen: Coverage) -> Facts:
    """What was seen, and what was not."""
    unseen = listed(seen.unseen[:20]) + (f" and {len(seen.unseen) - 20} more" if len(seen.unseen) > 20 else "")
    matched = (
        fmt.percent(seen.matched_share) if seen.matched_share is not None else "no sends or receives were recorded"
    )
    clocks = "not joined: error not known"
    if seen.clock_error_s is not None:
        clocks = f"joined, error {fmt.time(seen.clock_error_s)}" if seen.clock_error_s else "one host, one clock"
    return [
        ("kinds of calls", f"{seen.wrapped} of {seen.imported} that the program imports are watched"),
        ("not seen", unseen or "nothing that the program imports"),
        ("calls", words.count(seen.calls)),
        ("messages", f"{words.count(seen.messages)}, {words.count(seen.recorded_messages)} with an event of their own"),
        ("matched", matched),
        (
            "kept",
            f"{fmt.percent(seen.kept_share)} of the time in MPI is in events that were kept; counts include all events",
        ),
        ("clocks", clocks),
        ("own cost", f"{fmt.time(seen.own_cost_s)} a rank for watching, estimated as calls times the cost of a call"),
    ]


def program(program: WatchedProgram) -> Facts:
    """What ran."""
    return [
        ("library", f"{program.library} ({program.interface})"),
        ("loaded from", program.library_path or "not known"),
        ("thread level", program.thread_level or "not known"),
        (
            "hosts",
            ", ".join(program.hosts[:64]) + (f" and {len(program.hosts) - 64} more" if len(program.hosts) > 64 else ""),
        ),
        ("records", f"of {program.recorded_ranks} of {fmt.plural(program.ranks, 'rank')}"),
        ("started", program.started),
        ("ended", ", ".join(ended(program)) or ("exit code 0" if program.exit_code == 0 else "not known")),
    ]


def command(program: WatchedProgram) -> str:
    """The command that watches it once more."""
    return f"slowpath watch -- {shlex.join(program.command)}"


MOST_STANDING = 40


def standing(results: WatchResults) -> FigureTable | None:
    """What ranks did when nothing moved, those that do the same in one row; None: the program did not hang."""
    if results.standstill is None:
        return None
    rows = [
        [
            ranks_words(one.rank for one in stands),
            stands[0].doing,
            stands[0].call or fmt.MISSING,
            stands[0].place or fmt.MISSING,
            words.time(min(one.seconds for one in stands)),
            ranks_words(stands[0].waits_for) if stands[0].waits_for else fmt.MISSING,
        ]
        for stands in standing_groups(results.standstill)[:MOST_STANDING]
    ]
    return FigureTable(["Who", "Does", "In, or after", "At", "For", "Waits for"], rows)


MOST_RESOURCES = 32


def resources(results: WatchResults) -> tuple[FigureTable, str] | None:
    """What each rank had to work with, and which ranks are shown; None: no record says it."""
    every = results.resources
    if not every:
        return None
    shown = sorted(every, key=lambda one: one.waited_s or 0.0, reverse=True)[:MOST_RESOURCES]
    which = "all ranks" if len(shown) == len(every) else f"the {len(shown)} that waited longest of {len(every)} ranks"
    spaces = {one.user_namespace for one in every}
    head = [
        *("Rank", "Processors", "Busy threads", "Processor time", "Waited for a processor", "Switched off"),
        *("Memory at the end", "Growth", "Memory limit", "Free in /dev/shm"),
        *(["User namespace"] if len(spaces) > 1 else []),
    ]
    return FigureTable(head, [_resources(one, len(spaces) > 1) for one in sorted(shown, key=lambda x: x.rank)]), which


def _resources(one: RankResources, has_space: bool) -> list[str]:
    quota = f", {one.processor_quota:g} by its group" if one.processor_quota is not None else ""
    of = f"{one.processors} of {one.online}" if one.processors and one.online else one.processors or fmt.MISSING
    growth = fmt.MISSING
    if one.grown_bytes is not None:
        growth = f"{'-' if one.grown_bytes < 0 else ''}{words.spelled_bytes(abs(one.grown_bytes))}"
    return [
        str(one.rank),
        f"{of}{quota}",
        fmt.MISSING if one.busy_threads is None else f"{one.busy_threads} of {one.threads}",
        words.time(one.ran_s),
        words.time(one.waited_s),
        fmt.MISSING if one.involuntary_switches is None else words.count(one.involuntary_switches),
        _bytes(one.resident_bytes),
        growth,
        words.spelled_bytes(one.memory_limit_bytes) if one.memory_limit_bytes is not None else "none",
        _bytes(one.shm_free_bytes),
        *([str(one.user_namespace)] if has_space else []),
    ]


def _bytes(number: int | None) -> str:
    return fmt.MISSING if number is None else words.spelled_bytes(number)


MOST_WAITS = 20


@dataclass(frozen=True, slots=True)
class WaitView:
    """One wait. text: its own sentence.  words: how much of the run, for whom and where."""

    kind: str
    text: str
    words: str


def waits(results: WatchResults) -> list[WaitView]:
    """The longest first."""
    return [WaitView(wait.kind, wait.text, _words(wait, results)) for wait in results.waits[:MOST_WAITS]]


def _words(wait: Wait, results: WatchResults) -> str:
    parts = [f"{fmt.time(wait.seconds)} a rank (mean), {fmt.percent(wait.share)} of the run"]
    if wait.longest_s is not None:
        parts.append(f"{fmt.time(wait.longest_s)} on rank {wait.longest_rank}, which waits longest")
    if wait.culprit is not None:
        parts.append(f"{fmt.percent(wait.culprit_share, 0)} of it for rank {wait.culprit}")
    if wait.site is not None:
        parts.append(f"most of it in {words.place(results.sites[wait.site])}")
    return "; ".join(parts)
