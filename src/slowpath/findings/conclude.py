# SPDX-License-Identifier: Apache-2.0
"""The one judge of a run: headline, counts and lines of the verdict from contrasts and findings together, and which
remedy each contrast shows. Pure.

A *slow path* is a fault, an opportunity that a trial proved, or, in a campaign that asks a question of its own, a clear
loss that no finding names: one definition and one count, for runs and diagnoses. One line for each question that the
campaign asks: the contrast with the strongest effect speaks for its group. Nothing is claimed that is neither a decided
contrast nor a finding.

The headline states what to do first, and what it rests on: "Use" stands for a remedy that a trial proved, "Try" for any
other. Its lengths are those of cells in which it was decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from slowpath.core.brief import MOST_ACTIONS
from slowpath.core.cell_results import CellResult
from slowpath.core.results import ContrastResult, ContrastSide, Finding, Level, Line, Verdict
from slowpath.core.units import format_bytes, format_time, of_ratio, ratio_words
from slowpath.findings.difference import CLEAR_RATIO
from slowpath.findings.libraries import between_two, libraries_line, strength
from slowpath.findings.order import by_cost
from slowpath.findings.questions import grouped, is_question, question
from slowpath.findings.tally import RunFacts, Tally

DECIDED = ("faster", "slower")
_RANK: Mapping[Level, int] = {"warning": 0, "slow": 1, "info": 2, "ok": 3}
_NAMED_AXES = ("environment", "placement", "copy", "mpi")


@dataclass(frozen=True)
class Offer:
    """Lines that move the user to side a, or to side b, of a contrast; None: there is none."""

    a: str | None = None
    b: str | None = None


@dataclass(frozen=True)
class Conclusion:
    """contrasts: each with the remedy that it shows."""

    verdict: Verdict
    contrasts: list[ContrastResult]


def conclude(
    contrasts: Sequence[ContrastResult],
    findings: Sequence[Finding],
    run: RunFacts | None = None,
    *,
    cells: Cells | None = None,
    offers: Mapping[str, Offer] | None = None,
    more: Sequence[Line] = (),
) -> Conclusion:
    """Verdict of a run.

    Args: run: what the headline needs to know of the run.  cells: by number, for the lengths that it names.
          offers: id of a contrast -> what would move the user to either side.
          more: lines that rest on no contrast of the campaign; they answer none of its questions.
    """
    by_id = {contrast.id: contrast for contrast in contrasts}
    rules = _rules(contrasts, findings)
    groups = grouped(contrasts)
    answers = [_answer(group, rules) for group in groups]
    lines = sorted([*answers, *more], key=lambda line: (_RANK[line.level], -_strength_of(line, by_id)))
    mine = {name for name, those in rules.items() if any(finding.affects_default is not False for finding in those)}
    losses = [line for line in answers if line.level == "slow"]
    tally = Tally(
        findings=by_cost(findings),
        unnamed=[line for line in losses if line.contrast not in mine],
        questions=[
            question(group, line.level == "slow")
            for group, line in zip(groups, answers, strict=True)
            if is_question(group)
        ],
        run=run or RunFacts(),
    )
    offered = [_with_remedy(contrast, (offers or {}).get(contrast.id, Offer())) for contrast in contrasts]
    return Conclusion(_verdict(tally, lines, offered, cells or {}), offered)


def _verdict(tally: Tally, lines: list[Line], contrasts: Sequence[ContrastResult], cells: Cells) -> Verdict:
    actions = _actions(tally, contrasts, cells)
    return Verdict(
        headline=actions[0] if actions else tally.headline,
        lines=lines,
        state=tally.state,
        place=tally.run.place,
        count=tally.count,
        slow_paths=tally.slow_paths,
        off_default=len(tally.apart),
        questions=len(tally.questions),
        undecided=len(tally.undecided),
        answer=tally.answer,
        actions=actions[:MOST_ACTIONS],
        still_open=tally.still_open,
        faults=len(tally.faults),
        opportunities=len(tally.opportunities),
        properties=len(tally.properties),
    )


def _actions(tally: Tally, contrasts: Sequence[ContrastResult], cells: Cells) -> list[str]:
    """What to do, one sentence each: what is proven before what costs more and may not help, faults before the rest.

    A check-up names nothing else. A campaign that asks a question of its own has the answers named, proven or not.
    """
    said = []
    for first, *others in _lines_of(tally):
        helps = "helps" if _is_proven(first) else "may help"
        more = f" The same {helps} {len(others)} more." if others else ""
        said.append(f"{_action(first, contrasts, cells, tally.run.is_check)}{more}")
    said = [*(fault.action for fault in tally.run.wrong_place), *said]
    return said if tally.run.is_check else [*said, *(line.text for line in tally.unnamed)]


def lines_of(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Return the findings that each line of a check-up's verdict stands for, in their order."""
    return _lines_of(Tally(by_cost(findings), unnamed=[], questions=[], run=RunFacts(is_check=True)))[:MOST_ACTIONS]


def _lines_of(tally: Tally) -> list[list[Finding]]:
    """The findings of each line."""
    named = [*tally.faults, *tally.opportunities]
    if not tally.run.is_check:
        named += [finding for finding in tally.own if finding not in named]
    return _alike(sorted(named, key=lambda finding: _urgency(finding, tally.run.is_check)))


def _alike(named: Sequence[Finding]) -> list[list[Finding]]:
    """Findings that one remedy removes, proven or not, together; all others alone. In the order of their first."""
    groups: dict[tuple[str, bool], list[Finding]] = {}
    for finding in named:
        key = finding.lead.name if finding.lead else finding.id
        groups.setdefault((key, _is_proven(finding)), []).append(finding)
    return list(groups.values())


def _is_proven(finding: Finding) -> bool:
    return finding.lead is not None and finding.lead.verdict == "proven"


def _urgency(finding: Finding, is_check: bool) -> tuple[bool, bool, bool]:
    """Low comes first. A campaign that asks a question of its own is answered by what is proven, fault or not."""
    return _is_conditional(finding, is_check), is_check and finding.kind != "fault", finding.status != "proven"


def _action(finding: Finding, contrasts: Sequence[ContrastResult], cells: Cells, is_check: bool) -> str:
    words = f"{advice(finding, contrasts, cells)}."
    if finding.program_s is not None:
        words += f" Your program can save at most {format_time(finding.program_s)} a rank in these calls."
    if not _is_conditional(finding, is_check):
        return words
    return f"If your programs use {finding.concerns}: {words[0].lower()}{words[1:]}"


def _is_conditional(finding: Finding, is_check: bool) -> bool:
    """Whether it matters to some programs alone, and nobody said what the user's does."""
    return bool(finding.concerns and is_check and not finding.program_s)


def _rules(contrasts: Sequence[ContrastResult], findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Id of a contrast -> the findings of this run that rest on it, or whose law runs through both of its cells."""
    own = [finding for finding in findings if finding.run is None]
    return {contrast.id: found for contrast in contrasts if (found := [one for one in own if _names(one, contrast)])}


def _names(finding: Finding, contrast: ContrastResult) -> bool:
    if finding.contrasts:
        return contrast.id in finding.contrasts
    alike = (finding.metric, finding.phase) == (contrast.metric, contrast.b.phase)
    return alike and {contrast.a.cell, contrast.b.cell} <= set(finding.cells)


def _with_remedy(contrast: ContrastResult, offer: Offer) -> ContrastResult:
    """The line that moves the user to the faster side, when the gain is clear."""
    if contrast.verdict not in DECIDED or not _is_clear(contrast):
        return contrast
    return replace(contrast, remedy=offer.a if contrast.verdict == "slower" else offer.b)


def _strength_of(line: Line, by_id: Mapping[str, ContrastResult]) -> float:
    return strength(by_id[line.contrast]) if line.contrast else 0.0


def _is_clear(contrast: ContrastResult) -> bool:
    """Whether the difference is called a slow path, and not a difference, where no rule names it."""
    ratio = contrast.ratio or 1.0
    return max(ratio, 1 / ratio) >= CLEAR_RATIO


def _loses(contrast: ContrastResult) -> int:
    """2: users who change nothing are on the slower side. 1: neither side is theirs. 0: they are on the faster side."""
    if contrast.default_side is None or contrast.ratio is None:
        return 1
    return 2 if contrast.default_side == ("b" if contrast.ratio > 1 else "a") else 0


def _answer(contrasts: Sequence[ContrastResult], rules: Mapping[str, Sequence[Finding]]) -> Line:
    """One line for one question: level, text, and the contrast that it rests on.

    A slow path is a decided, clear difference to the disadvantage of users who change nothing, or one that a finding
    rests on. That turning something off costs time is a note: the default is the faster way.
    """
    decided = sorted((c for c in contrasts if c.verdict in DECIDED), key=strength, reverse=True)
    decided.sort(key=_loses, reverse=True)
    if contrasts[0].control:
        return _control_line(contrasts, decided)
    if between_two(contrasts):
        return libraries_line(contrasts)
    if decided:
        return _decided_line(contrasts, decided, rules)
    return _undecided_line(contrasts)


def _decided_line(
    contrasts: Sequence[ContrastResult], decided: Sequence[ContrastResult], rules: Mapping[str, Sequence[Finding]]
) -> Line:
    top, total = decided[0], len(contrasts)
    named = [finding for contrast in decided for finding in rules.get(contrast.id, ())]
    affects = any(finding.affects_default is not False for finding in named)
    lost = _loses(top)
    level: Level = "slow" if lost and not top.explains and (_is_clear(top) or affects) else "info"
    where = f" ({top.where})" if top.where else ""
    default = "" if lost or top.explains else "; the default is the faster side"
    also = f"; {len(decided)} of {total} contrasts decided" if total > 1 else ""
    mine = [finding for finding in named if level != "slow" or finding.affects_default is not False]
    codes = ", ".join(dict.fromkeys(finding.rule for finding in mine))
    text = f"{top.group}: {_times(top)}{where}{default}{also}{f'; named by {codes}' if codes else ''}."
    return Line(level=level, text=text, contrast=top.id)


def _undecided_line(contrasts: Sequence[ContrastResult]) -> Line:
    total, group = len(contrasts), contrasts[0].group
    same = sum(c.verdict == "same" for c in contrasts)
    missing = sum(c.verdict is None for c in contrasts)
    if 0 < same == total - missing:
        limit = f"{100 * contrasts[0].minimum_effect:g}"
        rest = f"; {missing} more could not be measured" if missing else ""
        text = f"{group}: no difference above {limit} % in {same} of {same} contrasts{rest}."
        return Line(level="ok", text=text, contrast=None)
    parts = [f"{same} same"] * (same > 0) + [f"{total - same - missing} undecided"] * (total > same + missing)
    parts += [f"{missing} not measured"] * (missing > 0)
    word = "not measured" if missing == total else "undecided"
    return Line(level="info", text=f"{group}: {word}; {', '.join(parts)} of {total} contrasts.", contrast=None)


def _control_line(contrasts: Sequence[ContrastResult], decided: Sequence[ContrastResult]) -> Line:
    """A control compares a cell with itself: any decision in it is a false alarm of this machine."""
    total, group = len(contrasts), contrasts[0].group
    if decided:
        text = (
            f"{group}: {len(decided)} of {total} contrasts of a cell with itself differ: this machine is too "
            "unsteady for such effects; repeat with more rounds or on quiet cores."
        )
        return Line(level="warning", text=text, contrast=decided[0].id)
    same = sum(c.verdict == "same" for c in contrasts)
    rest = [f"{same} same"] * (same > 0) + [f"{total - same} undecided"] * (total > same)
    text = f"{group}: none of {total} contrasts of a cell with itself is a false alarm ({', '.join(rest)})."
    return Line(level="ok", text=text, contrast=None)


def _times(contrast: ContrastResult) -> str:
    """`A is 2.31x [2.20, 2.41] slower than B: 1.02 ms vs 0.44 ms`, always with the slower side named first."""
    slow, fast, ratio, interval = contrast.b, contrast.a, contrast.ratio, contrast.interval
    slow_s, fast_s = contrast.b_value_s, contrast.a_value_s
    if ratio is None or slow_s is None or fast_s is None:
        raise ValueError(f"{contrast.id} was not measured, so there is nothing to report")
    if ratio < 1:
        slow, fast, slow_s, fast_s, ratio = fast, slow, fast_s, slow_s, 1 / ratio
        interval = (1 / interval[1], 1 / interval[0]) if interval else None
    slow_s, fast_s = of_ratio(slow_s, fast_s, ratio)
    return (
        f"{_side(contrast, slow)} is {ratio_words(ratio, interval)} slower than {_side(contrast, fast)}: "
        f"{format_time(slow_s)} vs {format_time(fast_s)}"
    )


def _side(contrast: ContrastResult, side: ContrastSide) -> str:
    axis, value = contrast.axis, side.value
    if axis == "phase":
        return "the first message of a fresh allocation" if side.phase == "first" else "a later one"
    if axis == "way":
        return "the library's own" if value == "library" else value
    return f'"{value}"' if axis in _NAMED_AXES else f"{axis.removesuffix('_bytes').replace('_', ' ')} {value}"


_THINGS = {"time_per_put_s": "puts", "receive_s": "receives"}
_THINGS |= {"window_use_s": "windows", "shared_window_use_s": "windows"}
# Which collective, in what way and on how many ranks: the finding's own sentence says it.
_SAY_ALL = ("collective_work_s", "collective_span_s", "collective_own_s")
_DECIDED = ("faster", "slower")
Cells = Mapping[int, CellResult]


def advice(finding: Finding, contrasts: Sequence[ContrastResult], cells: Cells) -> str:
    """`Try huge pages for messages >= 1 MiB: 3.24x [3.10, 3.40] on 16 MiB messages`; the slow path where nothing helps.

    Args: cells: of the run whose contrasts these are; a finding of another run is named without lengths.
    """
    if finding.run is not None:
        contrasts, cells = (), {}
    remedy = finding.lead
    if finding.ratio is None or finding.metric in _SAY_ALL:
        said = finding.text.rstrip(".")
        proven = remedy is not None and remedy.verdict == "proven"
        return f"Use {remedy.phrase or remedy.name}: {said[0].lower()}{said[1:]}" if remedy and proven else said
    gain = f"{ratio_words(finding.ratio, finding.interval)}{_on(finding, cells)}"
    if remedy is None:
        return f"{finding.title}: {gain}"
    if remedy.verdict != "proven" and not (finding.contrasts or finding.phase == "first"):
        # Nothing was compared that the remedy is about, so the ratio is no gain of it.
        return f"{finding.title}: {gain}; try {remedy.phrase or remedy.name}"
    proven = remedy.verdict == "proven"
    share = f"; removes {remedy.removed_ratio.value:.0%}" if proven and remedy.removed_ratio else ""
    word = "Use" if proven else "Try"
    return f"{word} {remedy.phrase or remedy.name}{_scope(finding, contrasts, cells)}: {gain}{share}"


def _on(finding: Finding, cells: Cells) -> str:
    """` on 16 MiB messages`: what the ratio was measured on; empty where it has no length."""
    length = _length(finding.slow_cells[0], cells) if finding.slow_cells else None
    if length is None:
        return ""
    if finding.phase == "first" and finding.metric not in _THINGS:
        return f" on the first {format_bytes(length)} message"
    return f" on {format_bytes(length)} {_things(finding)}"


def _scope(finding: Finding, contrasts: Sequence[ContrastResult], cells: Cells) -> str:
    """` for messages >= 1 MiB`: from the least length on at which, and beyond which, every contrast was decided so.

    Empty where fewer than two lengths were decided: one length is no limit.
    """
    own = set(finding.contrasts)
    mine = [contrast for contrast in contrasts if contrast.id in own and contrast.metric == finding.metric]
    kinds = {_kind(one) for one in mine}
    lengths: dict[int, bool] = {}
    for contrast in contrasts:
        length = _length(contrast.b.cell, cells)
        if _kind(contrast) in kinds and contrast.verdict is not None and length is not None:
            lengths[length] = lengths.get(length, True) and contrast.id in own and contrast.verdict in _DECIDED
    decided: list[int] = []
    for length in sorted(lengths, reverse=True):
        if not lengths[length]:
            break
        decided.append(length)
    return f" for {_things(finding)} >= {format_bytes(decided[-1])}" if len(decided) > 1 else ""


def _kind(contrast: ContrastResult) -> tuple[str, str, str, str, str]:
    return contrast.group, contrast.a.value, contrast.b.value, contrast.metric, contrast.a.phase


def _things(finding: Finding) -> str:
    return _THINGS.get(finding.metric, "messages")


def _length(cell: int, cells: Cells) -> int | None:
    parameters = cells[cell].parameters if cell in cells else {}
    name = "window_bytes" if "window" in parameters.get("pattern", "") else "message_bytes"
    text = parameters.get(name, "")
    return int(text) if text.isdecimal() else None
