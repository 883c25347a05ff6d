# SPDX-License-Identifier: Apache-2.0
"""The lines of a process's file (docs/studies/counting.md), and from addresses to places in files."""

from __future__ import annotations

import bisect
import re
from collections.abc import Sequence

import msgspec

from slowpath.core.decoding import DAMAGE
from slowpath.studies.counting.model import Mapping

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


def parse_mappings(lines: Sequence[str]) -> list[Mapping]:
    """Sorted by address, as the kernel tells them."""
    found = [match for match in map(MAPPING.match, lines) if match]
    return [Mapping(int(m[1], 16), int(m[2], 16), int(m[3], 16), _text(m[4])) for m in found]


def _text(letters: str) -> str:
    """A path, of which each byte came as one letter."""
    return letters.encode("latin-1", "replace").decode("utf-8", "replace")


def place(mappings: Sequence[Mapping], address: int) -> tuple[str, int] | None:
    """(path, offset in it) of an address; None: nothing known is mapped there."""
    at = bisect.bisect_right([mapping.begin for mapping in mappings], address) - 1
    if at < 0 or address >= mappings[at].end or not mappings[at].path:
        return None
    return mappings[at].path, address - mappings[at].begin + mappings[at].offset_bytes
