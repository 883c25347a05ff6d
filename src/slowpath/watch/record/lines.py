# SPDX-License-Identifier: Apache-2.0
"""Lines of a program by address: units that hold the addresses, and their line tables (DWARF 5, section 6.2)."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

Line = tuple[str, int]


def lines_of(dwarf: Any, addresses: Sequence[int | None], is_over: Callable[[], bool]) -> list[Line | None]:
    """File and line of each address; None: not known.

    Args: dwarf: pyelftools' DWARFInfo.  is_over: whether the time for looking is up.
    """
    found: list[Line | None] = [None] * len(addresses)
    for offset, positions in _units(dwarf, addresses, is_over).items():
        if is_over():
            break
        unit = dwarf.get_CU_at(offset)
        wanted = [(address, i) for i in positions if (address := addresses[i]) is not None]
        for i, line in _in_unit(dwarf, unit, wanted):
            found[i] = line
    return found


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
        spans = _spans(dwarf, unit)
        inside = {i for i in left if any(low <= (addresses[i] or 0) < high for low, high in spans)}
        if inside:
            units[unit.cu_offset] += sorted(inside)
            left -= inside


def _spans(dwarf: Any, unit: Any) -> list[tuple[int, int]]:
    """Addresses of a unit."""
    top = unit.get_top_DIE()
    low = top.attributes.get("DW_AT_low_pc")
    base = int(low.value) if low is not None else 0
    high = top.attributes.get("DW_AT_high_pc")
    if high is not None:
        is_address = high.form == "DW_FORM_addr"
        return [(base, int(high.value) if is_address else base + int(high.value))]
    ranges = top.attributes.get("DW_AT_ranges")
    lists = dwarf.range_lists()
    if ranges is None or lists is None:
        return []
    spans = []
    for entry in lists.get_range_list_at_offset(_ranges_offset(ranges, unit, lists), unit):
        if type(entry).__name__ == "BaseAddressEntry":
            base = entry.base_address
        else:
            start = 0 if getattr(entry, "is_absolute", False) else base
            spans.append((start + entry.begin_offset, start + entry.end_offset))
    return spans


def _ranges_offset(ranges: Any, unit: Any, lists: Any) -> int:
    if ranges.form == "DW_FORM_rnglistx":
        return int(lists.translate_v5_offset(unit, ranges.value)) if hasattr(lists, "translate_v5_offset") else 0
    return int(ranges.value)


def _in_unit(dwarf: Any, unit: Any, wanted: Sequence[tuple[int, int]]) -> list[tuple[int, Line]]:
    """Lines of addresses that lie in a unit, by their position."""
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
    found = []
    for address, i in wanted:
        at = bisect_right(starts, address) - 1
        if at >= 0 and rows[at][2]:
            found.append((i, (_file_name(program, rows[at][1]), rows[at][2])))
    return found


def _file_name(program: Any, number: int) -> str:
    header = program.header
    entries = header["file_entry"]
    at = number if header["version"] >= 5 else number - 1
    name = entries[at].name if 0 <= at < len(entries) else b""
    return name.decode("utf-8", "replace") if isinstance(name, bytes) else str(name)
