# SPDX-License-Identifier: Apache-2.0
"""Whether the price of a slow path is about messages of the program. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from slowpath.findings.price import When
from slowpath.watch.loads import Load, kind_of
from slowpath.watch.results import MessageClass


@dataclass(frozen=True)
class Program:
    """What a rule may ask of the program as a whole. calls: that it made.  variables: that were set for it."""

    calls: frozenset[str] = frozenset()
    variables: Mapping[str, str] = field(default_factory=dict)
    thread_level: str | None = None


_Side = Callable[[When, MessageClass], bool]
_SIDE: Final[tuple[_Side, ...]] = (
    lambda when, side: not when.memory or kind_of(side.memory) in when.memory,
    lambda when, side: when.below_page_bytes is None or 0 < (side.page_bytes or 0) < when.below_page_bytes,
    lambda when, side: when.first is None or side.first == when.first,
    lambda when, side: when.odd is None or side.is_odd == when.odd,
    lambda when, side: when.below_block_bytes is None or 0 < (side.block_bytes or 0) < when.below_block_bytes,
    lambda when, side: not when.starts or side.start in when.starts,
    lambda when, side: not when.calls or side.call.removesuffix("_c") in when.calls,
)
_Whole = Callable[[When, Load, Program], bool]
_WHOLE: Final[tuple[_Whole, ...]] = (
    lambda when, load, program: when.least_bytes <= load.bytes <= (when.most_bytes or load.bytes),
    lambda when, load, program: not when.made or bool(when.made & program.calls),
    lambda when, load, program: not when.set or bool(when.set & program.variables.keys()),
    lambda when, load, program: when.thread_level in (None, program.thread_level),
)


def holds(when: When, load: Load, program: Program) -> bool:
    """Whether a row is about these messages."""
    return all(test(when, load, program) for test in _WHOLE) and any(
        all(test(when, side) for test in _SIDE) for side in load.sides
    )
