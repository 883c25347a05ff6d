# SPDX-License-Identifier: Apache-2.0
"""SP013: a protocol switch at a length where it makes messages slower."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.switches import observed
from slowpath.findings.evidence.variables import protocol_limits, variables_near
from slowpath.findings.rule import Leg, Observation, Rule

NEAR_BYTES = 64  # headers lie between a threshold and the length at which it shows
EXACT_BYTES = 64  # a bracket no wider than this can be attributed


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Lines of message lengths with a switch at which the two sides' costs differ clearly."""
    return observed(evidence)


def witnesses(evidence: Evidence, seen: Observation) -> Leg:
    """A control variable of the library that has the value of the switch, or UCX's own table."""
    if seen.law is None or not seen.law.brackets:
        return Leg("missing", "no law of segments")
    bracket, where = seen.law.brackets[0], (seen.place.mpi, seen.place.environment)
    low, high = bracket.above - NEAR_BYTES, bracket.up_to + NEAR_BYTES
    found = variables_near(evidence.run, *where, low, high)
    table = protocol_limits(evidence.run, *where, low, high)
    if found is None and not table:
        return Leg("missing", "the library's control variables (MPI_T) were not recorded; needs witness = true")
    lines = (*(f"{one.name} = {one.value:.0f}{one.about}" for one in found or ()), *table)
    if not lines:
        return Leg("missing", "no control variable of the library has the value of the switch")
    width = bracket.up_to - bracket.above
    if width > EXACT_BYTES:
        return Leg("missing", f"the switch is known to {width:.0f} bytes; refine it first", lines)
    return Leg("shown", "a variable or a table of the library has the value of the switch", lines)


RULE = Rule(
    code="SP013",
    name="protocol switch",
    title="A protocol switch makes messages near its length slower",
    what="Libraries send short messages at once (eager) and ask before long ones (rendezvous), with a fixed threshold.",
    shows="The time jumps at one length: messages just above a threshold take 1.25 times as long as the "
    "protocol below would take, or the other way round; where a variable of yours sets it, `slowpath diagnose` says "
    "so from 1.03 on.",
    why="The threshold was set for another machine, memory or number of ranks, or by a variable.",
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
