# SPDX-License-Identifier: Apache-2.0
"""The watched run as its page shows it: head, calls, coverage, the program."""

from __future__ import annotations

import shlex

from slowpath.core.units import listed
from slowpath.report import format as fmt
from slowpath.report.figure import Table
from slowpath.report.view_run import date
from slowpath.watch.report import words
from slowpath.watch.report.view_time import waited
from slowpath.watch.results import Coverage, WatchedProgram, WatchResults

CALLS_SHOWN = 12
UNEXPLAINED = 0.25  # of the time in MPI: above it nothing is claimed from the rest
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
        mean = sum(one.mpi_s for one in results.ranks) / len(results.ranks)
        found.append((fmt.time(mean), "in MPI a rank"))
    if results.saved_s is not None:
        found.append((fmt.time(results.saved_s, results.saved_interval), "could be saved"))
    waiting_s = sum(map(waited, results.ranks)) / max(1, len(results.ranks))
    found += [(fmt.time(waiting_s), "waiting for others a rank")] if waiting_s else []
    return [*found, (fmt.percent(results.coverage.matched_share, 0), "of recorded messages matched")]


def warnings(results: WatchResults) -> list[str]:
    """What a reader has to know before anything else."""
    program, found = results.program, []
    if not program.recorded_ranks:
        found.append("No rank left a record.")
    elif program.recorded_ranks < program.ranks:
        found.append(f"{program.recorded_ranks} of {fmt.plural(program.ranks, 'rank')} left a readable record.")
    cut = [one.rank for one in results.ranks if one.ended in ("killed", "without finalize")]
    if cut:
        few = listed([str(rank) for rank in cut[:6]])
        found.append(f"Rank {few}{f' and {len(cut) - 6} more' if len(cut) > 6 else ''} ended without MPI_Finalize: "
                     "what was written by then is shown.")  # fmt: skip
    mpi_s, rest_s = (sum(getattr(one, name) for one in results.ranks) for name in ("mpi_s", "unexplained_s"))
    said = any("nothing is claimed" in line for line in results.verdict[:1])
    if mpi_s and rest_s / mpi_s > UNEXPLAINED and not said:
        found.append(f"{fmt.percent(rest_s / mpi_s, 0)} of the time in MPI is unexplained: nothing is claimed from it.")
    if results.coverage.contradictions:
        found.append(f"{words.count(results.coverage.contradictions)} matched pairs contradict each other.")
    return found


def calls(results: WatchResults) -> tuple[Table, Table]:
    """The calls with the most time, and the others."""
    whole_s = results.program.span_s or results.program.wall_s
    head = ["Call", "Kind", "Calls", "Time a rank", "Of the run", "A call", "Bytes"]
    ranks = max(1, results.program.recorded_ranks)
    rows = [
        [one.name, one.family, words.count(one.calls), words.time(one.time_s),
         fmt.percent(one.time_s / whole_s) if whole_s else fmt.MISSING,
         words.time(one.time_s * ranks / one.calls) if one.calls else fmt.MISSING,
         words.spelled_bytes(one.bytes) if one.bytes else "0 B"]
        for one in results.calls
    ]  # fmt: skip
    return Table(head, rows[:CALLS_SHOWN]), Table(head, rows[CALLS_SHOWN:])


def coverage(one: Coverage) -> Facts:
    """What was seen, and what was not."""
    unseen = listed(one.unseen[:20]) + (f" and {len(one.unseen) - 20} more" if len(one.unseen) > 20 else "")
    matched = fmt.percent(one.matched_share) if one.matched_share is not None else "no sends or receives were recorded"
    clocks = "not joined: error not known"
    if one.clock_error_s is not None:
        clocks = f"joined, error {fmt.time(one.clock_error_s)}" if one.clock_error_s else "one host, one clock"
    return [
        ("kinds of calls", f"{one.wrapped} of {one.imported} that the program imports are watched"),
        ("not seen", unseen or "nothing that the program imports"),
        ("calls", words.count(one.calls)),
        ("messages", f"{words.count(one.messages)}, {words.count(one.recorded_messages)} with an event of their own"),
        ("matched", matched),
        ("kept", f"{fmt.percent(one.kept_share)} of the time in MPI is in events that were kept; counts are of all"),
        ("clocks", clocks),
        ("own cost", f"{fmt.time(one.own_cost_s)} a rank for watching"),
    ]


def program(one: WatchedProgram) -> Facts:
    """What ran."""
    return [
        ("library", f"{one.library} ({one.interface})"),
        ("loaded from", one.library_path or "not known"),
        ("thread level", one.thread_level or "not known"),
        ("hosts", ", ".join(one.hosts[:64]) + (f" and {len(one.hosts) - 64} more" if len(one.hosts) > 64 else "")),
        ("records", f"of {one.recorded_ranks} of {fmt.plural(one.ranks, 'rank')}"),
        ("started", one.started),
        ("ended", ", ".join(ended(one)) or ("exit code 0" if one.exit_code == 0 else "not known")),
    ]


def command(one: WatchedProgram) -> str:
    """The command that watches it once more."""
    return f"slowpath watch -- {shlex.join(one.command)}"
