# SPDX-License-Identifier: Apache-2.0
"""The verdict of a watch: what the program loses, what to change, and where each rank's time goes. Pure.

One verdict for terminal, text and page, as sentences; a screen shows what fits twelve lines of them. Changes come first
that save most. `full_lines` has what does not fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from msgspec.structs import replace

from slowpath.core.finding_results import RemedyResult
from slowpath.core.result import Interval
from slowpath.core.results import MOST_LINES, cut
from slowpath.core.units import format_bytes, format_interval, format_ratio, format_time, listed, seconds
from slowpath.slowpaths.program.calls import SLOW_PATH as MANY_CALLS
from slowpath.slowpaths.program.managed import SLOW_PATH as MADE_AGAIN
from slowpath.slowpaths.registry import PROGRAM_REMEDIES
from slowpath.slowpaths.sp060_shared_processors import SLOW_PATH as SHARED_PROCESSORS
from slowpath.watch.accounts import WAITS
from slowpath.watch.findings import most_called, place_words
from slowpath.watch.proof import Proof, proof_lines
from slowpath.watch.results import Account, CallSite, Standstill, WatchFinding, WatchResults, tried_remedy

MOST_CHANGES: Final = 3
LEAST_SHARE: Final = 0.01  # of the run, from which a change is worth a line
OVERLAP: Final = 1.1  # times what all changes save together, from which their sum misleads
MOST_UNSEEN: Final = 4
LITTLE_MPI: Final = 0.25  # of the run: with less, what passes outside comes first where all changes save less
LEAST_COLLECTIVES: Final = 0.1  # of the run
LEAST_UNMEASURED: Final = 0.1  # of the run, in messages of which it is not known what they take on this machine
LEAST_CALLS: Final = 20  # of a kind of collective: of fewer, a rank without a core decides what they took
LONG_START: Final = 0.25  # of the run: MPI_Init in addition to it
_HOW: Final[Mapping[str, str]] = {
    "priced": "priced on this machine",
    "estimated": "estimated",
    "proven": "proven by reruns",
    "undecided": "undecided by reruns",
}


def verdict_of(results: WatchResults, watch: str = "WATCH", proofs: Sequence[Proof] = ()) -> tuple[str, ...]:
    """Return the sentences, those first that a screen has to show.

    Args: watch: its folder, for commands to copy.  proofs: what was tried on the program.
    """
    program = results.program
    if not results.ranks:
        return (f"{program.program}: no rank left a record",)
    if program.misstart is not None:
        return (program.misstart,)
    mean_s = sum(rank.span_s for rank in results.ranks) / max(len(results.ranks), 1)
    account = account_words(results.accounts, mean_s)
    accounts = (account,) if account else ()
    notes = tuple(map(_sentence, results.coverage.notes))
    if results.standstill is not None:
        count = f"{program.ranks} rank{'s' if program.ranks != 1 else ''}"
        head = f"{program.program}, {count}, {stood_still(results.standstill)}"
        return (head, *accounts, *notes)
    changes = _changes(results, watch)
    answer, wrong = _headline(results, changes), results.place or ()
    heads = (" ".join(fault.sentence for fault in wrong), f"{answer}.") if wrong else (answer,)
    actions = [*(fault.action for fault in wrong), *(change.text for change in changes)]
    undecided = _undecided(results, watch)
    outside = [f"{results.outside}."] if results.outside else []
    mpi_s = sum(rank.mpi_s for rank in results.ranks) / len(results.ranks)
    is_most = mean_s - mpi_s > (results.saved_s or 0.0) and mpi_s < LITTLE_MPI * mean_s
    return (
        *heads,
        *(outside * is_most),
        *_most_called(results),  # where it is told, more passes there than any change saves
        *(f"{number}. {action}" for number, action in enumerate(actions[:MOST_CHANGES], 1)),
        *_together(results, changes),
        *accounts,
        *(outside * (not is_most)),
        *((undecided,) if undecided else ()),
        *(f"Tried {proof_lines(proof)[0]}." for proof in proofs),
        *_apart(results),
        *notes,
    )


def _together(results: WatchResults, changes: Sequence[_Change]) -> list[str]:
    saves = [change.saved_s for change in changes if change.saved_s > 0]
    if len(saves) < 2 or results.saved_s is None or sum(saves) < OVERLAP * results.saved_s:
        return []
    return ["These savings overlap: they do not add up."]


def screen_lines(verdict: Sequence[str], report: str | None = None, width: int = 100) -> list[str]:
    """Return at most twelve lines; sentences that do not fit any more are left out.  Args: report: path of the page."""
    tail = [f"Report: {report}"] if report else []
    lines: list[str] = []
    for sentence in verdict:
        number, point, rest = sentence.partition(". ")
        is_change = bool(point) and number.isdecimal()
        wrapped = cut(rest, width, f"  {number}. ") if is_change else cut(sentence, width)
        if len(lines) + len(wrapped) + len(tail) <= MOST_LINES:
            lines += wrapped
    return [*lines, *tail]


def full_lines(results: WatchResults) -> list[str]:
    """Return what a screen has no room for."""
    lines = [f"{finding.rule} {finding.name}: {finding.text}" for finding in results.findings]
    return [*lines, _sentence(coverage(results))]


def stood_still(still: Standstill) -> str:
    """`hung for 12 s: ranks 0-2 in MPI_Barrier at main (x.c:3) for 12 s; rank 3 outside MPI for ...`."""
    if still.was_stopped:
        return f"hung for {seconds(still.quiet_s)}: {still.text}"
    # A rank that crashed after it had computed for long looks the same.
    return f"nothing moved for {seconds(still.quiet_s)} before it failed: {still.text}"


def coverage(results: WatchResults) -> str:
    """`not seen: 2 of 214 kinds of calls (MPI_File_*); 100 % of messages matched; the watch itself took ...`."""
    seen = results.coverage
    words = ""
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


def saved_by(finding: WatchFinding) -> tuple[float, Interval]:
    """Return what its remedy saves of the run, else what it costs a rank, and the interval."""
    if finding.saved_s is None:
        return finding.seconds, finding.interval
    return finding.saved_s, finding.saved_interval or finding.interval


def amount(value_s: float, interval: Interval) -> str:
    """`3.1 s [2.6, 3.5]`; `4.2 ms`."""
    ends = f" {format_interval(interval, value_s)}" if value_s >= LEAST_WITH_ENDS_S else ""
    return f"{_value(value_s, interval)}{ends}"


def _value(value_s: float, interval: Interval) -> str:
    half = (interval[1] - interval[0]) / 2
    return f"{format_ratio(value_s, half)} s" if value_s >= LEAST_WITH_ENDS_S else seconds(value_s)


LEAST_WITH_ENDS_S: Final = 0.01


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
    proven = [finding for finding in changed.findings if finding.status == "proven"]
    named = [p for p in latest.values() if p.saved_s is None or not any(proves(p, finding) for finding in proven)]
    return replace(changed, verdict=verdict_of(changed, watch, named))


def proves(proof: Proof, finding: WatchFinding) -> bool:
    """Whether the proof is of the remedy that the finding suggests, and of its rule."""
    return finding.rule in proof.rules and tried_remedy(finding) == proof.remedy


def _latest(proofs: Sequence[Proof]) -> dict[str, Proof]:
    latest: dict[str, Proof] = {}
    for proof in proofs:
        before = latest.get(proof.remedy)
        is_open = _STATUS.get(proof.verdict, "undecided") == "undecided"
        if before is None or not is_open or _STATUS.get(before.verdict, "undecided") == "undecided":
            latest[proof.remedy] = proof
    return latest


def _tried(finding: WatchFinding, latest: Mapping[str, Proof]) -> WatchFinding:
    proof = next(
        (candidate for candidate in latest.values() if proves(candidate, finding) and candidate.verdict in _STATUS),
        None,
    )
    if proof is None:
        return finding
    remedies = tuple(_remedy(remedy, proof) for remedy in finding.remedies)
    tried = replace(finding, status=_STATUS[proof.verdict], remedies=remedies)
    if tried.status == "proven" and proof.saved_s is not None:  # one number: the one that was measured
        interval = proof.saved_interval or (proof.saved_s, proof.saved_s)
        return replace(tried, saved_s=proof.saved_s, saved_interval=interval)
    return tried


def _remedy(remedy: RemedyResult, proof: Proof) -> RemedyResult:
    """Of the table of remedies, where the proof's stands for it."""
    status = _STATUS[proof.verdict]
    if remedy.name not in _TABLE.get(proof.remedy, ()) or status == "undecided":
        return remedy
    usual: Literal["proven", "no effect"] = "proven" if status == "proven" else "no effect"
    return replace(remedy, verdict="worse" if proof.verdict == "slower" else usual, reason=proof.reason)


@dataclass(frozen=True)
class _Change:
    """saved_s: of the run.  name: of what costs it, a few words.  costs: how much.  text: with the change."""

    saved_s: float
    name: str
    costs: str
    text: str


def _headline(results: WatchResults, changes: Sequence[_Change]) -> str:
    """`lmp, 4 ranks, 41.2 s: 21 % in MPI; largest cause: small pages (saves 2.0 s)`."""
    program, run_s = results.program, run_seconds(results)
    count = f"{program.ranks} rank{'s' if program.ranks != 1 else ''}"
    if run_s <= 0:
        return f"{program.program}, {count}"
    mpi_s = sum(rank.mpi_s for rank in results.ranks) / len(results.ranks)
    head = f"{program.program}, {count}, {seconds(run_s)}: {_digits(100 * min(mpi_s / run_s, 1.0))} % in MPI"
    sums = _summed(results.accounts)
    name, part_s = max(
        ((name, value_s) for name, value_s in sums.items() if name not in USEFUL),
        key=lambda entry: entry[1],
        default=("", 0.0),
    )
    # A change says more than a sum of many parts, unless that is much larger.
    if changes and changes[0].saved_s >= max(0.5 * part_s, LEAST_SHARE * run_s):
        return f"{head}; largest cause: {changes[0].name} ({changes[0].costs})"
    name = _LONGER.get(name, name)
    return f"{head}; largest part: {name}, {seconds(part_s)} a rank" if part_s >= LEAST_SHARE * run_s else head


USEFUL: Final = ("outside MPI", "computing")  # what a program is for
LOAD, OF_CALLS = SHARED_PROCESSORS.code, (MANY_CALLS.code, MADE_AGAIN.code)
LARGE_PART: Final = 0.2  # of the run: in calls of one kind at one place, of which no change says as much


def _most_called(results: WatchResults) -> list[str]:
    """Where most time in MPI passes, and with what, if no change of the program is about a good part of it."""
    most = most_called(results.classes, results.sites)
    time_s, count, length = (sum(part) for part in ((kind.time_s for kind in most), (kind.count for kind in most),
                                                    (kind.bytes for kind in most)))  # fmt: skip
    known_s = max((saved_by(each)[0] for each in results.findings if each.rule != LOAD), default=0.0)
    waits_s = _summed(results.accounts).get(WAITING, 0.0)  # which may be for one cause, at many places
    if not count or max(time_s, waits_s) < max(LARGE_PART * run_seconds(results), 2 * known_s):
        return []
    ranks = max(len(results.ranks), 1)
    size = f" of {format_bytes(round(length / count))}" if length else ""
    where, each = place_words(results.sites[most[0].site]), round(count / ranks)
    times = f"{each:,} time{'s' * (each != 1)} a rank, {seconds(time_s)}, {format_time(time_s * ranks / count)} each"
    said = f"Most time in MPI: {most[0].call}{size} in {where}, {times}."
    return [f"{said} {results.most}." if results.most else said]


def _apart(results: WatchResults) -> list[str]:
    """The start of MPI and the cost of the watch, which no rule judges, where they are worth a line."""
    lines, run_s = [], run_seconds(results)
    if results.start_s is not None and results.start_s >= LONG_START * run_s:
        lines.append(f"MPI_Init takes {seconds(results.start_s)} a rank before the run.")
    if results.coverage.own_cost_s >= LEAST_SHARE * run_s > 0:
        lines.append(_sentence(own_cost_words(results)))
    return lines


def _sentence(note: str) -> str:
    return f"{note[:1].upper()}{note[1:]}."


# What a reader is told of an account that its name does not say. Waits are summed up under one word.
_ACCOUNT_WORDS: Final[Mapping[str, str]] = {
    "unexpected copy": "early messages copied",
    "management": "making and freeing",
}
_LONGER: Final[Mapping[str, str]] = {
    "slow transfer": "messages slower than between two processes alone",
    "wait or slow transfer": "waiting, or slow transfer",
    "asleep": "sleeping outside MPI",
}
WAITING: Final = "waiting"
LEAST_SHOWN: Final = 0.005  # of the run
LONGEST: Final = 190  # characters: two lines


def account_words(accounts: Sequence[Account], span_s: float) -> str | None:
    """Return `Of 2.6 s a rank: 1.1 computing, 0.5 waiting (late sender), 0.2 unattributed.`; None: there are none.

    Args: accounts: longest first.  span_s: of a rank.
    """
    sums = _summed(accounts)
    if not sums:
        return None
    unnamed_s = sums.pop("unattributed", 0.0)
    order = sorted(sums.items(), key=lambda entry: -entry[1])
    wait = next((account.name for account in accounts if account.name in WAITS), "")
    order = [(f"{words} ({wait})" if words == WAITING else words, value_s) for words, value_s in order]
    shown = [entry for entry in order if entry[1] >= LEAST_SHOWN * span_s]
    while True:
        rest_s = sum(value_s for _, value_s in order[len(shown) :])
        more = [("in smaller parts", rest_s)] if rest_s >= LEAST_SHOWN * span_s else []
        line = _sum_line([*shown, *more, ("unattributed", unnamed_s)], span_s)
        if len(line) <= LONGEST or not shown:
            return line
        shown.pop()


def _sum_line(parts: Sequence[tuple[str, float]], span_s: float) -> str:
    scale, unit = (1.0, "s") if span_s >= 1 else (1e3, "ms")
    words = ", ".join(f"{_digits(scale * value_s)} {name}" for name, value_s in parts)
    return f"Of {_digits(scale * span_s)} {unit} a rank: {words}."


def _summed(accounts: Sequence[Account]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for account in accounts:
        words = WAITING if account.name in WAITS else _ACCOUNT_WORDS.get(account.name, account.name)
        sums[words] = sums.get(words, 0.0) + account.seconds
    return sums


def _digits(value: float) -> str:
    return f"{value:.0f}" if value >= 10 else f"{value:.2g}"


def _changes(results: WatchResults, watch: str) -> list[_Change]:
    """Most saved first; but load on processors is no fault of the calls that are too many with and without it."""
    run_s = run_seconds(results)
    saves = [(saved_by(each)[0], each) for each in results.findings if each.status != "no effect" and run_s > 0]
    load_s = max((saved_s for saved_s, each in saves if each.rule == LOAD), default=0.0)
    own_s = [saved_s for saved_s, each in saves if each.rule in OF_CALLS and saved_s >= LARGE_PART * (run_s - load_s)]
    saves.sort(key=lambda entry: (min(entry[0], *own_s) if own_s and entry[1].rule == LOAD else entry[0],
                                  entry[1].rule != LOAD), reverse=True)  # fmt: skip
    about = {each.id: _about(each, results.sites) for _, each in saves}
    first = {about[each.id]: each for _, each in reversed(saves)}
    return [_of_finding(each, watch) for _, each in saves if first[about[each.id]] is each]


def _about(finding: WatchFinding, sites: Sequence[CallSite]) -> str:
    """Place and change; what calls cost at one place by their number is saved once, whatever is changed there."""
    if finding.rule == MANY_CALLS.code and finding.sites:
        return place_words(sites[finding.sites[0]])
    return finding.change or finding.id


def _of_finding(finding: WatchFinding, watch: str) -> _Change:
    name, (value, interval) = finding.name, saved_by(finding)
    text = finding.change.splitlines()[0] if finding.change else finding.text
    if finding.prove is not None:
        text = f"{name}: slowpath prove {watch} {finding.prove}"
    how = _HOW.get(finding.status, finding.status)
    of = "" if finding.saved_s is not None else " a rank"
    saves = f"Saves {amount(value, interval)}{of} ({how})" if value > 0 else "Costs no time in this run"
    return _Change(value, name, f"saves {_value(value, interval)}{of}", f"{saves}. {text}")


def _undecided(results: WatchResults, watch: str) -> str | None:
    parts = []
    if (share := results.not_measured or 0.0) >= LEAST_UNMEASURED:
        parts.append(f"slowpath replay {watch} measures messages that take {100 * share:.0f} % of the run")
    if (share := _collectives_share(results)) >= LEAST_COLLECTIVES:
        parts.append(f"slowpath tune --for {watch} tries other ways for collectives, {100 * share:.0f} % of the run")
    return f"Not decided: {'; '.join(parts)}." if parts else None


def _collectives_share(results: WatchResults) -> float:
    """Of the run, in blocking collectives of many calls once all ranks are there; 0: processors were short."""
    run_s = run_seconds(results)
    if any(account.name == "no processor" and account.share >= LEAST_COLLECTIVES for account in results.accounts):
        return 0.0
    work_s = sum(kind.work_s * kind.count for kind in results.collectives if kind.count >= LEAST_CALLS)
    return min(work_s / run_s, 1.0) if run_s > 0 else 0.0


def run_seconds(results: WatchResults) -> float:
    """From the first MPI_Init to the last MPI_Finalize; of the command where no rank was recorded."""
    return results.program.span_s if results.program.span_s is not None else results.program.wall_s
