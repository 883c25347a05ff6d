# SPDX-License-Identifier: Apache-2.0
"""The few sentences that stand on top of a report, taken from the contrasts alone.

One line for each question that the campaign asks: the contrast with the strongest effect speaks for its group, and how
many are decided is said. Nothing is claimed that is not a decided contrast.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from slowpath.analyse.contrasts import CLEAR_RATIO
from slowpath.core.results import ContrastResult, ContrastSide, Level, Line, Verdict
from slowpath.core.units import format_ratio, format_time

DECIDED = ("faster", "slower")


def _strength(contrast: ContrastResult) -> float:
    return abs(math.log(contrast.ratio)) if contrast.ratio else 0.0


def _times(contrast: ContrastResult) -> str:
    """`2.31 times as long [2.20, 2.41]: 1.02 ms against 0.44 ms`, always with the slower side named first."""
    slow, fast, ratio, interval = contrast.b, contrast.a, contrast.ratio, contrast.interval
    slow_s, fast_s = contrast.b_value_s, contrast.a_value_s
    if ratio is None or slow_s is None or fast_s is None:
        raise ValueError(f"{contrast.id} was not measured, so there is nothing to say of it")
    if ratio < 1:
        slow, fast, slow_s, fast_s, ratio = fast, slow, fast_s, slow_s, 1 / ratio
        interval = (1 / interval[1], 1 / interval[0]) if interval else None
    half = (interval[1] - interval[0]) / 2 if interval else None
    span = f" [{format_ratio(interval[0], half)}, {format_ratio(interval[1], half)}]" if interval else ""
    return (
        f"{_side(contrast, slow)} takes {format_ratio(ratio, half)} times as long as {_side(contrast, fast)}{span}: "
        f"{format_time(slow_s)} against {format_time(fast_s)}"
    )


def _side(contrast: ContrastResult, side: ContrastSide) -> str:
    axis, value = contrast.axis, side.value
    if axis == "phase":
        return "the first message of a fresh allocation" if side.phase == "first" else "a later one"
    return (
        f'"{value}"'
        if axis in ("environment", "placement", "copy", "mpi")
        else f"{axis.removesuffix('_bytes').replace('_', ' ')} {value}"
    )


def _users_loss(contrast: ContrastResult) -> int:
    """2: users who change nothing are on the slower side. 1: neither side is theirs. 0: they are on the faster side."""
    if contrast.default_side is None:
        return 1
    return 2 if contrast.default_side == ("b" if (contrast.ratio or 1.0) > 1 else "a") else 0


def _group_line(contrasts: Sequence[ContrastResult]) -> Line:
    """One line for one question: level, text, and the contrast that it rests on.

    A slow path is a decided, clear difference to the disadvantage of users who change nothing. That turning something
    off costs time is a note: it says that the usual way is the right one.
    """
    decided = sorted((c for c in contrasts if c.verdict in DECIDED), key=_strength, reverse=True)
    decided.sort(key=_users_loss, reverse=True)
    total, group = len(contrasts), contrasts[0].group
    if contrasts[0].control:
        return _control_line(contrasts, decided)
    if decided:
        top = decided[0]
        lost = _users_loss(top)
        clear = math.exp(_strength(top)) >= CLEAR_RATIO
        level: Level = "slow" if lost and clear and not top.explains else "info"
        where = f" ({top['where']})" if top.where else ""
        usual = "" if lost or top.explains else "; the usual way is the faster one"
        also = f"; {len(decided)} of {total} contrasts decided" if total > 1 else ""
        return Line(level=level, text=f"{group}: {_times(top)}{where}{usual}{also}.", contrast=top.id)
    same = sum(c.verdict == "same" for c in contrasts)
    missing = sum(c.verdict is None for c in contrasts)
    if 0 < same == total - missing:
        limit = f"{100 * contrasts[0]['minimum_effect']:g}"
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


def _grouped(contrasts: Iterable[ContrastResult]) -> list[list[ContrastResult]]:
    groups: dict[str, list[ContrastResult]] = {}
    for contrast in contrasts:
        groups.setdefault(contrast.group, []).append(contrast)
    return list(groups.values())


def _headline(lines: Sequence[Line], skipped: int) -> str:
    slow = sum(line.level == "slow" for line in lines)
    asked = len(lines)
    if not asked:
        text = "Measured; this run asks for no comparison"
    elif slow:
        text = f"{slow} slow path{'s' * (slow > 1)} in {asked} question{'s' * (asked > 1)}"
    else:
        text = f"No slow path in {asked} question{'s' * (asked > 1)}"
    return text + (f"; {skipped} cells could not be measured" if skipped else "")


def judge(contrasts: Sequence[ContrastResult], unmeasured: int, more: Sequence[Line] = ()) -> Verdict:
    """The verdict of a run: a headline, and one line for each question, the strongest effect first.

    Args: contrasts: as in results.json, with ratio None where nothing could be compared.
          unmeasured: cells without samples.
          more: lines that rest on no contrast of the campaign; they answer none of its questions.
    """
    rank = {"warning": 0, "slow": 1, "info": 2, "ok": 3}
    by_id = {c.id: c for c in contrasts}
    answers = [_group_line(group) for group in _grouped(contrasts)]
    lines = [*answers, *more]
    lines.sort(
        key=lambda line: (
            rank[line.level],
            -_strength(by_id[line.contrast]) if line.contrast else 0.0,
        )
    )
    return Verdict(headline=_headline(answers, unmeasured), lines=lines)
