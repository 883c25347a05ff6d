# SPDX-License-Identifier: Apache-2.0
"""The skeleton of a watch on its page: whether it takes what the program took, and what each change saves."""

from __future__ import annotations

from dataclasses import dataclass

from slowpath.report import format as fmt
from slowpath.report.figure import FigureTable
from slowpath.watch.proof import ProofEffect
from slowpath.watch.report import words
from slowpath.watch.skeleton_results import KindTime, SkeletonChange, SkeletonResults, skeleton_lines


@dataclass(frozen=True, slots=True)
class SkeletonView:
    """headline: whether it can be believed.  kinds, changes: None: there are none."""

    mark: str
    headline: str
    kinds: FigureTable | None
    changes: FigureTable | None
    notes: tuple[str, ...]


def skeleton_view(found: SkeletonResults | None) -> SkeletonView | None:
    """None: none was launched."""
    if found is None:
        return None
    kinds = [_kind(row) for row in found.fidelity.kinds] if found.fidelity else []
    changes = [_change(change) for change in found.changes]
    return SkeletonView(
        "same" if found.is_priced else "undecided",
        skeleton_lines(found)[0],
        FigureTable(["Calls", "How many", "Program, a rank", "Skeleton, a rank", "Judged"], kinds) if kinds else None,
        FigureTable(["Change", "What it shows", "Saves", "Time ratio", "Control", "To check"], changes)
        if changes
        else None,
        found.statements,
    )


def _kind(row: KindTime) -> list[str]:
    judged = ("near" if row.is_faithful else "off") if row.is_judged else "too short"
    return [row.kind, words.count(row.calls), words.time(row.program_s), words.time(row.skeleton_s), judged]


def _change(change: SkeletonChange) -> list[str]:
    saved = fmt.MISSING
    if change.saved_s is not None:
        ends = fmt.quantity_interval(change.saved_s, "s", change.saved_interval)
        saved = f"{fmt.time(change.saved_s, change.saved_interval)} {ends or ''}".strip()
    verdict = {"proven": "measured on the skeleton", None: "not done"}.get(change.verdict, str(change.verdict))
    said = f"{verdict}: {change.text if change.verdict == 'proven' else change.reason}"
    return [change.name, said, saved, _ratio(change.effect), _ratio(change.control), change.check or fmt.MISSING]


def _ratio(effect: ProofEffect | None) -> str:
    if effect is None:
        return fmt.MISSING
    ends = fmt.ratio_interval(effect.ratio, effect.interval)
    return f"{fmt.ratio(effect.ratio, effect.interval)} {ends or 'no interval'}"
