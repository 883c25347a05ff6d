# SPDX-License-Identifier: Apache-2.0
"""From the files of a folder to what was counted."""

from __future__ import annotations

import bisect
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from slowpath.core.decoding import DAMAGE
from slowpath.core.errors import RecordError
from slowpath.core.files import read_bytes
from slowpath.studies.counting.model import AddressRange, Call, ProcessCount, SteppedFunction, Trouble

# The lines of a process's file (docs/how-to/count.md), and from addresses to places in files.

VERSION = 1
MAPPING = re.compile(r"([0-9a-f]+)-([0-9a-f]+) \S{4} ([0-9a-f]+) \S+ \d+ *(.*)")


class ProcessLine(msgspec.Struct, tag_field="event", tag="process"):
    """The first line: what runs where."""

    version: int
    method: str
    host: str
    pid: int
    rank: str | None
    program: str
    function: str
    skip: int
    calls: int


class FoundLine(msgspec.Struct, tag_field="event", tag="found"):
    """A library that defines the function."""

    library: str


class UncountableLine(msgspec.Struct, tag_field="event", tag="uncountable"):
    """A library whose function can't be counted."""

    library: str | None
    reason: str


class MappingsLine(msgspec.Struct, tag_field="event", tag="mappings"):
    """Executable lines of /proc/PID/maps; they hold for the calls that follow."""

    lines: list[str]


class CallLine(msgspec.Struct, tag_field="event", tag="call"):
    """One call; `at`: address, how often it was stepped, how often retired."""

    call: int
    thread: int
    stepped: int | None
    retired: int | None
    reason: str | None
    at: list[tuple[int, int, int]]


class EndLine(msgspec.Struct, tag_field="event", tag="end"):
    """The process ended in good order."""

    calls: int


Line = ProcessLine | FoundLine | UncountableLine | MappingsLine | CallLine | EndLine
_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)


def decode_lines(data: bytes) -> tuple[list[Line], int]:
    """The lines that can be read, and how many can't: the last may be cut off."""
    lines: list[Line] = []
    damaged = 0
    for text in filter(None, data.split(b"\n")):
        try:
            lines.append(_DECODER.decode(text))
        except DAMAGE:
            damaged += 1
    return lines, damaged


def parse_mappings(lines: Sequence[str]) -> list[AddressRange]:
    """Sorted by address, as the kernel tells them."""
    found = [match for match in map(MAPPING.match, lines) if match]
    return [AddressRange(int(m[1], 16), int(m[2], 16), int(m[3], 16), _text(m[4])) for m in found]


def _text(letters: str) -> str:
    """A path, of which each byte came as one letter."""
    return letters.encode("latin-1", "replace").decode("utf-8", "replace")


def place(mappings: Sequence[AddressRange], address: int) -> tuple[str, int] | None:
    """(path, offset in it) of an address; None: nothing known is mapped there."""
    at = bisect.bisect_right([mapping.begin for mapping in mappings], address) - 1
    if at < 0 or address >= mappings[at].end or not mappings[at].path:
        return None
    return mappings[at].path, address - mappings[at].begin + mappings[at].offset_bytes


Place = tuple[str, int]  # path, offset in bytes
Name = tuple[str, str]  # library, function
UNKNOWN: Name = ("?", "?")
NameAll = Callable[[Sequence[Place]], Mapping[Place, Name]]


def read_folder(folder: Path, name_all: NameAll) -> list[ProcessCount]:
    """Return each process's counts, by rank, then host and process.

    name_all: the function at each place.
    Raises: RecordError: the folder can't be read, or is of another version.
    """
    data = [(path, read_bytes(path, within=folder)) for path in sorted(folder.glob("*.jsonl"))]
    counts = [made for path, text in data if (made := process_count(path, text, name_all)) is not None]
    return sorted(counts, key=_order)


def process_count(path: Path, data: bytes, name_all: NameAll) -> ProcessCount | None:
    """Return what one file says; None if the process died before it said what it is."""
    lines, damaged = decode_lines(data)
    about = next((line for line in lines if isinstance(line, ProcessLine)), None)
    if about is None:
        return None
    if about.version != VERSION:
        raise RecordError(
            f"{path}: has version {about.version}, but this slowpath reads version {VERSION}; use counting library "
            "and slowpath of the same installation"
        )
    ends = [line.calls for line in lines if isinstance(line, EndLine)]
    return ProcessCount(
        host=about.host,
        pid=about.pid,
        rank=about.rank,
        program=about.program,
        function=about.function,
        method=about.method,
        skip=about.skip,
        libraries=tuple(dict.fromkeys(line.library for line in lines if isinstance(line, FoundLine))),
        troubles=tuple(Trouble(line.library, line.reason) for line in lines if isinstance(line, UncountableLine)),
        calls_met=ends[-1] if ends else None,
        calls=tuple(
            Call(line.call, line.thread, line.stepped, line.retired, line.reason)
            for line in lines
            if isinstance(line, CallLine)
        ),
        shares=_shares(lines, name_all),
        damaged=damaged,
    )


def _shares(lines: Iterable[Line], name_all: NameAll) -> tuple[SteppedFunction, ...]:
    stepped: Counter[Place | None] = Counter()
    retired: Counter[Place | None] = Counter()
    mappings: Sequence[AddressRange] = ()
    known: dict[int, Place | None] = {}
    for line in lines:
        if isinstance(line, MappingsLine):
            mappings, known = parse_mappings(line.lines), {}
        elif isinstance(line, CallLine):
            for address, times, as_one in line.at:
                if address not in known:
                    known[address] = place(mappings, address)
                stepped[known[address]] += times
                retired[known[address]] += as_one
    names = name_all([where for where in stepped if where is not None])
    return _by_function(stepped, retired, names)


def _by_function(
    stepped: Counter[Place | None], retired: Counter[Place | None], names: Mapping[Place, Name]
) -> tuple[SteppedFunction, ...]:
    sums: dict[Name, tuple[int, int]] = {}
    for where, times in stepped.items():
        name = UNKNOWN if where is None else names.get(where, UNKNOWN)
        before = sums.get(name, (0, 0))
        sums[name] = (before[0] + times, before[1] + retired[where])
    shares = [SteppedFunction(library, function, *both) for (library, function), both in sums.items()]
    return tuple(sorted(shares, key=lambda share: (-share.stepped, share.library, share.function)))


def _order(count: ProcessCount) -> tuple[bool, int, str, int]:
    number = int(count.rank) if count.rank is not None and count.rank.isdecimal() else 0
    return (count.rank is None, number, count.host, count.pid)
