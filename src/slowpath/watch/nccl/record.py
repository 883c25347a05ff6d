# SPDX-License-Identifier: Apache-2.0
"""HOST-PID.nccl, the record of one process' NCCL calls, read within limits: it may be cut off, or made up.

engine/profiler/layout.hpp is its other side. Where a length or an index leads nowhere, the element is left out.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from slowpath.core.errors import RecordError
from slowpath.core.files import inside, open_regular
from slowpath.watch.folder import RANKS_FOLDER

SUFFIX: Final = ".nccl"
MAGIC: Final = b"SPNCCL01"
VERSION: Final = 1
MOST_BYTES: Final = 16 * 2**20
MOST_RECORDS: Final = 65_536
_MOST: Final = {"communicators": 1024, "rows": 4096, "samples": 32768}
_LONGEST_NS: Final = 10**16  # 116 days: no duration is longer
_MOST_COUNT: Final = 2**36

_SECTION: Final = [("offset", "<u8"), ("element_bytes", "<u4"), ("used", "<u4")]
HEADER: Final = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("interface_version", "<u4"),
        ("pid", "<i8"),
        ("start_monotonic_ns", "<i8"),
        ("start_realtime_ns", "<i8"),
        ("end_monotonic_ns", "<i8"),
        ("communicators", _SECTION),
        ("rows", _SECTION),
        ("samples", _SECTION),
        ("sampled_below", "<u8"),
        ("events", "<u8"),
        ("lost_rows", "<u8"),
        ("lost_communicators", "<u8"),
        ("unfinished", "<u8"),
        ("is_closed", "<u4"),
        ("timer", "<u4"),
        ("host", "S64"),
        ("program", "S256"),
    ]
)
COMMUNICATOR: Final = np.dtype(
    [
        ("id", "<u8"),
        ("rank", "<i4"),
        ("ranks", "<i4"),
        ("nodes", "<i4"),
        ("is_closed", "<u4"),
        ("opened_ns", "<i8"),
        ("calls", "<u8"),
        ("busy_ns", "<u8"),
        ("last_gpu_ns", "<u8"),
        ("name", "S48"),
        ("reserved", "<u8", (2,)),
    ]
)
ROW: Final = np.dtype(
    [
        ("function", "S16"),
        ("datatype", "S16"),
        ("algorithm", "S16"),
        ("protocol", "S16"),
        ("count", "<u8"),
        ("communicator", "<u4"),
        ("channels", "<u2"),
        ("group_calls", "<u2"),
        ("calls", "<u8"),
        ("first_start_ns", "<i8"),
        ("first_host_ns", "<u8"),
        ("first_gpu_ns", "<u8"),
        ("host_calls", "<u8"),
        ("host_ns", "<u8"),
        ("host_least_ns", "<u8"),
        ("host_most_ns", "<u8"),
        ("gpu_calls", "<u8"),
        ("gpu_ns", "<u8"),
        ("gpu_least_ns", "<u8"),
        ("gpu_most_ns", "<u8"),
        ("reserved", "<u8", (2,)),
    ]
)
SAMPLE: Final = np.dtype(
    [
        ("number", "<u8"),
        ("start_ns", "<i8"),
        ("launched_ns", "<i8"),
        ("gpu_start_ns", "<u8"),
        ("gpu_end_ns", "<u8"),
        ("seen_ns", "<i8"),
        ("row", "<u4"),
        ("peer", "<i4"),
        ("reserved", "<u8"),
    ]
)
_ELEMENTS: Final = {"communicators": COMMUNICATOR, "rows": ROW, "samples": SAMPLE}


class Timer(IntEnum):
    """Where the times of a process' calls come from."""

    HOST_ONLY = 0
    PROXY = 1  # NCCL's proxy thread, by the host's clock
    GPU = 2


@dataclass(frozen=True)
class NcclRecord:
    """What one process left: arrays of COMMUNICATOR, ROW and SAMPLE, times in nanoseconds."""

    path: Path
    header: np.void
    communicators: NDArray[Any]
    rows: NDArray[Any]
    samples: NDArray[Any]

    @property
    def timer(self) -> Timer:
        """What is no timer counts as none."""
        number = int(self.header["timer"])
        return Timer(number) if number in list(Timer) else Timer.HOST_ONLY

    @property
    def span_s(self) -> float:
        """From the first communicator to the last sign, seconds."""
        passed = int(self.header["end_monotonic_ns"]) - int(self.header["start_monotonic_ns"])
        return min(max(passed, 0), _LONGEST_NS) * 1e-9

    def words(self, name: str) -> str:
        """A text field of the header."""
        return text_of(self.header[name])


def text_of(raw: bytes) -> str:
    """A fixed-length field as text that can be printed."""
    return "".join(letter for letter in bytes(raw).decode("utf-8", "replace") if letter.isprintable())


def nccl_files(folder: Path) -> list[Path]:
    """The records of a watch, by name; those that lead out of the folder are left out."""
    ranks = inside(folder, RANKS_FOLDER)
    found = sorted(ranks.glob(f"*{SUFFIX}"))[:MOST_RECORDS] if ranks.is_dir() else []
    return [path for path in found if path.is_file() and not path.is_symlink()]


def read_nccl_records(folder: Path) -> tuple[list[NcclRecord], list[str]]:
    """Records with at least one communicator, and a line on each that can't be read."""
    found, notes = [], []
    for path in nccl_files(folder):
        try:
            record = read_nccl(path)
        except RecordError as error:
            notes.append(str(error))
            continue
        if record.communicators.size:
            found.append(record)
    return found, notes


def read_nccl(path: Path) -> NcclRecord:
    """Raises: RecordError: no record, shorter than its header, or of a newer version."""
    descriptor = open_regular(path, MOST_BYTES, within=path.parent)
    try:
        content = os.pread(descriptor, MOST_BYTES, 0)
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}") from error
    finally:
        os.close(descriptor)
    if not content.startswith(MAGIC) or len(content) < HEADER.itemsize:
        raise RecordError(f"{path}: is not a record of NCCL calls; remove it from the folder")
    header: np.void = np.frombuffer(content, HEADER, count=1)[0].copy()
    if int(header["version"]) > VERSION:
        raise RecordError(
            f"{path}: has version {int(header['version'])} of the layout, newer than {VERSION}; "
            "read it with the Slowpath that wrote it"
        )
    communicators, rows, samples = (_elements(content, header, name) for name in _ELEMENTS)
    # What is left out stays in its place where others refer to it by its number.
    is_sound = (rows["communicator"] < communicators.size) & (rows["calls"] > 0)
    is_sound &= (rows["calls"] < _MOST_COUNT) & (rows["count"] < _MOST_COUNT)
    is_sound &= (rows["gpu_calls"] < rows["calls"]) & (rows["host_calls"] < rows["calls"])  # the first is in neither
    for name in ("first_host_ns", "first_gpu_ns", "host_ns", "gpu_ns"):
        is_sound &= rows[name] < _LONGEST_NS
    rows["calls"][~is_sound] = 0
    communicators["calls"][communicators["busy_ns"] >= _LONGEST_NS] = 0
    samples = samples[samples["row"] < rows.size]
    samples = samples[is_sound[samples["row"]]]
    samples = samples[samples["gpu_end_ns"] - samples["gpu_start_ns"] < _LONGEST_NS]  # unsigned: negative is large
    return NcclRecord(path, header, communicators, rows, samples)


def _elements(content: bytes, header: np.void, name: str) -> NDArray[Any]:
    """A writable copy of those that are there."""
    element, section = _ELEMENTS[name], header[name]
    offset, size = int(section["offset"]), int(section["element_bytes"])
    if size != element.itemsize or offset < HEADER.itemsize or offset > len(content):
        return np.zeros(0, element)
    count = min(int(section["used"]), _MOST[name], (len(content) - offset) // size)
    return np.frombuffer(content, element, count=count, offset=offset).copy()


@dataclass(frozen=True)
class Member:
    """A rank of a communicator. record, number: its process, and the communicator's row there."""

    rank: int
    record: NcclRecord
    number: int

    @property
    def row(self) -> np.void:
        """Its COMMUNICATOR."""
        found: np.void = self.record.communicators[self.number]
        return found

    @property
    def rows(self) -> NDArray[Any]:
        """Numbers of the record's rows that are of this communicator and have calls, shape (n,)."""
        rows = self.record.rows
        found: NDArray[Any] = np.flatnonzero((rows["communicator"] == self.number) & (rows["calls"] > 0))
        return found

    @property
    def samples(self) -> NDArray[Any]:
        """Single calls of this communicator, by start."""
        samples = self.record.samples
        own = samples[self.record.rows["communicator"][samples["row"]] == self.number]
        found: NDArray[Any] = own[np.argsort(own["start_ns"], kind="stable")]
        return found


@dataclass(frozen=True)
class WholeCommunicator:
    """A communicator over the processes that left records. ranks: that it has; members: by rank, each once."""

    ranks: int
    members: tuple[Member, ...]

    @property
    def is_whole(self) -> bool:
        """All of its ranks left a record."""
        return len(self.members) == self.ranks

    @property
    def name(self) -> str:
        """That the program gave it; empty: none."""
        return text_of(self.members[0].row["name"])


def communicators_of(records: Sequence[NcclRecord]) -> list[WholeCommunicator]:
    """Those with calls, the largest first. Interfaces before version 4 do not say how many ranks there are."""
    by_id: dict[int, dict[int, Member]] = {}
    for record in records:
        for number, row in enumerate(record.communicators):
            rank = int(row["rank"])
            if int(row["calls"]) and 0 <= rank < 2**24:
                by_id.setdefault(int(row["id"]), {}).setdefault(rank, Member(rank, record, number))
    found = []
    for members in by_id.values():
        said = max(int(member.row["ranks"]) for member in members.values())
        ranks = max(said, max(members) + 1)
        found.append(WholeCommunicator(ranks, tuple(members[rank] for rank in sorted(members))))
    return sorted(found, key=lambda one: (-one.ranks, -int(one.members[0].row["calls"])))
