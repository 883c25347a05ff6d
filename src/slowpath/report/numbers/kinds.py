# SPDX-License-Identifier: Apache-2.0
"""Tables that OSU's benchmarks print: which cells they take, and what their columns are. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from slowpath.core.cell_results import CellResult
from slowpath.core.result import Interval

US, MB = 1e-6, 1e6

Numbers = tuple[float | int | None, ...]


class Given(NamedTuple):
    """What a row is made from. ranks: of the cell's launches; None: not known."""

    cell: CellResult
    ranks: int | None


class Values(NamedTuple):
    """A row in the table's units. columns: as in `TableKind.columns`; the first one has the interval.

    launches: that measured it.
    """

    columns: Numbers
    interval: Interval | None
    launches: int


@dataclass(frozen=True)
class TableKind:
    """One kind of table.

    Args:
        name: as in --kind.
        title: what is measured, in a few words.
        columns: names of the columns after the size, those of the benchmark where it has them.
        keys: the same columns as they are named in CSV and JSON, the first one always `value`.
        unit: of the first column.
        means: what the numbers are, for the table's head.
        takes: whether a cell belongs to this kind.
        values: the row of a cell; None: it was not measured.
        needs: what a run must hold, for the line about what is missing.
        own: parameters that the head's first line states, and that the settings leave out.
        by: the parameter that a title names, such as the collective.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    unit: str
    means: str
    takes: Callable[[CellResult], bool]
    values: Callable[[Given], Values | None]
    needs: str
    own: tuple[str, ...] = ()
    by: str | None = None


def _p2p(pattern: str, *, both_ways: bool = False) -> Callable[[CellResult], bool]:
    def takes(cell: CellResult) -> bool:
        if cell.experiment != "p2p" or cell.parameters.get("pattern") != pattern:
            return False
        return (cell.parameters.get("direction") == "both") is both_ways

    return takes


def _several(cell: CellResult) -> bool:
    """More than one pair, or more than one thread a rank."""
    return any(cell.parameters.get(name, "1") != "1" for name in ("pairs", "threads"))


def _one_lane(cell: CellResult) -> bool:
    return _p2p("windowed")(cell) and not _several(cell)


def _scaled(interval: Interval | None, unit: float) -> Interval | None:
    return (interval[0] / unit, interval[1] / unit) if interval is not None else None


def _over(value: float | None, unit: float) -> float | None:
    return None if value is None else value / unit


def _latency(given: Given) -> Values | None:
    found = given.cell.estimate("half_round_trip_latency_s", "steady")
    if found is None:
        return None
    return Values((found.value / US,), _scaled(found.interval, US), found.launches)


def _bandwidth(given: Given) -> Values | None:
    found = given.cell.estimate("time_per_message_s", "steady")
    if found is None or found.bandwidth_bytes_per_s is None:
        return None
    return Values((found.bandwidth_bytes_per_s / MB,), _scaled(found.bandwidth_interval, MB), found.launches)


def _message_rate(given: Given) -> Values | None:
    found = given.cell.estimate("time_per_message_s", "steady")
    if found is None or found.message_rate_per_s is None:
        return None
    megabytes = _over(found.bandwidth_bytes_per_s, MB)
    slowest, fastest = (found.message_rate_per_s * found.value / each(found.launch_values) for each in (max, min))
    columns = (found.message_rate_per_s, slowest, fastest)
    if megabytes is None:  # empty messages: the rate alone has a value
        return Values((0.0, *columns), None, found.launches)
    return Values((megabytes, *columns), _scaled(found.bandwidth_interval, MB), found.launches)


def _is_collective(cell: CellResult) -> bool:
    return cell.experiment == "coll" and cell.parameters.get("pattern") == "calls"


def _collective(given: Given) -> Values | None:
    found = given.cell.estimate("collective_own_s", "steady")
    if found is None:
        return None
    columns = (
        found.value / US,
        found.min / US,
        found.max / US,
        found.samples,
        found.p50 / US,
        _over(found.p90, US),
        _over(found.p99, US),
    )
    return Values(columns, _scaled(found.interval, US), found.launches)


def _is_overlap(cell: CellResult) -> bool:
    return cell.experiment == "coll" and cell.parameters.get("pattern") == "overlap"


def _overlap(given: Given) -> Values | None:
    whole, computing, alone = (
        given.cell.estimate(name, "steady") for name in ("overlapped_s", "compute_s", "collective_own_s")
    )
    if whole is None or computing is None or alone is None:
        return None
    hidden = 100 * (1 - (whole.value - computing.value) / alone.value)
    columns = (whole.value / US, computing.value / US, alone.value / US, min(100.0, max(0.0, hidden)))
    return Values(columns, _scaled(whole.interval, US), whole.launches)


_COPIES = {
    "gpu_from_host": "host to device",
    "gpu_to_host": "device to host",
    "gpu_peer_copy": "device to another device",
    "gpu_copy": "within a device",
}


def _copy_of(cell: CellResult) -> str | None:
    return next((floor.name for floor in cell.floors if floor.name in _COPIES and floor.time_s), None)


def _copy(given: Given) -> Values | None:
    name, bytes_ = _copy_of(given.cell), int(given.cell.parameters["message_bytes"])
    floor = next((one for one in given.cell.floors if one.name == name), None)
    if floor is None or floor.time_s is None:
        return None
    ends = (bytes_ / floor.interval[1] / MB, bytes_ / floor.interval[0] / MB) if floor.interval else None
    return Values((bytes_ / floor.time_s / MB, floor.time_s / US), ends, floor.launches)


def copy_words(cell: CellResult) -> str:
    """Return from where to where the bytes of a cell of `copies` go."""
    return _COPIES[_copy_of(cell) or "gpu_copy"]


LATENCY = TableKind(
    name="latency",
    title="half round trip",
    columns=("Latency (us)",),
    keys=("value",),
    unit="us",
    means="Latency: half a round trip, median over launches of the median over samples (osu_latency prints a mean)",
    takes=_p2p("ping_pong"),
    values=_latency,
    needs="p2p cells with pattern=ping_pong",
)
BANDWIDTH = TableKind(
    name="bandwidth",
    title="messages in flight",
    columns=("Bandwidth (MB/s)",),
    keys=("value",),
    unit="MB/s",
    means="Bandwidth: bytes over the median time of a message, 10^6 bytes per second (osu_bw divides by a mean)",
    takes=_one_lane,
    values=_bandwidth,
    needs="p2p cells with pattern=windowed",
    own=("in_flight", "places"),
)
BIDIRECTIONAL = TableKind(
    name="bidirectional",
    title="messages in flight both ways",
    columns=("Bandwidth (MB/s)",),
    keys=("value",),
    unit="MB/s",
    means="Bandwidth: bytes of both directions over the median time, 10^6 bytes per second (osu_bibw: over a mean)",
    takes=_p2p("windowed", both_ways=True),
    values=_bandwidth,
    needs="p2p cells with pattern=windowed and direction=both",
    own=("in_flight", "places"),
)
MESSAGE_RATE = TableKind(
    name="message-rate",
    title="messages of all pairs and threads",
    columns=("MB/s", "Messages/s", "Slowest launch", "Fastest launch"),
    keys=("value", "messages_per_s", "slowest_launch_per_s", "fastest_launch_per_s"),
    unit="MB/s",
    means="MB/s, Messages/s: all pairs and threads together over the median time (osu_mbw_mr: over a mean). Slowest, "
    "Fastest launch: Messages/s of the two launches that lie farthest apart",
    takes=lambda cell: _p2p("windowed")(cell) and _several(cell),
    values=_message_rate,
    needs="p2p cells with pattern=windowed and pairs or threads above 1",
    own=("in_flight", "places", "pairs", "threads"),
)
COLLECTIVE = TableKind(
    name="collective",
    title="time in the call on the slowest rank",
    columns=(
        "Latency(us)",
        "Min Latency(us)",
        "Max Latency(us)",
        "Iterations",
        "P50 Tail Lat(us)",
        "P90 Tail Lat(us)",
        "P99 Tail Lat(us)",
    ),
    keys=("value", "min_us", "max_us", "calls", "p50_us", "p90_us", "p99_us"),
    unit="us",
    means="Latency: median over launches of the lower quartile of calls, which load disturbs least. Min, Max: of "
    "all calls of all launches. P50, P90, P99: of the calls of a launch, median over launches. Each call by its "
    "slowest rank (OSU: means over ranks)",
    takes=_is_collective,
    values=_collective,
    needs="coll cells with pattern=calls",
    own=("collective",),
    by="collective",
)
OVERLAP = TableKind(
    name="overlap",
    title="a nonblocking collective while computing",
    columns=("Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)"),
    keys=("value", "compute_us", "communication_us", "overlap_percent"),
    unit="us",
    means="Overall: start, compute, wait. Compute: alone. Pure Comm.: start and wait. Overlap: the part of Pure Comm. "
    "that computing hides. Each on the slowest rank, medians over launches",
    takes=_is_overlap,
    values=_overlap,
    needs="coll cells with pattern=overlap and start=nonblocking",
    own=("collective",),
    by="collective",
)
COPIES = TableKind(
    name="copies",
    title="copies by the GPU's driver",
    columns=("Bandwidth (MB/s)", "Time(us)"),
    keys=("value", "time_us"),
    unit="MB/s",
    means="Bandwidth: bytes over the median time of a copy without MPI, 10^6 bytes per second; host memory is pinned",
    takes=lambda cell: _copy_of(cell) is not None,
    values=_copy,
    needs="p2p cells with memory=host:device or device:host, in an MPI that takes GPU memory",
    own=("memory",),
)
KINDS = (LATENCY, BANDWIDTH, BIDIRECTIONAL, MESSAGE_RATE, COLLECTIVE, OVERLAP, COPIES)


def kinds_named(name: str) -> Sequence[TableKind]:
    """Return the kinds that --kind NAME takes."""
    return [kind for kind in KINDS if name in (kind.name, "all")]


def title_of(kind: TableKind, where: Mapping[str, str]) -> str:
    """Return the kind with what its title names, such as `allreduce: time in the call on the slowest rank`."""
    named = where.get(kind.by) if kind.by else None
    return f"{named}, {kind.title}" if named else kind.title
