# SPDX-License-Identifier: Apache-2.0
"""Protocol switches: where a line of message lengths jumps, and by how much. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from slowpath.core.units import format_bytes, format_time
from slowpath.findings.evidence.compared import Ratio, ratio_of
from slowpath.findings.evidence.lawfound import LawFound
from slowpath.findings.evidence.lines import Line
from slowpath.findings.rule import Observation
from slowpath.findings.words import memory, ratio_words
from slowpath.stats.inputs import Floats
from slowpath.stats.laws import constant, message, segments
from slowpath.stats.laws.coefficient import Coefficient
from slowpath.stats.laws.law import Bracket

if TYPE_CHECKING:
    from slowpath.findings.evidence.evidence import Evidence

CLEAR_RATIO = 1.25
WIDEST = 4.0  # of a bracket: further away the lines of both sides say nothing of its ends
LAWS = (constant.LAW, message.LAW, segments.LAW)
METRICS = ("half_round_trip_latency_s", "one_way_s", "send_barrier_s", "time_per_message_s")
MESSAGE = "message_bytes"


@dataclass(frozen=True)
class Switch:
    """before_s, after_s: what either side's protocol takes for the first length behind the switch.  rising: the side
    behind it is the slower one.
    """

    bracket: Bracket
    before_s: float
    after_s: float
    ratio: Ratio
    rising: bool


def observed(evidence: Evidence) -> list[Observation]:
    """One for each line with a clear switch; the clearest one speaks, the law has the others."""
    found = []
    for line in evidence.lines(MESSAGE, phase="steady", metrics=METRICS):
        lengths = line.sweep.covariates[MESSAGE]
        if line.cells[0].get("copy", 1) != 1 or len(set(lengths.tolist())) < line.sweep.points:
            continue
        law = line.among(LAWS)
        clear = [
            one for one in switches(law, line.minimum_effect) if one.ratio.beyond and one.ratio.value >= CLEAR_RATIO
        ]
        if clear:
            found.append(_observation(evidence, line, law, max(clear, key=lambda one: one.ratio.value)))
    return found


def switches(law: LawFound, minimum_effect: float) -> list[Switch]:
    """Of a law of segments: at each of its limits what both sides cost, launch by launch."""
    if law.name != "segments":
        return []
    terms = list(zip(law.coefficients[::2], law.coefficients[1::2], strict=True))
    found = []
    for bracket, before, after in zip(law.brackets, terms, terms[1:], strict=False):
        if bracket.up_to > WIDEST * max(1.0, bracket.above):
            continue
        one, other = (_at(side, bracket.up_to) for side in (before, after))
        if not ((one > 0).all() and (other > 0).all()):
            continue
        rising = float(np.median(other)) > float(np.median(one))
        slow, fast = (other, one) if rising else (one, other)
        ratio = ratio_of(slow, fast, minimum_effect)
        found.append(Switch(bracket, float(np.median(one)), float(np.median(other)), ratio, rising))
    return found


def _at(side: tuple[Coefficient, Coefficient], length: float) -> Floats:
    """Time of a message of this length by one stretch's line, in each launch."""
    constant_s, each_s = (np.array(term.launch_values, dtype=np.float64) for term in side)
    times: Floats = constant_s + each_s * length
    return times


def _observation(evidence: Evidence, line: Line, law: LawFound, switch: Switch) -> Observation:
    bracket = switch.bracket
    low, high = format_bytes(int(bracket.above)), format_bytes(int(bracket.up_to))
    slow_s, fast_s = max(switch.before_s, switch.after_s), min(switch.before_s, switch.after_s)
    side = "above" if switch.rising else "below"
    other = "below" if switch.rising else "above"
    times = ratio_words(switch.ratio.value, switch.ratio.interval)
    text = (
        f"The protocol changes between {low} and {high}: a message of {high} takes {times} as long by the way of "
        f"messages {side} the switch as by that of messages {other} it: {format_time(slow_s)} against "
        f"{format_time(fast_s)}."
    )
    lengths = line.sweep.covariates[MESSAGE]
    ends = [int(np.flatnonzero(lengths == end)[0]) for end in (bracket.up_to, bracket.above)]
    cells = [line.cells[end] for end in (ends if switch.rising else ends[::-1])]
    kinds = memory(line.cells)
    pattern = str(line.cells[0]["parameters"].get("pattern", ""))
    others = [b for b in law.brackets if b is not bracket]
    return Observation(
        about=f"switch, {kinds}",
        place=evidence.place(
            line.cells, [f"{kinds} memory", pattern.replace("_", " "), f"switch between {low} and {high}"]
        ),
        text=text,
        metric=line.sweep.metric,
        phase="steady",
        ratio=switch.ratio.value,
        interval=switch.ratio.interval,
        excess_s=slow_s - fast_s,
        usual=evidence.users_own(line.cells[0]),
        cells=tuple(cell["cell"] for cell in line.cells),
        law=replace(law, brackets=(bracket, *others)),
        evidence=(f"{ratio_words(switch.ratio.value, switch.ratio.interval)}: both sides' lines, launch by launch",),
        slow_cells=(cells[0]["cell"],),
        fast_cells=(cells[1]["cell"],),
    )
