# SPDX-License-Identifier: Apache-2.0
"""The two sides of a comparison of watches: which folders they are, and the numbers that are compared.

Exact numbers, which were counted, are kept apart from times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec

from slowpath.core.decoding import DAMAGE
from slowpath.core.errors import RecordError, UsageError
from slowpath.core.files import inside, read_bytes
from slowpath.core.limits import FILE_BYTES
from slowpath.core.units import format_bytes
from slowpath.watch.folder import is_watch
from slowpath.watch.results import (
    RESULTS_FILE,
    CallCount,
    MessageClass,
    WatchResults,
    decode_watch_results,
    read_watch_results,
)

MOST_WATCHES = 1000  # of one side


@dataclass(frozen=True)
class WatchSide:
    """One side of a comparison. watches: results by the name of their folder, at least one."""

    path: Path
    names: tuple[str, ...]
    watches: tuple[WatchResults, ...]


class _Shape(msgspec.Struct):
    """What tells results of a watch from those of a run."""

    coverage: msgspec.Raw = msgspec.Raw()
    program: msgspec.Raw = msgspec.Raw()


def is_watch_source(path: Path) -> bool:
    """Whether a comparison of watches is asked for: a watch, several in one folder, or a watch's results.json."""
    if path.is_dir():
        return is_watch(path) or bool(_below(path))
    if path.suffix != ".json" or not path.is_file():
        return False
    try:
        shape = msgspec.json.decode(read_bytes(path, FILE_BYTES[RESULTS_FILE]), type=_Shape)
    except (*DAMAGE, RecordError):
        return False
    return bool(bytes(shape.coverage)) and bool(bytes(shape.program))


def read_side(path: Path) -> WatchSide:
    """As they were concluded; nothing is written.

    Raises: RecordError: no results, damaged, or of another schema; slowpath report WATCH makes them.
    UsageError: more than MOST_WATCHES.
    """
    if path.is_file():
        found = decode_watch_results(read_bytes(path, FILE_BYTES[RESULTS_FILE]), path)
        return WatchSide(path, (path.name,), (found,))
    folders = [path] if is_watch(path) else _below(path)
    if not folders:
        raise RecordError(f"{path}: contains no watch; name a folder that slowpath watch wrote, or a folder of several")
    if len(folders) > MOST_WATCHES:
        raise UsageError(f"{path}: contains {len(folders)} watches, more than the limit of {MOST_WATCHES}")
    return WatchSide(path, tuple(folder.name for folder in folders), tuple(_read(folder) for folder in folders))


def _read(folder: Path) -> WatchResults:
    if not (folder / RESULTS_FILE).is_file():
        raise RecordError(f"{folder}: has no {RESULTS_FILE} yet; make it: slowpath report {folder}")
    return read_watch_results(folder)


def _below(path: Path) -> list[Path]:
    """Watches in a folder that is none itself, by name."""
    try:
        names = sorted(folder.name for folder in path.iterdir() if is_watch(folder))
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}") from error
    return [inside(path, name) for name in names]


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


def measures(results: WatchResults) -> Iterator[Measure]:
    """Of the run, of each kind of call, and of each class of messages."""
    yield from _whole(results)
    yield from _families(results)
    yield from _classes(results)


def _whole(results: WatchResults) -> Iterator[Measure]:
    yield Measure(WHOLE, "messages", results.coverage.messages, True, True)
    yield Measure(WHOLE, "wall seconds", results.program.wall_s, False, True)
    ranks = max(1, len(results.ranks))
    yield Measure(WHOLE, "seconds in MPI a rank", sum(rank.mpi_s for rank in results.ranks) / ranks, False, True)
    yield Measure(WHOLE, "seconds waiting a rank", sum(rank.waiting_s for rank in results.ranks) / ranks, False, False)


def _families(results: WatchResults) -> Iterator[Measure]:
    by_family: dict[str, list[CallCount]] = defaultdict(list)
    for call in results.calls:
        by_family[call.family].append(call)
    whole_bytes, whole_s = sum(call.bytes for call in results.calls), sum(call.time_s for call in results.calls)
    for family, found in by_family.items():
        judged = family in JUDGED_FAMILIES
        calls = sum(call.calls for call in found if not is_polling(call.name))
        sent, time_s = sum(call.bytes for call in found), sum(call.time_s for call in found)
        yield Measure(family, "calls", calls, judged, judged)
        yield Measure(family, "bytes", sent, True, judged, _share(sent, whole_bytes))
        yield Measure(family, "seconds a rank", time_s, False, False, _share(time_s, whole_s))


def _classes(results: WatchResults) -> Iterator[Measure]:
    """Classes that differ in nothing but the length of their allocation are one: that may change with the input."""
    by_key: dict[str, list[MessageClass]] = defaultdict(list)
    for known in results.classes:
        by_key[class_words(known, results)].append(known)
    whole_bytes, whole_s = sum(known.bytes for known in results.classes), sum(known.time_s for known in results.classes)
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


def class_words(known: MessageClass, results: WatchResults) -> str:
    """What a class is called, the same in two watches: no line, no address, which another build moves."""
    site = results.sites[known.site]
    parts = [known.call, known.side] if known.side in ("send", "receive") else [known.call]
    parts.append("no bytes" if not known.bytes_high else f"{format_bytes(known.bytes_low)} or more")
    parts.append(known.memory)
    parts += [f"{format_bytes(known.page_bytes)} pages"] if known.page_bytes else []
    parts += ["odd length"] * bool(known.is_odd) + ["with gaps"] * (known.block_bytes is not None)
    parts += ["first use"] * known.first
    return ", ".join([*parts, site.function or site.object])
