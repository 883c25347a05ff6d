# SPDX-License-Identifier: Apache-2.0
"""The words of NCCL's part in a watch: sentences of the verdict, and a table. Pure."""

from __future__ import annotations

from typing import Final

from slowpath.core.units import format_bytes, format_interval, format_rate, format_ratio, format_time, seconds
from slowpath.watch.nccl.results import NcclFirstUse, NcclLateRank, NcclOperation, NcclUse

LEAST_SHARE: Final = 0.10  # of the run, from which NCCL's time is worth a sentence
LEAST_LATE: Final = 0.01  # of the run, that others wait for a late rank
LEAST_FIRST: Final = 0.01  # of the run, that the first call of a communicator takes
MOST_LATE: Final = 2  # sentences
MOST_FIRST: Final = 2  # sentences
MOST_ROWS: Final = 40  # of the table in the verdict; results.json has all
_WAITS: Final = 0.05  # of a call's time, from which waiting is worth words


def headline(use: NcclUse) -> str:
    """`python3: 2 ranks by NCCL, 41.2 s; NCCL's kernels run for 12.3 s of it a rank (30 % of the run)`."""
    ranks = len(use.processes)
    head = f"{use.program}: {ranks} rank{'s' if ranks != 1 else ''} by NCCL, {seconds(use.run_s)}"
    if use.busy_s is None or use.share is None:
        return f"{head}; the time of NCCL's kernels is unknown"
    return f"{head}; NCCL's kernels run for {seconds(use.busy_s)} of it a rank ({_percent(use.share)} of the run)"


def sentences(use: NcclUse) -> list[str]:
    """What is worth knowing, the most costly first; empty: NCCL takes little, and waits for nobody."""
    # A process is often in several communicators, and late in all of them.
    late_ranks = {(late.host, late.rank, late.ranks): late for late in reversed(use.late) if late.share >= LEAST_LATE}
    worst = sorted(late_ranks.values(), key=lambda late: -late.waited_s)
    found = [late_words(late, use) for late in worst[:MOST_LATE]]
    if use.share is not None and use.busy_s is not None and use.share >= LEAST_SHARE and use.operations:
        found.insert(0, _most_words(use.operations[0]))
    if use.run_s > 0:
        firsts = [first for first in use.first_uses if first.launch_s >= LEAST_FIRST * use.run_s]
        found += [_first_words(first, use) for first in firsts[:MOST_FIRST]]
    return found


def _first_words(first: NcclFirstUse, use: NcclUse) -> str:
    later = f" (later ones {format_time(first.later_launch_s)})" if first.later_launch_s is not None else ""
    return (
        f"NCCL first use: the first {first.function} on a communicator of {first.ranks} ranks delays rank "
        f"{first.rank} by {seconds(first.launch_s)}{later}, {_percent(first.launch_s / use.run_s)} of the run, "
        "because it connects the ranks"
    )


def _most_words(most: NcclOperation) -> str:
    """Of a program whose NCCL takes much of its run."""
    way = " ".join(word for word in (most.algorithm, most.protocol) if word)
    words = f"NCCL: {most.function} of {format_bytes(most.bytes)}{f' ({way})' if way else ''} takes most"
    if most.seconds is not None:
        words += f", {seconds(most.seconds)} a rank"
    if most.bus_bytes_per_s is not None:
        words += f", {rate_words(most)} of bus bandwidth"
    if most.wait_s is not None and most.mean_s and most.wait_s >= _WAITS * most.mean_s:
        words += f"; {_percent(min(most.wait_s / most.mean_s, 1.0))} of its time is waiting for the last rank"
    return f"{words}. NCCL's kernels may overlap with computation, so not all of it is lost"


def late_words(late: NcclLateRank, use: NcclUse) -> str:
    """`NCCL: rank 1 (node1) comes last in 96 % of 480 AllReduce of 1 MiB, by 2.0 ms [1.9, 2.1]; ...`."""
    where = f" ({late.host})" if len({process.host for process in use.processes}) > 1 else ""
    others = "the other rank waits" if late.ranks == 2 else "each other rank waits"
    ends = f" {format_interval(_ms(late.late_interval), late.late_s * 1e3)}" if late.late_interval else ""
    half = (late.late_interval[1] - late.late_interval[0]) * 500 if late.late_interval else None
    return (
        f"NCCL: rank {late.rank}{where} comes last in {_percent(late.last_share)} of {late.calls:,} "
        f"{late.function} of {format_bytes(late.bytes)}, by {format_ratio(late.late_s * 1e3, half)} ms{ends}; "
        f"{others} for it for {seconds(late.waited_s)} in all collectives of this communicator "
        f"({_percent(late.share)} of the run)"
    )


def _ms(interval: tuple[float, float]) -> tuple[float, float]:
    return interval[0] * 1e3, interval[1] * 1e3


HEAD: Final = (
    *("function", "bytes", "type", "ranks", "calls", "a rank", "one call", "without waiting", "bus bandwidth"),
    *("launch", "first", "first launch", "NCCL's choice"),
)


def row_of(one: NcclOperation) -> list[str]:
    """As HEAD has them; a dash where nothing is known."""
    return [
        one.function,
        format_bytes(one.bytes),
        one.datatype or "-",
        str(one.ranks),
        f"{one.calls:,}",
        *(_time(value) for value in (one.seconds, one.mean_s, one.work_s)),
        rate_words(one) if one.bus_bytes_per_s is not None else "-",
        *(_time(value) for value in (one.launch_s, one.first_s, one.first_launch_s)),
        way_words(one),
    ]


def way_words(one: NcclOperation) -> str:
    """`RING SIMPLE, 24 channels`, `2 in one kernel`."""
    parts = [" ".join(word for word in (one.algorithm, one.protocol) if word)]
    parts += [f"{one.channels} channels"] if one.channels else []
    parts += [f"{one.group_calls} in one kernel"] if one.group_calls > 1 else []
    return ", ".join(part for part in parts if part) or "-"


def rate_words(one: NcclOperation) -> str:
    """`312 GB/s [310, 315]`."""
    value, ends = one.bus_bytes_per_s, one.bus_interval
    if value is None:
        return "-"
    if ends is None:
        return format_rate(value)
    scale = next((scale for scale in (1e9, 1e6, 1e3) if value >= scale), 1.0)
    interval = format_interval((ends[0] / scale, ends[1] / scale), value / scale)
    return f"{format_rate(value, (ends[1] - ends[0]) / 2)} {interval}"


def table_lines(use: NcclUse) -> list[str]:
    """All kinds of calls, those with most time first."""
    rows = [row_of(one) for one in use.operations[:MOST_ROWS]]
    widths = [max(map(len, column)) for column in zip(HEAD, *rows, strict=True)]
    lines = []
    for row in (list(HEAD), *rows):
        cells = [cell.ljust(width) if i in (0, 2, 12) else cell.rjust(width) for i, (cell, width) in
                 enumerate(zip(row, widths, strict=True))]  # fmt: skip
        lines.append("  ".join(cells).rstrip())
    if len(use.operations) > MOST_ROWS:
        lines.append(f"and {len(use.operations) - MOST_ROWS} more kinds; results.json has all")
    return [f"NCCL calls by the {'GPU timer' if use.timer == 'GPU' else use.timer}:", *lines]


def _time(value_s: float | None) -> str:
    return "-" if value_s is None else format_time(value_s)


def _percent(share: float) -> str:
    value = 100 * share
    return f"{value:.0f} %" if value >= 10 or value == 0 else f"{value:.2g} %"
