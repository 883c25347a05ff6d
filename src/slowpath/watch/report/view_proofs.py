# SPDX-License-Identifier: Apache-2.0
"""Proofs of a watch: wall times of the reruns on each side, and what was concluded from them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from slowpath.report import format as fmt
from slowpath.report.svg import sides as drawn
from slowpath.report.svg.sides import Kind, Side
from slowpath.watch.proof import Proof, ProofEffect

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
    return [_view(name, one) for name, one in list(reversed(found))[:MOST_PROOFS]]


def _view(name: str, one: Proof) -> ProofView:
    facts = [("why", one.reason)]
    facts += [("time", _ratio(one.effect))] if one.effect else []
    facts += [("control", f"{_ratio(one.control)} with a variable that nothing reads")] if one.control else []
    facts.append(("witness", f"{one.witness.state}: {one.witness.text}"))
    compared = ", ".join(one.compared)
    facts.append(("output", f"compared: {compared}" if compared else "not compared; name it with --output"))
    facts.append(("runs", f"{len(one.runs)} of {fmt.duration(one.spent_s)} in all, in {name}"))
    picture = drawn.chart(_sides(one), "wall time of one run", f"Reruns for {one.remedy}")
    return ProofView(f"proof-{name}", one.remedy, MARKS.get(one.verdict, "undecided"), _headline(one), one.text, facts,
                     picture)  # fmt: skip


def _headline(one: Proof) -> str:
    words = WORDS.get(one.verdict, one.verdict)
    if one.verdict == "proven" and one.saved_s is not None:
        ends = fmt.quantity_interval(one.saved_s, "s", one.saved_interval)
        return f"{words}: {fmt.time(one.saved_s, one.saved_interval)} {ends or ''} of a run saved"
    return words


def _ratio(effect: ProofEffect) -> str:
    interval = effect.interval
    ends = fmt.ratio_interval(effect.ratio, interval)
    blocks = fmt.plural(effect.blocks, "block")
    return f"{fmt.ratio(effect.ratio, interval)} {ends or 'no interval'} of as it is, {blocks}"


def _sides(one: Proof) -> list[Side]:
    """A row for each side that has runs which count; the line is their median, which the interval is not about."""
    rows = []
    for side, kind, label in _SIDES:
        values = tuple(run.wall_s for run in one.runs if run.side == side and run.failed is None and run.wall_s > 0)
        if values:
            rows.append(
                Side(f"{label}, {fmt.plural(len(values), 'run')}", kind, values, statistics.median(values), None)
            )
    return rows
