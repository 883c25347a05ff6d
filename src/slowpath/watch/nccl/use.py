# SPDX-License-Identifier: Apache-2.0
"""From the NCCL records of a watch to its NcclUse. Pure but for reading them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from slowpath.core.result import Interval
from slowpath.core.units import listed
from slowpath.stats.orderstat import quantile_interval
from slowpath.watch.nccl.calls import (
    Floats,
    MatchedCalls,
    by_row,
    matched_collectives,
    matched_messages,
    timer_rate,
)
from slowpath.watch.nccl.record import (
    Member,
    NcclRecord,
    Timer,
    WholeCommunicator,
    communicators_of,
    read_nccl_records,
    text_of,
)
from slowpath.watch.nccl.results import NcclFirstUse, NcclLateRank, NcclOperation, NcclProcess, NcclTimer, NcclUse

MOST_LISTED: Final = 20
LEAST_LATE_S: Final = 5e-6  # kernels of one collective end so far apart
KNOWS_CALLS: Final = 5  # version of the interface that reports the program's own calls

_TIMERS: Final[Mapping[Timer, NcclTimer]] = {
    Timer.GPU: "GPU",
    Timer.PROXY: "proxy thread",
    Timer.HOST_ONLY: "host only",
}
_PREFIX: Final = "nccl"
# NCCL names no uint8 ("Unknown"), and every other datatype.
_DATATYPE_BYTES: Final[Mapping[str, int]] = {
    **{"Int8": 1, "Uint8": 1, "Unknown": 1, "Float8e4m3": 1, "Float8e5m2": 1},
    **{"Float16": 2, "Bfloat16": 2, "Int32": 4, "Uint32": 4, "Float32": 4},
    **{"Int64": 8, "Uint64": 8, "Float64": 8},
}
_OF_ALL_RANKS: Final = frozenset({"AllGather", "ReduceScatter", "AlltoAll", "Gather", "Scatter"})
_ROOTED: Final = frozenset({"Broadcast", "Reduce", "Send", "Recv"})
_MESSAGES: Final = [b"Send", b"Recv"]
SENDS_AND_RECEIVES: Final = 2  # calls in a group that nccl-tests' sendrecv makes


@dataclass(frozen=True, order=True)
class OperationKey:
    """What calls of one NcclOperation have in common."""

    function: str
    datatype: str
    bytes: int
    ranks: int
    algorithm: str
    protocol: str
    channels: int
    group_calls: int


@dataclass
class _Sums:
    """Over all rows of one operation. Times in nanoseconds."""

    calls: int = 0
    first_gpu_ns: list[float] = field(default_factory=list)
    first_host_ns: list[float] = field(default_factory=list)
    gpu_calls: int = 0
    gpu_ns: float = 0.0
    host_calls: int = 0
    host_ns: float = 0.0
    matched: list[MatchedCalls] = field(default_factory=list)

    def add(self, row: np.void, rate: float) -> None:
        """A row of one process."""
        self.calls += int(row["calls"])
        self.first_gpu_ns.append(int(row["first_gpu_ns"]) * rate)
        self.first_host_ns.append(float(row["first_host_ns"]))
        self.gpu_calls += int(row["gpu_calls"])
        self.gpu_ns += int(row["gpu_ns"]) * rate
        self.host_calls += int(row["host_calls"])
        self.host_ns += float(row["host_ns"])


def nccl_use(folder: Path, wall_s: float | None) -> NcclUse | None:
    """Of a watch's folder; None: no process called NCCL.  Args: wall_s: of the command; None: not known."""
    records, notes = read_nccl_records(folder)
    return use_of(records, wall_s, notes)


def use_of(records: Sequence[NcclRecord], wall_s: float | None, notes: Sequence[str] = ()) -> NcclUse | None:
    """None: no record has calls."""
    every = communicators_of(records)
    if not every:
        return None
    used = _processes(every)
    rates = {id(record): timer_rate(record) for record in records}
    run_s = wall_s or max(record.span_s for record, _ in used)
    processes = tuple(_process(record, rank, rates) for record, rank in used)
    is_timed = [process.busy_s for process in processes if process.busy_s is not None]
    timer = min(record.timer for record, _ in used)
    return NcclUse(
        program=Path(used[0][0].words("program")).name,
        interface=min(int(record.header["interface_version"]) for record, _ in used),
        timer=_TIMERS[timer],
        run_s=run_s,
        busy_s=sum(is_timed) / len(is_timed) if is_timed else None,
        processes=processes,
        communicators=len(every),
        operations=_operations(every, rates, len(used)),
        first_uses=_first_uses(every),
        late=_late(every, rates, run_s),
        notes=(*notes, *_notes(every, [record for record, _ in used], rates, timer)),
    )


def _processes(every: Sequence[WholeCommunicator]) -> list[tuple[NcclRecord, int]]:
    """Each with its rank in its largest communicator, by that."""
    ranks: dict[int, tuple[NcclRecord, int]] = {}
    for communicator in every:
        for member in communicator.members:
            ranks.setdefault(id(member.record), (member.record, member.rank))
    return sorted(ranks.values(), key=lambda pair: (pair[1], pair[0].path.name))


def _process(record: NcclRecord, rank: int, rates: Mapping[int, float]) -> NcclProcess:
    busy_ns = sum(int(ns) for ns in record.communicators["busy_ns"][record.communicators["calls"] > 0])
    return NcclProcess(
        rank=rank,
        host=record.words("host"),
        calls=sum(int(calls) for calls in record.rows["calls"]),
        busy_s=busy_ns * 1e-9 * rates[id(record)] if busy_ns else None,
        unfinished=min(int(record.header["unfinished"]), 2**62),
        ended="closed" if int(record.header["is_closed"]) == 1 else "killed",
    )


def key_of(row: np.void, ranks: int) -> OperationKey:
    """Of a ROW.  Args: ranks: of its communicator."""
    function, datatype = text_of(row["function"]), text_of(row["datatype"]).removeprefix(_PREFIX)
    length = int(row["count"]) * _DATATYPE_BYTES.get(datatype, 0)
    return OperationKey(
        function,
        "Uint8" if datatype == "Unknown" else datatype,
        length * ranks if function in _OF_ALL_RANKS else length,
        ranks,
        text_of(row["algorithm"]),
        text_of(row["protocol"]),
        int(row["channels"]),
        max(int(row["group_calls"]), 1),
    )


def _operations(
    every: Sequence[WholeCommunicator], rates: dict[int, float], processes: int
) -> tuple[NcclOperation, ...]:
    sums: dict[OperationKey, _Sums] = defaultdict(_Sums)
    for communicator in every:
        for member in communicator.members:
            for number in member.rows.tolist():
                row = member.record.rows[number]
                sums[key_of(row, communicator.ranks)].add(row, rates[id(member.record)])
        collectives = matched_collectives(communicator, rates)
        for matched in [*([collectives] if collectives else []), *matched_messages(communicator, rates)]:
            for number, part in by_row(matched):
                sums[key_of(matched.members[0].record.rows[number], communicator.ranks)].matched.append(part)
    found = [_operation(key, total, processes) for key, total in sums.items()]
    return tuple(sorted(found, key=lambda one: (-(one.seconds or 0.0), one.function, one.bytes)))


def _operation(key: OperationKey, total: _Sums, processes: int) -> NcclOperation:
    work_s = np.concatenate([np.zeros(0), *(part.work_s for part in total.matched)])
    wait_s = np.concatenate([np.zeros(0), *(part.wait_s for part in total.matched)])
    first_ns, gpu_ns = max(total.first_gpu_ns), total.gpu_ns + sum(total.first_gpu_ns)
    median, ends = _median(work_s)
    bus = bus_factor(key)
    rate = bus * key.bytes / median if bus is not None and median else None
    return NcclOperation(
        **{name: getattr(key, name) for name in OperationKey.__dataclass_fields__},
        calls=total.calls,
        seconds=gpu_ns * 1e-9 / processes if gpu_ns else None,
        mean_s=total.gpu_ns * 1e-9 / total.gpu_calls if total.gpu_calls else None,
        work_s=median,
        work_interval=ends,
        wait_s=float(wait_s.mean()) if wait_s.size else None,
        bus_bytes_per_s=rate,
        bus_interval=_rate_ends(bus, key.bytes, ends) if rate is not None else None,
        launch_s=total.host_ns * 1e-9 / total.host_calls if total.host_calls else None,
        first_s=first_ns * 1e-9 if first_ns else None,
        first_launch_s=max(total.first_host_ns) * 1e-9,
    )


def bus_factor(key: OperationKey) -> float | None:
    """Bytes over the busiest link, as nccl-tests counts them, per byte of `bytes`; None: it defines none for these."""
    if key.group_calls > (SENDS_AND_RECEIVES if key.function in ("Send", "Recv") else 1):
        return None
    if key.function == "AllReduce":
        return 2 * (key.ranks - 1) / key.ranks
    if key.function in _OF_ALL_RANKS:
        return (key.ranks - 1) / key.ranks
    return 1.0 if key.function in _ROOTED else None


def _median(values: Floats) -> tuple[float | None, Interval | None]:
    if not values.size:
        return None, None
    ends = quantile_interval(values)
    return float(np.median(values)), None if ends is None else (ends.low, ends.high)


def _rate_ends(factor: float | None, length: int, ends: Interval | None) -> Interval | None:
    if factor is None or ends is None or ends[0] <= 0:
        return None
    return factor * length / ends[1], factor * length / ends[0]


def _first_uses(every: Sequence[WholeCommunicator]) -> tuple[NcclFirstUse, ...]:
    """First collective and first message of each communicator: NCCL connects ranks for either.

    Only where the interface reports the program's call: with older ones the connecting was before.
    """
    found = []
    for communicator in every:
        for of_messages in (False, True):
            firsts = [
                (member, row)
                for member in communicator.members
                if int(member.record.header["interface_version"]) >= KNOWS_CALLS
                and (row := _first_row(member, of_messages)) is not None
            ]
            if not firsts:
                continue
            member, row = max(firsts, key=lambda pair: int(pair[1]["first_host_ns"]))
            key, later = key_of(row, communicator.ranks), int(row["host_calls"])
            found.append(
                NcclFirstUse(
                    function=key.function,
                    bytes=key.bytes,
                    ranks=communicator.ranks,
                    launch_s=int(row["first_host_ns"]) * 1e-9,
                    rank=member.rank,
                    later_launch_s=int(row["host_ns"]) * 1e-9 / later if later else None,
                )
            )
    return tuple(sorted(found, key=lambda one: -one.launch_s)[:MOST_LISTED])


def _first_row(member: Member, of_messages: bool) -> np.void | None:
    numbers: NDArray[Any] = member.rows
    rows = member.record.rows[numbers]
    rows = rows[np.isin(rows["function"], _MESSAGES) == of_messages]
    if not rows.size:
        return None
    found: np.void = rows[np.argmin(rows["first_start_ns"])]
    return found


@dataclass(frozen=True)
class _Late:
    """One rank in collectives of one kind. waits_s: of the others when it came last, shape (n,).  calls: of that kind.

    waited_s: in all of the run.
    """

    key: OperationKey
    waits_s: Floats
    calls: int
    waited_s: float


def _late(every: Sequence[WholeCommunicator], rates: dict[int, float], run_s: float) -> tuple[NcclLateRank, ...]:
    found = []
    for communicator in every:
        matched = matched_collectives(communicator, rates)
        if matched is None:
            continue
        for rank, parts in _late_by_rank(communicator, matched).items():
            most = max(parts, key=lambda part: part.waited_s)
            waited_s = sum(part.waited_s for part in parts)
            late_s, ends = _median(most.waits_s)
            if late_s is None:
                continue
            found.append(
                NcclLateRank(
                    rank=communicator.members[rank].rank,
                    host=communicator.members[rank].record.words("host"),
                    ranks=communicator.ranks,
                    waited_s=waited_s,
                    share=min(waited_s / run_s, 1.0) if run_s > 0 else 0.0,
                    function=most.key.function,
                    bytes=most.key.bytes,
                    calls=most.calls,
                    last_share=most.waits_s.size / most.calls,
                    late_s=late_s,
                    late_interval=ends,
                )
            )
    return tuple(sorted(found, key=lambda one: -one.waited_s)[:MOST_LISTED])


def _late_by_rank(communicator: WholeCommunicator, matched: MatchedCalls) -> dict[int, list[_Late]]:
    """By column of `matched`: kinds of collectives in which that rank came last by more than kernels differ."""
    first = communicator.members[0]
    kinds: dict[OperationKey, list[tuple[int, MatchedCalls]]] = defaultdict(list)
    for number, part in by_row(matched):
        kinds[key_of(first.record.rows[number], communicator.ranks)].append((number, part))
    found: dict[int, list[_Late]] = defaultdict(list)
    for key, parts in kinds.items():
        waits_s = np.concatenate([part.waits_for_last_s for _, part in parts])
        last = np.concatenate([part.last for _, part in parts])
        # Of calls that were not kept as many are taken to be late as of those that were.
        stand_for = sum(int(first.record.rows["gpu_calls"][number]) for number, _ in parts) / waits_s.size
        for rank in np.unique(last[waits_s >= LEAST_LATE_S]).tolist():
            its = waits_s[(last == rank) & (waits_s >= LEAST_LATE_S)]
            found[rank].append(_Late(key, its, waits_s.size, float(its.sum()) * max(stand_for, 1.0)))
    return found


def _notes(
    every: Sequence[WholeCommunicator], records: Sequence[NcclRecord], rates: Mapping[int, float], timer: Timer
) -> list[str]:
    found = []
    version = min(int(record.header["interface_version"]) for record in records)
    if timer == Timer.HOST_ONLY:
        found.append("NCCL's kernels were not timed (SLOWPATH_NCCL_KERNELS=0); only launches have times")
    elif timer == Timer.PROXY:
        found.append(
            f"version {version} of NCCL's profiler interface has no GPU timer: times are those at which NCCL's proxy "
            "thread saw a call begin and end" + (", and calls within a node have none" if version < 3 else "")
        )
    cut = [one for one in every if not one.is_whole]
    if cut:
        there, ranks = len(cut[0].members), cut[0].ranks
        found.append(
            f"{len(cut)} of {len(every)} NCCL communicators lack records ({there} of {ranks} ranks left one), so "
            "their waits are unknown"
        )
    for name, what in (("lost_rows", "calls"), ("lost_communicators", "communicators")):
        lost = sum(int(record.header[name]) for record in records)
        if lost:
            found.append(f"{lost:,} NCCL {what} had no room in the record")
    other = [record for record in records if rates[id(record)] != 1.0]
    if other:
        found.append(
            f"the GPU timer of {listed([record.path.name for record in other[:3]])} does not count nanoseconds: "
            f"its times are multiplied by {rates[id(other[0])]:.4g}"
        )
    return found
