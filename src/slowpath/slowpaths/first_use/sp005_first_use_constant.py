# SPDX-License-Identifier: Apache-2.0
"""SP005: the first use of a buffer costs a constant, or what no law names yet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from slowpath.core.finding_results import Rival
from slowpath.findings.facts import Facts
from slowpath.findings.slow_path import (
    COLD,
    FIRST_METRICS,
    HOST,
    SIDE,
    UNTOUCHED,
    WAITING,
    Observation,
    ProgramPrice,
    SlowPath,
    Support,
    When,
)
from slowpath.slowpaths.first_use.first_uses import PROBES, first_use_witness, first_uses_observed
from slowpath.slowpaths.remedies import KEEP_BUFFERS, PROGRAM_KEEP_FREED_MEMORY, PROGRAM_KEEP_HUGE_PAGES

_UNKNOWN = (
    "a cost by the pages of the allocation (SP001)",
    "a cost by the length of the allocation (SP002)",
    "a cost by the length of the message (SP006)",
    "a constant (SP005)",
)


def observe(facts: Facts) -> Sequence[Observation]:
    """First uses whose excess is constant, and those that follow no law that can be named."""
    found = first_uses_observed(facts, lambda use: use.by in ("constant", "unknown"))
    return [_named(observation) for observation in found]


def witnesses(facts: Facts, seen: Observation) -> Support:
    """Of a constant; a cost that grows, steps or levels off is none of this cause, whatever the kernel does."""
    if seen.law is not None and seen.law.name not in (None, "constant"):
        return Support("missing", f"the law is '{seen.law.name}', no constant")
    return first_use_witness(facts, seen)


def _named(one: Observation) -> Observation:
    return one if one.law is not None and one.law.name == "constant" else replace(one, hypotheses=_UNKNOWN)


_CONNECTION = Rival(
    name="first message of the pair",
    cause="The pair of ranks connects: it is the first message of the pair, not of the buffer.",
)

SLOW_PATH: SlowPath = SlowPath(
    code="SP005",
    name="first use, constant",
    title="The first message from a new buffer is slower than later ones",
    what="The first message pays for something that does not depend on lengths: a connection, a registration, a "
    "cache entry.",
    needs="First and later messages over several lengths of message and allocation: law 'constant' for the excess. "
    "Without a law nothing below 1.25x is reported.",
    remedy="Keep communication buffers, and send one message from each before the time that counts.",
    observe=observe,
    cause="The library sets something up at the first use of a buffer, whatever its length.",
    witnesses=witnesses,
    stronger=("SP001", "SP002", "SP004", "SP006", "SP023", "SP024"),
    kind="property",
    rivals=(_CONNECTION, COLD, UNTOUCHED, WAITING, SIDE),
    probes=PROBES,
    remedies=(KEEP_BUFFERS,),
    program_remedies=(
        PROGRAM_KEEP_FREED_MEMORY,
        PROGRAM_KEEP_HUGE_PAGES,
    ),
    prices=(
        ProgramPrice(
            "fresh host memory",
            When(memory=HOST, first=True, least_bytes=4096),
            "for the first time from their buffers",
            KEEP_BUFFERS,
            metrics=FIRST_METRICS,
            phase="first",
            both_sides=True,
        ),
    ),
)
