# SPDX-License-Identifier: Apache-2.0
"""The page of a watched program: findings and proofs as cards, waits, time, messages, memory, calls and coverage."""

from __future__ import annotations

import re
import shlex
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence

from msgspec.structs import replace

from slowpath.core.finding_results import RemedyResult
from slowpath.core.units import listed
from slowpath.report import format as fmt
from slowpath.report.cards import advice, copied, remedies
from slowpath.report.figure import (
    Axis,
    Block,
    Card,
    Copied,
    Facts,
    Items,
    Lines,
    Mark,
    Page,
    Quantity,
    Row,
    Rows,
    Section,
    Table,
    Text,
    grouped,
    times,
)
from slowpath.report.page import PAGE_BYTES, render
from slowpath.watch.accounts import WAITS
from slowpath.watch.findings import place_words
from slowpath.watch.prices import length_words
from slowpath.watch.proof import Proof, proof_lines
from slowpath.watch.report import quantities as words
from slowpath.watch.results import (
    AccountName,
    CallSite,
    Coverage,
    Slice,
    WatchedProgram,
    WatchFinding,
    WatchResults,
)
from slowpath.watch.verdict import run_seconds

_UNIT = re.compile(r"(?<=\d) (?=s\b|ms\b|%)")  # a number and its unit stay on one line
_FEWER_RANKS = (64, 32, 16, 8)  # of the picture ranks x time, until the page is small enough
_MOST_FINDINGS = 40  # cards; results.json has all


def render_watch_html(results: WatchResults, folder: str = "WATCH", proofs: Sequence[tuple[str, Proof]] = ()) -> str:
    """Return the whole page.

    Args: folder: of the watch, as commands to copy name it. proofs: name of the folder of each, and proof.
    """
    document = ""
    for most in _FEWER_RANKS:
        document = render(_page(_fewer(results, most), folder, proofs))
        if len(document.encode()) <= PAGE_BYTES:
            break
    return document


def _fewer(results: WatchResults, most: int) -> WatchResults:
    """Return the results with the slices of `most` ranks: those that wait least and most of all that have some."""
    ranks = sorted({stretch.rank for stretch in results.slices})
    if len(ranks) <= most:
        return results
    waits = dict(zip((known.rank for known in results.ranks), _waits(results), strict=True))
    order = sorted(ranks, key=lambda rank: waits.get(rank, 0.0))
    kept = tuple(sorted((*order[: most // 2], *order[-(most - most // 2) :])))
    slices = tuple(stretch for stretch in results.slices if stretch.rank in kept)
    return replace(results, slices=slices, shown_ranks=kept)


def _page(results: WatchResults, folder: str, proofs: Sequence[tuple[str, Proof]]) -> Page:
    program = results.program
    headline = _UNIT.sub("\u00a0", (*results.verdict, f"{program.program}: nothing was recorded")[0])
    by_word = grouped(map(_named, results.verdict[1:]), lambda named: named[0] == "note")
    notes = [sentence for _, sentence in by_word.get(True, ())]
    sections: list[Section | None] = [
        _proofs_section(proofs),
        _findings_section(results, folder),
        Section("notes", "Notes", "Notes", [Items(notes)], folded=True) if notes else None,
        _time_section(results),
        _timeline_section(results),
        _messages_section(results),
        _calls_section(results),
        _coverage_section(results),
    ]
    return Page(
        f"Slowpath watch: {headline}",
        f"Watch of {program.program}",
        headline,
        f"Slowpath {results.slowpath}",
        [section for section in sections if section],
        warnings=_warnings(results),
        place=_place(program),
        numbers=_numbers(results),
        blocks=[Lines([("", *named, "") for named in by_word[False]])] if False in by_word else [],
    )


# ---- Head


def _named(sentence: str) -> tuple[str, str]:
    """Return what stands before a sentence of the verdict, and the rest of it."""
    number, point, change = sentence.partition(". ")
    if point and number.isdecimal():
        return f"change {number}", change
    if sentence.startswith("Of ") and " a rank: " in sentence:
        return "time", sentence
    name, colon, rest = sentence.partition(": ")
    return ("not decided", rest) if colon and name == "Not decided" else ("note", sentence)


def _place(program: WatchedProgram) -> list[str]:
    """Return where, with what, when, and how it ended when it did not end well."""
    hosts = listed(program.hosts[:3]) if len(program.hosts) <= 3 else f"{words.count(len(program.hosts))} hosts"
    parts = [
        f"{program.program}, {fmt.plural(program.ranks, 'rank')}",
        hosts,
        program.library,
        fmt.date(program.started),
    ]
    return [part for part in (*parts, *_ended(program)) if part]


def _ended(program: WatchedProgram) -> list[str]:
    if program.signal is not None:
        return [f"ended by signal {program.signal}"]
    return [f"exit code {program.exit_code}"] if program.exit_code else []


def _numbers(results: WatchResults) -> list[tuple[str, str]]:
    numbers, ranks = [(fmt.time(run_seconds(results)), "run")], max(1, len(results.ranks))
    if results.ranks:
        numbers.append((fmt.time(sum(rank.mpi_s for rank in results.ranks) / ranks), "in MPI a rank"))
    wait_s = sum(account.seconds for account in results.accounts if account.name in WAITS)
    numbers += [(fmt.time(wait_s), "waiting for others a rank")] if wait_s else []
    return [*numbers, (fmt.percent(results.coverage.matched_share, 0), "of recorded messages matched")]


def _warnings(results: WatchResults) -> list[str]:
    program, warnings = results.program, []
    if not program.recorded_ranks:
        warnings.append("No rank left a record.")
    elif program.recorded_ranks < program.ranks:
        warnings.append(f"{program.recorded_ranks} of {fmt.plural(program.ranks, 'rank')} left a readable record.")
    cut = [rank.rank for rank in results.ranks if rank.ended in ("killed", "without finalize")]
    if cut:
        few = listed([str(rank) for rank in cut[:6]]) + (f" and {len(cut) - 6} more" if len(cut) > 6 else "")
        warnings.append(f"Rank {few} ended without MPI_Finalize: its data up to that point is shown.")
    if results.coverage.contradictions:
        warnings.append(f"{words.count(results.coverage.contradictions)} matched pairs contradict each other.")
    return warnings


# ---- Findings

_STATUS = {
    "priced": ("info", "priced, not tried"),
    "estimated": ("info", "estimated"),
    "proven": ("faster", "proven on the program itself"),
    "no effect": ("same", "tried on the program: no effect"),
    "undecided": ("undecided", "tried on the program: undecided"),
}
_ID = re.compile(r"[^A-Za-z0-9_.-]+")


def _findings_section(results: WatchResults, folder: str) -> Section | None:
    findings = results.findings
    proven = sum(finding.status == "proven" for finding in findings)
    title = fmt.plural(len(findings), "slow path") + (f", {proven} proven" if proven else "")
    if len(findings) > _MOST_FINDINGS:
        title += f", {_MOST_FINDINGS} of them here"
    cards = [_card(number, finding, results, folder) for number, finding in enumerate(findings[:_MOST_FINDINGS])]
    return Section("findings", title, "Findings", cards) if cards else None


def _card(number: int, finding: WatchFinding, results: WatchResults, folder: str) -> Card:
    saved, of = Quantity(finding.seconds, "s", finding.interval), "a rank, added up over its messages"
    if finding.saved_s is not None:
        of = "of the run"
        saved = Quantity(finding.saved_s, "s", finding.saved_interval or finding.interval)
    first = finding.remedies[0] if finding.remedies else None
    sites = [_site(results.sites[place]) for place in finding.sites]
    side: list[Block] = [Text(finding.text)]
    side += [Text(f"called by {callers}" if callers else "", name=place) for place, callers in sites[:3]]
    is_estimated = finding.status == "estimated" and finding.change is not None
    side += copied(first)[:1] if first and not is_estimated else []
    side += [Copied(finding.change, "The lines to change:")] if finding.change and not is_estimated else []
    if finding.prove is not None:
        command = f"slowpath prove {shlex.quote(folder)} {finding.prove}"
        side.append(Copied(command, "Prove it:"))
    others = [f"{place} called by {callers}" if callers else place for place, callers in sites[3:]]
    more: list[Block] = [Items(others)] if others else []
    return Card(
        f"finding-{number}-{_ID.sub('-', finding.id)}",
        finding.rule,
        finding.name,
        _advice(finding, first),
        of,
        saved.text,
        saved.ends or "",
        _STATUS[finding.status],
        side=side,
        opens="Other places" if is_estimated else "Places and other remedies",
        more=[*more, *([] if is_estimated else remedies(finding.remedies))],
    )


def _advice(finding: WatchFinding, first: RemedyResult | None) -> str:
    """What to change: as the program's own calls say it, else the first remedy."""
    if finding.status == "estimated" and finding.change:
        return finding.change  # begins with a file, whose name is as it is
    return advice(first, finding.status == "proven") if first else finding.title


def _site(site: CallSite) -> tuple[str, str]:
    return place_words(site), " < ".join(site.callers)


# ---- Proofs

_MOST_PROOFS = 12  # on the page, the latest; each has its proof.json
_SIDES = (("as it is", "slow", "as it is"), ("control", "fast", "control"), ("remedy", "remedy", "with the remedy"))
_MARKS = {"proven": "faster", "slower": "slower", "no effect": "same"}
_PROOFS_LEAD = "The control is a variable that nothing reads."


def _proofs_section(proofs: Sequence[tuple[str, Proof]]) -> Section | None:
    cards = [_proof_card(name, proof) for name, proof in list(reversed(proofs))[:_MOST_PROOFS]]
    return Section("proofs", "Proofs on the program", "Proofs", cards, _PROOFS_LEAD) if cards else None


def _proof_card(name: str, proof: Proof) -> Card:
    head, *lines = proof_lines(proof)
    rows = []
    for side, style, label in _SIDES:
        values = [run.wall_s for run in proof.runs if run.side == side and run.failed is None and run.wall_s > 0]
        if values:  # the line is their median, which the interval is not about
            median = Quantity(statistics.median(values))
            rows.append(times(style, f"{label}, {fmt.plural(len(values), 'run')}", values, median))
    return Card(
        f"proof-{name}",
        "",
        proof.text,
        proof.remedy,
        mark=(_MARKS.get(proof.verdict, "undecided"), head.partition(": ")[2]),
        blocks=[Items(lines)],
        side=[Rows("", "", Axis("wall time of one run", least=1.6), rows, name="sides")] if rows else [],
    )


# ---- Time by name

_MOST_BARS = 24  # rows of the picture
# Of a rank's time, in the order of a bar: words, style, accounts; the last one has the rest.
_PARTS: tuple[tuple[str, str, tuple[AccountName, ...]], ...] = (
    ("computing, or outside MPI", "computing", ("computing", "outside MPI")),
    ("asleep, faults, system calls", "s3", ("asleep", "page faults", "system calls")),
    ("no processor", "s5", ("no processor",)),
    ("waiting for other ranks", "s4", WAITS),
    ("moving bytes, overhead", "s1", ("moving bytes", "call overhead")),
    ("files, making and freeing", "s6", ("files", "management")),
    ("slow transfer, or waiting", "s2", ("slow transfer", "wait or slow transfer", "unexpected copy")),
    ("the rest", "other faint", ()),
)


def _time_section(results: WatchResults) -> Section | None:
    if not results.accounts or not results.ranks:
        return None
    head = ["Time went to", "A rank", "Of the run", "Least on a rank", "Most on a rank"]
    rows = [
        [
            account.name,
            words.time(account.seconds),
            fmt.percent(account.share),
            words.time(min(account.by_rank, default=0.0)),
            words.time(max(account.by_rank, default=0.0)),
        ]
        for account in results.accounts
    ]
    blocks: list[Block] = [_rank_bars(results), Table("", head, rows, summary="Every name")]
    return Section("time", "Where the time goes", "Time", blocks, "Others wait for the rank that waits least.")


def _rank_bars(results: WatchResults) -> Rows:
    """Return the time of each rank by name: who is late waits least."""
    every, which = [(i, rank) for i, rank in enumerate(results.ranks)], "all ranks"
    if len(every) > _MOST_BARS:  # those that wait least, which others wait for, and those that wait most
        waits, half = _waits(results), _MOST_BARS // 2
        order = sorted(every, key=lambda bar: waits[bar[0]])
        which = f"the {half} ranks of {len(every):,} that wait least, and the {half} that wait most"
        every = [*order[:half], *order[-half:]]
    rows = []
    for i, rank in every:
        at, marks = 0.0, []
        for seconds, (_, style, _) in zip(_parts(results, i), _PARTS, strict=True):
            marks.append(Mark("bar", style, (at, at + seconds)))
            at += seconds
        share = fmt.percent(rank.mpi_s / rank.span_s, 0) if rank.span_s else fmt.MISSING
        note = f"{share} of its run" + ("" if rank.ended == "finalized" else f"; {rank.ended}")
        rows.append(Row(f"rank {rank.rank}", marks, f"{fmt.time(rank.mpi_s)} in MPI", note))
    head = ["Rank", "Host", "In MPI", *(label for label, _, _ in _PARTS), "Record"]
    table = [
        [str(rank.rank), rank.host, fmt.time(rank.mpi_s), *map(words.time, _parts(results, i)), rank.ended]
        for i, rank in every
    ]
    key = [(f"bar {style}", label) for label, style, _ in _PARTS]
    axis = Axis("time", log=False, ends=(0.0, max(rank.span_s for rank in results.ranks) or 1e-9))
    return Rows("Time of each rank by name", which, axis, rows, Table("", head, table, "The numbers"), key)


def _waits(results: WatchResults) -> list[float]:
    waits = [account.by_rank for account in results.accounts if account.name in WAITS]
    return [sum(by_rank[i] for by_rank in waits if i < len(by_rank)) for i in range(len(results.ranks))]


def _parts(results: WatchResults, i: int) -> list[float]:
    mine = {account.name: account.by_rank[i] for account in results.accounts if i < len(account.by_rank)}
    named = [sum(mine.pop(name, 0.0) for name in names) for _, _, names in _PARTS[:-1]]
    return [*named, sum(mine.values())]


# ---- Time


def _shares(
    known: Sequence[tuple[float, float, Sequence[float]]],
    unknown: Iterable[tuple[float, float]],
    styles: Sequence[str],
) -> list[Mark]:
    """Return shares of stretches, stacked from below on a ground, and a hatching where nothing was kept."""
    marks = [Mark("area", "computing", [value for start, end, _ in known for value in (start, end, 1.0)])]
    for top in range(len(styles), 0, -1):  # each down to the foot, the highest first, so that lower ones cover it
        heights = [(start, end, sum(shares[:top])) for start, end, shares in known]
        marks.append(Mark("area", styles[top - 1], [value for height in heights for value in height]))
    lost: list[float] = []
    for start, end in unknown:
        if lost and abs(start - lost[-1]) < 1e-9:
            lost[-1] = end
        else:
            lost += [start, end]
    return [*(mark for mark in marks if mark.values), *([Mark("hatch", "", lost)] if lost else [])]


# Of a slice, from the foot of a row: value, style, words; the rest is the ground.
_SLICES: tuple[tuple[Callable[[Slice], float], str, str], ...] = (
    (lambda stretch: stretch.waiting, "s4", "waiting for other ranks"),
    (lambda stretch: stretch.transfer, "s1", "moving bytes"),
    (lambda stretch: stretch.other, "s6", "in MPI, otherwise"),
)
_HEIGHTS = ((4, 44), (8, 30), (16, 22), (32, 16), (64, 11))  # up to so many rows: pixels of one


def _timeline_section(results: WatchResults) -> Section | None:
    if not results.slices:
        return None
    rows, most = [], _most_of_path(results.slices)
    for rank, slices in sorted(grouped(results.slices, lambda stretch: stretch.rank).items()):
        ordered = sorted(slices, key=lambda stretch: stretch.start_s)
        known = [(s.start_s, s.end_s, [read(s) for read, _, _ in _SLICES]) for s in ordered if s.is_kept]
        lost = [(stretch.start_s, stretch.end_s) for stretch in ordered if not stretch.is_kept]
        mean = [sum(shares) / max(1, len(known)) for shares in zip(*(s for _, _, s in known), strict=True)]
        said = ", ".join(
            f"{fmt.percent(share, 0)} {label}" for share, (_, _, label) in zip(mean, _SLICES, strict=False)
        )
        marks = _shares(known, lost, [style for _, style, _ in _SLICES])
        rows.append(Row(str(rank), [*marks, *_path_marks(ordered, most)], words=said))
    lost_share = sum(not stretch.is_kept for stretch in results.slices) / len(results.slices)
    key = [("bar computing", "outside of MPI"), *((f"bar {style}", label) for _, style, label in _SLICES)]
    key += [("hatch", "not kept")] if lost_share else []
    key += [("bar s2", "line: the critical path")] if most else []
    end_s = max(stretch.end_s for stretch in results.slices)
    caption = f"{fmt.percent(lost_share, 0)} not kept" if lost_share else ""
    height = next((pixels for most, pixels in _HEIGHTS if len(rows) <= most), _HEIGHTS[-1][1])
    axis = Axis("time since the first MPI_Init", log=False, ends=(0.0, end_s or 1e-9))
    figure = Rows("", caption, axis, rows, key=key, narrow=True, height=height)
    lead = f"A row for each rank: {_shown_ranks(results, len(rows))}."
    if table := _path_table(results):
        lead += " Only what lies on the critical path makes the run longer."
    blocks: list[Block] = [figure, *([table] if table else [])]
    return Section("timeline", "Ranks over time", "Time line", blocks, lead, folded=True)


_SHOWN_PARTS = 5
_HALF = 0.5  # of the rank that has most of the path in a slice: others that have as much have a line as well


def _most_of_path(slices: Sequence[Slice]) -> dict[float, float]:
    """Return of each slice with a path the largest share that a rank has of it."""
    most: dict[float, float] = {}
    for stretch in slices:
        if stretch.path:
            most[stretch.start_s] = max(most.get(stretch.start_s, 0.0), stretch.path)
    return most


def _path_marks(slices: Sequence[Slice], most: Mapping[float, float]) -> list[Mark]:
    """Return lines where the path is on this rank; neighbours are one line."""
    lines: list[list[float]] = []
    for stretch in slices:
        if stretch.path and stretch.path >= _HALF * most[stretch.start_s]:
            if lines and abs(lines[-1][1] - stretch.start_s) < 1e-9:
                lines[-1][1] = stretch.end_s
            else:
                lines.append([stretch.start_s, stretch.end_s])
    return [Mark("line", "s2", line) for line in lines]


def _path_table(results: WatchResults) -> Table | None:
    """Return the longest parts of the critical path; None: it is not known."""
    rows = [
        [
            str(part.rank),
            f"outside MPI, before {part.call}" if part.is_outside else f"in {part.call}",
            fmt.MISSING if part.site is None else place_words(results.sites[part.site]),
            words.time(part.seconds),
            fmt.percent(part.share),
        ]
        for part in results.path[:_SHOWN_PARTS]
    ]
    return Table("The critical path", ["Rank", "What", "Place", "Time", "Of the path"], rows) if rows else None


def _shown_ranks(results: WatchResults, rows: int) -> str:
    shown = results.shown_ranks
    if shown is None:
        return f"all {fmt.plural(rows, 'rank')}" if rows > 1 else "1 rank"
    ranges = f"{min(shown)} to {max(shown)}"
    if len(set(shown)) != max(shown) - min(shown) + 1:
        rest = len(shown) - 6
        ranges = ", ".join(map(str, sorted(shown)[:6])) + (f" and {rest} more" if rest > 0 else "")
    return f"{rows} of {words.count(results.program.ranks)} ranks: {ranges}"


# ---- Messages

_MOST_CLASSES = 60  # rows of the table; classes.csv has all


def _messages_section(results: WatchResults) -> Section | None:
    classes = [known for known in results.classes if known.side != "none"]
    if not classes:
        return None
    rows = [
        [
            words.messages(known),
            words.count(known.count),
            words.time(known.time_s),
            words.time(known.wait_s),
            words.time(known.transfer_s),
            words.buffer(known),
            place_words(results.sites[known.site]),
        ]
        for known in classes[:_MOST_CLASSES]
    ]
    head = ["Messages", "How many", "Time a rank", "Waiting", "Transfer", "Buffer", "Place"]
    summary = f"{len(rows)} of {len(classes)} classes"
    return Section("messages", "Messages", "Messages", [Table("", head, rows, summary)], folded=True)


# ---- Calls, coverage

_CALLS_SHOWN = 12


def _calls_section(results: WatchResults) -> Section:
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
            length_words(call.bytes) if call.bytes else "0 B",
        ]
        for call in results.calls
    ]
    more = rows[_CALLS_SHOWN:]
    blocks: list[Block] = [Table("", head, rows[:_CALLS_SHOWN]) if rows else Text("No calls", "lead")]
    blocks += [Table("", head, more, f"The other {len(more)} calls")] if more else []
    return Section("calls", "Calls", "Calls", blocks, folded=True)


def _coverage_section(results: WatchResults) -> Section:
    blocks: list[Block] = [Facts(_coverage(results.coverage))]
    blocks += [Items(results.coverage.notes)] if results.coverage.notes else []
    blocks.append(Copied(f"slowpath watch -- {shlex.join(results.program.command)}", "Watch it once more:"))
    return Section("coverage", "Coverage", "Coverage", blocks, folded=True)


def _coverage(seen: Coverage) -> list[tuple[str, str]]:
    unseen = listed(seen.unseen[:20]) + (f" and {len(seen.unseen) - 20} more" if len(seen.unseen) > 20 else "")
    matched = "no messages recorded"
    clocks = "not joined: error not known"
    if seen.clock_error_s is not None:
        clocks = f"joined, error {fmt.time(seen.clock_error_s)}" if seen.clock_error_s else "one host, one clock"
    kept = f"{fmt.percent(seen.kept_share)} of the time in MPI"
    return [
        ("kinds of calls", f"{seen.wrapped} of {seen.imported} watched"),
        ("not seen", unseen or "nothing that the program imports"),
        ("calls", words.count(seen.calls)),
        ("messages", f"{words.count(seen.messages)}, {words.count(seen.recorded_messages)} with an event of their own"),
        ("matched", fmt.percent(seen.matched_share) if seen.matched_share is not None else matched),
        ("kept", kept),
        ("clocks", clocks),
        ("own cost", f"{fmt.time(seen.own_cost_s)} a rank, estimated"),
    ]
