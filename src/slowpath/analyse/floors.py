# SPDX-License-Identifier: Apache-2.0
"""Each cell's floors: what the same bytes cost without MPI in the same launches, and how far its message lies above.

The ways by which bytes go from one rank to another without MPI are those of docs/internals/statistics.md; the engine's
part `yardstick` times them. Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Literal

from slowpath.core.cell_results import CellResult, Floor, OverFloor
from slowpath.core.plan import Cell
from slowpath.core.results import Line
from slowpath.core.units import format_bytes, format_time, ratio_words, whole_number
from slowpath.experiments.measured import LaunchRecord, Measurements
from slowpath.experiments.registry import experiment_named
from slowpath.stats.estimate import estimate_over_launches, median

End = Literal["host", "gpu"]
_GPU = ("device", "device_pool", "device_vmm")
_HOST = ("host", "mpi", "pinned_host", "pinned_registered")
PUT_METRIC = "time_per_put_s"
# What is timed of a message, by pattern; other patterns have several messages under way, which share what one costs.
METRIC_OF: Mapping[str, str] = {"ping_pong": "half_round_trip_latency_s", "one_way": "one_way_s"}


@dataclass(frozen=True)
class ByteWay:
    """part: every message needs it (hand-over), its bytes could go by it (copy), or it is there to compare with.

    ends: from where to where; None: any.  sized: whether it has a length.
    """

    name: str
    words: str
    part: Literal["hand-over", "copy", "compare"]
    ends: tuple[End, End] | None = None
    sized: bool = True


WAYS: tuple[ByteWay, ...] = (
    ByteWay("flag", "a flag passed through shared memory", "hand-over", sized=False),
    ByteWay("copy_across", "copy out of shared memory", "copy", ("host", "host")),
    ByteWay("process_vm_readv", "copy by the kernel", "copy", ("host", "host")),
    ByteWay("memcpy", "local copy", "compare", ("host", "host")),
    ByteWay("memcpy_cold", "local copy, out of caches", "compare", ("host", "host")),
    ByteWay("gpu_copy", "GPU copy", "copy", ("gpu", "gpu")),
    ByteWay("gpu_peer_copy", "GPU peer copy", "copy", ("gpu", "gpu")),
    ByteWay("gpu_to_host", "GPU to host", "copy", ("gpu", "host")),
    ByteWay("gpu_from_host", "host to GPU", "copy", ("host", "gpu")),
)


@dataclass(frozen=True)
class TimedMessage:
    """A cell's message: its length, where it goes, and the metric that times it."""

    bytes: int
    ends: tuple[End, End]
    sender: int | None  # None: the last rank
    receiver: int | None
    metric: str

    def ways(self) -> tuple[ByteWay, ...]:
        """Those that end where the message does."""
        return tuple(way for way in WAYS if way.ends in (None, self.ends))


def message_of(parameters: Mapping[str, str], ranks: tuple[int | None, int | None]) -> TimedMessage | None:
    """The message of a p2p cell; None: it has no floor."""
    metric = METRIC_OF.get(parameters.get("pattern", ""))
    if metric is None:
        return None
    if (parameters.get("posted", "together"), parameters.get("synchronise", "outside")) != ("together", "outside"):
        return None
    length = whole_number(parameters.get("message_bytes", ""))
    if not length:
        return None
    kinds = parameters.get("memory", "host").split(":")
    if not all(kind in _GPU or kind in _HOST for kind in kinds):
        return None
    ends: list[End] = ["gpu" if kind in _GPU else "host" for kind in (kinds[0], kinds[-1])]
    return TimedMessage(length, (ends[0], ends[1]), *ranks, metric)


def put_of(parameters: Mapping[str, str], ranks: tuple[int | None, int | None]) -> TimedMessage | None:
    """A put as the message that would carry its bytes; None: it has no floor.

    Puts of a burst overlap, so that one may take less than a message alone needs; taking many times of it is no less
    strange.
    """
    if parameters.get("design", "mpi") != "mpi":
        return None
    if parameters.get("operation", "put") not in ("put", "rput"):
        return None
    if float(parameters.get("target_busy_s", "0")):
        return None
    length = whole_number(parameters.get("message_bytes", "8"))
    if not length:
        return None
    return TimedMessage(length, ("host", "host"), *ranks, PUT_METRIC)


_MESSAGES = {"p2p": message_of, "put": put_of}

NO_FLOOR = "no lower bound is known for it"
NOT_MEASURED = "not measured without MPI"


@dataclass(frozen=True)
class CellFloors:
    """`floors`, `over_floor` and `over_floor_reason` of a cell (docs/reference/results.md)."""

    floors: list[Floor] = field(default_factory=list)
    over: OverFloor | None = None
    reason: str | None = None


def floors(cell: Cell, measurements: Measurements, launches: Sequence[LaunchRecord]) -> CellFloors:
    """Of one cell of messages or puts over the launches that measured it."""
    of = _MESSAGES.get(cell.experiment)
    message = of(cell.parameters, experiment_named(cell.experiment).ends(cell.parameters)) if of else None
    if message is None:
        return CellFloors(reason=NO_FLOOR)
    measured = [launch for launch in launches if launch.yardsticks]
    if not measured:
        return CellFloors(reason=NOT_MEASURED)
    of_ways = [floor for way in message.ways() if (floor := _floor(way, message, measured)) is not None]
    return CellFloors(of_ways, *_over(cell.cell, message, measured, measurements))


def _time_s(launch: LaunchRecord, way: ByteWay, message: TimedMessage) -> float | None:
    """Least of one launch's samples, seconds; None: not measured there.

    A floor is what the machine can do: whatever disturbs a sample makes it longer.
    """
    length = message.bytes if way.sized else 0
    last = launch.size - 1
    sender, receiver = (last if rank is None else rank for rank in (message.sender, message.receiver))
    if message.ends == ("host", "host"):  # the engine measures one direction for both
        sender, receiver = sorted((sender, receiver))
    yardstick = launch.yardsticks.get((sender, receiver, way.name, length))
    if yardstick is None or not yardstick.samples_ns:
        return None
    return min(yardstick.samples_ns) * 1e-9 / yardstick.operations or None


def _reason(launch: LaunchRecord, way: ByteWay) -> str | None:
    reasons = (yardstick.reason for yardstick in launch.yardsticks.values() if yardstick.name == way.name)
    return next(filter(None, reasons), None)


def _floor(way: ByteWay, message: TimedMessage, launches: Sequence[LaunchRecord]) -> Floor | None:
    """None: not measured, for no reason of its own."""
    times = [time for launch in launches if (time := _time_s(launch, way, message))]
    if not times:
        reason = next((why for launch in launches if (why := _reason(launch, way))), None)
        if reason is None:
            return None
        return Floor(name=way.name, text=way.words, time_s=None, interval=None, launches=0, reason=reason)
    estimate = estimate_over_launches(times)
    return Floor(
        name=way.name,
        text=way.words,
        time_s=estimate.value,
        interval=estimate.interval,
        launches=len(times),
        reason=None,
    )


def lowest(message: TimedMessage, launch: LaunchRecord) -> tuple[float, str] | None:
    """Seconds and name of what no message can undercut in this launch; None: not measured.

    Every message needs the hand-over, and its bytes at least the fastest copy that is possible here.
    """
    times = {way: time for way in message.ways() if (time := _time_s(launch, way, message))}
    copies = [(time, way.name) for way, time in times.items() if way.part == "copy"]
    flags = [(time, way.name) for way, time in times.items() if way.part == "hand-over"]
    if not copies or not flags:
        return None
    return max(min(copies), flags[0])


def _over(
    cell: int, message: TimedMessage, launches: Sequence[LaunchRecord], measurements: Measurements
) -> tuple[OverFloor | None, str | None]:
    """And why there is none."""
    series = measurements.by_series.get((cell, message.metric, "steady"), {})
    if not series:
        return None, f"{message.metric} was not measured"
    taken = dict(series.values())
    pairs = [
        (taken[launch.info.launch], *best)
        for launch in launches
        if launch.info.launch in taken and (best := lowest(message, launch))
    ]
    if not pairs:
        flags = (why for launch in launches for way in message.ways() if (why := _reason(launch, way)))
        return None, next(flags, NOT_MEASURED)
    ratio = estimate_over_launches([taken_s.centre_s / floor_s for taken_s, floor_s, _ in pairs])
    over = OverFloor(
        floor=Counter(name for *_, name in pairs).most_common(1)[0][0],
        floor_s=median([floor_s for _, floor_s, _ in pairs]),
        metric=message.metric,
        ratio=ratio.value,
        interval=ratio.interval,
        level=ratio.level,
        launches=len(pairs),
    )
    return over, None


def floor_lines(cells: Sequence[CellResult]) -> list[Line]:
    """For each library and environment of the run one line: the shortest and the longest message over their floors.

    Of ping-pongs where there are some; [] where no cell of messages has a floor.
    """
    groups: dict[tuple[str | None, str, str], list[tuple[int, CellResult]]] = {}
    for cell in cells:
        if cell.experiment == "p2p" and cell.over_floor is not None and cell.copy == 1:
            length = whole_number(cell.parameters.get("message_bytes", "")) or 0
            groups.setdefault((cell.mpi, cell.environment, cell.placement), []).append((length, cell))
    return [Line(level="info", text=_words(place, group), contrast=None) for place, group in groups.items()]


def _words(place: tuple[str | None, str, str], group: list[tuple[int, CellResult]]) -> str:
    ping_pong = [member for member in group if member[1].parameters.get("pattern") == "ping_pong"] or group
    ends = dict.fromkeys((min(ping_pong, key=itemgetter(0))[1].cell, max(ping_pong, key=itemgetter(0))[1].cell))
    shown = [_over_words(length, cell) for length, cell in ping_pong if cell.cell in ends]
    where = ", ".join(part for part in place if part)
    return f"lower bound ({where}): {'; '.join(shown)}"


def _over_words(length: int, cell: CellResult) -> str:
    over = cell.over_floor
    assert over is not None
    way = next(floor.text for floor in cell.floors if floor.name == over.floor)
    ratio = ratio_words(over.ratio, over.interval)
    return f"{format_bytes(length)} messages take {ratio} the time of {way} ({format_time(over.floor_s)})"
