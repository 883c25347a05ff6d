# SPDX-License-Identifier: Apache-2.0
"""Synthetic NAME.watch files: what a rank of a watched program leaves, written from Python (schema/watch.json).

Times are seconds since MPI_Init of rank 0; ticks are ns. Sequences are counted by the order of calls of these methods,
unless they are given. Profile rows are built from the events; `profile_row` adds further ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from slowpath.watch.record.layout import NONE_16, NONE_32, EventKind, RecordState, watch_layout
from slowpath.watch.record.reader import LOCAL_FAMILY
from support.watch_file import array_of, assembled

FAMILIES = {
    "point to point": ("Send", "Recv", "Isend", "Irecv", "Ssend", "Issend", "Sendrecv", "Probe", "Iprobe", "Start"),
    "completion": ("Wait", "Test"),
    "collective": (
        "Barrier", "Bcast", "Reduce", "All", "Gather", "Scatter", "Scan", "Exscan", "Ibarrier", "Iall", "Ibcast",
        "Neighbor",
    ),
    "one-sided": ("Put", "Get", "Accumulate", "Win_", "Fetch", "Compare"),
    "communicators and groups": ("Comm_", "Group_", "Cart_"),
    "datatypes": ("Type_",),
    "start and end": ("Init", "Finalize"),
    "files": ("File_",),
}  # fmt: skip
WORLD = 0x5150_AC01_0000_0001
BASE_NS = 1_000_000_000_000  # CLOCK_MONOTONIC at MPI_Init of rank 0
REALTIME_NS = 1_790_000_000_000_000_000  # CLOCK_REALTIME then


def family_of(call: str) -> int:
    """Number of the family of MPI_CALL."""
    numbers = {meaning: number for number, meaning in watch_layout().families.items()}
    short = call.removeprefix("MPI_")
    families = [
        (len(prefix), family)
        for family, prefixes in FAMILIES.items()
        for prefix in prefixes
        if short.startswith(prefix)
    ]
    return numbers[max(families)[1] if families else "other"]


def size_class_of(message_bytes: int) -> int:
    """0: no bytes; else 1 + floor(log2(bytes))."""
    return message_bytes.bit_length()


@dataclass
class Rank:
    """What one rank does; becomes one file. `header` holds fields that differ from a well-behaved rank's."""

    rank: int
    size: int
    host: str = "node1"
    program: str = "/opt/app/app"
    state: RecordState = RecordState.FINALIZED
    base_ns: int = BASE_NS  # of this host's CLOCK_MONOTONIC at time 0
    ticks_per_ns: float = 1.0
    level: int = 0  # windows that are no multiple of 2^level are left out of the events
    window_ns: int = 50_000_000
    thinned: int = 0  # calls of the first lane that were only counted
    header: dict[str, Any] = field(default_factory=dict)
    rows: dict[str, list[dict[str, Any]]] = field(default_factory=lambda: defaultdict(list))
    text: list[tuple[str, str]] = field(default_factory=list)
    lost: Counter[str] = field(default_factory=Counter)
    _calls: dict[str, int] = field(default_factory=dict)
    _streams: Counter[tuple[Any, ...]] = field(default_factory=Counter)
    _requests: dict[int, dict[str, Any]] = field(default_factory=dict)
    _serial: int = 0

    def __post_init__(self) -> None:
        self.communicator(WORLD, size=self.size, rank=self.rank)
        self.rows["sites"].append({"depth": 0})

    # Tables

    def call(self, name: str) -> int:
        """Row of calls."""
        if name not in self._calls:
            self._calls[name] = len(self._calls)
            self.rows["calls"].append({"name": name.encode(), "family": family_of(name), "importers": 1})
        return self._calls[name]

    def site(self, *frames: int) -> int:
        """Row of sites; return addresses, nearest first."""
        padded = np.zeros(15, np.uint64)
        padded[: len(frames)] = frames
        row = {"depth": len(frames), "frames": padded}
        return self._append("sites", row)

    def communicator(
        self, identity: int, size: int, rank: int, members: Sequence[int] | None = None, **fields: Any
    ) -> int:
        """Row of communicators. members: world ranks by rank; None: the world's, in order."""
        offset, count = NONE_32, 0
        if members is not None:
            offset, count = len(self.rows["members"]), len(members)
            self.rows["members"] += [{"world_rank": member} for member in members]
        row = {
            "identity": identity, "size": size, "rank": rank, "members_offset": offset, "members_count": count,
            "parent": NONE_16, "made_by": NONE_16,
        }  # fmt: skip
        return self._append("communicators", row | fields)

    def allocation(self, allocation_bytes: int, kind: int = 2, page_bytes: int = 4096, **fields: Any) -> int:
        """Row of allocations. kind: see memory_kinds."""
        row = {
            "address": 0x7F00_0000_0000, "bytes": allocation_bytes, "page_bytes": page_bytes, "kind": kind,
            "buffer_class": buffer_class(kind, page_bytes),
        }  # fmt: skip
        return self._append("allocations", row | fields)

    def datatype(self, type_bytes: int, extent_bytes: int, blocks: int, shape: int = 2) -> int:
        """Row of datatypes."""
        row = {"bytes": type_bytes, "extent_bytes": extent_bytes, "blocks": blocks, "shape": shape}
        return self._append("datatypes", row)

    def say(self, key: str, value: str) -> None:
        """A line of text."""
        self.text.append((key, value))

    def _append(self, name: str, row: dict[str, Any]) -> int:
        self.rows[name].append(row)
        return len(self.rows[name]) - 1

    # Events

    def event(self, call: str, start_s: float, end_s: float, kind: EventKind, **fields: Any) -> dict[str, Any]:
        """Any event; further fields by the names of the schema."""
        row = {
            "start_ns": round(start_s * 1e9), "end_ns": round(end_s * 1e9), "bytes": 0, "request": 0, "sequence": 0,
            "site": 0, "peer": -1, "tag": 0, "allocation": NONE_32, "call": self.call(call), "kind": int(kind),
            "communicator": 0, "datatype": NONE_16, "requests": 0, "start_offset": 0, "lane": 0,
        }  # fmt: skip
        row |= fields
        self.rows["events"].append(row)
        return row

    def _next(self, *stream: Any) -> int:
        self._streams[stream] += 1
        return self._streams[stream] - 1

    def send(
        self, to: int, *, tag: int = 0, start_s: float, end_s: float, message_bytes: int = 8, call: str = "MPI_Send",
        kind: EventKind = EventKind.SEND, communicator: int = 0, **fields: Any
    ) -> dict[str, Any]:  # fmt: skip
        """A send that returns when its buffer may be used again."""
        fields.setdefault("sequence", self._next(kind & EventKind.SEND, communicator, to, tag))
        return self.event(
            call, start_s, end_s, kind, peer=to, tag=tag, bytes=message_bytes, communicator=communicator, **fields
        )

    def receive(
        self, source: int, *, call: str = "MPI_Recv", kind: EventKind = EventKind.RECEIVE, **fields: Any
    ) -> dict[str, Any]:
        """A receive that returns with its message. source and tag: as it arrived."""
        return self.send(source, call=call, kind=kind, **fields)

    def sendrecv(self, to: int, source: int, **fields: Any) -> None:
        """MPI_Sendrecv: two events, the second without time of its own."""
        self.send(to, call="MPI_Sendrecv", **fields)
        self.receive(source, call="MPI_Sendrecv", kind=EventKind.RECEIVE | EventKind.PART, **fields)

    def isend(self, to: int, **fields: Any) -> int:
        """MPI_Isend; returns the request's serial. Arguments as those of `send`."""
        self._serial += 1
        kind = EventKind.SEND | EventKind.POST | fields.pop("extra", EventKind(0))
        self._requests[self._serial] = self.send(to, kind=kind, request=self._serial, **{"call": "MPI_Isend", **fields})
        return self._serial

    def irecv(self, source: int, *, is_any: bool = False, **fields: Any) -> int:
        """MPI_Irecv; returns the request's serial. is_any: posted with MPI_ANY_SOURCE; `source` then sends."""
        self._serial += 1
        kind = EventKind.RECEIVE | EventKind.POST | (EventKind.ANY if is_any else EventKind(0))
        row = self.receive(source, call="MPI_Irecv", kind=kind, request=self._serial, **fields)
        self._requests[self._serial] = dict(row)
        if is_any:
            row |= {"peer": -2, "sequence": 0}
        return self._serial

    def icollective(self, call: str, *, start_s: float, end_s: float, **fields: Any) -> int:
        """A collective by a request."""
        self._serial += 1
        kind = EventKind.COLLECTIVE | EventKind.POST
        row = self.collective(call, start_s=start_s, end_s=end_s, kind=kind, request=self._serial, **fields)
        self._requests[self._serial] = row
        return self._serial

    def wait(
        self, *requests: int, start_s: float, end_s: float, call: str = "MPI_Waitall", given: int | None = None,
        **fields: Any
    ) -> None:  # fmt: skip
        """A call that completed `requests`; given: how many it was given, where more."""
        count = len(requests) if given is None else given
        self.event(call, start_s, end_s, EventKind.WAIT, requests=count, **fields)
        for serial in requests:
            posted = self._requests.pop(serial)
            sides = EventKind.SEND | EventKind.RECEIVE | EventKind.COLLECTIVE | EventKind.ONE_SIDED
            kind = EventKind.DONE | (EventKind(posted["kind"]) & sides)
            names = ("bytes", "request", "sequence", "peer", "tag", "allocation", "communicator", "datatype")
            self.event(call, start_s, end_s, kind, **{name: posted[name] for name in names}, **fields)

    def collective(
        self, call: str, *, start_s: float, end_s: float, message_bytes: int = 0, root: int = -1,
        kind: EventKind = EventKind.COLLECTIVE, communicator: int = 0, **fields: Any
    ) -> dict[str, Any]:  # fmt: skip
        """A collective. root: its world rank, or -1."""
        fields.setdefault("sequence", self._next("collective", communicator))
        return self.event(
            call, start_s, end_s, kind, peer=root, bytes=message_bytes, communicator=communicator, **fields
        )

    def profile_row(self, call: str, duration_ns: int, count: int, message_bytes: int = 0, **fields: Any) -> None:
        """Calls without events: `count` calls of one length and duration."""
        row = {
            "site": 0, "call": self.call(call), "size_class": size_class_of(message_bytes), "peer": -1,
            "buffer_class": 0, "communicator": 0, "count": count, "bytes": count * message_bytes,
            "ticks": self._scaled(duration_ns) * count, "lane": 0,
        }  # fmt: skip
        self._append("profile", row | fields)

    def local_row(self, call: str, count: int, **fields: Any) -> None:
        """Calls that are counted without times; `header` has what one takes."""
        self.rows["calls"][self.call(call)]["family"] = LOCAL_FAMILY
        self.profile_row(call, 0, count, communicator=NONE_16, **fields)

    def sample(self, at_s: float, state: str = "R", system_call: int = -2, **fields: Any) -> None:
        """What another thread saw of the one that started MPI."""
        row = {"ticks": self._ticks(round(at_s * 1e9)), "state": ord(state), "system_call": system_call}
        self._append("samples", row | fields)

    def address(self, at_s: float, address: int, *callers: int) -> None:
        """Where the thread that started MPI ran."""
        row = {"monotonic_ns": self.base_ns + round(at_s * 1e9), "address": address}
        self._append("addresses", row | {"callers": [*callers, 0, 0, 0][:3]})

    # The file

    def _scaled(self, ns: int) -> int:
        return round(ns * self.ticks_per_ns)

    def _ticks(self, ns: int) -> int:
        return self._scaled(self.base_ns + ns)

    def _is_kept(self, event: dict[str, Any]) -> bool:
        return ((self.base_ns + event["start_ns"]) // self.window_ns) % (1 << self.level) == 0

    def _stored_event(self, event: dict[str, Any]) -> dict[str, Any]:
        row = {name: value for name, value in event.items() if name not in ("start_ns", "end_ns", "lane", "counted_at")}
        return row | {"start_ticks": self._ticks(event["start_ns"]), "end_ticks": self._ticks(event["end_ns"])}

    def _count_calls(self) -> None:
        calls = Counter(
            event["call"] for event in self.rows["events"] if not event["kind"] & (EventKind.DONE | EventKind.PART)
        )
        for profiled in self.rows["profile"]:
            calls[profiled["call"]] += profiled["count"]
        for number, row in enumerate(self.rows["calls"]):
            row["calls"] = 0 if row["family"] == LOCAL_FAMILY else calls[number]

    def _profile(self, lane: int) -> list[dict[str, Any]]:
        """Rows from the events of a lane: of a receive by a request, what completed it counts."""
        rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        posts = {event["request"]: event for event in self.rows["events"] if event["kind"] & EventKind.POST}
        for event in self.rows["events"]:
            kind, ns = event["kind"], event["end_ns"] - event["start_ns"]
            if event["lane"] != lane or (kind & EventKind.DONE and not kind & EventKind.RECEIVE):
                continue
            if kind & EventKind.POST and kind & EventKind.RECEIVE:
                continue
            posted = posts.get(event["request"], event) if kind & EventKind.DONE else event
            ns = posted["end_ns"] - posted["start_ns"] if kind & EventKind.DONE else 0 if kind & EventKind.PART else ns
            allocation = event["allocation"]
            memory = {"buffer_class": 0, "bytes": 0}
            if allocation < len(self.rows["allocations"]):
                memory = self.rows["allocations"][allocation]
            flags = (
                (kind & EventKind.FIRST > 0)
                | (2 if kind & EventKind.RECEIVE else 0)
                | (4 if event["datatype"] != NONE_16 else 0)
            )
            key = (
                posted.get("counted_at", posted["site"]), posted["call"], size_class_of(event["bytes"]), flags,
                event["peer"], memory["buffer_class"], event["communicator"],
            )  # fmt: skip
            names = ("site", "call", "size_class", "flags", "peer", "buffer_class", "communicator")
            row = rows.setdefault(
                key,
                dict(zip(names, key, strict=True))
                | {"count": 0, "bytes": 0, "ticks": 0, "allocation_bytes": memory["bytes"]},
            )
            row["count"] += 1
            row["bytes"] += event["bytes"]
            row["ticks"] += self._scaled(ns)
        own = [row for row in self.rows["profile"] if row["lane"] == lane]
        return [{name: value for name, value in row.items() if name != "lane"} for row in [*rows.values(), *own]]

    def _is_local(self, row: dict[str, Any]) -> bool:
        return bool(self.rows["calls"][row["call"]]["family"] == LOCAL_FAMILY)

    def _lane(self, number: int) -> dict[str, Any]:
        events = [event for event in self.rows["events"] if event["lane"] == number]
        timed = [event for event in events if not event["kind"] & (EventKind.DONE | EventKind.PART)]
        rows = [row for row in self.rows["profile"] if row["lane"] == number]
        ticks = sum(self._scaled(event["end_ns"] - event["start_ns"]) for event in timed)
        return {
            "thread": 1000 + number, "thinned": 0 if number else self.thinned, "level": self.level,
            "events_seen": len(events),
            "calls": len(timed) + sum(row["count"] for row in rows if not self._is_local(row)),
            "call_ticks": ticks + sum(row["ticks"] for row in rows),
            "last_ticks": max((self._ticks(event["end_ns"]) for event in timed), default=0),
        }  # fmt: skip

    def content(self, end_s: float | None = None) -> bytes:
        """The file's bytes. end_s: when MPI_Finalize was called; None: when the last event ended."""
        known = watch_layout()
        self._count_calls()
        lanes = sorted({0} | {event["lane"] for event in self.rows["events"]})
        parts: list[tuple[str, int, np.ndarray[Any, Any]]] = []
        for name in (
            "calls",
            "sites",
            "communicators",
            "members",
            "datatypes",
            "allocations",
            "current",
            "samples",
            "addresses",
        ):
            parts.append((name, 0, array_of(name, self.rows[name])))
        parts.append(("lanes", 0, array_of("lanes", [self._lane(lane) for lane in range(lanes[-1] + 1)])))
        for lane in lanes:
            ordered = sorted(
                (event for event in self.rows["events"] if event["lane"] == lane and self._is_kept(event)),
                key=lambda event: event["end_ns"],
            )
            parts.append(("events", lane, array_of("events", [self._stored_event(event) for event in ordered])))
            parts.append(("profile", lane, array_of("profile", self._profile(lane))))
        lines = "".join(f"{key}\t{value}\n" for key, value in self.text).encode()
        parts.append(("text", 0, np.frombuffer(lines, known.sections["text"].element)))
        last_ns = max((event["end_ns"] for event in self.rows["events"]), default=0)
        return assembled(parts, self._header(last_ns if end_s is None else round(end_s * 1e9)), self.lost)

    def _header(self, end_ns: int) -> dict[str, Any]:
        return {
            "state": int(self.state), "pid": 4000 + self.rank, "world_rank": self.rank, "world_size": self.size,
            "interface": 1, "thread_level": 0, "ticks_kind": 1 if self.ticks_per_ns != 1.0 else 2,
            "start_ticks": self._ticks(0), "start_monotonic_ns": self.base_ns, "start_realtime_ns": REALTIME_NS,
            "end_ticks": self._ticks(end_ns), "end_monotonic_ns": self.base_ns + end_ns,
            "end_realtime_ns": REALTIME_NS + end_ns, "process_start_realtime_ns": REALTIME_NS - 20_000_000,
            "window_ns": self.window_ns, "call_cost_ns": 50, "host": self.host.encode(),
            "program": self.program.encode(), "library": b"MPICH Version: 5.0.2",
            "library_path": b"/opt/mpi/libmpi.so.12",
        } | self.header  # fmt: skip


@dataclass
class Job:
    """All ranks of one run."""

    size: int
    ranks: list[Rank] = field(default_factory=list)

    def __init__(self, ranks: int, **fields: Any) -> None:
        self.size = ranks
        self.ranks = [Rank(rank, ranks, **fields) for rank in range(ranks)]

    def write(self, folder: Path, end_s: float | None = None) -> Path:
        """All files, into `folder`; end_s as in `Rank.content`, by default the last rank's."""
        folder.mkdir(parents=True, exist_ok=True)
        last = max((event["end_ns"] for rank in self.ranks for event in rank.rows["events"]), default=0) / 1e9
        for rank in self.ranks:
            path = folder / f"{rank.host}-{4000 + rank.rank}.watch"
            path.write_bytes(rank.content(last if end_s is None else end_s))
        return folder


def buffer_class(kind: int, page_bytes: int = 4096, start: int = 1, is_odd: bool = False) -> int:
    """Bits of a buffer's class (schema/watch.json, buffer_class); its allocation's length is known."""
    page = 0 if page_bytes == 0 else 1 if page_bytes < 65536 else 2 if page_bytes < 2**21 else 3
    return kind | page << 4 | start << 6 | is_odd << 8 | 1 << 9
