# SPDX-License-Identifier: Apache-2.0
"""SP013: a protocol switch at a length where it makes messages slower."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.units import format_bytes, format_time
from slowpath.findings.evidence.evidence import Evidence, ProtocolSwitch
from slowpath.findings.evidence.observed import observed
from slowpath.findings.evidence.words import memory, parameter, ratio_words
from slowpath.findings.rule import Observation, Rule, Support

NEAR_BYTES = 64  # headers lie between a threshold and the length at which it shows
EXACT_BYTES = 64  # a bracket no wider than this can be attributed
_METRICS = {
    "half_round_trip_latency_s": "latency",
    "one_way_s": "the one-way time",
    "send_barrier_s": "the time of a send and a barrier",
    "time_per_message_s": "the time per message",
}


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Lines of message lengths with a switch at which the two sides' costs differ clearly."""
    return [_observation(evidence, one) for one in evidence.protocol_switches()]


def _observation(evidence: Evidence, one: ProtocolSwitch) -> Observation:
    bracket = one.law.brackets[0]
    low, high = format_bytes(int(bracket.above)), format_bytes(int(bracket.up_to))
    slow, fast = (format_time(seconds) for seconds in (one.slow_s, one.fast_s))
    times = f"{fast} below, {slow} above" if one.rising else f"{slow} below, {fast} above"
    exact = bracket.up_to - bracket.above <= 1
    where = f"{low} protocol switch" if exact else f"protocol switch between {low} and {high}"
    kinds, pattern = memory(one.cells), parameter(one.cells[0], "pattern").replace("_", " ")
    return observed(
        one,
        about=f"switch, {kinds}",
        place=evidence.place(one.cells, [f"{kinds} memory", pattern, f"switch between {low} and {high}"]),
        text=f"At the {where} {_METRICS.get(one.metric, one.metric)} {'jumps' if one.rising else 'falls'} "
        f"{ratio_words(one.ratio)}: {times}, for a message of {high}.",
        affects_default=evidence.is_default(one.cells[0]),
        cells=tuple(cell.cell for cell in one.cells),
        law=one.law,
        evidence=(f"{ratio_words(one.ratio)}: both sides' lines, launch by launch",),
    )


def witnesses(evidence: Evidence, seen: Observation) -> Support:
    """A control variable of the library that has the value of the switch, or UCX's own table."""
    if seen.law is None or not seen.law.brackets:
        return Support("missing", "no law of segments")
    bracket = seen.law.brackets[0]
    low, high = bracket.above - NEAR_BYTES, bracket.up_to + NEAR_BYTES
    found = evidence.control_variables(seen.place, low, high)
    table = evidence.ucx_protocols(seen.place, low, high)
    if found is None and not table:
        return Support("missing", "the library's control variables (MPI_T) were not recorded; needs witness = true")
    lines = (*(f"{one.name} = {one.value:.0f}{one.about}" for one in found or ()), *table)
    if not lines:
        return Support("missing", "no control variable of the library has the value of the switch")
    width = bracket.up_to - bracket.above
    if width > EXACT_BYTES:
        return Support("missing", f"the switch is known to {width:.0f} bytes; refine it first", lines)
    return Support("shown", "a variable or a table of the library has the value of the switch", lines)


RULE = Rule(
    code="SP013",
    name="protocol switch",
    title="A protocol switch makes messages near its length slower",
    what="Libraries send short messages at once (eager) and ask before long ones (rendezvous), with a fixed threshold.",
    shows="The time jumps at one length: messages just above the threshold take 1.25x as long as by the protocol "
    "below it, or the other way round. Where your own variable sets it, `slowpath diagnose` reports from 1.03x on.",
    why="The threshold was tuned for another machine, memory or number of ranks, or set by a variable.",
    needs="Messages of 8 lengths or more: law 'segments' with the switch as its limit, refined to the byte. "
    "Explained when one of the library's control variables (MPI_T) has that value.",
    remedy="Move the threshold by the library's variable (docs/reference/remedies.md) and measure again.",
    false_alarms="Every protocol pays for what the next one saves: a small step where two protocols cost the same is "
    "right.",
    sources=("MPI-4.1 section 15.3", "docs/internals/laws.md"),
    observe=observe,
    cause="The library changes its protocol at this length.",
    witnesses=witnesses,
)
