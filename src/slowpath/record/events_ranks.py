# SPDX-License-Identifier: Apache-2.0
"""Where the ranks of a launch ran: one by one, or node by node with what a node's ranks share written once
(docs/internals/record.md, `launch_begin`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias, TypeVar

import msgspec

from slowpath.core.limits import Name, Number, Text, Whole
from slowpath.core.plan import Count, RankNumber

_Value = TypeVar("_Value")
_NUMBER = re.compile("[0-9]{1,18}")
# One value that all ranks of a node share, or one for each of them.
Texts: TypeAlias = Text | tuple[Text | None, ...] | None
Integers: TypeAlias = Whole | tuple[Whole | None, ...] | None
Numbers: TypeAlias = Number | tuple[Number | None, ...] | None


class Clock(msgspec.Struct, frozen=True):
    """Calibration of one rank's clock."""

    quantum_ns: Number | None = None
    overhead_ns: Number | None = None
    max_gap_ns: Number | None = None
    getres_ns: Number | None = None
    wtick_s: Number | None = None
    source: Text | None = None


class Rank(msgspec.Struct, frozen=True):
    """Where one rank ran."""

    rank: RankNumber
    host: Name
    pid: Count | None = None
    cpus_allowed: Text | None = None  # kernel list format, "0-1"
    cpu: Count | None = None
    numa_node: Whole | None = None
    clock: Clock | None = None


class NodeClocks(msgspec.Struct, frozen=True):
    """`Clock` of the ranks of one node."""

    quantum_ns: Numbers = None
    overhead_ns: Numbers = None
    max_gap_ns: Numbers = None
    getres_ns: Numbers = None
    wtick_s: Numbers = None
    source: Texts = None


class NodeRanks(msgspec.Struct, frozen=True):
    """`Rank` of the ranks of one node. ranks: "0-3,8".  pid: always one for each, and so what says how many."""

    host: Name
    ranks: Text
    pid: tuple[Count, ...]
    cpus_allowed: Texts = None
    cpu: Integers = None
    numa_node: Integers = None
    clock: NodeClocks | None = None

    def each(self) -> Iterator[Rank]:
        """Rank by rank.  Raises: ValueError: a list is not as long as there are ranks."""
        count = len(self.pid)
        numbers = _numbers(self.ranks, count)
        clocks: Iterable[Clock | None] = [None] * count if self.clock is None else _clocks(self.clock, count)
        allowed, cpus = _spread(self.cpus_allowed, count), _spread(self.cpu, count)
        columns = zip(numbers, self.pid, allowed, cpus, _spread(self.numa_node, count), clocks, strict=True)
        return (Rank(rank, self.host, *facts) for rank, *facts in columns)


def ranks_of(nodes: Iterable[NodeRanks], size: int) -> tuple[Rank, ...]:
    """Return all ranks, by number.  Raises: ValueError: they are not 0 to size - 1, or a list has a wrong length."""
    found = sorted((rank for node in nodes for rank in node.each()), key=lambda rank: rank.rank)
    if [rank.rank for rank in found] != list(range(len(found))) or len(found) != size:
        raise ValueError(f"nodes name {len(found)} ranks, not each of {size} once")
    return tuple(found)


def _clocks(shared: NodeClocks, count: int) -> list[Clock]:
    columns = [_spread(getattr(shared, name), count) for name in Clock.__struct_fields__]
    known: dict[tuple[object, ...], Clock] = {}  # most ranks of a node share one: 4096 ranks are few objects then
    return [known.setdefault(values, Clock(*values)) for values in zip(*columns, strict=True)]


def _spread(column: _Value | tuple[_Value | None, ...] | None, count: int) -> tuple[_Value | None, ...]:
    if not isinstance(column, tuple):
        return (column,) * count
    if len(column) != count:
        raise ValueError(f"a list of {len(column)} values for {count} ranks")
    return column


def _numbers(text: str, count: int) -> list[int]:
    """Return the numbers in "0-3,8"; never more than `count`, whatever a damaged record says."""
    found: list[int] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        if not _NUMBER.fullmatch(first) or (dash and not _NUMBER.fullmatch(last)):
            raise ValueError(f"ranks '{text[:40]}' is not a list such as 0-3,8")
        begin, end = int(first), int(last or first)
        if not 0 <= end - begin < count - len(found):
            raise ValueError(f"ranks '{text[:40]}' are not the {count} of pid")
        found += range(begin, end + 1)
    if len(found) != count:
        raise ValueError(f"ranks '{text[:40]}' are not the {count} of pid")
    return found
