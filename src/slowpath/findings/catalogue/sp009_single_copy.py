# SPDX-License-Identifier: Apache-2.0
"""SP009: single copy inside a node refused, missing, or slower than it should be."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.evidence import witness
from slowpath.findings.evidence.by_contrast import Said, grouped, observation, setting_key
from slowpath.findings.evidence.compared import Compared
from slowpath.findings.evidence.differences import difference_law, number
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.rule import Leg, Observation, Rule

OFF = "single_copy_off"


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Contrasts of environments in which one side has single copy off: whichever is slower is said."""
    found = [one for one in evidence.decided("environment", phase="steady") if _sides(evidence, one) is not None]
    groups = grouped(found, lambda one: (_sides(evidence, one), *setting_key(one.slow, "environment")))
    return [_observation(evidence, group) for group in groups]


def _sides(evidence: Evidence, one: Compared) -> str | None:
    """`off` or `on`: which state the slow side is in; None: the contrast is not about single copy."""
    slow, fast = evidence.setting(one.slow) == OFF, evidence.setting(one.fast) == OFF
    if slow == fast:
        return None
    if slow:
        return "off" if evidence.as_found(one.fast) else None
    return "on" if evidence.as_found(one.slow) else None


def _observation(evidence: Evidence, group: Sequence[Compared]) -> Observation:
    off = _sides(evidence, group[0]) == "off"
    usual = evidence.users_own(group[0].slow)
    said = (
        Said("A message without single copy", "with it", "single copy off", usual)
        if off
        else Said("A message by single copy", "through shared memory", "single copy on", usual)
    )
    law = lambda some: difference_law(some, ("message_bytes",), evidence.minimum_effect)  # noqa: E731
    return observation(evidence, group, said, law)


def witnesses(evidence: Evidence, seen: Observation) -> Leg:
    """Bytes per message that one process copied from the other's memory, on both sides."""
    slow, fast = evidence.cells[seen.slow_cells[0]], evidence.cells[seen.fast_cells[0]]
    length = number(slow, "message_bytes") or 0.0
    bytes_slow, bytes_fast = (witness.single_copy_bytes(cell, seen.phase) for cell in (slow, fast))
    if bytes_slow is None or bytes_fast is None:
        return Leg("missing", "calls were not counted; needs a launch with witness = true")
    off, on = (bytes_slow, bytes_fast) if seen.about == "single copy off" else (bytes_fast, bytes_slow)
    line = f"process_vm_readv and writev copy {on:.4g} of {length:.0f} bytes with single copy, {off:.4g} without"
    if on >= length / 2 > 0 and off < length / 2:
        return Leg("shown", "the calls of a single copy are there on one side and not on the other", (line,))
    return Leg("refuted", "the calls do not differ as single copy on and off must", (line,))


RULE = Rule(
    code="SP009",
    name="single copy",
    title="Single copy inside a node is refused, missing or slower",
    what="Long messages inside a node can be copied once, from process to process, or twice through shared memory.",
    shows="Long messages take two to three times as long, from a threshold of some KiB on; short ones do not change.",
    why="The kernel refuses process_vm_readv (Yama's ptrace_scope, seccomp in containers), the library was "
    "built without it, or a variable turned it off. From small pages a single copy can be the slower way: "
    "SP008.",
    needs="The same messages with the library's default and with single copy off. Explained when counted calls "
    "of process_vm_readv carry the message on one side alone.",
    remedy="Allow it (ptrace_scope 0, the container's seccomp profile) and unset what turns it off.",
    false_alarms="Libraries that never copy once by default (Intel MPI) show no difference, and no finding.",
    sources=("process_vm_readv(2)", "ptrace(2), ptrace_scope", "docs/reference/launching.md"),
    observe=observe,
    cause="Messages are copied through shared memory on one side, and from process to process on the other.",
    witnesses=witnesses,
    hypotheses=("single copy is off, refused or missing on the slow side", "single copy is slow from these pages"),
    needs_law=False,
)
