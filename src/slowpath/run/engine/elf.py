# SPDX-License-Identifier: Apache-2.0
"""Which shared libraries a program asks for, and where it looks, read from its dynamic section.

Source: System V ABI, chapter 5 (Dynamic Linking); ld.so(8) for the order of the search.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_DYNAMIC, _LOAD = 2, 1  # p_type
_NULL, _NEEDED, _STRTAB, _RPATH, _RUNPATH = 0, 1, 5, 15, 29  # d_tag


@dataclass(frozen=True)
class Dynamic:
    """needed: sonames in order.  rpath, runpath: folders, $ORIGIN replaced; with a runpath the rpath is ignored."""

    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]


def dynamic(path: Path) -> Dynamic | None:
    """Return the dynamic section; None: no dynamically linked 64-bit ELF program in this machine's byte order, or a
    damaged one.
    """
    try:
        content = path.read_bytes()
        if content[:4] != b"\x7fELF" or content[4] != 2:
            return None
        return _read(content, str(path.resolve().parent))
    except (OSError, struct.error, IndexError, StopIteration, ValueError, OverflowError):  # an offset beyond any file
        return None


def _read(content: bytes, origin: str) -> Dynamic | None:
    offset, size, count = struct.unpack_from("=Q14xHH", content, 32)
    headers = [struct.unpack_from("=IIQQQQQQ", content, offset + i * size) for i in range(count)]
    found = next((h for h in headers if h[0] == _DYNAMIC), None)
    if found is None:
        return None
    entries = [struct.unpack_from("=qQ", content, found[2] + i) for i in range(0, found[5], 16)]
    entries = entries[: next((i for i, (tag, _) in enumerate(entries) if tag == _NULL), len(entries))]
    table = next(value for tag, value in entries if tag == _STRTAB)
    segment = next(h for h in headers if h[0] == _LOAD and h[3] <= table < h[3] + h[5])
    strings = table - segment[3] + segment[2]

    def text(at: int) -> str:
        begin = strings + at
        return content[begin : content.index(b"\0", begin)].decode(errors="replace")

    def folders(wanted: int) -> tuple[str, ...]:
        words = [text(value) for tag, value in entries if tag == wanted]
        return tuple(folder.replace("$ORIGIN", origin) for word in words for folder in word.split(":") if folder)

    return Dynamic(tuple(text(value) for tag, value in entries if tag == _NEEDED), folders(_RPATH), folders(_RUNPATH))


# Which functions and objects a program takes from a library, and a library has, read from their dynamic symbols.
#
# Source: System V ABI, chapter 4 (Symbol Table).

_DYNAMIC_SYMBOLS = 11  # sh_type
_UNDEFINED, _OBJECT, _WEAK = 0, 1, 2  # st_shndx, st_info's type and binding


@dataclass(frozen=True)
class Symbols:
    """objects: sizes in bytes of what is defined and is data.  wanted: undefined and needed at the start."""

    defined: frozenset[str]
    objects: Mapping[str, int]
    wanted: frozenset[str]


def symbols(path: Path) -> Symbols | None:
    """Return the dynamic symbols; None: no 64-bit ELF file in this machine's byte order, or one without section
    headers.
    """
    try:
        content = path.read_bytes()
        if content[:4] != b"\x7fELF" or content[4] != 2:
            return None
        return _read_symbols(content)
    except (OSError, struct.error, IndexError, StopIteration, ValueError, OverflowError):  # an offset beyond any file
        return None


def _read_symbols(content: bytes) -> Symbols:
    (offset,) = struct.unpack_from("=Q", content, 40)
    size, count = struct.unpack_from("=HH", content, 58)
    sections = [struct.unpack_from("=IIQQQQIIQQ", content, offset + i * size) for i in range(count)]
    table = next(section for section in sections if section[1] == _DYNAMIC_SYMBOLS)
    strings = sections[table[6]][4]
    defined, objects, wanted = set(), {}, set()
    for name_at, info, _, section, _, bytes_ in struct.iter_unpack("=IBBHQQ", content[table[4] : table[4] + table[5]]):
        begin = strings + name_at
        name = content[begin : content.index(b"\0", begin)].decode(errors="replace")
        if section != _UNDEFINED:
            defined.add(name)
            if info & 0xF == _OBJECT:
                objects[name] = bytes_
        elif info >> 4 != _WEAK and name:
            wanted.add(name)
    return Symbols(frozenset(defined), objects, frozenset(wanted))
