# SPDX-License-Identifier: Apache-2.0
"""The watched run as its page shows it: head, calls, coverage, the program, and what the ranks waited for.

Findings and proofs of a watch as cards: what to do, what it saves, the lines to copy, and what reruns showed.
"""

from __future__ import annotations

import re
import shlex
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.core.units import listed
from slowpath.report import format as fmt
from slowpath.report.figure import FigureTable
from slowpath.report.svg import sides as drawn
from slowpath.report.svg.sides import Kind, SideTimes
from slowpath.report.view_findings import RemedyView, remedy_view
from slowpath.report.view_run import date
from slowpath.watch.findings import MOST_UNEXPLAINED, unexplained_share
from slowpath.watch.proof import Proof, ProofEffect
from slowpath.watch.report import words
from slowpath.watch.results import (
    CallSite,
    Coverage,
    Price,
    RankResources,
    Wait,
    WatchedProgram,
    WatchFinding,
    WatchResults,
)
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


STATUS = {
    "priced": ("info", "priced, not tried"),
    "estimated": ("info", "estimated from the program's own calls"),
    "proven": ("faster", "proven on the program itself"),
    "no effect": ("same", "tried on the program: no effect"),
    "undecided": ("undecided", "tried on the program: undecided"),
}
_ID = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True)
class WatchFindingView:
    """One card. factor, factor_words: what it saves.  mark, status: whether it was tried.  prove: the command.

    sites: each place, and who called it.
    """

    finding: WatchFinding
    id: str
    do: str
    factor: str
    interval: str
    factor_words: str
    mark: str
    status: str
    copied: tuple[str, str] | None
    prove: str | None
    reason: str | None
    sites: list[tuple[str, str]]
    prices: FigureTable
    remedies: list[RemedyView]


def cards(results: WatchResults, folder: str) -> list[WatchFindingView]:
    """A card for each finding.  Args: folder: of the watch, for commands."""
    return [_card(number, finding, results, folder) for number, finding in enumerate(results.findings)]


def _card(number: int, finding: WatchFinding, results: WatchResults, folder: str) -> WatchFindingView:
    remedies = [remedy_view(remedy) for remedy in finding.remedies]
    value, interval, of = finding.seconds, finding.interval, "a rank, added up over its messages"
    if finding.saved_s is not None:
        value, of = (
            finding.saved_s,
            f"of the run; {words.seconds(finding.seconds, finding.interval)} a rank over its messages",
        )
        interval = finding.saved_interval or finding.interval
    mark, status = STATUS[finding.status]
    return WatchFindingView(
        finding=finding,
        id=f"finding-{number}-{_ID.sub('-', finding.id)}",
        do=_do(finding),
        factor=fmt.time(value, interval),
        interval=fmt.quantity_interval(value, "s", interval) or "",
        factor_words=of,
        mark=mark,
        status=status,
        copied=remedies[0].lines[0] if remedies and remedies[0].lines else None,
        prove=None if finding.prove is None else f"slowpath prove {shlex.quote(folder)} {finding.prove}",
        reason=None if finding.saved_s is not None else finding.saved_reason,
        sites=[_site(results.sites[place]) for place in finding.sites],
        prices=_prices(finding, results),
        remedies=remedies,
    )


def _do(finding: WatchFinding) -> str:
    if not finding.remedies:
        return f"{finding.title}; no remedy is known"
    first = finding.remedies[0]
    if first.phrase is None:
        return first.text
    return f"{'Use' if finding.status == 'proven' else 'Try'} {first.phrase}"


def _site(site: CallSite) -> tuple[str, str]:
    return words.place(site), " < ".join(site.callers)


def _prices(finding: WatchFinding, results: WatchResults) -> FigureTable:
    classes = {known.id: known for known in results.classes}
    head = ["Messages", "How many", "Buffer", "Place", "Saved on each", "Added up a rank", "From"]
    rows = []
    for price in finding.prices:
        known = classes[price.class_id]
        row = [words.messages(known), words.count(known.count), words.buffer(known)]
        row += [words.place(results.sites[known.site]), words.seconds(price.per_message_s, price.interval)]
        rows.append([*row, _added(price, known.count, results), f"{price.basis}: {price.source}"])
    return FigureTable(head, rows)


def _added(price: Price, count: int, results: WatchResults) -> str:
    ranks = max(1, results.program.recorded_ranks)
    return fmt.time(price.per_message_s * count / ranks)


MOST_PROOFS = 12  # on the page, the latest; each has its proof.json
_SIDES: tuple[tuple[str, Kind, str], ...] = (
    ("as it is", "slow", "as it is"),
    ("control", "fast", "control"),
    ("remedy", "remedy", "with the remedy"),
)
MARKS = {"proven": "faster", "slower": "slower", "no effect": "same"}
WORDS = {"ignored": "the setting was not taken", "running": "cut off"}


@dataclass(frozen=True, slots=True)
class ProofView:
    """One proof. headline: its verdict in words.  facts: name and words."""

    id: str
    remedy: str
    mark: str
    headline: str
    text: str
    facts: list[tuple[str, str]]
    picture: Markup | None


def proofs(found: Sequence[tuple[str, Proof]]) -> list[ProofView]:
    """The latest first.  Args: found: name of the folder, and proof."""
    return [_view(name, proof) for name, proof in list(reversed(found))[:MOST_PROOFS]]


def _view(name: str, proof: Proof) -> ProofView:
    facts = [("why", proof.reason)]
    facts += [("time", _ratio(proof.effect))] if proof.effect else []
    facts += [("control", f"{_ratio(proof.control)} with a variable that nothing reads")] if proof.control else []
    facts.append(("witness", f"{proof.witness.state}: {proof.witness.text}"))
    compared = ", ".join(proof.compared)
    facts.append(("output", f"compared: {compared}" if compared else "not compared; name it with --output"))
    facts.append(("runs", f"{len(proof.runs)} of {fmt.duration(proof.spent_s)} in all, in {name}"))
    picture = drawn.chart(_sides(proof), "wall time of one run", f"Reruns for {proof.remedy}")
    return ProofView(
        f"proof-{name}",
        proof.remedy,
        MARKS.get(proof.verdict, "undecided"),
        _headline(proof),
        proof.text,
        facts,
        picture,
    )


def _headline(proof: Proof) -> str:
    words = WORDS.get(proof.verdict, proof.verdict)
    if proof.verdict == "proven" and proof.saved_s is not None:
        ends = fmt.quantity_interval(proof.saved_s, "s", proof.saved_interval)
        return f"{words}: {fmt.time(proof.saved_s, proof.saved_interval)} {ends or ''} of a run saved"
    return words


def _ratio(effect: ProofEffect) -> str:
    interval = effect.interval
    ends = fmt.ratio_interval(effect.ratio, interval)
    blocks = fmt.plural(effect.blocks, "block")
    return f"{fmt.ratio(effect.ratio, interval)} {ends or 'no interval'} of as it is, {blocks}"


def _sides(proof: Proof) -> list[SideTimes]:
    """A row for each side that has runs which count; the line is their median, which the interval is not about."""
    rows = []
    for side, kind, label in _SIDES:
        values = tuple(run.wall_s for run in proof.runs if run.side == side and run.failed is None and run.wall_s > 0)
        if values:
            rows.append(
                SideTimes(f"{label}, {fmt.plural(len(values), 'run')}", kind, values, statistics.median(values), None)
            )
    return rows
