# SPDX-License-Identifier: Apache-2.0
"""SP009: single copy inside a node refused, missing, or slower than it should be."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slowpath.core.finding_results import Rival
from slowpath.findings.facts import CLEAR_RATIO, Facts, Slowdown, number
from slowpath.findings.laws import difference_law
from slowpath.findings.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.slow_path import EAGER, Observation, SlowPath, Support, leaving
from slowpath.findings.witness import NOT_COUNTED, sides, single_copy_bytes
from slowpath.slowpaths.remedies import HUGE_PAGES, PROGRAM_HUGE_PAGES, PROGRAM_RESERVED_HUGE_PAGES, PROGRAM_TWO_COPIES

_STATE = "single_copy_off"
FEWEST_LENGTHS = 2  # at which single copy has to be the slower way, where it is not clearly so at one
OFF = "single copy off"
ON = "single copy on"


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of environments in which one side has single copy off: whichever is slower is reported."""
    found = [
        slowdown
        for slowdown in facts.slowdowns("environment", phase="steady")
        if _slow_side(facts, slowdown) is not None
    ]
    groups = grouped(found, lambda one: (_slow_side(facts, one), *place_key(one.slow, "environment")))
    return [_observation(facts, group) for group in groups if _is_firm(facts, group)]


def _is_firm(facts: Facts, group: Sequence[Slowdown]) -> bool:
    """Whether the next run will say the same. What single copy costs more than two copies follows the length; how fast
    one length goes follows where a launch's buffers lie, too, by a quarter and more. So a default that is the slow side
    at one length alone, and not clearly, is no slow path.
    """
    if _slow_side(facts, group[0]) == OFF:
        return True
    lengths = {number(slowdown.slow, "message_bytes") for slowdown in group}
    return len(lengths) >= FEWEST_LENGTHS or max(slowdown.ratio.least for slowdown in group) >= CLEAR_RATIO


def _slow_side(facts: Facts, one: Slowdown) -> str | None:
    """Which state the slow side is in; None: the contrast is not about single copy."""
    slow, fast = facts.setting(one.slow) == _STATE, facts.setting(one.fast) == _STATE
    if slow and not fast and facts.as_found(one.fast):
        return OFF
    return ON if fast and not slow and facts.as_found(one.slow) else None


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    default = facts.is_default(group[0].slow)
    wording = (
        Wording("{size}messages without single copy", "with it", OFF, default)
        if _slow_side(facts, group[0]) == OFF
        else Wording("{size}messages by single copy", "through shared memory", ON, default)
    )
    return slowdown_observed(facts, group, wording, partial(difference_law, minimum_effect=facts.minimum_effect))


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Bytes per message that one process copied from the other's memory, on both sides."""
    slow, fast = sides(facts, seen)
    length = number(slow, "message_bytes") or 0.0
    bytes_slow, bytes_fast = (single_copy_bytes(cell, seen.phase) for cell in (slow, fast))
    if bytes_slow is None or bytes_fast is None:
        return Support("missing", NOT_COUNTED)
    off, on = (bytes_slow, bytes_fast) if seen.about == OFF else (bytes_fast, bytes_slow)
    line = f"process_vm_readv and writev copy {on:.4g} of {length:.0f} bytes with single copy, {off:.4g} without"
    if on >= length / 2 > 0 and off < length / 2:
        return Support("shown", "only one side makes the calls of a single copy", (line,))
    return Support("refuted", "the calls do not differ as they must between single copy on and off", (line,))


_SMALL_PAGES = Rival(
    name="small pages",
    cause="A single copy is slow from these pages (SP008): on huge pages both paths are equally fast.",
)

LEAVE_SINGLE_COPY_OFF = leaving("single_copy_off", "let messages inside a node be copied once", EAGER)

SLOW_PATH: SlowPath = SlowPath(
    code="SP009",
    name="single copy",
    title="Single copy inside a node is unavailable or slow",
    what="Long messages inside a node are copied twice through shared memory, not once from process to process: the "
    "kernel refuses process_vm_readv, the library lacks it, or a variable turned it off. From small pages "
    "single copy can be the slower way.",
    needs="The same messages with the library's default and with single copy off. Explained when counted calls of "
    "process_vm_readv carry the message on one side alone.",
    remedy="Allow it (ptrace_scope 0, the container's seccomp profile) and unset what turns it off.",
    observe=observe,
    cause="One side copies messages through shared memory, the other from process to process.",
    witnesses=witnesses,
    hypotheses=(
        "single copy is off, refused or missing on the slow side",
        "single copy is slow from these pages",
    ),
    needs_law=False,
    kind="fault",
    rivals=(_SMALL_PAGES,),
    probes=("paths", "short messages"),
    remedies=(
        *LEAVE_SINGLE_COPY_OFF,
        HUGE_PAGES,
    ),
    program_remedies=(
        PROGRAM_HUGE_PAGES,
        PROGRAM_RESERVED_HUGE_PAGES,
        PROGRAM_TWO_COPIES,
    ),
    forced_state="single_copy_off",
)
