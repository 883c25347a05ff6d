# SPDX-License-Identifier: Apache-2.0
"""What is compared of a watch: numbers by what they are of, exact ones apart from times. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from slowpath.core.units import format_bytes
from slowpath.watch.report.view_time import waited
from slowpath.watch.results import CallCount, MessageClass, WatchResults

# Their number depends on when messages come, not on what the program sends.
POLLING = ("MPI_Test", "MPI_Iprobe", "MPI_Improbe", "MPI_Request_get_status", "MPI_Parrived")
JUDGED_FAMILIES = ("point to point", "collective", "one-sided", "files")
WHOLE = "the run"


@dataclass(frozen=True)
class Measure:
    """One number of one watch. of: what it is of.  name: calls, bytes, messages, or seconds by what they are.

    is_exact: counted, not measured.  is_judged: a gate looks at it.  share: of the whole of its name; None: no part.
    """

    of: str
    name: str
    value: float
    is_exact: bool
    is_judged: bool
    share: float | None = None


def is_polling(call: str) -> bool:
    """Whether a call may be made again and again until something comes."""
    return call.startswith(POLLING)


def measures(one: WatchResults) -> Iterator[Measure]:
    """Of the run, of each kind of call, and of each class of messages."""
    yield from _whole(one)
    yield from _families(one)
    yield from _classes(one)


def _whole(one: WatchResults) -> Iterator[Measure]:
    yield Measure(WHOLE, "messages", one.coverage.messages, True, True)
    yield Measure(WHOLE, "wall seconds", one.program.wall_s, False, True)
    ranks = max(1, len(one.ranks))
    yield Measure(WHOLE, "seconds in MPI a rank", sum(rank.mpi_s for rank in one.ranks) / ranks, False, True)
    yield Measure(WHOLE, "seconds waiting a rank", sum(map(waited, one.ranks)) / ranks, False, False)


def _families(one: WatchResults) -> Iterator[Measure]:
    by_family: dict[str, list[CallCount]] = defaultdict(list)
    for call in one.calls:
        by_family[call.family].append(call)
    whole_bytes, whole_s = sum(call.bytes for call in one.calls), sum(call.time_s for call in one.calls)
    for family, found in by_family.items():
        judged = family in JUDGED_FAMILIES
        calls = sum(call.calls for call in found if not is_polling(call.name))
        sent, time_s = sum(call.bytes for call in found), sum(call.time_s for call in found)
        yield Measure(family, "calls", calls, judged, judged)
        yield Measure(family, "bytes", sent, True, judged, _share(sent, whole_bytes))
        yield Measure(family, "seconds a rank", time_s, False, False, _share(time_s, whole_s))


def _classes(one: WatchResults) -> Iterator[Measure]:
    """Classes that differ in nothing but the length of their allocation are one: that may change with the input."""
    by_key: dict[str, list[MessageClass]] = defaultdict(list)
    for known in one.classes:
        by_key[class_words(known, one)].append(known)
    whole_bytes, whole_s = sum(known.bytes for known in one.classes), sum(known.time_s for known in one.classes)
    for key, found in by_key.items():
        exact = not any(is_polling(known.call) for known in found)
        count, sent = sum(known.count for known in found), sum(known.bytes for known in found)
        time_s = sum(known.time_s for known in found)
        yield Measure(key, "count", count, exact, False)
        yield Measure(key, "bytes", sent, exact, False, _share(sent, whole_bytes))
        yield Measure(key, "seconds a rank", time_s, False, False, _share(time_s, whole_s))
        yield from _known(key, "seconds waiting a rank", found, lambda known: known.wait_s)
        yield from _known(key, "seconds of transfer a rank", found, lambda known: known.transfer_s)


def _known(
    key: str, name: str, found: list[MessageClass], read: Callable[[MessageClass], float | None]
) -> Iterator[Measure]:
    values = [value for known in found if (value := read(known)) is not None]
    if len(values) == len(found):
        yield Measure(key, name, sum(values), False, False)


def _share(value: float, whole: float) -> float | None:
    return value / whole if whole else None


def class_words(known: MessageClass, one: WatchResults) -> str:
    """What a class is called, the same in two watches: no line, no address, which another build moves."""
    site = one.sites[known.site]
    parts = [known.call, known.side] if known.side in ("send", "receive") else [known.call]
    parts.append("no bytes" if not known.bytes_high else f"{format_bytes(known.bytes_low)} or more")
    parts.append(known.memory.partition(" (")[0])
    parts += [f"{format_bytes(known.page_bytes)} pages"] if known.page_bytes else []
    parts += ["odd length"] * bool(known.is_odd) + ["with gaps"] * (known.block_bytes is not None)
    parts += ["first use"] * known.first
    return ", ".join([*parts, site.function or site.object])
