# SPDX-License-Identifier: Apache-2.0
"""From the files of a folder to what was counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from slowpath.core.errors import RecordError
from slowpath.core.files import read_bytes
from slowpath.studies.counting import lines as kinds
from slowpath.studies.counting.model import Call, FunctionShare, ProcessCount, Trouble
from slowpath.studies.counting.model import Mapping as AddressRange

Place = tuple[str, int]  # path, offset in bytes
Name = tuple[str, str]  # library, function
UNKNOWN: Name = ("?", "?")
NameAll = Callable[[Sequence[Place]], Mapping[Place, Name]]


def read_folder(folder: Path, name_all: NameAll) -> list[ProcessCount]:
    """Each process's counts, by rank, then host and process.

    name_all: the function at each place.
    Raises: RecordError: the folder can't be read, or is of another version.
    """
    data = [(path, read_bytes(path, within=folder)) for path in sorted(folder.glob("*.jsonl"))]
    counts = [made for path, text in data if (made := process_count(path, text, name_all)) is not None]
    return sorted(counts, key=_order)


def process_count(path: Path, data: bytes, name_all: NameAll) -> ProcessCount | None:
    """What one file says; None if the process died before it said what it is."""
    lines, damaged = kinds.decode_lines(data)
    about = next((line for line in lines if isinstance(line, kinds.ProcessLine)), None)
    if about is None:
        return None
    if about.version != kinds.VERSION:
        raise RecordError(
            f"{path}: version {about.version}, and this slowpath reads version {kinds.VERSION}; "
            "the counting library and slowpath must be of one installation"
        )
    ends = [line.calls for line in lines if isinstance(line, kinds.EndLine)]
    return ProcessCount(
        host=about.host,
        pid=about.pid,
        rank=about.rank,
        program=about.program,
        function=about.function,
        method=about.method,
        skip=about.skip,
        libraries=tuple(dict.fromkeys(line.library for line in lines if isinstance(line, kinds.FoundLine))),
        troubles=tuple(Trouble(line.library, line.reason) for line in lines if isinstance(line, kinds.UncountableLine)),
        calls_met=ends[-1] if ends else None,
        calls=tuple(
            Call(line.call, line.thread, line.stepped, line.retired, line.reason)
            for line in lines
            if isinstance(line, kinds.CallLine)
        ),
        shares=_shares(lines, name_all),
        damaged=damaged,
    )


def _shares(lines: Iterable[kinds.Line], name_all: NameAll) -> tuple[FunctionShare, ...]:
    stepped: Counter[Place | None] = Counter()
    retired: Counter[Place | None] = Counter()
    mappings: Sequence[AddressRange] = ()
    known: dict[int, Place | None] = {}
    for line in lines:
        if isinstance(line, kinds.MappingsLine):
            mappings, known = kinds.parse_mappings(line.lines), {}
        elif isinstance(line, kinds.CallLine):
            for address, times, as_one in line.at:
                if address not in known:
                    known[address] = kinds.place(mappings, address)
                stepped[known[address]] += times
                retired[known[address]] += as_one
    names = name_all([where for where in stepped if where is not None])
    return _by_function(stepped, retired, names)


def _by_function(
    stepped: Counter[Place | None], retired: Counter[Place | None], names: Mapping[Place, Name]
) -> tuple[FunctionShare, ...]:
    sums: dict[Name, tuple[int, int]] = {}
    for where, times in stepped.items():
        name = UNKNOWN if where is None else names.get(where, UNKNOWN)
        before = sums.get(name, (0, 0))
        sums[name] = (before[0] + times, before[1] + retired[where])
    shares = [FunctionShare(library, function, *both) for (library, function), both in sums.items()]
    return tuple(sorted(shares, key=lambda share: (-share.stepped, share.library, share.function)))


def _order(count: ProcessCount) -> tuple[bool, int, str, int]:
    number = int(count.rank) if count.rank is not None and count.rank.isdecimal() else 0
    return (count.rank is None, number, count.host, count.pid)
