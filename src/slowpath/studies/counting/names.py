# SPDX-License-Identifier: Apache-2.0
"""The functions of an ELF file of 64 bits, by name and by address.

Names come from the file's symbols, from symbols that were taken out of it (.gnu_debugdata, a separate file by build id
or .gnu_debuglink, debuginfod's cache), else a function is known by its unwind information alone.
"""

from __future__ import annotations

import io
import lzma
import os
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_FUNCTION, _CHOSEN_AT_LOAD = 2, 10  # STT_FUNC, STT_GNU_IFUNC
_RESERVED_SECTIONS = 0xFF00
_OLD_VERSION = 0x8000  # kept for programs that were linked with it
_USUAL_TABLE = b"\x01\x1b\x03\x3b"  # of .eh_frame_hdr: 32 bits, relative to the table (Linux Standard Base)
_DAMAGE = (Exception,)  # what pyelftools raises for damaged files
Symbols = tuple[NDArray[Any], bytes]  # and the strings that their names point into


class ElfFunctions:
    """One file; one that is not ELF, or can't be read, has no functions."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._loads: list[tuple[int, int, int]] = []  # offset, bytes, address
        self._own: list[tuple[Symbols, NDArray[Any]]] = []  # with the versions of dynamic symbols
        self._ranges: list[tuple[int, int, str]] = []  # of what has no symbol: begin, bytes, name
        self._elsewhere: list[bytes] = []  # build id, link and data of symbols that were taken out, by section
        with suppress(*_DAMAGE), path.open("rb") as file:
            self._read(file)

    def address_of_offset(self, offset: int) -> int | None:
        """Address of the byte at `offset`, as the file counts it; None: it is not loaded."""
        for start, length, address in self._loads:
            if start <= offset < start + length:
                return offset - start + address
        return None

    def addresses_named(self, name: str) -> list[int]:
        """Addresses of the functions of that name which can be called by it."""
        return self._named(name, _FUNCTION)

    def is_chosen_at_load(self, name: str) -> bool:
        """Whether the function is one of several, chosen when the file is loaded (STT_GNU_IFUNC)."""
        return bool(self._named(name, _CHOSEN_AT_LOAD))

    def function_at(self, address: int) -> str:
        """`memcpy`; `.plt` for a stub; `+0x1234`, the function's begin, where no symbol names it; else `?`."""
        begins, lengths, names = self._functions
        below = begins <= address
        if not below.any():
            return "?"
        nearest = int(begins[below].max())
        at_nearest = begins == nearest
        if lengths[at_nearest].any():
            # A function may have others begin inside it: entry points of hand-written assembly.
            holding = below & (address < begins + lengths)
            if not holding.any():
                return "?"
            nearest = int(begins[holding].max())
            at_nearest = begins == nearest
        named = [name for i in np.flatnonzero(at_nearest) if (name := names(int(i)))]
        # The public one: the one that MPI programs call, then that with the fewest leading underscores.
        order = sorted(named, key=lambda name: (len(name) - len(name.lstrip("_")), not name.startswith("MPI_"), name))
        return order[0] if order else f"+{nearest:#x}"

    def _read(self, file: Any) -> None:
        from elftools.elf.elffile import ELFFile

        elf = ELFFile(file)
        if elf.elfclass != 64 or not elf.little_endian:
            return
        for segment in elf.iter_segments("PT_LOAD"):
            self._loads.append((int(segment["p_offset"]), int(segment["p_filesz"]), int(segment["p_vaddr"])))
        versions = np.zeros(0, "<u2")
        for section in elf.iter_sections("SHT_GNU_versym"):
            versions = np.frombuffer(section.data(), "<u2")
        for kind, of_kind in (("SHT_DYNSYM", versions), ("SHT_SYMTAB", np.zeros(0, "<u2"))):
            self._own += [(symbols, of_kind) for symbols in _symbols(elf, kind)]
        for section in elf.iter_sections():
            if section.name.startswith(".plt"):
                self._ranges.append((int(section["sh_addr"]), int(section["sh_size"]), ".plt"))
            elif section.name in (".note.gnu.build-id", ".gnu_debuglink", ".gnu_debugdata"):
                with suppress(*_DAMAGE):
                    self._elsewhere.append(_taken_out(self._path, section.name, section.data()))
        self._frames = _frames(elf)

    _frames: tuple[NDArray[Any], NDArray[Any]] = (np.zeros(0, "<i8"), np.zeros(0, "<i8"))

    def _named(self, name: str, kind: int) -> list[int]:
        addresses: list[int] = []
        for (symbols, strings), versions in self._own:
            starts = [match.start() for match in re.finditer(re.escape(name.encode()) + b"\0", strings)]
            is_it = np.isin(symbols["name"], starts) & _defined(symbols) & ((symbols["info"] & 15) == kind)
            is_it[: len(versions)] &= (versions[: len(symbols)] & _OLD_VERSION) == 0
            addresses += [int(value) for value in symbols["value"][is_it]]
        return list(dict.fromkeys(addresses))

    @cached_property
    def _functions(self) -> tuple[NDArray[Any], NDArray[Any], Any]:
        """Begin and length of every function, and of each its name."""
        tables = [symbols for symbols, _ in self._own]
        for image in self._elsewhere:
            with suppress(*_DAMAGE):
                from elftools.elf.elffile import ELFFile

                tables += _symbols(ELFFile(io.BytesIO(image)), "SHT_SYMTAB")
        begins, lengths, starts = [self._frames[0]], [self._frames[1]], []
        for symbols, strings in tables:
            functions = symbols[_defined(symbols) & np.isin(symbols["info"] & 15, (_FUNCTION, _CHOSEN_AT_LOAD))]
            begins.append(functions["value"].astype("<i8"))
            lengths.append(functions["size"].astype("<i8"))
            starts.append((functions["name"], strings))
        begins.append(np.array([begin for begin, _, _ in self._ranges], "<i8"))
        lengths.append(np.array([length for _, length, _ in self._ranges], "<i8"))

        def name(i: int) -> str:
            i -= len(self._frames[0])
            if i < 0:
                return ""
            for of_table, strings in starts:
                if i < len(of_table):
                    start = int(of_table[i])
                    return strings[start : strings.index(b"\0", start)].decode("utf-8", "replace")
                i -= len(of_table)
            return self._ranges[i][2]

        return np.concatenate(begins), np.concatenate(lengths), name


def _symbols(elf: Any, kind: str) -> Iterator[Symbols]:
    for section in elf.iter_sections(kind):
        raw = section.data()
        symbols = np.frombuffer(raw, _SYMBOL, count=len(raw) // _SYMBOL.itemsize)
        yield symbols, section.stringtable.data()


def _defined(symbols: NDArray[Any]) -> NDArray[Any]:
    section, name = symbols["section"], symbols["name"]
    is_defined: NDArray[Any] = (section != 0) & (section < _RESERVED_SECTIONS) & (name != 0)
    return is_defined


def _frames(elf: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """Begin and length of each function of the unwind information, by the linker's table of it."""
    table, frames = elf.get_section_by_name(".eh_frame_hdr"), elf.get_section_by_name(".eh_frame")
    raw = table.data() if table is not None and frames is not None else b""
    if raw[:4] != _USUAL_TABLE:
        return ElfFunctions._frames
    count = min(int.from_bytes(raw[8:12], "little"), (len(raw) - 12) // 8)
    pairs = np.frombuffer(raw, "<i4", 2 * count, 12).reshape(-1, 2).astype("<i8") + int(table["sh_addr"])
    # The length of a function stands 12 bytes into its description.
    places = pairs[:, 1] - int(frames["sh_addr"]) + 12
    content = np.frombuffer(frames.data(), "u1")
    inside = (places >= 0) & (places + 4 <= len(content))
    places, begins = places[inside], pairs[inside, 0]
    lengths = sum(content[places + byte].astype("<i8") << 8 * byte for byte in range(4))
    return begins, np.asarray(lengths, "<i8")


def _taken_out(path: Path, section: str, content: bytes) -> bytes:
    """The ELF file with the symbols that were taken out of `path`, as this section says where it is; empty: none."""
    if section == ".gnu_debugdata":
        return lzma.decompress(content)
    if section == ".note.gnu.build-id":
        build = content[16:].hex()  # after three sizes and "GNU"
        cache = os.environ.get("XDG_CACHE_HOME") or f"{os.environ.get('HOME', '')}/.cache"
        fetched = Path(os.environ.get("DEBUGINFOD_CACHE_PATH") or f"{cache}/debuginfod_client")
        files = [Path(f"/usr/lib/debug/.build-id/{build[:2]}/{build[2:]}.debug"), fetched / build / "debuginfo"]
        return next((file.read_bytes() for file in files if file.is_file()), b"")
    name, crc = content.partition(b"\0")[0].decode(), int.from_bytes(content[-4:], "little")
    for folder in (path.parent, path.parent / ".debug", Path(f"/usr/lib/debug{path.parent}")):
        file = folder / name
        if file != path and file.is_file() and zlib.crc32(image := file.read_bytes()) == crc:
            return image
    return b""
