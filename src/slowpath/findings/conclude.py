# SPDX-License-Identifier: Apache-2.0
"""The one judge of a run: headline and lines of the verdict from contrasts and findings together, and which remedy each
contrast shows. Pure.

One line for each question that the campaign asks: the contrast with the strongest effect speaks for its group, and how
many are decided is counted. Nothing is claimed that is neither a decided contrast nor a finding.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from slowpath.core.results import ContrastResult, ContrastSide, Finding, Level, Line, Verdict
from slowpath.core.units import format_ratio, format_time
from slowpath.findings.evidence.evidence import CLEAR_RATIO
from slowpath.findings.libraries import between_two, libraries_line

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
    unmeasured: int,
    *,
    offers: Mapping[str, Offer] | None = None,
    more: Sequence[Line] = (),
) -> Conclusion:
    """Verdict of a run, the strongest effect first.

    Args: unmeasured: cells without samples.  offers: id of a contrast -> what would move the user to either side.
          more: lines that rest on no contrast of the campaign; they answer none of its questions.
    """
    by_id = {contrast.id: contrast for contrast in contrasts}
    rules = _rules(findings)
    answers = [_answer(group, rules) for group in _grouped(contrasts)]
    lines = sorted([*answers, *more], key=lambda line: (_RANK[line.level], -_strength_of(line, by_id)))
    verdict = Verdict(headline=_headline(answers, findings, unmeasured), lines=lines)
    return Conclusion(verdict, [_with_remedy(one, (offers or {}).get(one.id, Offer())) for one in contrasts])


def _rules(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Id of a contrast -> the findings that rest on it."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        for contrast in finding.contrasts:
            found.setdefault(contrast, []).append(finding)
    return found


def _with_remedy(contrast: ContrastResult, offer: Offer) -> ContrastResult:
    """The line that moves the user to the faster side, when the gain is clear."""
    if contrast.verdict not in DECIDED or not _is_clear(contrast):
        return contrast
    return replace(contrast, remedy=offer.a if contrast.verdict == "slower" else offer.b)


def _strength(contrast: ContrastResult) -> float:
    return abs(math.log(contrast.ratio)) if contrast.ratio else 0.0


def _strength_of(line: Line, by_id: Mapping[str, ContrastResult]) -> float:
    return _strength(by_id[line.contrast]) if line.contrast else 0.0


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
    decided = sorted((c for c in contrasts if c.verdict in DECIDED), key=_strength, reverse=True)
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
    codes = ", ".join(dict.fromkeys(finding.rule for finding in named))
    text = f"{top.group}: {_times(top)}{where}{default}{also}{f'; named by {codes}' if codes else ''}."
    return Line(level=level, text=text, contrast=top.id)


def _undecided_line(contrasts: Sequence[ContrastResult]) -> Line:
    total, group = len(contrasts), contrasts[0].group
    same = sum(c.verdict == "same" for c in contrasts)
    missing = sum(c.verdict is None for c in contrasts)
    if 0 < same == total - missing:
        limit = f"{100 * contrasts[0].minimum_effect:g}"
        rest = f"; {missing} more could not be measured" if missing else ""
        text = f"{group}: no difference beyond {limit} % in {same} of {same} contrasts{rest}."
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
            f"{group}: {len(decided)} of {total} contrasts of a cell with itself came out as a difference. "
            "This machine is too unsteady for effects of that size; repeat with more rounds or on quiet cores."
        )
        return Line(level="warning", text=text, contrast=decided[0].id)
    same = sum(c.verdict == "same" for c in contrasts)
    rest = [f"{same} same"] * (same > 0) + [f"{total - same} undecided"] * (total > same)
    text = f"{group}: of {total} contrasts of a cell with itself none is a false alarm ({', '.join(rest)})."
    return Line(level="ok", text=text, contrast=None)


def _times(contrast: ContrastResult) -> str:
    """`A takes 2.31x [2.20, 2.41] as long as B: 1.02 ms vs 0.44 ms`, always with the slower side named first."""
    slow, fast, ratio, interval = contrast.b, contrast.a, contrast.ratio, contrast.interval
    slow_s, fast_s = contrast.b_value_s, contrast.a_value_s
    if ratio is None or slow_s is None or fast_s is None:
        raise ValueError(f"{contrast.id} was not measured, so there is nothing to report")
    if ratio < 1:
        slow, fast, slow_s, fast_s, ratio = fast, slow, fast_s, slow_s, 1 / ratio
        interval = (1 / interval[1], 1 / interval[0]) if interval else None
    half = (interval[1] - interval[0]) / 2 if interval else None
    span = f" [{format_ratio(interval[0], half)}, {format_ratio(interval[1], half)}]" if interval else ""
    return (
        f"{_side(contrast, slow)} takes {format_ratio(ratio, half)}x{span} as long as {_side(contrast, fast)}: "
        f"{format_time(slow_s)} vs {format_time(fast_s)}"
    )


def _side(contrast: ContrastResult, side: ContrastSide) -> str:
    axis, value = contrast.axis, side.value
    if axis == "phase":
        return "the first message of a fresh allocation" if side.phase == "first" else "a later one"
    return f'"{value}"' if axis in _NAMED_AXES else f"{axis.removesuffix('_bytes').replace('_', ' ')} {value}"


def _grouped(contrasts: Iterable[ContrastResult]) -> list[list[ContrastResult]]:
    groups: dict[str, list[ContrastResult]] = {}
    for contrast in contrasts:
        groups.setdefault(contrast.group, []).append(contrast)
    return list(groups.values())


def _headline(answers: Sequence[Line], findings: Sequence[Finding], unmeasured: int) -> str:
    slow, asked = sum(line.level == "slow" for line in answers), len(answers)
    questions = f"{asked} question{'s' * (asked != 1)}"
    if findings:
        text = f"{_findings(findings)}; {_shown(slow, asked)}"
    elif not asked:
        text = "Measured; this run asks for no comparison"
    elif slow:
        text = f"{slow} slow path{'s' * (slow > 1)} in {questions}"
    else:
        text = f"No slow path in {questions}"
    return text + (f"; {unmeasured} cell{'s' * (unmeasured > 1)} could not be measured" if unmeasured else "")


def _findings(findings: Sequence[Finding]) -> str:
    """`3 slow paths by name (2 SP005, SP008)`; those that only states have that nobody chose are counted apart."""
    apart = [one for one in findings if one.affects_default is False]
    counts = Counter(one.rule for one in findings)
    codes = ", ".join(f"{number} {code}" if number > 1 else code for code, number in counts.items())
    rest = "" if not apart else " off the default" if len(apart) == len(findings) else f", {len(apart)} off the default"
    return f"{len(findings)} slow path{'s' * (len(findings) > 1)} by name ({codes}){rest}"


def _shown(slow: int, asked: int) -> str:
    if not asked:
        return "this run asks for no comparison"
    if not slow:
        return f"no clear loss in {asked} question{'s' * (asked > 1)}"
    return f"a clear loss in {slow} of {asked} question{'s' * (asked > 1)}"
