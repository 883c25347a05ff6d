# SPDX-License-Identifier: Apache-2.0
"""SP013: a protocol switch at a length where it makes messages slower."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.units import format_bytes, format_time
from slowpath.findings.evidence.evidence import Evidence, ProtocolSwitch
from slowpath.findings.evidence.observed import observed
from slowpath.findings.evidence.words import memory, parameter, ratio_words
from slowpath.findings.observation import Observation, Support
from slowpath.findings.rivals.judges import by_witness
from slowpath.findings.rivals.kinds import claim
from slowpath.findings.rivals.rival import RivalKind
from slowpath.findings.slow_path import SlowPath, SwitchTimes
from slowpath.slowpaths.paths.remedies import PROGRAM_TWO_COPIES
from slowpath.slowpaths.protocol.remedies import PROGRAM_LONGER_EAGER

_UNMOVED = (
    "variables of the library have a value near the switch; whether one of them sets it shows only when it is moved: "
    "slowpath diagnose"
)
NEAR_BYTES = 128  # headers lie between a threshold and the length at which it shows
EXACT_BYTES = 64  # a bracket no wider than this can be compared with a table


_METRICS = {
    "half_round_trip_latency_s": "latency",
    "one_way_s": "the one-way time",
    "send_barrier_s": "the time of a send and a barrier",
    "time_per_message_s": "the time per message",
}


def switch_text(times: SwitchTimes) -> str:
    """Return `At the 8112 B protocol switch latency jumps 1.71x [1.65, 1.77]: 1.90 us below, 3.25 us above`."""
    low, high = format_bytes(int(times.above)), format_bytes(int(times.up_to))
    is_exact = times.up_to - times.above <= 1
    where = f"{low} protocol switch" if is_exact else f"protocol switch between {low} and {high}"
    own = f", where your {times.setting} lies," if times.setting else ""
    change = "jumps" if times.after_s > times.before_s else "falls"
    return (
        f"At the {where}{own} {_METRICS.get(times.metric, times.metric)} {change} {times.ratio}: "
        f"{format_time(times.before_s)} below, {format_time(times.after_s)} above"
    )


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Lines of message lengths with a switch at which the two sides' costs differ clearly."""
    return [_observation(evidence, one) for one in evidence.protocol_switches()]


def _observation(evidence: Evidence, one: ProtocolSwitch) -> Observation:
    bracket = one.law.brackets[0]
    low, high = format_bytes(int(bracket.above)), format_bytes(int(bracket.up_to))
    before_s, after_s = (one.fast_s, one.slow_s) if one.rising else (one.slow_s, one.fast_s)
    said = switch_text(
        SwitchTimes(
            above=bracket.above,
            up_to=bracket.up_to,
            metric=one.metric,
            ratio=ratio_words(one.ratio),
            before_s=before_s,
            after_s=after_s,
        )
    )
    kinds, pattern = memory(one.cells), parameter(one.cells[0], "pattern").replace("_", " ")
    return observed(
        one,
        about=f"switch, {kinds}",
        place=evidence.place(one.cells, [f"{kinds} memory", pattern, f"switch between {low} and {high}"]),
        text=f"{said}, for a message of {high}.",
        affects_default=evidence.is_default(one.cells[0]),
        cells=tuple(cell.cell for cell in one.cells),
        law=one.law,
        evidence=(f"{ratio_words(one.ratio)}: both sides' lines, launch by launch",),
    )


def witnesses(evidence: Evidence, seen: Observation) -> Support:
    """UCX's own table of protocols. A variable that has the value of the switch is only named as near it: whether it
    sets the switch shows when it is moved, which `slowpath diagnose` does.
    """
    if seen.law is None or not seen.law.brackets:
        return Support("missing", "no law of segments")
    bracket = seen.law.brackets[0]
    low, high = bracket.above - NEAR_BYTES, bracket.up_to + NEAR_BYTES
    found = evidence.control_variables(seen.place, low, high)
    table = evidence.ucx_protocols(seen.place, low, high)
    if found is None and not table:
        return Support("missing", "the library's control variables (MPI_T) were not recorded; needs witness = true")
    width = bracket.up_to - bracket.above
    near = tuple(f"{one.name} = {one.value:.0f}{one.about} is near the switch; not moved" for one in found or ())
    if not (near or table):
        return Support("missing", "no control variable of the library has the value of the switch")
    if width > EXACT_BYTES:
        return Support("missing", f"the switch is known to {width:.0f} bytes; refine it first", (*near, *table))
    if table:
        return Support("shown", "the library's own table of protocols has the switch", (*near, *table))
    return Support("missing", _UNMOVED, near)


_CACHE_LEVEL = RivalKind(
    "level of a cache",
    "Longer messages leave a level of the processor's caches.",
    claim("cold cache", "message"),
    "the switch known to the byte, and a variable or the library's own table that has it",
    by_witness("the switch is where the library's own table has it, to the byte"),
)

SLOW_PATH = SlowPath(
    code="SP013",
    name="protocol switch",
    title="A protocol switch makes messages near its length slower",
    what="Libraries send short messages at once (eager) and ask before long ones (rendezvous), with a fixed threshold.",
    shows="The time jumps at one length: messages just above the threshold take 1.25x as long as by the protocol "
    "below it, or the other way round. Where your own variable sets it, `slowpath diagnose` reports from 1.03x on.",
    why="The threshold was tuned for another machine, memory or number of ranks, or set by a variable.",
    needs="Messages of 8 lengths or more: law 'segments' with the switch as its limit, refined to the byte. "
    "Explained when moving one of the library's variables moves the switch, or when UCX's own table has it. A variable "
    "whose value is near the switch is listed as that, and no more.",
    remedy="Move the threshold by the library's variable (docs/reference/remedies.md) and measure again.",
    false_alarms="Every protocol pays for what the next one saves: a small step where two protocols cost the same is "
    "right.",
    sources=("MPI-4.1 section 15.3", "docs/internals/laws.md"),
    observe=observe,
    cause="The library changes its protocol at this length.",
    witnesses=witnesses,
    kind="property",
    claim=claim("path", "message"),
    rivals=(_CACHE_LEVEL,),
    refinements=("switch",),
    switch_text=switch_text,
    probes=("lengths",),
    program_remedies=(
        PROGRAM_LONGER_EAGER,
        PROGRAM_TWO_COPIES,
    ),
    depends=frozenset({"bytes"}),
)
