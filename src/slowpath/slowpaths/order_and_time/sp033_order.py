# SPDX-License-Identifier: Apache-2.0
"""SP033: messages that are slow for the order in which buffers or lengths follow one another."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.units import format_bytes
from slowpath.findings.facts import Facts, Slowdown
from slowpath.findings.observed import Screened, Wording, alone_or_screened, levels
from slowpath.findings.slow_path import Observation, SlowPath

ORDER = "order"
OTHER = "other_bytes"


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts between orders of the live buffers, and between alike lengths and two by turns."""
    return [*alone_or_screened(facts, (ORDER,), _of_buffers), *alone_or_screened(facts, (OTHER,), _of_lengths)]


def _of_buffers(one: Slowdown | Screened) -> Wording:
    slow, fast = levels(one)
    return Wording(
        f"{{size}}messages from buffers in {slow} order",
        f"in {fast} order",
        "order of buffers",
        affects_default=True,
    )


def _of_lengths(one: Slowdown | Screened) -> Wording:
    slow, fast = (_between(value) for value in levels(one))
    return Wording(f"{{size}}messages {slow}", f"those {fast}", "lengths by turns", affects_default=True)


def _between(value: str) -> str:
    return (
        "that follow their like" if value == "none" else f"that take turns with messages of {format_bytes(int(value))}"
    )


SLOW_PATH: SlowPath = SlowPath(
    code="SP033",
    name="order of messages",
    title="Messages are slower in one order of buffers or sizes than in another",
    what="Prefetchers, translation caches and registration caches serve one order of buffers or lengths and fail in "
    "another.",
    needs="A screening design, then the order (forward, reverse, shuffled) and the other length by themselves.",
    remedy="Use buffers in the order in which they were allocated, and keep long and short messages apart.",
    observe=observe,
    cause="What the library or the machine remembers of the last message does not fit the next one.",
    hypotheses=(
        "a cache of the library, of translations or of data serves only one order",
        "two alternating protocols disturb each other",
        "every second message is slow, whatever its length or buffer",
    ),
    needs_law=False,
    kind="fault",
    probes=("screening", "screening of short messages", "screening of long messages"),
    factors=("order", "other_bytes"),
)
