# SPDX-License-Identifier: Apache-2.0
"""The program's messages as the engine sends them: parameters of `p2p`, and which rules are about them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from msgspec.structs import replace

from slowpath.diagnose.tasks import ProgramSpent, ProgramUse
from slowpath.diagnose.tune.cells import Use, tunable
from slowpath.findings.facts import HUGE_PAGE_BYTES
from slowpath.findings.program_pattern import grouped
from slowpath.findings.slow_path import When
from slowpath.watch.results import CallCount, MessageClass, WatchResults

Ints = npt.NDArray[np.int64]

# How a watch calls a memory kind -> how the engine allocates the same.
MEMORY: Final[Mapping[str, str]] = {
    "heap": "host",
    "mapping": "host",
    "stack": "host",
    "static data": "host",
    "shared mapping": "host",
    "MPI's": "mpi",
    "pinned host memory": "pinned_host",
    "device memory": "device",
    "managed memory": "managed",
}
GPU_MEMORY: Final = frozenset({"device", "managed"})
_START: Final[Mapping[str, int]] = {"page": 0, "line": 64, "elsewhere": 16, "not known": 0}


@dataclass(frozen=True)
class Load:
    """Messages that are alike on both sides.

    sender, receiver: their classes; None: the other side was not recorded.  count: messages, all ranks.
    bytes: mean length.  One of the sides is there.
    """

    sender: MessageClass | None
    receiver: MessageClass | None
    count: int
    bytes: int

    @property
    def sides(self) -> tuple[MessageClass, MessageClass]:
        """Sender and receiver; the one that is not known is taken to be like the other."""
        known = [side for side in (self.sender, self.receiver) if side is not None]
        return self.sender or known[0], self.receiver or known[0]

    @property
    def lead(self) -> MessageClass:
        """The class that prices are listed under: the sender's where it is known."""
        return self.sides[0] if self.sender else self.sides[1]

    def transfer_s(self, ranks: int) -> float | None:
        """Of one message, both sides together, seconds; None: not matched."""
        known = [side for side in (self.sender, self.receiver) if side is not None and side.count]
        if not known or any(side.transfer_s is None for side in known):
            return None
        return sum((side.transfer_s or 0.0) * ranks / side.count for side in known)


def loads_of(classes: Sequence[MessageClass], calls: Sequence[CallCount], pairs: Ints | None = None) -> list[Load]:
    """The program's messages from rank to rank, each counted once: at its sender where that is known.

    Args: pairs: shape (n, 2), classes of sender and receiver of each matched message; None: nothing was matched. The
          counts of the classes are exact, so a class is shared out as its matched messages are.
    """
    between_two = {call.name for call in calls if call.family == "point to point"}
    classes = [message_class for message_class in classes if message_class.call in between_two]
    by_id = {message_class.id: message_class for message_class in classes}
    split: dict[int, list[tuple[int, int]]] = {}
    met: set[int] = set()
    if pairs is not None and len(pairs):
        number, first = grouped(pairs[:, 0], pairs[:, 1])
        for (sender, receiver), count in zip(pairs[first].tolist(), np.bincount(number).tolist(), strict=True):
            split.setdefault(sender, []).append((receiver, count))
            met.add(receiver)
    loads: list[Load] = []
    for message_class in classes:
        if message_class.side in ("send", "both") and message_class.count:
            shares = split.get(message_class.id, [])
            total = sum(count for _, count in shares)
            loads += [
                _load(message_class, by_id.get(other), round(message_class.count * count / total))
                for other, count in shares
                if count
            ] or [_load(message_class, None, message_class.count)]
    if not loads:  # a record of receivers alone
        loads = [
            _load(None, message_class, message_class.count)
            for message_class in classes
            if message_class.side == "receive" and message_class.count
        ]
    return [load for load in loads if load.count]


def _load(sender: MessageClass | None, receiver: MessageClass | None, count: int) -> Load:
    lead = sender or receiver
    assert lead is not None
    return Load(sender, receiver, count, round(lead.bytes / lead.count))


def p2p_parameters(load: Load) -> dict[str, str] | None:
    """The cell that is this message; None: the engine has none."""
    sender, receiver = load.sides
    kinds = [MEMORY.get(side.memory) for side in (sender, receiver)]
    if None in kinds:
        return None
    blocks = [side.block_bytes for side in (sender, receiver)]
    if None not in blocks and blocks[0] != blocks[1]:
        return None
    block = next((length for length in blocks if length is not None), None)
    length = load.bytes
    parameters = {"message_bytes": str(length), "memory": _sides([kind or "" for kind in kinds])}
    parameters["pages"] = _sides([pages_of(side) for side in (sender, receiver)])
    if block is not None:
        length = max(block, length - length % block)
        parameters |= {"message_bytes": str(length), "block_bytes": str(block)}
        parameters["datatype"] = _sides([_datatype(side) for side in (sender, receiver)])
    offsets = [_START.get(side.start, 0) for side in (sender, receiver)]
    odd = [side.allocation_bytes if side.is_odd else None for side in (sender, receiver)]
    if any(odd) and set(kinds) & GPU_MEMORY:
        lengths = [max(allocated or length, length) for allocated in odd]
        parameters |= {"buffer_bytes": _sides([str(allocated) for allocated in lengths])}
    elif any(offsets):
        parameters |= {"offset_bytes": _sides([str(offset) for offset in offsets])}
        parameters |= {"overalloc_bytes": _sides([str(offset) for offset in offsets])}
    return parameters


def _datatype(side: MessageClass) -> str:
    """As the engine names it: libraries move blocks at one stride otherwise than blocks that they have to look up."""
    if side.block_bytes is None:
        return "contiguous"
    return "indexed_uneven" if side.is_uneven else "vector"


def pages_of(side: MessageClass) -> str:
    """As the engine names them."""
    if side.memory == "shared mapping":
        return "shared"
    if MEMORY.get(side.memory) != "host" or side.page_bytes is None:
        return "default"
    return "huge" if side.page_bytes >= HUGE_PAGE_BYTES else "small"


def _sides(values: Sequence[str]) -> str:
    return values[0] if values[0] == values[1] else ":".join(values)


_Side = Callable[[When, MessageClass], bool]
_SIDE: Final[tuple[_Side, ...]] = (
    lambda when, side: not when.memory or side.memory in when.memory,
    lambda when, side: when.below_page_bytes is None or 0 < (side.page_bytes or 0) < when.below_page_bytes,
    lambda when, side: when.first is None or side.first == when.first,
    lambda when, side: when.odd is None or side.is_odd == when.odd,
    lambda when, side: when.below_block_bytes is None or 0 < (side.block_bytes or 0) < when.below_block_bytes,
)


def holds(when: When, load: Load) -> bool:
    """Whether a row is about these messages."""
    return when.least_bytes <= load.bytes and any(all(test(when, side) for test in _SIDE) for side in load.sides)


def program_use(results: WatchResults) -> ProgramUse:
    """The program for a diagnosis; its groups of cells are not known yet."""
    ranks = max(1, len(results.ranks))
    return ProgramUse(
        name=results.program.program,
        ranks=results.program.ranks,
        span_s=sum(rank.span_s for rank in results.ranks) / ranks,
        mpi_s=sum(rank.mpi_s for rank in results.ranks) / ranks,
        spent=list(_spent(results)),
        place=list(results.place or ()),
    )


def _spent(results: WatchResults) -> Iterator[ProgramSpent]:
    families = {call.name: call.family for call in results.calls}
    for alike in results.classes:
        waited_s = alike.wait_s or 0.0
        seconds = alike.transfer_s if alike.transfer_s is not None else max(0.0, alike.time_s - waited_s)
        family = families.get(alike.call)
        if family not in ("point to point", "one-sided") or seconds <= 0:
            continue
        yield ProgramSpent(
            experiment="put" if family == "one-sided" else "p2p",
            seconds=seconds,
            low_bytes=alike.bytes_low,
            high_bytes=alike.bytes_high,
            memory=MEMORY.get(alike.memory, "host"),
            is_first=alike.first,
            is_strided=alike.block_bytes is not None,
            is_nonblocking=alike.call.startswith("MPI_I"),
        )
    for call in results.collectives:
        # One call is a call on each of its ranks: a rank outside of its communicator spends nothing there.
        seconds = call.work_s * call.count * call.ranks / max(1, results.program.ranks)
        if seconds > 0:
            yield ProgramSpent(
                experiment="coll",
                seconds=seconds,
                low_bytes=call.bytes,
                high_bytes=call.bytes,
                collective=call.collective,
            )


def collective_uses(results: WatchResults, library: str) -> tuple[list[Use], dict[str, float]]:
    """The blocking collectives of the program, most time of a rank first; and those that no tuning knows, with theirs.

    Lengths of one size class are one use. A communicator that not all ranks are in counts for those that are.

    Args: library: that is to be tuned.
    """
    world, known = max(1, results.program.ranks), set(tunable(library))
    by_key: dict[tuple[str, int, int], Use] = {}
    others: dict[str, float] = {}
    for kind in results.collectives:
        seconds = kind.work_s * kind.count * kind.ranks / world
        if kind.collective not in known:
            others[kind.call] = others.get(kind.call, 0.0) + seconds
            continue
        length = 0 if kind.collective == "barrier" else _whole(kind.bytes)
        key = (kind.collective, kind.ranks, length.bit_length())
        before = by_key.get(key, Use(kind.collective, kind.ranks, length, 0, 0.0))
        by_key[key] = replace(before, calls=before.calls + kind.count, seconds=before.seconds + seconds)
    uses = sorted(by_key.values(), key=lambda use: use.seconds, reverse=True)
    return uses, dict(sorted(others.items(), key=lambda item: -item[1]))


def _whole(length: int) -> int:
    """A length of the same class that is a whole number of doubles, or of ints."""
    return length - length % 8 if length >= 8 else length - length % 4 if length >= 4 else length
