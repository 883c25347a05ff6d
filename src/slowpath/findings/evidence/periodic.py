# SPDX-License-Identifier: Apache-2.0
"""What rules about slow messages at equal distances say of one. Pure."""

from __future__ import annotations

from slowpath.core.units import format_time
from slowpath.findings.evidence.evidence import Evidence, Periodic
from slowpath.findings.evidence.observed import observed
from slowpath.findings.evidence.words import ratio_words, sizes, where_words
from slowpath.findings.observation import Observation

_ORDINALS = {2: "second", 3: "third"}
MOST_ALTERNATING = 8  # messages of a period; a longer one is that of stalls


def ordinal(number: int) -> str:
    """`second`, `third`, `4th`, `61st`."""
    if number in _ORDINALS:
        return _ORDINALS[number]
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"


def about(one: Periodic) -> str:
    """`every 64th message`; `2 of every 4 messages`."""
    return f"every {ordinal(one.every)} message" if one.count == 1 else f"{one.count} of every {one.every} messages"


def periodic_observed(evidence: Evidence, one: Periodic) -> Observation:
    """The observation: what the slow ones take, and what the mean message loses."""
    top, size = one.seen[0], sizes([one.slow])
    cells = tuple(seen.cell for seen in one.seen)
    words = about(one).replace(" message", f" {size} message") if size else about(one)
    take = "takes" if one.count == 1 else "take"
    return observed(
        one,
        about=about(one),
        place=evidence.place(cells, where_words(cells)),
        text=f"{words[0].upper()}{words[1:]} {take} {ratio_words(top.ratio)} as long as the others: "
        f"{format_time(top.slow_s)} vs {format_time(top.fast_s)}. The mean message takes {ratio_words(one.ratio)} as "
        "long as without.",
        affects_default=evidence.is_default(one.slow),
        cells=tuple(cell.cell for cell in (*cells, *one.lacking)),
        evidence=_evidence(one),
        slow_cells=tuple(cell.cell for cell in cells),
        fast_cells=(),
        doubts=_doubts(one),
    )


def _evidence(one: Periodic) -> tuple[str, ...]:
    lines = [
        f"{seen.cell.label}: {about(one)} in {seen.launches} launches of {seen.messages} messages: "
        f"{format_time(seen.slow_s)} vs {format_time(seen.fast_s)}, one each {format_time(seen.between_s)}; by chance: "
        f"p = {seen.p:.1g}"
        for seen in one.seen
    ]
    if one.counted == "messages":
        lines.append("counted in messages, not in time: the number is the same where the time between them is not")
    return (*lines, *(f"not in {cell.label}" for cell in one.lacking))


def _doubts(one: Periodic) -> tuple[str, ...]:
    if one.counted == "messages":
        return ()
    return (
        f"either {about(one)}, or one each {format_time(one.seen[0].between_s)}: a timer is not excluded; measure a "
        "length that takes half as long or less",
    )
