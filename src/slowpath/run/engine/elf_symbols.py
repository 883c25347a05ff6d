# SPDX-License-Identifier: Apache-2.0
"""Which functions and objects a program takes from a library, and a library has, read from their dynamic symbols.

Source: System V ABI, chapter 4 (Symbol Table).
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_DYNAMIC_SYMBOLS = 11  # sh_type
_UNDEFINED, _OBJECT, _WEAK = 0, 1, 2  # st_shndx, st_info's type and binding


@dataclass(frozen=True)
class Symbols:
    """objects: sizes in bytes of what is defined and is data.  wanted: undefined and needed at the start."""

    defined: frozenset[str]
    objects: Mapping[str, int]
    wanted: frozenset[str]


def symbols(path: Path) -> Symbols | None:
    """None: no ELF file of 64 bits in this machine's byte order, or one without section headers."""
    try:
        content = path.read_bytes()
        if content[:4] != b"\x7fELF" or content[4] != 2:
            return None
        return _read(content)
    except (OSError, struct.error, IndexError, StopIteration, ValueError, OverflowError):  # an offset beyond any file
        return None


def _read(content: bytes) -> Symbols:
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
