# SPDX-License-Identifier: Apache-2.0
"""What a run says to a question of its campaign: a loss, an answer, or nothing yet. Pure.

A question is answered only where no clear loss can hide: most of its contrasts are decided, and what an undecided one
leaves open is less than what is called a slow path.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from slowpath.core.results import ContrastResult
from slowpath.findings.difference import CLEAR_RATIO
from slowpath.findings.libraries import between_two

QuestionState = Literal["loss", "answered", "undecided", "not measured"]


@dataclass(frozen=True)
class Question:
    """group: name of the contrasts.  more_rounds: that would decide it, about; None: it is not undecided."""

    group: str
    state: QuestionState
    more_rounds: int | None = None


def is_question(contrasts: Sequence[ContrastResult]) -> bool:
    """Whether it asks for slow paths: a control compares a cell with itself, a price is no slow path, and neither of
    two MPIs is anybody's default.
    """
    return not (contrasts[0].control or all(contrast.explains for contrast in contrasts) or between_two(contrasts))


def question(contrasts: Sequence[ContrastResult], loss: bool) -> Question:
    """What the contrasts of one group say.  Args: loss: a slow path was seen in them."""
    group = contrasts[0].group
    measured = [contrast for contrast in contrasts if contrast.verdict is not None and not contrast.explains]
    if loss:
        return Question(group, "loss")
    if not measured:
        return Question(group, "not measured")
    undecided = [one for one in measured if one.verdict == "undecided"]
    still_open = [one for one in undecided if _may_lose(one)]
    if not still_open and 2 * len(undecided) <= len(measured):
        return Question(group, "answered")
    return Question(group, "undecided", max(one.more_pairs or 1 for one in still_open or undecided))


def _may_lose(contrast: ContrastResult) -> bool:
    """Whether its interval leaves room for a clear loss of the user's."""
    if contrast.interval is None or contrast.level is None:
        return True
    low, high = contrast.interval
    b_loses, a_loses = high >= CLEAR_RATIO, low <= 1 / CLEAR_RATIO
    return {"a": a_loses, "b": b_loses}.get(contrast.default_side or "", a_loses or b_loses)


def grouped(contrasts: Iterable[ContrastResult]) -> list[list[ContrastResult]]:
    """By question, in the order of their first contrasts."""
    groups: dict[str, list[ContrastResult]] = {}
    for contrast in contrasts:
        groups.setdefault(contrast.group, []).append(contrast)
    return list(groups.values())
