# SPDX-License-Identifier: Apache-2.0
"""One NAME.watch file, read whole or as far as its rank came.

A rank may have been killed, a disk been full, a file been made up: every offset, length and index is held to its bound
here, so that no later code has to ask. What was left out is a note.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slowpath.core.errors import RecordError
from slowpath.core.files import open_regular
from slowpath.watch.record.layout import NONE_16, NONE_32, RecordSection, RecordState, WatchLayout, watch_layout

RECEIVE_SIDE = 2  # a profile row's flag
LOCAL_FAMILY = 10  # answered at once from memory of the library
MOST_LOCAL = 2**43  # calls of one row: a day of them
COMMUNICATES = {"point to point", "completion", "collective", "one-sided"}  # families of calls
MOST_TEXT_LINES = 100_000  # of one rank
HIGHEST_LEVEL = 40  # of thinning; windows that far apart are longer than any run
LONGEST_LINE = 4096  # characters


@dataclass(frozen=True)
class RankRecord:
    """What one rank left. Structured arrays have the fields and units of schema/watch.json.

    events and profile: all lanes one after the other, `event_lane` and `profile_lane` of the same shape; events of a
    lane are in the order of their return.  text: values by key, in the order of the file.
    """

    path: Path
    header: np.void
    lanes: NDArray[Any]
    calls: NDArray[Any]
    sites: NDArray[Any]
    communicators: NDArray[Any]
    members: NDArray[np.int32]
    datatypes: NDArray[Any]
    allocations: NDArray[Any]
    profile: NDArray[Any]
    profile_lane: NDArray[np.int64]
    events: NDArray[Any]
    event_lane: NDArray[np.int64]
    samples: NDArray[Any]  # what the thread that started MPI did, in the order of time; empty: not recorded
    addresses: NDArray[Any]  # where it ran outside MPI, in the order of time; empty: not known
    current: NDArray[Any]  # what each thread does now, by lane; empty: not recorded
    lost: Mapping[str, int]  # elements that found no room, by section
    text: Mapping[str, tuple[str, ...]]
    notes: tuple[str, ...]

    def words(self, name: str) -> str:
        """A text field of the header."""
        return clean_text(self.header[name])

    @property
    def rank(self) -> int:
        """In MPI_COMM_WORLD; -1: not known."""
        return int(self.header["world_rank"])

    @property
    def size(self) -> int:
        """Ranks of MPI_COMM_WORLD; -1: not known."""
        return int(self.header["world_size"])

    @property
    def state(self) -> RecordState:
        """How the record ends; what is no state counts as killed."""
        number = int(self.header["state"])
        return RecordState(number) if number in RecordState.__members__.values() else RecordState.RUNNING

    @property
    def longest_lane(self) -> int:
        """The thread that was longest in MPI; 0: there is none."""
        return int(self.lanes["call_ticks"].argmax()) if self.lanes.size else 0

    @property
    def leading_lane(self) -> int:
        """The thread whose time is the rank's: that which started MPI, where it communicates; else the longest in MPI.

        A thread that does nothing but receive for others waits all the time, and costs them nothing.
        """
        families = watch_layout().families
        family = self.calls["family"][self.profile["call"][self.profile_lane == 0]]
        of_first = {families.get(number) for number in np.unique(family).tolist()}
        return 0 if of_first & COMMUNICATES else self.longest_lane

    @property
    def last_sign_ticks(self) -> int:
        """Its end, or the last that is known of it."""
        return max(int(self.header["end_ticks"]), int(self.lanes["last_ticks"].max(initial=0)))

    @property
    def sent(self) -> NDArray[Any]:
        """The rows of its profile that are messages which the rank sent."""
        names = self.call_names
        is_send = np.array(["send" in name.lower() or name.startswith("MPI_Start") for name in names], dtype=bool)
        is_sent = is_send[self.profile["call"]] & ((self.profile["flags"] & RECEIVE_SIDE) == 0)
        sent: NDArray[Any] = self.profile[is_sent]
        return sent

    @property
    def call_names(self) -> list[str]:
        """Name of each row of calls."""
        return [clean_text(name) for name in self.calls["name"]]


def clean_text(raw: bytes) -> str:
    """A fixed-length field as text."""
    return bytes(raw).split(b"\0", 1)[0].decode("utf-8", "replace")[:LONGEST_LINE]


def read_rank(path: Path) -> RankRecord:
    """Read one record.

    Raises: RecordError: missing, no record, shorter than its header, or written by a newer version.
    """
    known = watch_layout()
    descriptor = open_regular(path, known.most_bytes, within=path.parent)
    try:
        return _read(path, descriptor, known)
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}") from error
    finally:
        os.close(descriptor)


def _read(path: Path, descriptor: int, known: WatchLayout) -> RankRecord:
    file = _RecordFile(path, descriptor, os.fstat(descriptor).st_size)
    header = _header(file, known)
    for row in _table(file, header, known):
        file.take(row, known)
    parts = {name: _joined(file.parts[name], section) for name, section in known.sections.items()}
    lanes = parts["lanes"]
    np.minimum(lanes["level"], HIGHEST_LEVEL, out=lanes["level"])
    events, event_lane = _laned(file, "events", known)
    profile, profile_lane = _laned(file, "profile", known)
    bounds = {name: len(parts[name]) for name in ("calls", "sites", "communicators", "datatypes", "allocations")}
    events_ok = _sound_events(events, event_lane, int(header["state"]) == RecordState.THINNING, bounds)
    profile_ok = profile["call"] < bounds["calls"]
    for kind, kept in (("events", events_ok), ("profile rows", profile_ok)):
        if not kept.all():
            file.leave_out(int((~kept).sum()), kind)
    events, profile = events[events_ok], profile[profile_ok]
    _hold_indices(events, bounds)
    _hold_indices(profile, bounds)
    members = parts["members"]["world_rank"].astype(np.int32)
    _hold_members(parts["communicators"], members.size)
    _add_local(parts["calls"], lanes, profile, profile_lane[profile_ok], header)
    return RankRecord(
        path=path,
        header=header,
        lanes=lanes,
        calls=parts["calls"],
        sites=parts["sites"],
        communicators=parts["communicators"],
        members=members,
        datatypes=parts["datatypes"],
        allocations=parts["allocations"],
        profile=profile,
        profile_lane=profile_lane[profile_ok],
        events=events,
        event_lane=event_lane[events_ok],
        samples=_in_order(parts["samples"], "ticks"),
        addresses=_in_order(parts["addresses"], "monotonic_ns"),
        current=parts["current"],
        lost=dict(file.lost),
        text=_text(parts["text"]),
        notes=tuple(file.notes),
    )


@dataclass
class _RecordFile:
    """An open record. No more bytes are read of it than it has, whatever its table says."""

    path: Path
    descriptor: int
    size: int
    taken_bytes: int = 0
    parts: dict[str, list[NDArray[Any]]] = field(default_factory=lambda: defaultdict(list))
    lanes: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    lost: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    notes: list[str] = field(default_factory=list)

    def leave_out(self, count: int, kind: str) -> None:
        """Note what can't be read."""
        self.notes.append(f"{self.path.name}: {count} {kind} are damaged or cut off, and left out")

    def bytes_at(self, offset: int, length: int) -> bytes:
        """Up to `length` bytes; fewer where the file became shorter."""
        return os.pread(self.descriptor, length, offset) if length > 0 else b""

    def take(self, row: np.void, known: WatchLayout) -> None:
        """Read the elements of one row of the section table that are in use."""
        section = known.by_number.get(int(row["kind"]))
        if section is None:
            return  # of a later writer of this version
        element_bytes, offset = int(row["element_bytes"]), int(row["offset"])
        used, capacity = int(row["used"]), int(row["capacity"])
        if element_bytes < section.element.itemsize or offset < known.header_bytes or element_bytes > 2**16:
            self.leave_out(used, section.name)
            return
        room = max(self.size - offset, 0) // element_bytes
        count = min(used, capacity, room, max(self.size - self.taken_bytes, 0) // element_bytes)
        if count < used:
            self.leave_out(used - count, section.name)
        raw = self.bytes_at(offset, count * element_bytes)
        whole = len(raw) // element_bytes
        self.taken_bytes += whole * element_bytes
        stored = np.frombuffer(raw, section.stored(element_bytes), count=whole)
        self.parts[section.name].append(stored)
        self.lanes[section.name].append(int(row["lane"]))
        self.lost[section.name] += int(row["lost"])


def _header(file: _RecordFile, known: WatchLayout) -> np.void:
    raw = file.bytes_at(0, known.header.itemsize)
    if not raw.startswith(known.magic) or len(raw) < known.header.itemsize:
        raise RecordError(f"{file.path}: is not a whole record of a watched rank; remove it from the folder")
    header: np.void = np.frombuffer(raw, known.header)[0].copy()
    if int(header["version"]) > known.version:
        raise RecordError(
            f"{file.path}: has version {int(header['version'])} of the layout, newer than {known.version}; "
            "read it with the Slowpath that wrote it"
        )
    return header


def _table(file: _RecordFile, header: np.void, known: WatchLayout) -> NDArray[Any]:
    count = min(int(header["section_count"]), known.most_sections)
    raw = file.bytes_at(known.header.itemsize, count * known.row.itemsize)
    return np.frombuffer(raw, known.row, count=len(raw) // known.row.itemsize)


def _joined(parts: list[NDArray[Any]], section: RecordSection) -> NDArray[Any]:
    whole = np.zeros(sum(part.size for part in parts), section.element)
    start = 0
    for part in parts:
        for name in section.element.names or ():
            whole[name][start : start + part.size] = part[name]
        start += part.size
    return whole


def _laned(file: _RecordFile, name: str, known: WatchLayout) -> tuple[NDArray[Any], NDArray[np.int64]]:
    parts, lanes = file.parts[name], file.lanes[name]
    of_part = [np.full(part.size, lane, np.int64) for part, lane in zip(parts, lanes, strict=True)]
    return _joined(parts, known.sections[name]), np.concatenate([np.zeros(0, np.int64), *of_part])


def _sound_events(
    events: NDArray[Any], lane: NDArray[np.int64], is_thinning: bool, bounds: Mapping[str, int]
) -> NDArray[np.bool_]:
    """Events that can be what a writer wrote, shape (events,).

    A rank that died while it compacted a lane leaves events twice: those are kept once.
    """
    ok: NDArray[np.bool_] = (
        (events["call"] < bounds["calls"])
        & (events["start_ticks"] <= events["end_ticks"])
        & (events["start_ticks"] > 0)
        & (events["end_ticks"] < np.uint64(2**63))
    )
    if is_thinning and events.size:
        keyed = np.zeros(events.size, np.dtype([("event", "V64"), ("lane", "<i8")]))
        keyed["event"] = events.view("V64")
        keyed["lane"] = lane
        _, first = np.unique(keyed.view(f"V{keyed.dtype.itemsize}"), return_index=True)
        once = np.zeros(events.size, bool)
        once[first] = True
        ok &= once
    return ok


def _hold_indices(rows: NDArray[Any], bounds: Mapping[str, int]) -> None:
    """An index that leads nowhere becomes "none"."""
    names = rows.dtype.names or ()
    rows["communicator"][rows["communicator"] >= bounds["communicators"]] = NONE_16
    rows["site"][rows["site"] >= bounds["sites"]] = NONE_32
    if "datatype" in names:
        rows["datatype"][rows["datatype"] >= bounds["datatypes"]] = NONE_16
    if "allocation" in names:
        rows["allocation"][rows["allocation"] >= bounds["allocations"]] = NONE_32


def _in_order(samples: NDArray[Any], when: str) -> NDArray[Any]:
    """Without those that come before an earlier one: a rank that died while it made room leaves some twice."""
    ticks = samples[when]
    latest = np.maximum.accumulate(np.concatenate([[np.uint64(0)], ticks]))[:-1]
    in_order: NDArray[Any] = samples[(ticks > latest) & (ticks < np.uint64(2**63))]
    return in_order


def _add_local(
    calls: NDArray[Any], lanes: NDArray[Any], profile: NDArray[Any], lane: NDArray[np.int64], header: np.void
) -> None:
    """Of calls that were only counted: their numbers, and for their time that many times what one takes."""
    rows = np.flatnonzero((calls["family"] == LOCAL_FAMILY)[profile["call"]] & (lane < lanes.size))
    count = np.minimum(profile["count"][rows], np.uint64(MOST_LOCAL))
    each_ticks = float(np.clip(np.nan_to_num(header["local_call_ticks"]), 0.0, 1e6))
    ticks = (count * each_ticks).astype(np.uint64)
    profile["ticks"][rows] = ticks
    np.add.at(lanes["call_ticks"], lane[rows], ticks)
    np.add.at(calls["calls"], profile["call"][rows], count)


def _hold_members(communicators: NDArray[Any], members: int) -> None:
    offset = communicators["members_offset"].astype(np.int64)
    end = offset + communicators["members_count"]
    bad = (offset != NONE_32) & (end > members)
    communicators["members_offset"][bad] = NONE_32
    communicators["members_count"][bad] = 0


def _text(raw: NDArray[Any]) -> dict[str, tuple[str, ...]]:
    """Lines `KEY<tab>VALUE` by key; the value may hold tabs."""
    texts: dict[str, list[str]] = defaultdict(list)
    for line in _lines(raw):
        key, tab, value = line.partition(b"\t")
        if tab and len(value) <= LONGEST_LINE:
            texts[key.decode("utf-8", "replace")].append(value.decode("utf-8", "replace"))
    return {key: tuple(values) for key, values in texts.items()}


def _lines(raw: NDArray[Any]) -> Iterable[bytes]:
    return raw.tobytes().split(b"\n", MOST_TEXT_LINES)[:MOST_TEXT_LINES]
