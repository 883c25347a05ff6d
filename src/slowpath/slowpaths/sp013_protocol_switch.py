# SPDX-License-Identifier: Apache-2.0
"""SP013: a protocol switch at a length where it makes messages slower."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from slowpath.core.cell_results import CellResult
from slowpath.core.units import format_bytes, format_time
from slowpath.findings.facts import CLEAR_RATIO, Difference, Facts, memory, parameter, ratio_of, ratio_words
from slowpath.findings.laws import Line, lines_along
from slowpath.findings.slow_path import Observation, SlowPath, Support, observed
from slowpath.findings.witness import protocol_limits
from slowpath.slowpaths.remedies import PROGRAM_LONGER_EAGER, PROGRAM_TWO_COPIES, page_of
from slowpath.stats.laws.known import BY_BYTE, CONSTANT, SEGMENTS
from slowpath.stats.laws.law import Bracket, Coefficient, FittedLaw


@dataclass(frozen=True, kw_only=True)
class ProtocolSwitch(Difference):
    """A jump along message lengths: the times are those of both sides' lines at the first length behind it.

    law: of the whole line; its first bracket is the switch.  rising: the side behind it is the slow one.
    """

    law: FittedLaw
    rising: bool
    cells: tuple[CellResult, ...]


MESSAGE = "message_bytes"

SWITCH_METRICS = ("half_round_trip_latency_s", "one_way_s", "send_barrier_s", "time_per_message_s")

WIDEST = 4.0  # of a bracket: further away the lines of both sides say nothing of its ends

MOST_WITHOUT = 0.2  # share of the launches in which a protocol's stretch may come out without a constant

_SWITCH_LAWS = (CONSTANT, BY_BYTE, SEGMENTS)


def protocol_switches(facts: Facts) -> Iterator[ProtocolSwitch]:
    """One for each line of message lengths with a clear switch; the clearest one comes first in its law."""
    for line in lines_along(facts, MESSAGE, phase="steady", metrics=SWITCH_METRICS):
        lengths = line.sweep.covariates[MESSAGE]
        if line.cells[0].copy != 1 or len(set(lengths.tolist())) < line.sweep.points:
            continue
        law = line.among(_SWITCH_LAWS)
        clear = [
            switch
            for bracket, before, after in _stretches(law)
            if (switch := _switch(line, law, bracket, (before, after))) is not None
            if switch.ratio.beyond and switch.ratio.value >= CLEAR_RATIO
        ]
        if clear:
            yield max(clear, key=lambda switch: switch.ratio.value)


_Side = tuple[Coefficient, Coefficient]


def _stretches(law: FittedLaw) -> list[tuple[Bracket, _Side, _Side]]:
    """Of a law of segments: each limit with the terms of the stretches on both sides, where both are protocols: each
    takes some time for 0 bytes. A stretch without is a piece of a curve, as where a cache ends.
    """
    if law.name != "segments":
        return []
    terms = list(zip(law.coefficients[::2], law.coefficients[1::2], strict=True))
    near = [bracket.up_to <= WIDEST * max(1.0, bracket.above) for bracket in law.brackets]
    every = zip(law.brackets, terms, terms[1:], strict=False)
    kept = [point for point, is_near in zip(every, near, strict=False) if is_near]
    return [point for point in kept if _has_latency(point[1]) and _has_latency(point[2])]


def _has_latency(side: _Side) -> bool:
    """Whether nearly all launches have a constant above 0, which no fit lets fall below."""
    return float(np.mean(np.array(side[0].launch_values) <= 0)) <= MOST_WITHOUT


def _switch(line: Line, law: FittedLaw, bracket: Bracket, sides: tuple[_Side, _Side]) -> ProtocolSwitch | None:
    """What either side's protocol takes for the first length behind the switch, launch by launch."""
    lines = [[np.array(term.launch_values) for term in side] for side in sides]
    before, after = (fixed_s + slope_s * bracket.up_to for fixed_s, slope_s in lines)
    if not ((before > 0).all() and (after > 0).all()):
        return None
    rising = float(np.median(after)) > float(np.median(before))
    slow, fast = (after, before) if rising else (before, after)
    lengths = line.sweep.covariates[MESSAGE]
    ends = [line.cells[int(np.flatnonzero(lengths == end)[0])] for end in (bracket.up_to, bracket.above)]
    slow_cell, fast_cell = ends if rising else ends[::-1]
    others = [other for other in law.brackets if other is not bracket]
    return ProtocolSwitch(
        slow=slow_cell,
        fast=fast_cell,
        metric=line.sweep.metric,
        slow_s=float(np.median(slow)),
        fast_s=float(np.median(fast)),
        ratio=ratio_of(slow, fast, line.minimum_effect),
        law=replace(law, brackets=(bracket, *others)),
        rising=rising,
        cells=line.cells,
    )


NEAR_BYTES = 128  # headers lie between a threshold and the length at which it shows

EXACT_BYTES = 64  # a bracket no wider than this can be compared with a table

_METRICS = {
    "half_round_trip_latency_s": "latency",
    "one_way_s": "the one-way time",
    "send_barrier_s": "send and barrier time",
    "time_per_message_s": "the time per message",
}


def observe(facts: Facts) -> Sequence[Observation]:
    """Lines of message lengths with a switch at which the two sides' costs differ clearly."""
    return [_observation(facts, switch) for switch in protocol_switches(facts)]


def _observation(facts: Facts, switch: ProtocolSwitch) -> Observation:
    bracket = switch.law.brackets[0]
    low, high = format_bytes(int(bracket.above)), format_bytes(int(bracket.up_to))
    before_s, after_s = (switch.fast_s, switch.slow_s) if switch.rising else (switch.slow_s, switch.fast_s)
    is_exact = bracket.up_to - bracket.above <= 1
    where = f"{low} protocol switch" if is_exact else f"protocol switch between {low} and {high}"
    said = (
        f"At the {where} {_METRICS.get(switch.metric, switch.metric)} {'jumps' if switch.rising else 'falls'} "
        f"{ratio_words(switch.ratio)}: {format_time(before_s)} below, {format_time(after_s)} above"
    )
    kinds, pattern = memory(switch.cells), parameter(switch.cells[0], "pattern").replace("_", " ")
    return observed(
        switch,
        about=f"switch, {kinds}",
        place=facts.place(switch.cells, [f"{kinds} memory", pattern, f"switch between {low} and {high}"]),
        text=f"{said}, for a message of {high}.",
        affects_default=facts.as_found(switch.cells[0]),
        cells=tuple(cell.cell for cell in switch.cells),
        law=switch.law,
        evidence=(f"{ratio_words(switch.ratio)}: both sides' lines, launch by launch",),
    )


def witnesses(facts: Facts, seen: Observation) -> Support:
    """UCX's own table of protocols. `slowpath diagnose` moves variables: that shows whether one sets the switch."""
    if seen.law is None or not seen.law.brackets:
        return Support("missing", "no law of segments")
    bracket = seen.law.brackets[0]
    low, high = bracket.above - NEAR_BYTES, bracket.up_to + NEAR_BYTES
    table = tuple(protocol_limits(facts.run, seen.place.mpi, seen.place.environment, low, high))
    if not table:
        return Support("missing", "slowpath diagnose tries variables near it")
    width = bracket.up_to - bracket.above
    if width > EXACT_BYTES:
        return Support("missing", evidence=table)
    return Support("shown", "the library's own table", table)


SLOW_PATH: SlowPath = SlowPath(
    observe=observe,
    witnesses=witnesses,
    kind="property",
    refinements=("switch",),
    probes=("lengths",),
    program_remedies=(
        PROGRAM_LONGER_EAGER,
        PROGRAM_TWO_COPIES,
    ),
    **page_of("SP013"),
)
