# SPDX-License-Identifier: Apache-2.0
"""Prices of a program's messages: by cells like them, within what was measured, and never more than they take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from slowpath.core.results import Results
from slowpath.watch.conclude import asking, concluded
from slowpath.watch.messages import Load, p2p_parameters
from slowpath.watch.prices import PriceSource
from slowpath.watch.results import MessageClass, WatchResults
from slowpath.watch.what_if import CallOrder, KeptOrder
from support import results as engine
from support import watch_results as watched

MIB = 2**20
COUNT, RANKS, SPAN_S = 20_000, 4, 41.2


def small_pages(number: int = 0, **changes: Any) -> MessageClass:
    """Sends of 2 MiB from malloc on small pages, 1 ms each."""
    fields: dict[str, Any] = {"call": "MPI_Send", "side": "send", "count": COUNT, "bytes": COUNT * 2 * MIB}
    fields |= {"transfer_s": COUNT * 1e-3 / RANKS, "wait_s": 0.0, "time_s": COUNT * 1e-3 / RANKS}
    return watched.a_class(number, **(fields | changes))


def program(*classes: MessageClass, **changes: Any) -> WatchResults:
    ranks = tuple(watched.a_rank(rank, unexplained_s=0.1, mpi_s=10.0) for rank in range(RANKS))
    calls = changes.pop("calls", ())
    names = {one.call for one in classes}
    seen = tuple(watched.CallCount(name=name, family="point to point", calls=1, time_s=1.0, bytes=1) for name in names)
    return watched.results(
        RANKS, classes=classes, calls=(*seen, *calls), ranks=ranks, findings=(), saved_s=None, saved_interval=None,
        unpriced=(), accounts=(), **changes
    )  # fmt: skip


def replayed(*points: tuple[int, float, float], **parameters: str) -> Results:
    """Contrasts of small against huge pages. points: length, seconds on small pages, on huge ones."""
    cells, contrasts = [], []
    for i, (length, slow_s, fast_s) in enumerate(points):
        for side, pages in enumerate(("small", "huge")):
            given = {"pattern": "ping_pong", "message_bytes": str(length), "pages": pages, **parameters}
            cells.append(engine.a_cell(2 * i + side, parameters=given, label=f"{length} B, {pages}"))
        spread = [1e-3 * fast_s * (j - 3.5) for j in range(8)]
        pairs = tuple((slow_s + one, fast_s - one) for one in spread)
        contrasts.append(
            engine.a_contrast(
                f"c{i}",
                axis="pages",
                a=engine.a_side(2 * i, "small"),
                b=engine.a_side(2 * i + 1, "huge"),
                pairs=pairs,
            )
        )
    return engine.results(cells, contrasts)


def by(results: Results) -> list[PriceSource]:
    return [PriceSource(results, "prices")]


def test_a_price_is_the_difference_of_the_cell_and_its_remedied_one() -> None:
    found = concluded(program(small_pages()), None, by(replayed((2 * MIB, 1e-3, 0.4e-3))), {})
    (finding,) = found.findings
    assert finding.rule == "SP008"
    assert finding.prices[0].per_message_s == pytest.approx(0.6e-3, rel=0.01)
    assert finding.seconds == pytest.approx(COUNT * 0.6e-3 / RANKS, rel=0.01)
    assert finding.interval[0] < finding.seconds < finding.interval[1]
    assert finding.saved_s is None
    assert "not recorded" in (finding.saved_reason or "")
    assert finding.prove == "--remedy huge-pages"
    assert "comm_brick.cpp:512" in finding.text
    assert "20,000 messages of 2 MiB from malloc on 4 KiB pages" in finding.text


def test_between_two_measured_lengths_the_price_lies_on_the_line_and_outside_there_is_none() -> None:
    source = by(replayed((MIB, 0.5e-3, 0.3e-3), (3 * MIB, 1.5e-3, 0.9e-3)))
    (finding,) = concluded(program(small_pages()), None, source, {}).findings
    assert finding.prices[0].per_message_s == pytest.approx(0.4e-3, rel=0.01)
    beyond = concluded(program(small_pages(bytes=COUNT * 4 * MIB)), None, source, {})
    assert not beyond.findings
    assert any("lies outside" in one for one in beyond.unpriced)


def test_cells_of_another_kind_price_nothing() -> None:
    for other in ({"memory": "mpi"}, {"datatype": "vector", "blocks": "64"}, {"offset_bytes": "8"}):
        found = concluded(program(small_pages()), None, by(replayed((2 * MIB, 1e-3, 0.4e-3), **other)), {})
        assert not found.findings
        assert any("no cell of this kind" in one for one in found.unpriced)


def test_a_difference_that_holds_zero_is_no_finding_and_is_said() -> None:
    found = concluded(program(small_pages()), None, by(replayed((2 * MIB, 1e-3, 1e-3))), {})
    assert not found.findings
    assert any("no difference" in one for one in found.unpriced)


def test_messages_that_cost_less_than_a_hundredth_of_the_run_are_not_asked_for() -> None:
    few = small_pages(count=100, bytes=200 * MIB, transfer_s=0.1 / RANKS, time_s=0.1 / RANKS)
    assert not asking(program(few), None, {}).questions
    assert asking(program(small_pages()), None, {}).questions


def nothing() -> CallOrder:
    none, no_pairs = np.zeros(0, dtype=np.int64), np.zeros((0, 2), dtype=np.int64)
    return CallOrder(none, none, np.zeros(0), np.zeros(0), np.zeros((0, 3), dtype=np.int64), no_pairs)


def test_both_sides_of_a_message_are_its_cell() -> None:
    sender = small_pages()
    receiver = small_pages(1, side="receive", page_bytes=2 * MIB, start="elsewhere", memory="heap")
    assert p2p_parameters(Load(sender, receiver, 1, MIB)) == {
        "message_bytes": str(MIB), "memory": "host", "pages": "small:huge", "offset_bytes": "0:16",
        "overalloc_bytes": "0:16",
    }  # fmt: skip
    blocks = replace(sender, block_bytes=8)
    assert "different lengths" in str(p2p_parameters(Load(blocks, replace(receiver, block_bytes=64), 1, MIB)))
    cell = p2p_parameters(Load(blocks, blocks, 1, MIB + 3))
    assert isinstance(cell, dict)
    assert (cell["message_bytes"], cell["block_bytes"], cell["datatype"]) == (str(MIB), "8", "vector")
    assert "managed" in str(p2p_parameters(Load(replace(sender, memory="not known"), None, 1, 8))) or isinstance(
        p2p_parameters(Load(replace(sender, memory="not known"), None, 1, 8)), str
    )


def test_matched_messages_are_shared_out_by_their_receivers() -> None:
    sender = small_pages()
    receivers = [
        small_pages(i, side="receive", call="MPI_Recv", page_bytes=page) for i, page in ((1, 4096), (2, 2 * MIB))
    ]
    pairs = np.array([[0, 1]] * 3 + [[0, 2]])
    loads = asking(program(sender, *receivers), KeptOrder(nothing(), pairs), {}).loads
    assert [(one.receiver.id if one.receiver else None, one.count) for one in loads] == [(1, 15_000), (2, 5_000)]


def test_the_saving_of_the_run_is_replayed_and_scaled_to_all_messages() -> None:
    """One sender, one receiver, nothing else: each kept message saves its price, and there are 100 times as many."""
    kept_count = COUNT // 100
    start = 2e-3 * np.arange(kept_count)
    both = np.concatenate([start, start])
    number = np.arange(kept_count)
    after = np.stack([number + kept_count, number, np.zeros_like(number)], axis=1)
    done = np.concatenate([np.stack([number, number], axis=1), np.stack([number + kept_count, number], axis=1)])
    order = CallOrder(
        np.repeat([0, 1], kept_count), np.zeros(2 * kept_count, dtype=np.int64), both, both + 1e-3, after, done
    )
    classes = (small_pages(), small_pages(1, side="receive", call="MPI_Recv"))
    found = concluded(
        program(*classes),
        KeptOrder(order, np.tile([[0, 1]], (kept_count, 1))),
        by(replayed((2 * MIB, 1e-3, 0.4e-3))),
        {},
    )
    (finding,) = found.findings
    assert finding.saved_s == pytest.approx(COUNT * 0.6e-3, rel=0.02)
    assert found.saved_s == finding.saved_s
    assert "largest cause: small-page host memory (saves 12.00 s)" in found.verdict[0]


def test_the_verdict_says_how_it_is_known_and_how_to_prove_it() -> None:
    found = concluded(program(small_pages()), None, by(replayed((2 * MIB, 1e-3, 0.4e-3))), {}, "watch-1")
    head, first, *_ = found.verdict
    assert head.startswith("lmp, 4 ranks, 41.2 s: 24 % in MPI; largest cause: small-page host memory (saves 3")
    assert first.startswith("1. Saves 3.0")
    assert "(priced on this machine)" in first
    assert first.endswith("slowpath prove watch-1 --remedy huge-pages")
