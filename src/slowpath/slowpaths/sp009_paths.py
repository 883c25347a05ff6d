# SPDX-License-Identifier: Apache-2.0
"""SP009: the way of a message inside a node: single copy off, the network's path, or a default that is slower."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import CLEAR_RATIO, Facts, Slowdown, number
from slowpath.findings.observed import Wording, grouped, place_key, slowdown_observed
from slowpath.findings.slow_path import Observation, SlowPath, Support
from slowpath.findings.witness import sides, single_copy_bytes, socket_bytes
from slowpath.slowpaths.remedies import (
    HUGE_PAGES,
    PROGRAM_HUGE_PAGES,
    PROGRAM_RESERVED_HUGE_PAGES,
    PROGRAM_TWO_COPIES,
    page_of,
)

FEWEST_LENGTHS = 2  # at which the default has to be the slower way, where it is not clearly so at one
OFF, ON = "single copy off", "single copy on"
NETWORK, OWN = "network path", "path inside the node"
_FORCED = {"single_copy_off": OFF, "network_path": NETWORK}  # state of the slow side
_AVOIDED = {"single_copy_off": ON, "network_path": OWN}  # of the fast side, where the default is the slow one
_WORDS = {
    OFF: ("{size}messages without single copy", "with it"),
    ON: ("{size}messages by single copy", "through shared memory"),
    NETWORK: ("{size}messages inside the node through the network path", "over the library's own"),
    OWN: ("{size}messages through the library's own path inside the node", "over the network's"),
}


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of environments in which one side is forced onto another way: whichever is slower is reported."""
    every = facts.slowdowns("environment", phase="steady")
    slowdowns = [slowdown for slowdown in every if _slow_side(facts, slowdown) is not None]
    groups = grouped(slowdowns, lambda pair: (_slow_side(facts, pair), *place_key(pair.slow, "environment")))
    return [_observation(facts, group) for group in groups if _is_firm(facts, group)]


def _is_firm(facts: Facts, group: Sequence[Slowdown]) -> bool:
    """Whether the next run will say the same. What one way costs more than another follows the length; how fast one
    length goes follows where a launch's buffers lie, too, by a quarter and more. So a default that is the slow side at
    one length alone, and not clearly, is no slow path.
    """
    if _slow_side(facts, group[0]) in _FORCED.values():
        return True
    lengths = {number(slowdown.slow, "message_bytes") for slowdown in group}
    return len(lengths) >= FEWEST_LENGTHS or max(slowdown.ratio.least for slowdown in group) >= CLEAR_RATIO


def _slow_side(facts: Facts, slowdown: Slowdown) -> str | None:
    """What the slow side does; None: the contrast is not about a way inside the node."""
    slow, fast = facts.setting(slowdown.slow) or "", facts.setting(slowdown.fast) or ""
    if slow in _FORCED and facts.as_found(slowdown.fast):
        return _FORCED[slow]
    return _AVOIDED.get(fast) if facts.as_found(slowdown.slow) else None


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    about = _slow_side(facts, group[0]) or ""
    wording = Wording(*_WORDS[about], about, facts.as_found(group[0].slow))
    return slowdown_observed(facts, group, wording)


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Bytes that one process copied from the other's memory, or that went through sockets, on one side alone."""
    slow, fast = sides(facts, seen)
    length = number(slow, "message_bytes") or 0.0
    is_forced = seen.about in _FORCED.values()
    forced, own = (slow, fast) if is_forced else (fast, slow)
    is_network = seen.about in (NETWORK, OWN)
    more, less = (forced, own) if is_network else (own, forced)  # that has the calls, and that has not
    counted = [(socket_bytes if is_network else single_copy_bytes)(cell, seen.phase) for cell in (more, less)]
    if counted[0] is None or counted[1] is None:
        return Support("missing")
    calls = "sockets carry" if is_network else "process_vm_readv and writev copy"
    line = f"{calls} {counted[0]:.4g} bytes for a message of {length:.0f} bytes, {counted[1]:.4g} otherwise"
    if counted[0] >= length / 2 > 0 and counted[1] < length / 2:
        return Support("shown", "one side alone", (line,))
    return Support("missing" if is_network else "refuted", "both sides make the same calls", (line,))


SLOW_PATH: SlowPath = SlowPath(
    observe=observe,
    witnesses=witnesses,
    needs_law=False,
    kind="fault",
    probes=("paths", "short messages"),
    remedies=(HUGE_PAGES,),
    program_remedies=(
        PROGRAM_HUGE_PAGES,
        PROGRAM_RESERVED_HUGE_PAGES,
        PROGRAM_TWO_COPIES,
    ),
    **page_of("SP009"),
)
