# SPDX-License-Identifier: Apache-2.0
"""SP024: fresh buffers over a network pay for their registration each time."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.findings.facts import Facts
from slowpath.findings.slow_path import COLD, SIDE, UNTOUCHED, USER, WAITING, Observation, SlowPath, Support
from slowpath.findings.witness import calls
from slowpath.slowpaths.first_use.first_uses import first_use_witness, first_uses_observed
from slowpath.slowpaths.remedies import HANDLE_CACHE, KEEP_BUFFERS, PROGRAM_KEEP_FREED_MEMORY, PROGRAM_KEEP_HUGE_PAGES

_BY = ("pages", "allocation", "message")


def observe(facts: Facts) -> Sequence[Observation]:
    """First uses over the network's path whose excess grows with a length."""
    return first_uses_observed(facts, lambda use: use.by in _BY and facts.over_network(use.slow))


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Registration goes through ioctl(2) or writes to the driver: calls at first that later messages don't make."""
    slow = facts.cells[seen.slow_cells[0]]
    first, later = (calls(slow, phase, ("ioctl",), "calls_per_op") for phase in ("first", "steady"))
    if first is not None and later is not None and first >= 1 > later:
        line = f"{first:.3g} calls of ioctl for each first message, {later:.3g} for each later one"
        return Support("shown", "law and witness agree", (line,))
    return first_use_witness(facts, seen)


SLOW_PATH: SlowPath = SlowPath(
    code="SP024",
    name="registration of fresh buffers",
    title="Every new buffer is registered with the network card again",
    what="A network card reads registered memory only. Programs that allocate afresh pay for pinning and reporting "
    "every page each time.",
    needs="First and later messages on the network's path, over several lengths: law 'pages', 'bytes' or "
    "'allocation'. Explained by calls of ioctl, page faults or system time at first alone.",
    remedy="Keep communication buffers; check that the registration cache is on (docs/reference/remedies.md).",
    observe=observe,
    cause="Memory is registered with the network card at the first use of a buffer.",
    witnesses=witnesses,
    hypotheses=(
        "memory is registered with the network card",
        "pages or caches are cold at the first use",
    ),
    kind="property",
    rivals=(COLD, UNTOUCHED, WAITING, USER, SIDE),
    remedies=(
        *HANDLE_CACHE,
        KEEP_BUFFERS,
    ),
    program_remedies=(
        PROGRAM_KEEP_FREED_MEMORY,
        PROGRAM_KEEP_HUGE_PAGES,
    ),
)
