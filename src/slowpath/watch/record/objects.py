# SPDX-License-Identifier: Apache-2.0
"""Programs and libraries (ELF): which function holds an address, and which line of which file (DWARF).

The files are those that the record names, as they are now. Whatever is wrong with one costs its names and nothing else.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from slowpath.core.errors import RecordError
from slowpath.core.files import open_regular
from slowpath.watch.record.demangle import demangled

LARGEST_BYTES = 4 * 2**30  # of an object that is looked at
LARGEST_LINES_BYTES = 256 * 2**20  # of its line and unit tables; larger ones take too long to go through
DEBUG_FOLDERS = (Path("/usr/lib/debug"),)
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC


@dataclass(frozen=True)
class Place:
    """Where a call stands. function: demangled; empty: no symbol. file and line: None: no line information."""

    function: str
    file: str | None
    line: int | None


class Object:
    """One ELF file. Raises: RecordError: it is none, or can't be read."""

    def __init__(self, path: Path) -> None:
        from elftools.common.exceptions import ELFError
        from elftools.elf.elffile import ELFFile

        self.path = path
        self._file: BinaryIO = os.fdopen(open_regular(path, LARGEST_BYTES), "rb")
        try:
            self._elf: Any = ELFFile(self._file)
            self._loads = [
                (int(segment["p_offset"]), int(segment["p_filesz"]), int(segment["p_vaddr"]))
                for segment in self._elf.iter_segments()
                if segment["p_type"] == "PT_LOAD"
            ]
        except (ELFError, *_DAMAGE) as error:
            self._file.close()
            raise RecordError(f"{path}: is no program or library: {error}") from error
        if not self._loads:
            self._file.close()
            raise RecordError(f"{path}: is no program or library: nothing of it is loaded")
        self._debug = self._separate_debug()
        self._symbols: tuple[NDArray[Any], bytes] | None = None

    def close(self) -> None:
        """Close its files."""
        if self._debug is not None:
            self._debug.close()
        self._file.close()

    def places(self, offsets: Sequence[int], until: float) -> list[Place]:
        """Of offsets in the file: the instruction before each, since return addresses point behind the call.

        Args: until: time.monotonic() from which on lines are no longer looked up.
        """
        addresses = [self._address(offset - 1) for offset in offsets]
        lines: list[tuple[str, int] | None] = [None] * len(addresses)
        with suppress(*_DAMAGE):
            lines = self._lines(addresses, until)
        found = []
        for address, line in zip(addresses, lines, strict=True):
            name = ""
            with suppress(*_DAMAGE):
                name = demangled(self._function(address)) if address is not None else ""
            found.append(Place(name, line[0] if line else None, line[1] if line else None))
        return found

    def _address(self, offset: int) -> int | None:
        for start, length, address in self._loads:
            if start <= offset < start + length:
                return offset - start + address
        return None

    def _function(self, address: int) -> str:
        """The symbol that holds an address; empty: none."""
        symbols, names = self._symbol_table()
        at = int(np.searchsorted(symbols["value"], address, side="right")) - 1
        # Several symbols may begin at one address; those of no length reach up to the next.
        while at >= 0:
            symbol = symbols[at]
            if address < int(symbol["value"]) + int(symbol["size"]) or symbol["size"] == 0:
                start = int(symbol["name"])
                end = names.find(b"\0", start, start + 2**16)
                name = names[start : max(end, start)].decode("utf-8", "replace")
                return name.split("@")[0]  # without the version that its library gives it
            if at and symbols["value"][at - 1] != symbol["value"]:
                break
            at -= 1
        return ""

    def _symbol_table(self) -> tuple[NDArray[Any], bytes]:
        """Functions by address, and their names: of the debug file, the object's own, or what it exports."""
        if self._symbols is None:
            elves = [self._elf] if self._debug is None else [self._debug._elf, self._elf]
            self._symbols = (np.zeros(0, _SYMBOL), b"")
            for elf in elves:
                table = _symbols(elf, ".symtab", ".strtab")
                if table is not None:
                    self._symbols = table
                    break
            else:
                self._symbols = _symbols(self._elf, ".dynsym", ".dynstr") or self._symbols
        return self._symbols

    def _lines(self, addresses: Sequence[int | None], until: float) -> list[tuple[str, int] | None]:
        from slowpath.watch.record.lines import lines_of

        for source in (self, self._debug):
            if (
                source is not None
                and source._elf.has_dwarf_info(strict=True)
                and source._lines_bytes() <= LARGEST_LINES_BYTES
            ):
                return lines_of(source._elf.get_dwarf_info(), addresses, lambda: time.monotonic() > until)
        return [None] * len(addresses)

    def _lines_bytes(self) -> int:
        sections = [self._elf.get_section_by_name(name) for name in (".debug_line", ".debug_info")]
        return sum(int(section["sh_size"]) for section in sections if section is not None)

    def _separate_debug(self) -> Object | None:
        """By build id, below /usr/lib/debug (GDB's manual, "Separate Debug Files")."""
        with suppress(*_DAMAGE):
            section = self._elf.get_section_by_name(".note.gnu.build-id")
            notes = list(section.iter_notes()) if section is not None else []
            ids = [str(note["n_desc"]) for note in notes if note["n_type"] == "NT_GNU_BUILD_ID"]
            for build_id in ids:
                for folder in DEBUG_FOLDERS:
                    path = folder / ".build-id" / build_id[:2] / f"{build_id[2:]}.debug"
                    if build_id.isalnum() and path.is_file() and path != self.path:
                        return Object(path)
        return None


def _symbols(elf: Any, table: str, strings: str) -> tuple[NDArray[Any], bytes] | None:
    section, names = elf.get_section_by_name(table), elf.get_section_by_name(strings)
    if section is None or names is None or elf.elfclass != 64 or not elf.little_endian:
        return None
    raw = section.data()
    symbols = np.frombuffer(raw, _SYMBOL, count=len(raw) // _SYMBOL.itemsize)
    functions = symbols[np.isin(symbols["info"] & 15, _FUNCTIONS) & (symbols["section"] != 0)]
    return functions[np.argsort(functions["value"], kind="stable")], names.data()


# What pyelftools raises for a damaged file, in addition to its own errors, which derive from Exception alone.
_DAMAGE = (Exception,)
