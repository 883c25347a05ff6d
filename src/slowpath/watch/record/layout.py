# SPDX-License-Identifier: Apache-2.0
"""The record of one watched rank as numpy dtypes, built from schema/watch.json; no offset is written down twice."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from functools import lru_cache
from typing import Any

import numpy as np

from slowpath.core.files import data_folder

NONE_16 = 0xFFFF  # no communicator, no datatype (contiguous bytes)
NONE_32 = 0xFFFFFFFF  # no allocation, no members


class EventKind(IntFlag):
    """Bits of an event's kind."""

    SEND = 1
    RECEIVE = 2
    COLLECTIVE = 4
    ONE_SIDED = 8
    WAIT = 16
    POST = 32
    DONE = 64
    FIRST = 128
    PART = 256
    ANY = 512
    NOTHING = 1024  # a probe or test that found nothing
    PERSISTENT = 2048
    SYNCHRONOUS = 4096
    READY = 8192
    BUFFERED = 16384
    CANCELLED = 32768


class Peer(IntEnum):
    """Peers that are no rank of the world."""

    NONE = -1
    ANY = -2
    OTHERS = -3
    PROC_NULL = -4
    OF_COMMUNICATOR = -1000  # and below: rank -1000 - value of the communicator


class Doing(IntEnum):
    """What a thread does now."""

    OUTSIDE = 0
    IN_CALL = 1
    POLLING = 2


class RecordState(IntEnum):
    """How a record ends."""

    RUNNING = 1
    FINALIZED = 2
    NO_FINALIZE = 3
    THINNING = 4
    NO_ROOM = 5


@dataclass(frozen=True)
class RecordSection:
    """One kind of section."""

    name: str
    number: int
    element: np.dtype[Any]

    def stored(self, element_bytes: int) -> np.dtype[Any]:
        """The element as a writer stored it that knows further fields behind ours."""
        return _dtype(_fields_of(self.element), element_bytes)


@dataclass(frozen=True)
class WatchLayout:
    """schema/watch.json, ready for use."""

    version: int
    magic: bytes
    header: np.dtype[Any]  # the fixed header, without the section table
    header_bytes: int  # with the section table
    most_bytes: int  # of a file
    row: np.dtype[Any]  # of the section table
    sections: Mapping[str, RecordSection]
    interfaces: Mapping[int, str]
    families: Mapping[int, str]
    memory_kinds: Mapping[int, str]

    @property
    def most_sections(self) -> int:
        """Rows of the section table."""
        return (self.header_bytes - self.header.itemsize) // self.row.itemsize

    @property
    def by_number(self) -> Mapping[int, RecordSection]:
        """Section by its number in the table."""
        return {section.number: section for section in self.sections.values()}


@lru_cache(maxsize=1)
def watch_layout() -> WatchLayout:
    """The layout of this version of the package."""
    schema = json.loads((data_folder("schema") / "watch.json").read_text(encoding="utf-8"))
    sections = {
        name: RecordSection(name, entry["number"], _dtype(entry["fields"], entry["element_bytes"]))
        for name, entry in schema["sections"].items()
    }
    row = sections.pop("section_row").element
    last = schema["fields"][-1]
    header_end = last["offset"] + np.dtype(last["type"]).itemsize
    # What stands before the brackets, in which the schema says what belongs to a kind.
    return WatchLayout(
        version=schema["version"],
        magic=schema["magic"].encode("ascii"),
        header=_dtype(schema["fields"], header_end),
        header_bytes=schema["header_bytes"],
        most_bytes=schema["most_bytes"],
        row=row,
        sections=sections,
        interfaces=_numbered(schema["interfaces"]),
        families=_numbered(schema["families"]),
        memory_kinds={kind: text.partition(" (")[0] for kind, text in _numbered(schema["memory_kinds"]).items()},
    )


def _dtype(fields: Sequence[Mapping[str, Any]], itemsize: int) -> np.dtype[Any]:
    return np.dtype(
        {
            "names": [field["name"] for field in fields],
            "formats": [_format(field["type"]) for field in fields],
            "offsets": [field["offset"] for field in fields],
            "itemsize": itemsize,
        }
    )


def _format(kind: Any) -> Any:
    """A field's type; `(48)<u4` is an array of 48, which numpy would have written with a comma."""
    array = re.fullmatch(r"\((\d+)\)(.+)", kind) if isinstance(kind, str) else None
    return (array[2], (int(array[1]),)) if array else kind


def _fields_of(element: np.dtype[Any]) -> list[Mapping[str, Any]]:
    fields: Mapping[str, Any] = element.fields or {}
    return [{"name": name, "type": entry[0], "offset": entry[1]} for name, entry in fields.items()]


def _numbered(table: Mapping[str, str]) -> dict[int, str]:
    return {int(number): meaning for number, meaning in table.items()}
