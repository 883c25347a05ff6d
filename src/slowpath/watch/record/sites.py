# SPDX-License-Identifier: Apache-2.0
"""From addresses in a program's files to functions, source files and lines.

Symbols come from the ELF file, lines from its line tables (DWARF 5, section 6.2). Names are as their authors wrote
them: C++ by the C++ library itself, Fortran modules by gfortran's rule, Python in Cython by Cython's.
"""

from __future__ import annotations

import ctypes
import os
import re
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from slowpath.core.errors import RecordError
from slowpath.core.files import open_regular
from slowpath.findings.program_pattern import Code
from slowpath.watch.record.reader import RankRecord

LONGEST_NAME = 4096  # characters; a made-up name must not keep the demangler busy
_LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libc++.so.1")
_CYTHON = re.compile(r"__pyx_(?:pw|pf|f)_")
_CLONE = re.compile(r"(\.(constprop|isra|part|cold|lto_priv)(\.\d+)*)+")  # of gcc, of one function
_ARGUMENTS = re.compile(r"\([^()<>]*\)|<[^()<>]*>")  # of a function or template, innermost first
_MODULE_PROCEDURE = re.compile(r"__(\w+?)_MOD_(\w+)")


def demangled(name: str) -> str:
    """The name for people; the symbol itself where it is not mangled or no C++ library is there."""
    if len(name) > LONGEST_NAME:
        return name[:LONGEST_NAME]
    name = _CLONE.sub("", name)
    if name.startswith("_Z"):
        return _cpp(name)
    if cython := _CYTHON.match(name):
        return _python(name[cython.end() :]) or name
    fortran = _MODULE_PROCEDURE.fullmatch(name)
    return f"{fortran[1]}::{fortran[2]}" if fortran else name


def _python(name: str) -> str | None:
    """`mpi4py.MPI.Comm.Isend` of `6mpi4py_3MPI_4Comm_77Isend`: words behind lengths, a method behind a number."""
    words = []
    while counted := re.match(r"\d+", name):
        length, rest = int(counted[0]), name[counted.end() :]
        if rest[length : length + 1] != "_" or not rest[:length].isidentifier():
            name = rest
            break
        words.append(rest[:length])
        name = rest[length + 1 :]
    return ".".join([*words, name]) if words and name.isidentifier() else None


def _cpp(name: str) -> str:
    demangle, free = _functions()
    if demangle is None:
        return name
    status = ctypes.c_int(0)
    result = demangle(name.encode(), None, None, ctypes.byref(status))
    if not result:
        return name
    try:
        return _short_cpp(ctypes.string_at(result).decode("utf-8", "replace")) if status.value == 0 else name
    finally:
        free(result)


def _short_cpp(name: str) -> str:
    """`halo::pack` of `void halo::pack<double>(double*, int) const`; operators keep all."""
    short, removed = name.replace("(anonymous namespace)::", ""), 1
    while removed:
        short, removed = _ARGUMENTS.subn("", short)
    words = re.sub(r"( const| volatile| |&)+$", "", short).split(" ")
    return name if "operator" in name or not words[-1] else words[-1]


@lru_cache(maxsize=1)
def _functions() -> tuple[Any, Any]:
    """__cxa_demangle (Itanium C++ ABI, section 3.4) and free; None: no C++ library."""
    for library in _LIBRARIES:
        try:
            demangle = ctypes.CDLL(library).__cxa_demangle
            free = ctypes.CDLL(None).free
        except (OSError, AttributeError):
            continue
        demangle.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
        demangle.restype = ctypes.c_void_p
        free.argtypes = [ctypes.c_void_p]
        return demangle, free
    return None, None


Line = tuple[str, int, str]  # file, line, and the source's function that it is in, which may be inlined


def lines_of(dwarf: Any, addresses: Sequence[int | None], is_over: Callable[[], bool]) -> list[Line | None]:
    """File, line and function of each address; None: not known.

    Args: dwarf: pyelftools' DWARFInfo.  is_over: whether the time for looking is up.
    """
    lines: list[Line | None] = [None] * len(addresses)
    for offset, positions in _units(dwarf, addresses, is_over).items():
        if is_over():
            break
        unit = dwarf.get_CU_at(offset)
        wanted = [(address, i) for i in positions if (address := addresses[i]) is not None]
        for i, line in _in_unit(dwarf, unit, wanted):
            lines[i] = line
    return lines


def _units(dwarf: Any, addresses: Sequence[int | None], is_over: Callable[[], bool]) -> dict[int, list[int]]:
    """Offset of a unit -> positions of the addresses in it."""
    units: dict[int, list[int]] = defaultdict(list)
    missing = []
    ranges = dwarf.get_aranges()
    for i, address in enumerate(addresses):
        if address is None:
            continue
        offset = ranges.cu_offset_at_addr(address) if ranges is not None else None
        if offset is None:
            missing.append(i)
        else:
            units[offset].append(i)
    if missing:
        _search(dwarf, addresses, missing, units, is_over)
    return units


def _search(
    dwarf: Any, addresses: Sequence[int | None], missing: Sequence[int], units: dict[int, list[int]], is_over: Any
) -> None:
    """Where no table says which unit holds an address, each unit is asked."""
    left = set(missing)
    for unit in dwarf.iter_CUs():
        if is_over() or not left:
            return
        spans = _spans(dwarf, unit, unit.get_top_DIE())
        inside = {i for i in left if any(low <= (addresses[i] or 0) < high for low, high in spans)}
        if inside:
            units[unit.cu_offset] += sorted(inside)
            left -= inside


def _spans(dwarf: Any, unit: Any, top: Any) -> list[tuple[int, int]]:
    """Addresses of an entry of a unit; its ranges are relative to the unit's begin."""
    low, begin = (entry.attributes.get("DW_AT_low_pc") for entry in (top, unit.get_top_DIE()))
    base = int((low or begin).value) if low or begin else 0
    high = top.attributes.get("DW_AT_high_pc")
    if high is not None:
        is_address = high.form == "DW_FORM_addr"
        return [(base, int(high.value) if is_address else base + int(high.value))]
    ranges = top.attributes.get("DW_AT_ranges")
    lists = dwarf.range_lists()
    if ranges is None or lists is None:
        return []
    spans, at = [], int(ranges.value)
    if ranges.form == "DW_FORM_rnglistx":
        at = int(lists.translate_v5_offset(unit, at)) if hasattr(lists, "translate_v5_offset") else 0
    for entry in lists.get_range_list_at_offset(at, unit):
        if type(entry).__name__ == "BaseAddressEntry":
            base = entry.base_address
        else:
            start = 0 if getattr(entry, "is_absolute", False) else base
            spans.append((start + entry.begin_offset, start + entry.end_offset))
    return spans


def _in_unit(dwarf: Any, unit: Any, wanted: Sequence[tuple[int, int]]) -> list[tuple[int, Line]]:
    program = dwarf.line_program_for_CU(unit)
    if program is None:
        return []
    rows: list[tuple[int, int, int]] = []  # address, file, line; line 0: the end of a sequence
    for entry in program.get_entries():
        state = entry.state
        if state is not None:
            rows.append((state.address, state.file, 0 if state.end_sequence else state.line))
    # The end of a sequence may be the beginning of the next one.
    rows.sort(key=lambda row: (row[0], row[2] != 0))
    starts = [row[0] for row in rows]
    functions = sorted(_functions_in(unit.get_top_DIE()))
    lines = []
    for address, i in wanted:
        at = bisect_right(starts, address) - 1
        if at >= 0 and rows[at][2]:
            _, file, line = rows[at]
            if _is_of_library(program, file):  # what calls it says more: the innermost that is not of a library
                for call in _called_at(dwarf, unit, unit.get_top_DIE(), address):
                    file, line = (file, line) if _is_of_library(program, call[0]) else call
            of = bisect_right(functions, (file, line, "\x7f")) - 1
            name = functions[of][2] if of >= 0 and functions[of][0] == file else ""
            lines.append((i, (_file_name(program, file), line, name)))
    return lines


def _called_at(dwarf: Any, unit: Any, scope: Any, address: int) -> Iterable[tuple[int, int]]:
    """Number of the file and line of the calls that are inlined at an address, the outermost first."""
    for child in scope.iter_children():
        if child.tag in _WITH_CODE and any(low <= address < high for low, high in _spans(dwarf, unit, child)):
            if child.tag == _WITH_CODE[0]:
                yield child.attributes["DW_AT_call_file"].value, child.attributes["DW_AT_call_line"].value
            yield from _called_at(dwarf, unit, child, address)


def _is_of_library(program: Any, number: int) -> bool:
    """Whether a file is a header of the compiler or the system (DWARF 5, section 6.2.4)."""
    header, before_5 = program.header, program.header["version"] < 5
    at, files, folders = number - before_5, header["file_entry"], header["include_directory"]
    folder = files[at].dir_index - before_5 if 0 <= at < len(files) else -1
    return 0 <= folder < len(folders) and re.match(rb"/usr/(?!src)|.*/c\+\+/", folders[folder]) is not None


def _functions_in(scope: Any) -> Iterable[tuple[int, int, str]]:
    """Number of the file, first line and name of each function of a unit; empty: its symbol has to do.

    Fortran's main program has procedures of its own, and a class may define what it declares.
    """
    is_class = scope.tag in _SCOPES[2:]
    owner = scope.attributes["DW_AT_name"].value + b"::" if is_class and "DW_AT_name" in scope.attributes else b""
    for child in scope.iter_children():
        of = {name: entry.value for name, entry in child.attributes.items()}
        is_function = child.tag == "DW_TAG_subprogram" and (is_class or "DW_AT_declaration" not in of)  # not another's
        if is_function and {"DW_AT_decl_file", "DW_AT_decl_line"} <= of.keys():
            name = owner + of["DW_AT_name"] if "DW_AT_name" in of else b""
            yield of["DW_AT_decl_file"], of["DW_AT_decl_line"], name.decode("utf-8", "replace")
        if child.tag in _SCOPES or "DW_AT_main_subprogram" in of:
            yield from _functions_in(child)


def _file_name(program: Any, number: int) -> str:
    header = program.header
    entries = header["file_entry"]
    at = number if header["version"] >= 5 else number - 1
    name = entries[at].name if 0 <= at < len(entries) else b""
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)


LARGEST_BYTES = 4 * 2**30  # of an object that is looked at
_LINES = (".debug_line", ".debug_info")
LARGEST_LINES_BYTES = 256 * 2**20  # of these tables; larger ones take too long to go through
DEBUG_FOLDERS = (Path("/usr/lib/debug"),)
_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_FUNCTIONS = (2, 10)  # STT_FUNC, STT_GNU_IFUNC
_WITH_CODE = ("DW_TAG_inlined_subroutine", "DW_TAG_subprogram", "DW_TAG_lexical_block")
_SCOPES = ("DW_TAG_module", "DW_TAG_namespace", "DW_TAG_class_type", "DW_TAG_structure_type")
_IMPORTED = (6, 7)  # R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT


@dataclass(frozen=True)
class SourcePlace:
    """Where a call stands. function: demangled; empty: no symbol. file and line: None: no line information.
    within: function of the source that the line is in, where it is inlined into another one; empty: not known.
    """

    function: str
    file: str | None
    line: int | None
    within: str = field(default="", compare=False)


class Object:
    """One ELF file. Raises: RecordError: it is none, or can't be read."""

    def __init__(self, path: Path) -> None:
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
            if not self._loads:
                raise ValueError("no segment to load")
        except Exception as error:  # what pyelftools raises for a damaged file
            self._file.close()
            raise RecordError(f"{path}: is neither a program nor a library: {error}") from error
        self._debug = self._separate_debug()
        self._symbols: tuple[NDArray[Any], bytes] | None = None

    def close(self) -> None:
        """Close its files."""
        if self._debug is not None:
            self._debug.close()
        self._file.close()

    def places(self, offsets: Sequence[int], until: float) -> list[SourcePlace]:
        """Of offsets in the file: the instruction before each, since return addresses point behind the call.

        Args: until: time.monotonic() from which on lines are no longer looked up.
        """
        addresses = [self._address(offset - 1) for offset in offsets]
        lines: list[Line | None] = [None] * len(addresses)
        with suppress(Exception):
            lines = self._lines(addresses, until)
        places = []
        for address, line in zip(addresses, lines, strict=True):
            name = ""
            with suppress(Exception):
                name = demangled(self._function(address)) if address is not None else ""
            places.append(SourcePlace(name, *line) if line else SourcePlace(name, None, None))
        return places

    def imported(self, offset: int) -> str:
        """The function of another object that the call before an offset in the file calls; empty: none (x86-64)."""
        before, slot, at = self._bytes(offset - 6, 6), b"", offset
        if before[:2] == b"\xff\x15":  # through its address in the table of imports
            slot = before[2:]
        elif before[1:2] == b"\xe8":  # to a stub that jumps there: [endbr64] [bnd] jmp *address
            stub = offset + int.from_bytes(before[2:], "little", signed=True)
            code = self._bytes(stub, 16)
            jump = code.removeprefix(b"\xf3\x0f\x1e\xfa").removeprefix(b"\xf2")
            slot, at = jump[2:6] if jump[:2] == b"\xff\x25" else b"", stub + len(code) - len(jump) + 6
        address = self._address(at)
        if address is None or len(slot) < 4:
            return ""
        with suppress(Exception):
            return self._imports.get(address + int.from_bytes(slot, "little", signed=True), "")
        return ""

    def _bytes(self, offset: int, length: int) -> bytes:
        self._file.seek(max(offset, 0))
        return self._file.read(length)

    @cached_property
    def _imports(self) -> dict[int, str]:
        """Address of each entry of the table of imports -> name."""
        symbols = self._elf.get_section_by_name(".dynsym")
        by_slot = {}
        for name in (".rela.plt", ".rela.dyn"):
            section = self._elf.get_section_by_name(name)
            rows = (
                np.frombuffer(section.data(), "<u8").reshape(-1, 3) if section is not None else np.zeros((0, 3), "<u8")
            )
            for slot, info in rows[np.isin(rows[:, 1] & 0xFFFFFFFF, _IMPORTED), :2].tolist():
                by_slot[slot] = str(symbols.get_symbol(info >> 32).name)
        return by_slot

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

    def _lines(self, addresses: Sequence[int | None], until: float) -> list[Line | None]:
        for source in (self, self._debug):
            if (
                source is not None
                and source._elf.has_dwarf_info(strict=True)
                and sum(s["sh_size"] for s in map(source._elf.get_section_by_name, _LINES) if s) <= LARGEST_LINES_BYTES
            ):
                return lines_of(source._elf.get_dwarf_info(), addresses, lambda: time.monotonic() > until)
        return [None] * len(addresses)

    def _separate_debug(self) -> Object | None:
        """By build id, below /usr/lib/debug (GDB's manual, "Separate Debug Files")."""
        with suppress(Exception):
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
    has_end = (symbols["size"] > 0) | (table == ".symtab")  # among exported ones, others may begin before the next
    functions = symbols[np.isin(symbols["info"] & 15, _FUNCTIONS) & (symbols["section"] != 0) & has_end]
    return functions[np.argsort(functions["value"], kind="stable")], names.data()


_LINE = re.compile(r"([0-9a-f]{1,16})-([0-9a-f]{1,16})\s+\S+\s+([0-9a-f]{1,16})\s+\S+\s+\d+\s*(.*)")
_DELETED = " (deleted)"


@dataclass(frozen=True)
class Maps:
    """Executable mappings, by address; they don't overlap.

    starts, ends: addresses.  offsets: in the file, of each start.  paths: of each
    """

    starts: NDArray[np.uint64]
    ends: NDArray[np.uint64]
    offsets: NDArray[np.uint64]
    paths: tuple[str, ...]

    @classmethod
    def of(cls, record: RankRecord) -> Maps:
        """Those that the record holds; a line that is none is left out, and the later one of two that overlap wins."""
        return cls.parsed(record.text.get("map", ()))

    @classmethod
    def parsed(cls, lines: Iterable[str]) -> Maps:
        """From lines of /proc/self/maps."""
        by_begin: dict[int, tuple[int, int, str]] = {}
        for line in lines:
            match = _LINE.fullmatch(line)
            if match and int(match[1], 16) < int(match[2], 16):
                by_begin[int(match[1], 16)] = (int(match[2], 16), int(match[3], 16), match[4].removesuffix(_DELETED))
        starts = sorted(by_begin)
        return cls(
            np.array(starts, dtype=np.uint64),
            np.array([by_begin[start][0] for start in starts], dtype=np.uint64),
            np.array([by_begin[start][1] for start in starts], dtype=np.uint64),
            tuple(by_begin[start][2] for start in starts),
        )

    def places(self, addresses: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """For each address the index of its mapping, -1: none, and its offset in the file (the address itself)."""
        address = addresses.astype(np.uint64)
        index = np.searchsorted(self.starts, address, side="right").astype(np.int64) - 1
        if not self.starts.size:
            return np.full(address.shape, -1, dtype=np.int64), address
        at = np.maximum(index, 0)
        inside = (index >= 0) & (address < self.ends[at])
        return np.where(inside, index, -1), np.where(inside, address - self.starts[at] + self.offsets[at], address)


BEFORE_MAIN = frozenset(
    {"_start", "__libc_start_main", "__libc_start_call_main", "generic_start_main", "_dl_start_user"}
)
FRAMES = 6  # of each site that are named
LOOK_S = 2.0  # for all lines together; what is left then has its symbol alone


@dataclass(frozen=True)
class NamedSite:
    """A place in the program.

    path: of the object; empty: none.  offset: of the return address in it.  place: None where it was not looked up.
    callers: functions around it, nearest first
    """

    path: str
    offset: int
    place: SourcePlace | None
    callers: tuple[str, ...]


def named_sites(sites: Sequence[tuple[RankRecord, int]]) -> list[NamedSite]:
    """Of rows of records, with functions, files and lines."""
    records = {id(record): record for record, _ in sites}
    maps = {key: Maps.of(record) for key, record in records.items()}
    python = {key: python_frames(record) for key, record in records.items()}
    frames = [_frames(record, row, maps[id(record)]) for record, row in sites]
    wanted: dict[str, set[int]] = defaultdict(set)
    for entry in frames:
        for path, offset in entry:
            wanted[path].add(offset)
    places = _looked_up(wanted)
    known_sites = []
    for (record, row), entry in zip(sites, frames, strict=True):
        path, offset = entry[0] if entry else ("", 0)
        around = [places[key].function for key in entry[1:] if key in places]
        callers = tuple(name for name in around if name and name not in BEFORE_MAIN)
        place = NamedSite(path, offset, places.get((path, offset)), callers)
        lines = python[id(record)].get(int(record.sites["python"][row]), ())
        known_sites.append(_in_python(place, lines) if lines else place)
    return known_sites


PythonFrames = tuple[SourcePlace, ...]
_INTERPRETER = re.compile(r"_?Py[A-Z_]|pymain_|cfunction_|method_vectorcall|run_mod|_imp_|_start|main$")
_EXTENSION = re.compile(r"\.(cpython-|abi3|pypy)[^/]*\.so$")


def python_frames(record: RankRecord) -> dict[int, PythonFrames]:
    """Of each number of a line in Python that called MPI: it and its callers, nearest first."""
    frames = {}
    for text in record.text.get("python", ()):
        number, *fields = text.split("\t")
        each = [fields[start : start + 3] for start in range(0, len(fields) - 2, 3)]
        if number.isdecimal() and len(number) < 6 and all(line.isdecimal() for _, line, _ in each):
            frames[int(number)] = tuple(SourcePlace(name, _short(file), int(line[:9])) for file, line, name in each)
    return frames


def _short(path: str) -> str:
    """The name of a file, which Python gives with its whole path; of a package's own file with the package's name."""
    parts = path.split("/")
    return "/".join(parts[-2:] if parts[-1] == "__init__.py" else parts[-1:])


def _in_python(place: NamedSite, lines: PythonFrames) -> NamedSite:
    """The line in Python, where a binding without lines of its own called for it; else it is among the callers."""
    around = [name for name in place.callers if not _INTERPRETER.match(name)]
    function = place.place.function if place.place else ""
    is_binding = "/mpi4py/" in place.path or (
        bool(_EXTENSION.search(place.path)) and (place.place is None or place.place.line is None)
    )
    if not is_binding:
        return NamedSite(place.path, place.offset, place.place, (*around, *(line.function for line in lines)))
    inner = [name for name in (function, *around) if name]
    return NamedSite(place.path, place.offset, lines[0], (*inner, *(line.function for line in lines[1:])))


def _frames(record: RankRecord, row: int, maps: Maps) -> list[tuple[str, int]]:
    site = record.sites[row]
    addresses = np.asarray(site["frames"][: min(int(site["depth"]), FRAMES)], dtype=np.uint64)
    return _in_objects(maps, addresses)


def _in_objects(maps: Maps, addresses: NDArray[Any]) -> list[tuple[str, int]]:
    index, offset = maps.places(addresses)
    return [
        (maps.paths[i] if i >= 0 else "", int(o) & (2**63 - 1))
        for i, o in zip(index.tolist(), offset.tolist(), strict=True)
    ]


def _looked_up(
    wanted: Mapping[str, set[int]], called: dict[tuple[str, int], str] | None = None
) -> dict[tuple[str, int], SourcePlace]:
    """Places by object and offset.  Args: called: gets what the call before each of its offsets calls elsewhere."""
    until = time.monotonic() + LOOK_S
    looked_up = {}
    for path, offsets in wanted.items():
        if not path.startswith("/"):
            continue
        try:
            held = Object(Path(path))
        except RecordError:
            continue
        ordered = sorted(offsets)
        try:
            for offset, place in zip(ordered, held.places(ordered, until), strict=True):
                looked_up[path, offset] = place
            for key in [key for key in called or () if key[0] == path]:
                (called or {})[key] = held.imported(key[1])
        finally:
            held.close()
    return looked_up


def sampled_code(
    records: Sequence[RankRecord], chosen: Sequence[NDArray[np.int64]], is_between: Sequence[NDArray[np.bool_]]
) -> tuple[tuple[Code, ...], NDArray[np.int64]]:
    """All code in which ranks were, and which of it each address is in.

    Args: chosen: addresses of each record.  is_between: two calls of MPI; in one it is MPI that calls everything.
    """
    rows = []
    for record, mine, between in zip(records, chosen, is_between, strict=True):
        maps, addresses = Maps.of(record), record.addresses[mine]
        callers = addresses["callers"] * between[:, None].astype(np.uint64)
        parts = (addresses["address"] + np.uint64(1), *callers.T)  # behind it, as a call's
        rows += list(zip(*(_in_objects(maps, part) for part in parts), strict=True))
    wanted, called = defaultdict[str, set[int]](set), dict[tuple[str, int], str]()
    for row, _ in Counter(rows).most_common():  # what little time there is goes to the program's own objects
        around = [key for key in row[1:] if key[0]]
        for path, offset in (*around, *(row[:1] if not around or _OF_PYTHON.search(row[0][0]) else ())):
            wanted[path].add(offset)
        called.update(dict.fromkeys(around, ""))
    places = _looked_up(wanted, called)
    codes: dict[Code, int] = {}
    numbers = [codes.setdefault(_code(row, places, called), len(codes)) for row in rows]
    return tuple(codes), np.array(numbers, dtype=np.int64)


OF_MPI = re.compile(r"p?mpi_(?!wti)", re.IGNORECASE)  # a call that tells the time is not recorded
_OF_PYTHON = re.compile(r"/(lib)?python\d[^/]*$|" + _EXTENSION.pattern)
# As in mpi/calls.toml; CPython's Modules/gcmodule.c, from 3.13 on Python/gc.c.
OF_COLLECTOR = re.compile(r"gc_\w+|visit_\w+|(subtract|update)_refs|\w+_(un)?reachable|(\w+_)?traverse(_slots)?")
CALLS_NONE = re.compile(r"_*w?(mem|str)")  # in another function's frame such a word is of a call that is over
OF_LIBRARY = re.compile(r"lib(?!python)|ld-|\[|MPI\.|$")  # objects that run within a call of MPI anyway


def _code(
    row: tuple[tuple[str, int], ...],
    places: Mapping[tuple[str, int], SourcePlace],
    called: Mapping[tuple[str, int], str],
) -> Code:
    """Args: row: where it is, and what may be its callers: what calls MPI is one only where nothing else is."""
    callers = sorted((key for key in row[1:] if called.get(key) not in (None, "", *BEFORE_MAIN)),
                     key=lambda key: [bool(kind.match(called[key])) for kind in (OF_MPI, CALLS_NONE)])  # fmt: skip
    leaf = places.get(row[0])  # what a call of MPI left on the stack calls neither numpy nor the garbage collector
    computes = bool(_EXTENSION.search(row[0][0])) and "/mpi4py/" not in row[0][0]
    computes |= leaf is not None and OF_COLLECTOR.fullmatch(leaf.function) is not None
    caller = callers[0] if callers and not computes else None
    key = row[0] if computes else caller or next((key for key in row[1:] if "/mpi4py/" in key[0]), row[0])
    at = places.get(key) or SourcePlace("", None, None)
    if _OF_PYTHON.search(key[0]) and not _EXTENSION.search(key[0]):  # the interpreter's source is no place to change
        at = SourcePlace(at.function if OF_COLLECTOR.fullmatch(at.function) else "Python's interpreter", None, None)
    calls = demangled(called[caller]) if caller else ""
    return Code(calls, at.within or at.function, key[0].rsplit("/", 1)[-1], at.file, at.line)
