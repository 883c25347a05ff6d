# SPDX-License-Identifier: Apache-2.0
"""The text verdict of a watch: what the program loses, the headline first, and what `slowpath prove` showed. Pure.

The verdict of a watch that fits a screen, and the table of call sites. Pure.

How much of the run is MPI and how much of that could be saved, what the time in MPI goes to, and at most three changes,
those first that save most. A finding of any slow path is such a change, and so is a rank that all others wait for.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from msgspec.structs import replace

from slowpath.core.finding_results import RemedyResult
from slowpath.core.machine import format_cpu_list
from slowpath.core.result import Interval
from slowpath.core.results import Brief
from slowpath.core.units import format_bytes, format_interval, format_ratio, listed, seconds
from slowpath.findings.program_pattern import ProgramSlowPath
from slowpath.slowpaths.registry import PROGRAM_REMEDIES, known
from slowpath.watch.findings import MOST_UNEXPLAINED, place_words, unexplained_share
from slowpath.watch.proof import Proof
from slowpath.watch.results import (
    BEFORE_THE_RUN,
    Account,
    AccountName,
    Efficiency,
    Standing,
    Standstill,
    Wait,
    WaitKind,
    WatchFinding,
    WatchResults,
    tried_remedy,
)

MOST_WAITS: Final = 3
MOST_UNSEEN: Final = 4
_CODE, _NAME, _SECONDS = 6, 24, 8


def verdict_of(results: WatchResults, watch: str = "WATCH") -> tuple[str, ...]:
    """Lines. Args: results: complete but for the verdict.  watch: the folder, for the commands to copy."""
    lines = [*(f"{one.sentence} {one.action}" for one in results.place or ()), headline(results, watch)]
    if results.standstill is not None:
        lines += [f"  {line}" for line in grouped_lines(results.standstill)]
    for finding in results.findings:
        lines += _finding(finding, watch)
    if results.efficiency is not None:
        lines.append(f"  {efficiency_words(results.efficiency)}")
    lines += [f"  {'phase':<{_CODE}} {phase.text}" for phase in results.phases or ()]
    if results.files is not None:
        lines.append(f"  {'files':<{_CODE}} {results.files.text}")
    if results.start_s is not None:
        lines.append(f"  {'start':<{_CODE}} {start_words(results.start_s)}")
    lines += [_row("late", _who(wait), seconds(wait.seconds), wait.text) for wait in results.waits[:MOST_WAITS]]
    lines += [f"  {'fine':<{_CODE}} {fine.text}" for fine in results.fine]
    lines += [f"  not priced: {line}" for line in results.unpriced]
    return (*lines, f"  {coverage(results)}", *(f"  note: {note}" for note in results.coverage.notes))


def start_words(start_s: float) -> str:
    """`MPI_Init takes 0.31 s a rank, which is before the run`."""
    return f"MPI_Init takes {seconds(start_s)} a rank before the run"


def grouped_lines(found: Standstill) -> list[str]:
    """One line for all ranks that do the same at one place, those of most ranks first."""
    return [f"{ranks_words(one.rank for one in stands)}: {stands[0].text}" for stands in standing_groups(found)]


def efficiency_words(found: Efficiency) -> str:
    """`parallel efficiency 42 %: load balance 88 %, serialization 70 %, transfer 68 %`."""
    if found.parallel is None or found.load_balance is None or found.communication is None:
        return f"parallel efficiency not known: {found.reason}"
    head = f"parallel efficiency {100 * found.parallel:.0f} %: load balance {100 * found.load_balance:.0f} %"
    if found.serialization is None or found.transfer is None:
        return f"{head}, communication {100 * found.communication:.0f} %; not divided further: {found.reason}"
    return f"{head}, serialization {100 * found.serialization:.0f} %, transfer {100 * found.transfer:.0f} %"


def standing_groups(found: Standstill) -> list[list[Standing]]:
    """Ranks that do the same at one place, the largest group first."""
    groups: dict[tuple[str, str | None, str | None, tuple[int, ...]], list[Standing]] = {}
    for one in found.ranks:
        groups.setdefault((one.doing, one.call, one.place, one.waits_for), []).append(one)
    return sorted(groups.values(), key=len, reverse=True)


def ranks_words(numbers: Iterable[int]) -> str:
    """`rank 3`, `ranks 0 and 2`, `ranks 0-2,4-7`."""
    found = sorted(set(numbers))
    if len(found) == 1:
        return f"rank {found[0]}"
    return f"ranks {found[0]} and {found[1]}" if len(found) == 2 else f"ranks {format_cpu_list(found)}"


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
    if program.misstart is not None:
        return f"{program.misstart}. {program.start_with}"
    if not results.ranks:
        return f"{program.program}: no rank left a record"
    count = f"{program.ranks} rank{'s' if program.ranks != 1 else ''}"
    if results.standstill is not None:
        return f"{program.program}, {count}, {stood_still(results.standstill)}"
    in_mpi = sum(rank.mpi_s for rank in results.ranks) / len(results.ranks)
    span = f", {seconds(program.span_s)}" if program.span_s is not None else ""
    return f"{program.program}: {count}{span}, of which {seconds(in_mpi)} a rank in MPI; {_gain(results, watch)}"


def stood_still(found: Standstill) -> str:
    """`hung for 12 s: rank 3 does not come to MPI_Barrier at main (x.c:3), where ranks 0-2 wait: ...`."""
    if found.was_stopped or found.cause in ("mismatch", "circle"):
        return f"hung for {seconds(found.quiet_s)}: {found.text}"
    # A rank that crashed after it had computed for long looks the same.
    return f"nothing moved for {seconds(found.quiet_s)} before it failed: {found.text}"


def _gain(results: WatchResults, watch: str) -> str:
    share = unexplained_share(results.ranks)
    if share > MOST_UNEXPLAINED:
        return (
            f"{100 * share:.0f} % of that is unexplained (limit: {100 * MOST_UNEXPLAINED:.0f} %), so nothing is "
            "claimed from it"
        )
    if results.saved_s is not None and results.saved_interval is not None:
        return f"{amount(results.saved_s, results.saved_interval)} of the run could be saved"
    if results.findings:
        top = results.findings[0]
        why = f" ({top.saved_reason})" if top.saved_reason else ""
        return f"{amount(top.seconds, top.interval)} per rank of avoidable time in messages{why}"
    if count := results.not_measured:
        return f"{count} possible slow path{'s are' if count > 1 else ' is'} not priced yet: slowpath replay {watch}"
    if results.unpriced:
        return "no slow path found in the priced messages; the others are listed below"
    return "no slow path found that a rule names"


def _finding(finding: WatchFinding, watch: str) -> list[str]:
    value = finding.seconds if finding.saved_s is None else finding.saved_s
    lines = [_row(finding.rule, finding.name, seconds(value), finding.text)]
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
    key = tried_remedy(finding)
    known = next((remedy for remedy in PROGRAM_REMEDIES if remedy.key == key), None)
    if known is not None and known.variables and not known.preload:
        return " ".join(f"{name}={value}" for name, value in known.variables.items())
    return known.text.rstrip(".") if known else finding.remedies[0].name


def _row(code: str, name: str, value: str, text: str) -> str:
    return f"  {code:<{_CODE}} {name:<{_NAME}} {value:>{_SECONDS}}   {text}"


def coverage(results: WatchResults) -> str:
    """`not seen: 2 of 214 kinds of calls (MPI_File_*); 100 % of messages matched; the watch itself took ...`."""
    seen = results.coverage
    words = f"all {seen.imported} kinds of calls seen"
    if seen.unseen:
        names = list(seen.unseen[:MOST_UNSEEN])
        more = [f"{len(seen.unseen) - MOST_UNSEEN} more"] if len(seen.unseen) > MOST_UNSEEN else []
        words = f"not seen: {len(seen.unseen)} of {seen.imported} kinds of calls ({listed([*names, *more])})"
    matched = seen.matched_share
    messages = "no messages to match" if matched is None else f"{_percent(matched)} of messages matched"
    return "; ".join(part for part in (words, messages, own_cost_words(results)) if part)


def own_cost_words(results: WatchResults) -> str:
    """`the watch itself took 0.12 s of 1.48 s a rank (8.1 %), its own estimate`. Empty: the run's time is not known."""
    cost_s, span_s = results.coverage.own_cost_s, results.program.span_s
    if not span_s:
        return ""
    share = format_ratio(100 * cost_s / span_s)
    return f"the watch itself took an estimated {seconds(cost_s)} of {seconds(span_s)} a rank ({share} %)"


def _percent(share: float) -> str:
    """Never 100 % while something is missing."""
    return "100 %" if share == 1 else f"{min(100 * share, 99.9):.3g} %"


def amount(value_s: float, interval: Interval) -> str:
    """`3.1 s [2.6, 3.5]`."""
    half = (interval[1] - interval[0]) / 2
    return f"{format_ratio(value_s, half)} s {format_interval(interval, value_s)}"


Status = Literal["priced", "estimated", "measured", "proven", "no effect", "undecided"]
# Of a verdict that says nothing of the remedy (a run failed, the setting was not taken) the finding is as it was.
_STATUS: Final[Mapping[str, Status]] = {
    "proven": "proven",
    "no effect": "no effect",
    "slower": "no effect",
    "undecided": "undecided",
    "running": "undecided",
}
_TABLE: Final = {remedy.key: remedy.table for remedy in PROGRAM_REMEDIES}


def with_proofs(results: WatchResults, proofs: Sequence[Proof], watch: str = "WATCH") -> WatchResults:
    """Findings whose remedy was tried say so, and the verdict has a line for each remedy that was.

    Args: proofs: of this watch, in order; of a remedy the last one that decided counts.  watch: its folder, for
          commands to copy.
    """
    latest = _latest([proof for proof in proofs if proof.runs or proof.verdict == "ignored"])
    if not latest:
        return results
    changed = replace(results, findings=tuple(_tried(finding, latest) for finding in results.findings))
    head, *rest = verdict_of(changed, watch)
    return replace(changed, verdict=(head, *(proof_line(proof) for proof in latest.values()), *rest))


def proves(proof: Proof, finding: WatchFinding) -> bool:
    """Whether the proof is of the remedy that the finding suggests, and of its rule."""
    return finding.rule in proof.rules and tried_remedy(finding) == proof.remedy


def _latest(proofs: Sequence[Proof]) -> dict[str, Proof]:
    found: dict[str, Proof] = {}
    for proof in proofs:
        before = found.get(proof.remedy)
        is_open = _STATUS.get(proof.verdict, "undecided") == "undecided"
        if before is None or not is_open or _STATUS.get(before.verdict, "undecided") == "undecided":
            found[proof.remedy] = proof
    return found


def _tried(finding: WatchFinding, latest: Mapping[str, Proof]) -> WatchFinding:
    proof = next(
        (candidate for candidate in latest.values() if proves(candidate, finding) and candidate.verdict in _STATUS),
        None,
    )
    if proof is None:
        return finding
    remedies = tuple(_remedy(remedy, proof) for remedy in finding.remedies)
    return replace(finding, status=_STATUS[proof.verdict], remedies=remedies)


def _remedy(remedy: RemedyResult, proof: Proof) -> RemedyResult:
    """Of the table of remedies, where the proof's stands for it."""
    status = _STATUS[proof.verdict]
    if remedy.name not in _TABLE.get(proof.remedy, ()) or status == "undecided":
        return remedy
    usual: Literal["proven", "no effect"] = "proven" if status == "proven" else "no effect"
    return replace(remedy, verdict="worse" if proof.verdict == "slower" else usual, reason=proof.reason)


def proof_line(proof: Proof) -> str:
    """`  proven  keep-freed-memory: 73.5% [54.1%, 84.7%] less time`."""
    word = {"proven": "proven", "slower": "slower", "no effect": "no gain"}.get(proof.verdict, "tried")
    effect = proof.effect
    if proof.verdict in ("proven", "slower") and effect is not None and effect.interval is not None:
        low, high = effect.interval
        less = proof.verdict == "proven"
        ends = (1 - high, 1 - low) if less else (low - 1, high - 1)
        value = f"{abs(1 - effect.ratio):.1%} [{ends[0]:.1%}, {ends[1]:.1%}] {'less' if less else 'more'} time"
    else:
        value = f"{proof.verdict}: {proof.reason}"
    return f"  {word:<6} {proof.remedy}: {value}"


LEAST_SHARE: Final = 0.01  # of the run, from which a change is worth a line
LITTLE_MPI: Final = 0.05  # of the run
LEAST_QUEUED: Final = 0.1  # of the wait for a rank: one that stood in the queue for less is not late for want of a core
LEAST_ASLEEP: Final = 0.5  # of that: what it slept is what makes it late
LONG_START: Final = 0.25  # of the run: MPI_Init in addition to it
MOST_NAMES: Final = 5
WIDTH: Final = 100
# Time that no program has to spend, or of which nobody knows.
_SAVEABLE: Final[frozenset[AccountName]] = frozenset(
    {
        *("late sender", "late receiver", "late progress", "late target"),
        *("wait at barrier", "wait at N x N", "late broadcast", "early reduce", "wait at management", "wait at fence"),
        *("unexpected copy", "excess", "wait or excess", "no processor", "management", "no name"),
    }
)
_HOW: Final[Mapping[str, str]] = {
    "priced": "priced on this machine",
    "estimated": "estimated",
    "proven": "proven by reruns",
    "undecided": "reruns did not decide it",
}


@dataclass(frozen=True)
class _Change:
    """saved_s, high_s: of the run.  name: short.  text: what to do, where, and what it saves."""

    saved_s: float
    high_s: float
    name: str
    text: str


def brief_of(results: WatchResults, watch: str = "WATCH", report: str | None = None) -> Brief:
    """Return at most twelve lines.  Args: watch: its folder, for commands.  report: path of the page."""
    program = results.program
    if not results.ranks:
        return Brief(answer=f"{program.program}: no rank left a record", report=report)
    if program.misstart is not None:
        return Brief(answer=program.misstart, actions=(program.start_with or "",), report=report)
    changes = _changes(results, watch)
    wrong = results.place or ()
    if results.standstill is not None:
        count = f"{program.ranks} rank{'s' if program.ranks != 1 else ''}"
        return Brief(
            answer=f"{program.program}, {count}, {stood_still(results.standstill)}",
            account=account_words(results.accounts),
            actions=tuple(grouped_lines(results.standstill)),
            notes=tuple(map(_sentence, results.coverage.notes)),
            report=report,
        )
    answer, account = _answer(results, changes), account_words(results.accounts)
    if wrong:
        answer, account = " ".join(one.sentence for one in wrong), f"{answer}."
    return Brief(
        answer=answer,
        account=account,
        actions=(*(one.action for one in wrong), *(change.text for change in changes)),
        undecided=_undecided(results, watch),
        notes=(*_phases(results), *_apart(results), *map(_sentence, results.coverage.notes)),
        report=report,
    )


def _apart(results: WatchResults) -> list[str]:
    """Files, the start of MPI and the cost of the watch, which no rule judges, where they are worth a line."""
    lines, run_s = [], run_seconds(results)
    if results.files is not None and results.files.share >= LEAST_SHARE:
        lines.append(f"{results.files.text}.")
    if results.start_s is not None and results.start_s >= LONG_START * run_s:
        lines.append(f"{start_words(results.start_s)}.")
    if results.coverage.own_cost_s >= LEAST_SHARE * run_s > 0:
        lines.append(_sentence(own_cost_words(results)))
    return lines


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."


def _answer(results: WatchResults, changes: list[_Change]) -> str:
    program, run_s = results.program, run_seconds(results)
    mpi_s = sum(rank.mpi_s for rank in results.ranks) / len(results.ranks)
    count = f"{program.ranks} rank{'s' if program.ranks != 1 else ''}"
    head = f"{program.program}, {count}, {seconds(run_s)}: {_two_digits(mpi_s, run_s)} % of the run is MPI"
    if run_s <= 0:
        return f"{program.program}: {count}; the run's length is not known"
    if (share := _files_share(results)) > MOST_UNEXPLAINED and not changes:
        return f"{head}, {100 * share:.0f} % of that is MPI-IO, whose floor is not measured"
    if (share := unexplained_share(results.ranks)) > MOST_UNEXPLAINED and not changes:
        return f"{head}; for {100 * share:.0f} % of that time, the cause and the possible saving are unknown"
    if mpi_s < LITTLE_MPI * run_s and not _outside_s(changes, mpi_s):
        return f"{head}, so no more than that can be saved"
    most_s, largest = _most(results, changes, mpi_s)
    if largest is None:
        return f"{head}, at the floor of its own calls: no call takes longer than necessary"
    return f"{head}, at most {_two_digits(most_s, run_s)} % can be saved: {largest}"


def _files_share(results: WatchResults) -> float:
    """Of the time in MPI, of all ranks; it is part of what has no explanation by messages."""
    mpi_s = sum(rank.mpi_s for rank in results.ranks)
    return min(results.files.seconds * len(results.ranks) / mpi_s, 1.0) if results.files and mpi_s > 0 else 0.0


def _most(results: WatchResults, changes: list[_Change], mpi_s: float) -> tuple[float, str | None]:
    """What no change could exceed, seconds, and the largest part of it; None: there is nothing."""
    accounts = [one for one in results.accounts if one.name in _SAVEABLE]
    findings_s = sum(_ends(finding)[1] for finding in results.findings if finding.status != "no effect")
    most_s = min(sum(one.seconds for one in accounts) + max(findings_s, 0.0), mpi_s)
    most_s = max(most_s, min(_outside_s(changes, mpi_s), run_seconds(results)))
    named = [(change.saved_s, change.name) for change in changes]
    named += [(one.seconds, _ACCOUNT_WORDS.get(one.name, one.name)) for one in accounts]
    largest = max(named, default=(0.0, ""), key=lambda pair: pair[0])
    if changes and changes[0].saved_s >= 0.5 * largest[0]:  # a change says more than a sum of many waits
        largest = (changes[0].saved_s, changes[0].name)
    return most_s, largest[1] if largest[0] > 0 else None


def _outside_s(changes: list[_Change], mpi_s: float) -> float:
    """What the largest change may save, where that is time outside MPI: threads that share processors; else 0."""
    return max((change.high_s for change in changes if change.saved_s > mpi_s), default=0.0)


_ACCOUNT_WORDS: Final[Mapping[AccountName, str]] = {
    "late sender": "receives that wait for late senders",
    "late receiver": "sends that wait for late receivers",
    "late progress": "messages that make no progress",
    "late target": "one-sided calls that wait for their target",
    "wait at barrier": "waiting at barriers",
    "wait at N x N": "waiting for the last rank in collectives",
    "late broadcast": "waiting for a late root",
    "early reduce": "roots that wait for all others",
    "wait at management": "waiting where windows and communicators are made",
    "wait at fence": "waiting at fences",
    "unexpected copy": "messages that came before their receive",
    "excess": "calls that are slower than the fastest of their kind",
    "wait or excess": "calls that wait, or are slower than the fastest of their kind",
    "no processor": "ranks that were ready to run but had no processor",
    "management": "making windows, communicators and datatypes",
    "no name": "time that has no name",
}


def account_words(accounts: tuple[Account, ...]) -> str | None:
    """`In MPI: 41 % late sender, 22 % cost of calls, 3 % no name`: in one line."""
    shown = [one for one in accounts if one.share >= 0.005 and one.name != "no name"]
    unnamed = next((one.share for one in accounts if one.name == "no name"), 0.0)
    if not accounts:
        return None
    tail = f"{_share(unnamed)} no name"
    for count in range(min(len(shown), MOST_NAMES), 0, -1):
        parts = [f"{_share(one.share)} {one.name}" for one in shown[:count]]
        line = f"In MPI: {', '.join([*parts, tail])}."
        if len(line) <= WIDTH:
            return line
    return f"In MPI: {tail}."


def _share(share: float) -> str:
    return "< 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %"


def _changes(results: WatchResults, watch: str) -> list[_Change]:
    """Most saved first."""
    run_s = run_seconds(results)
    found = [_of_finding(finding, results, watch) for finding in results.findings if finding.status != "no effect"]
    found += [_of_wait(wait, results) for wait in results.waits if _is_listed(wait, results)]
    return sorted((one for one in found if run_s > 0), key=lambda one: one.saved_s, reverse=True)


def _phases(results: WatchResults) -> list[str]:
    """Of each measure the stretch that differs most."""
    found = {}
    for phase in sorted(results.phases or (), key=lambda one: abs(one.level / max(one.usual, 1e-12) - 1)):
        found[phase.measure] = f"{phase.text[0].upper()}{phase.text[1:]}."
    return list(found.values())


def _ends(finding: WatchFinding) -> tuple[float, float]:
    return finding.interval if finding.saved_interval is None else finding.saved_interval


def _of_finding(finding: WatchFinding, results: WatchResults, watch: str) -> _Change:
    value = finding.seconds if finding.saved_s is None else finding.saved_s
    low, high = _ends(finding)
    what = finding.change.splitlines()[0] if finding.change else finding.text
    if finding.prove is not None:
        what = f"{finding.name}: slowpath prove {watch} {finding.prove}"
    elif finding.sites and finding.change and (where := place_words(results.sites[finding.sites[0]])) not in what:
        first = results.sites[finding.sites[0]]
        what = what if first.file else f"{where}: {what}"
    how = _HOW.get(finding.status, finding.status)
    of = "" if finding.saved_s is not None else " a rank"
    saves = f"saves {_amount(value, low, high)}{of} ({how})" if value > 0 else "no time was seen to be lost"
    return _Change(value, high, finding.name, f"{saves[0].upper()}{saves[1:]}. {what}")


def _is_listed(wait: Wait, results: WatchResults) -> bool:
    """Long enough, with a rank to change, and not what a finding has already."""
    paths = [(known(finding.rule), finding.sites) for finding in results.findings]
    named = any(isinstance(path, ProgramSlowPath) and path.is_wait == wait.kind and wait.site in sites
                for path, sites in paths)  # fmt: skip
    # The rank that is waited for computes, or has no core: the delay begins there.
    return wait.culprit is not None and wait.began == "outside MPI" and wait.share >= LEAST_SHARE and not named


def _of_wait(wait: Wait, results: WatchResults) -> _Change:
    where = f"; they wait in {place_words(results.sites[wait.site])}" if wait.site is not None else ""
    share = f"{100 * wait.culprit_share:.0f} % of it for rank {wait.culprit}"
    name, what = _delay(wait, results)
    text = f"Saves at most {seconds(wait.seconds)} (mean wait of a rank, {share}): {what}{where}"
    return _Change(wait.seconds, wait.seconds, f"{name} ({wait.kind})", text)


def _delay(wait: Wait, results: WatchResults) -> tuple[str, str]:
    """Why the rank comes last, by how long it stood in the queue for a processor, or wanted none; and what to do."""
    rank, late_s = wait.culprit, wait.culprit_share * wait.seconds
    queued_s = next((one.waited_s for one in results.resources if one.rank == rank), None)
    asleep_s = _asleep_s(results, rank)
    if asleep_s >= LEAST_ASLEEP * late_s and asleep_s > (queued_s or 0.0):
        return (
            f"rank {rank} sleeps outside MPI",
            f"look what rank {rank} waits for outside MPI: for {seconds(asleep_s)} or more it wanted no processor "
            "(sleep, files, pipes)",
        )
    if queued_s is None:
        return f"rank {rank} computes longer, or has no core", f"give rank {rank} less to compute, or a core of its own"
    if queued_s < LEAST_QUEUED * late_s:
        return f"rank {rank} is longer outside MPI", f"give rank {rank} less to do outside MPI, where it had a core"
    return (
        f"rank {rank} computes longer, or has no core",
        f"give rank {rank} a core of its own (it lacked one for {seconds(queued_s)}), or less to compute",
    )


def _asleep_s(results: WatchResults, rank: int | None) -> float:
    """How long at least this rank neither ran nor stood in the queue outside MPI; 0: not at all, or not known.

    A library may let its rank sleep in MPI as well, so that all of that time counts as slept there.
    """
    of_rank = next((one for one in results.resources if one.rank == rank), None)
    time = next((one for one in results.ranks if one.rank == rank), None)
    if of_rank is None or time is None or of_rank.ran_s is None or of_rank.waited_s is None:
        return 0.0
    return max(time.span_s - of_rank.ran_s - of_rank.waited_s - time.mpi_s, 0.0)


def _undecided(results: WatchResults, watch: str) -> str | None:
    parts = []
    unnamed = max(0.0, unexplained_share(results.ranks) - _files_share(results))
    if unnamed > MOST_UNEXPLAINED:
        parts.append(f"{100 * unnamed:.0f} % of the time in MPI has no known cause, so no message has a price")
    elif count := results.not_measured:
        it = "it" if count == 1 else "them"
        parts.append(
            f"{count} kind{'s' if count != 1 else ''} of messages may be slow on this machine; slowpath replay "
            f"{watch} measures {it}"
        )
    if results.coverage.unseen:
        parts.append(f"calls that are not seen: {listed(results.coverage.unseen[:3])}")
    return f"Not decided: {'; '.join(parts)}." if parts else None


def run_seconds(results: WatchResults) -> float:
    """From the first MPI_Init to the last MPI_Finalize; of the command where no rank was recorded."""
    return results.program.span_s if results.program.span_s is not None else results.program.wall_s


def _two_digits(part: float, whole: float) -> str:
    """Two digits: 0.37, 4.2, 61."""
    share = 100 * min(max(part / whole, 0.0), 1.0) if whole > 0 else 0.0
    return f"{share:.0f}" if share >= 10 else f"{share:.2g}"


def _amount(value: float, low: float, high: float) -> str:
    if value >= 0.01:
        return f"{format_ratio(value, (high - low) / 2)} s {format_interval((low, high), value)}"
    return seconds(value)


MOST_SITES: Final = 5


def site_lines(results: WatchResults, count: int = MOST_SITES) -> list[str]:
    """The call sites with most time: calls, mean bytes, seconds a rank, share of the time in MPI, place."""
    sums: dict[tuple[str, str, int], list[float]] = {}
    for one in results.classes:
        if one.call in BEFORE_THE_RUN:
            continue
        site = results.sites[one.site]
        entry = sums.setdefault((one.call, site.object, site.offset or -1 - one.site), [0.0, 0.0, 0.0, float(one.site)])
        entry[0] += one.count
        entry[1] += one.bytes
        entry[2] += one.time_s
    mpi_s = sum(rank.mpi_s for rank in results.ranks) / max(len(results.ranks), 1)
    head = f"  {'call':<22} {'calls':>12} {'mean bytes':>11} {'a rank':>9} {'of MPI':>7}  place"
    lines = [f"Call sites with most time, of {len(sums)}:", head]
    for (call, _, _), (calls, length, time_s, number) in sorted(sums.items(), key=lambda entry: -entry[1][2])[:count]:
        mean = format_bytes(round(length / calls)) if calls and length else "-"
        share = f"{100 * time_s / mpi_s:.0f} %" if mpi_s > 0 else "-"
        where = place_words(results.sites[int(number)])
        lines.append(f"  {call:<22} {round(calls):>12,} {mean:>11} {seconds(time_s):>9} {share:>7}  {where}")
    return lines
