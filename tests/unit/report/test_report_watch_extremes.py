# SPDX-License-Identifier: Apache-2.0
"""The page of results at the ends of what their types allow: it is drawn, well formed, with no nan and no inf."""

from __future__ import annotations

import pytest
from msgspec.structs import replace
from test_report_html import Page

from slowpath.core.result import LARGEST, LARGEST_NUMBER
from slowpath.watch.report import write
from slowpath.watch.report.page import render_watch_html
from slowpath.watch.results import Pair, Slice, WatchResults
from support.watch_results import a_class, a_price, a_program, a_rank, findings, results


def nought() -> WatchResults:
    """Everything took no time and had no bytes."""
    zero = dict.fromkeys(
        ("late_sender_s", "late_receiver_s", "imbalance_s", "unexpected_s", "transfer_s", "call_s"), 0.0
    )
    rank = a_rank(0, span_s=0.0, mpi_s=0.0, unexplained_s=0.0, **zero)
    calls = tuple(replace(call, calls=0, time_s=0.0, bytes=0) for call in results().calls)
    one = a_class(count=0, bytes=0, time_s=0.0, wait_s=0.0, transfer_s=0.0, median_s=0.0, floor_ratio=0.0)
    flat = Slice(rank=0, start_s=0.0, end_s=0.0, computing=0.0, waiting=0.0, transfer=0.0, other=0.0, is_kept=True)
    return results(
        1, program=a_program(ranks=1, recorded_ranks=0, wall_s=0.0, span_s=0.0), ranks=(rank,), calls=calls,
        classes=(one,), findings=(), slices=(flat,), pairs=(Pair(source=0, destination=0, messages=0, bytes=0),),
    )  # fmt: skip


def vast() -> WatchResults:
    """Everything is as large as it can be."""
    one = a_class(count=LARGEST, bytes=LARGEST, bytes_high=LARGEST, time_s=LARGEST_NUMBER, transfer_s=LARGEST_NUMBER,
                  median_s=LARGEST_NUMBER, floor_ratio=LARGEST_NUMBER, page_bytes=LARGEST)  # fmt: skip
    finding = replace(findings()[0], seconds=-LARGEST_NUMBER, interval=(-LARGEST_NUMBER, LARGEST_NUMBER),
                      prices=(a_price(0, LARGEST_NUMBER),))  # fmt: skip
    rank = a_rank(LARGEST, mpi_s=LARGEST_NUMBER, late_sender_s=LARGEST_NUMBER)
    return results(
        program=a_program(ranks=LARGEST, recorded_ranks=LARGEST, wall_s=LARGEST_NUMBER), classes=(one,), ranks=(rank,),
        findings=(finding,), waits=(), pairs=(Pair(source=LARGEST - 1, destination=0, messages=1, bytes=LARGEST),),
    )  # fmt: skip


@pytest.mark.parametrize("made", [nought(), vast()], ids=["nought", "vast"])
def test_the_ends_are_drawn(made: WatchResults) -> None:
    text = render_watch_html(made)
    assert Page(text).open == []
    body = text.partition("<main")[2]
    assert "nan" not in body.replace("finance", "")
    assert "inf" not in body.replace("info", "")
    assert all(render(made) for render in write.CSV_FILES.values())
