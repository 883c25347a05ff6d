# SPDX-License-Identifier: Apache-2.0
"""NCCL's part of a watch on its page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from slowpath.report import format as fmt
from slowpath.report.figure import FigureTable
from slowpath.watch.nccl.results import NcclUse
from slowpath.watch.nccl.text import HEAD, row_of
from slowpath.watch.report import words

MOST_ROWS: Final = 40


@dataclass(frozen=True, slots=True)
class WatchedNcclView:
    """Tables of NCCL's calls."""

    lead: str
    operations: FigureTable
    late: FigureTable
    first: FigureTable
    processes: FigureTable
    notes: tuple[str, ...]


def nccl_view(use: NcclUse | None) -> WatchedNcclView | None:
    """None: no process called NCCL."""
    if use is None:
        return None
    by = "the GPU's timer" if use.timer == "GPU" else "NCCL's proxy thread, on the host"
    timed = "NCCL's kernels were not timed" if use.timer == "host only" else f"Times are by {by}"
    shown = min(MOST_ROWS, len(use.operations))
    return WatchedNcclView(
        f"As NCCL's profiler interface reports it. {timed}, a rank's mean; bytes and bus bandwidth are as nccl-tests "
        f"defines them. The {shown} kinds with the most time of {len(use.operations)}; first calls are apart.",
        FigureTable([name[0].upper() + name[1:] for name in HEAD], [row_of(one) for one in use.operations[:MOST_ROWS]]),
        FigureTable(
            ["Rank", "Host", "Of ranks", "Others wait", "Of the run", "Most in", "Last in", "Of calls", "By"],
            [
                [
                    *(str(late.rank), late.host, str(late.ranks), words.time(late.waited_s), fmt.percent(late.share)),
                    *(f"{late.function}, {fmt.count_bytes(late.bytes)}", fmt.percent(late.last_share)),
                    *(words.count(late.calls), words.seconds(late.late_s, late.late_interval)),
                ]
                for late in use.late
            ],
        ),
        FigureTable(
            ["First call", "Bytes", "Of ranks", "Held up", "Rank", "Later ones"],
            [
                [
                    *(first.function, fmt.count_bytes(first.bytes), str(first.ranks), words.time(first.launch_s)),
                    *(str(first.rank), words.time(first.later_launch_s)),
                ]
                for first in use.first_uses
            ],
        ),
        FigureTable(
            ["Rank", "Host", "Calls", "NCCL's kernels ran", "Ends not seen", "Ended"],
            [
                [
                    *(str(process.rank), process.host, words.count(process.calls), words.time(process.busy_s)),
                    *(words.count(process.unfinished), process.ended),
                ]
                for process in use.processes[:MOST_ROWS]
            ],
        ),
        use.notes,
    )
