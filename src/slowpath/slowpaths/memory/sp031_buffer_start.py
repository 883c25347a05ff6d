# SPDX-License-Identifier: Apache-2.0
"""SP031: messages whose buffer starts off a boundary of pages or cache lines."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from slowpath.core.units import side_values
from slowpath.findings.facts import Facts, Slowdown
from slowpath.findings.laws import difference_law, over_lengths
from slowpath.findings.observed import Screened, Wording, alone_or_screened, levels
from slowpath.findings.slow_path import HOST, Observation, ProgramPrice, SlowPath, When, set_to
from slowpath.stats.laws.law import FittedLaw

OFFSET = "offset_bytes"


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts between starts of the buffer in its allocation, each side by itself, or a screening design."""

    def law(group: Sequence[Slowdown]) -> FittedLaw | None:
        top = max(group, key=lambda one: one.excess_s)
        return partial(difference_law, minimum_effect=facts.minimum_effect)(over_lengths(facts, top))

    return alone_or_screened(facts, (OFFSET,), _wording, law)


def _wording(one: Slowdown | Screened) -> Wording:
    sides = [one.side] if isinstance(one, Screened) and one.side else _sides(*levels(one))
    whose = " and ".join(f"{side}'s" for side in sides)
    index = 1 if sides == ["receiver"] else 0
    slow, fast = (_start(side_values(value)[index]) for value in levels(one))
    return Wording(
        f"{{size}}messages whose {whose} buffer starts {slow}",
        f"with a start {fast}",
        f"start of the buffer, {' and '.join(sides)}",
        affects_default=True,
    )


def _sides(slow: str, fast: str) -> list[str]:
    """On which sides two starts differ."""
    pairs = zip(("sender", "receiver"), side_values(slow), side_values(fast), strict=True)
    return [side for side, one, other in pairs if one != other]


def _start(offset: str) -> str:
    return "on a page boundary" if int(offset) % 4096 == 0 else f"{int(offset) % 4096} B behind a page boundary"


SLOW_PATH: SlowPath = SlowPath(
    code="SP031",
    name="buffer start",
    title="Message speed depends on where the buffer starts",
    what="The same message takes longer from, or into, a buffer that starts off a page or a cache line. malloc "
    "starts long blocks 16 B behind a page.",
    needs="A screening design, then either start by itself over six lengths and four starts: a law in bytes, or a "
    "constant.",
    remedy="Start communication buffers on a page: posix_memalign, aligned_alloc or mmap.",
    observe=observe,
    cause="Copies, or the path that the library takes, depend on where the buffer starts.",
    hypotheses=(
        "the copy uses another routine, or more steps, from this start",
        "the library takes another path for a buffer that does not start on a page",
        "one more page is looked up, mapped or registered",
    ),
    kind="property",
    probes=("screening", "screening of short messages", "screening of long messages"),
    factors=("offset_bytes",),
    prices=(
        ProgramPrice(
            "start of the buffer",
            When(memory=HOST, starts=frozenset({"elsewhere"}), least_bytes=4096, first=False),
            "from buffers that start off a cache line",
            None,
            set_to("offset_bytes", "0"),
        ),
    ),
)
