# SPDX-License-Identifier: Apache-2.0
"""What the headers of a watch's records say, before anything is analysed. The layout: schema/watch.json."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.files import inside
from slowpath.watch.folder import RANKS_FOLDER, record_files

MAGIC = b"SPWATCH1"
_STATE = struct.Struct("<IiiiI")  # state, pid, world_rank, world_size, interface: from byte 28 on
_FILE_BYTES, _FILE_BYTES_AT = struct.Struct("<Q"), 16
_STATE_AT, _HOST_AT, _HEADER_BYTES = 28, 136, 256
RUNNING, FINALIZED, NO_FINALIZE, THINNING, NO_ROOM = 1, 2, 3, 4, 5


@dataclass(frozen=True)
class Header:
    """Of one record. rank and size: of MPI_COMM_WORLD, -1: not known.  state: one of the constants above."""

    path: Path
    state: int
    rank: int
    size: int


def headers(folder: Path) -> list[Header]:
    """Of each record that has a whole header."""
    found = []
    for path in record_files(folder):
        try:
            with path.open("rb") as file:
                content = file.read(_HEADER_BYTES)
        except OSError:
            continue
        if len(content) == _HEADER_BYTES and content.startswith(MAGIC):
            state, _, rank, size, _ = _STATE.unpack_from(content, _STATE_AT)
            found.append(Header(path, state, rank, size))
    return found


def starts_that_failed(folder: Path) -> tuple[int, int]:
    """Processes that called MPI_Init and left no record: how many, and of how many it returned an error.

    In the others it never returned: the library ended them there.
    """
    ranks = inside(folder, RANKS_FOLDER)
    notes = [path for path in ranks.glob("*.begun") if path.is_file() and not path.is_symlink()]
    return len(notes), sum(path.stat().st_size > 0 for path in notes)


def truncated(folder: Path) -> str | None:
    """One line where records are shorter than they were made, as their headers have it; None: none is."""
    paths = record_files(folder)
    short = [path for path in paths if _is_short(path)]
    if not short:
        return None
    return (
        f"{len(short)} of {len(paths)} records were truncated while the program ran ({short[0].name}): their calls are "
        "missing; watch again, and let nothing write to the folder meanwhile"
    )


def _is_short(path: Path) -> bool:
    """A record is never made without a whole header."""
    try:
        with path.open("rb") as file:
            content = file.read(_HEADER_BYTES)
        if len(content) < _HEADER_BYTES:
            return True
        return content.startswith(MAGIC) and path.stat().st_size < _FILE_BYTES.unpack_from(content, _FILE_BYTES_AT)[0]
    except OSError:
        return False


def missing_ranks(found: list[Header]) -> str | None:
    """One line where there are fewer records than ranks; None: all are there, or their number is not known."""
    size = max((one.size for one in found), default=-1)
    there = {one.rank for one in found if one.size == size and one.rank >= 0}
    absent = sorted(set(range(max(0, size))) - there) if there else []
    if not absent:
        return None
    shown = ", ".join(map(str, absent[:5])) + (", ..." if len(absent) > 5 else "")
    return (
        f"{len(there)} of {size} ranks left a record; missing: {shown}: their node does not see this folder (name one "
        "that all nodes see with -o), or the launcher does not hand LD_PRELOAD on to it"
    )


def without_room(found: list[Header]) -> str | None:
    """One line where the disk was full; None: it was not."""
    count = sum(one.state == NO_ROOM for one in found)
    if not count:
        return None
    return (
        f"{count} of {len(found)} records found no room: the disk is full (a rank takes up to 8 MiB), so their calls "
        "are missing; make room, or name another place with -o, and watch again"
    )
