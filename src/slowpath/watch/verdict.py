# SPDX-License-Identifier: Apache-2.0
"""The text verdict of a watch: what the program loses, the headline first, and what `slowpath prove` showed. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from msgspec.structs import replace

from slowpath.core.cpu_list import format_cpu_list
from slowpath.core.finding_results import RemedyResult
from slowpath.core.result import Interval
from slowpath.core.units import format_interval, format_ratio, listed, seconds
from slowpath.slowpaths.registry import PROGRAM_REMEDIES, find
from slowpath.watch.findings import MOST_UNEXPLAINED, unexplained_share
from slowpath.watch.proof import Proof
from slowpath.watch.result_parts import Efficiency, Standing, Standstill
from slowpath.watch.results import Wait, WaitKind, WatchFinding, WatchResults, tried_remedy

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
