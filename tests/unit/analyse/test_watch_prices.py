# SPDX-License-Identifier: Apache-2.0
"""Prices of a program's messages: by cells like them, within what was measured, and never more than they take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from slowpath.watch.analysis import read_watched
from slowpath.watch.conclude import Watched, asking, concluded, with_excess
from slowpath.watch.messages import Load, p2p_parameters
from slowpath.watch.prices import PriceQuestion, PriceSource
from slowpath.watch.results import Account, MessageClass, WatchResults
from slowpath.watch.what_if import CallOrder, KeptOrder
from support import results as engine
from support import watch_results as watched
from support.watched_program import ROUNDS, kept_ping_pong

MIB = 2**20
COUNT, RANKS = 20_000, 4
METRIC = "half_round_trip_latency_s"


def small_pages(number: int = 0, **changes: Any) -> MessageClass:
    """Sends of 2 MiB from malloc on small pages, 1 ms each."""
    fields: dict[str, Any] = {"call": "MPI_Send", "side": "send", "count": COUNT, "bytes": COUNT * 2 * MIB}
    fields |= {"transfer_s": COUNT * 1e-3 / RANKS, "wait_s": 0.0, "time_s": COUNT * 1e-3 / RANKS}
    return watched.a_class(number, **(fields | changes))


def program(*classes: MessageClass, **changes: Any) -> WatchResults:
    ranks = tuple(watched.a_rank(rank, mpi_s=10.0) for rank in range(RANKS))
    calls = changes.pop("calls", ())
    names = {message_class.call for message_class in classes}
    seen = tuple(watched.CallCount(name=name, family="point to point", calls=1, time_s=1.0, bytes=1) for name in names)
    return watched.results(
        RANKS, classes=classes, calls=(*seen, *calls), ranks=ranks, findings=(), saved_s=None, saved_interval=None,
        accounts=(), **changes
    )  # fmt: skip


def asked_of(watch: Watched) -> PriceQuestion:
    """About small pages."""
    questions = asking(watch.results, watch.kept).questions
    return next(question for question in questions if question.row is not None and question.row.rule == "SP008")


def replayed(question: PriceQuestion, slow_s: float, fast_s: float, **parameters: str) -> list[PriceSource]:
    """Cells of these messages, and without their fault, with a contrast of both."""
    assert question.fast is not None
    sides = [{"pattern": "ping_pong", **side, **parameters} for side in (question.slow, question.fast)]
    cells = [
        engine.a_cell(i, parameters=side, label=side["pages"], metrics={METRIC: engine.a_metric(each_s)})
        for i, (side, each_s) in enumerate(zip(sides, (slow_s, fast_s), strict=True))
    ]
    spread = [1e-3 * fast_s * (j - 3.5) for j in range(8)]
    contrast = engine.a_contrast(
        "c", axis="pages", metric=METRIC, a=engine.a_side(0, "small"), b=engine.a_side(1, "huge"),
        pairs=tuple((slow_s + spread_s, fast_s - spread_s) for spread_s in spread),
    )  # fmt: skip
    return [PriceSource(engine.results(cells, [contrast]), "prices")]


@pytest.fixture
def watch(tmp_path: Path) -> Watched:
    """Messages of 2 MiB on small pages, 1 ms each, between two ranks."""
    return read_watched(kept_ping_pong(tmp_path, compute_s=1e-6))


def test_a_price_is_the_difference_of_the_cell_and_its_remedied_one(watch: Watched) -> None:
    made = concluded(watch, replayed(asked_of(watch), 1e-3, 0.4e-3), "watch-1")
    (finding,) = made.findings
    assert (finding.rule, finding.status, finding.prove) == ("SP008", "priced", "--remedy huge-pages")
    assert finding.saved_s == pytest.approx(2 * ROUNDS * 0.6e-3, rel=0.02)
    assert finding.saved_interval is not None
    assert finding.saved_interval[0] < finding.saved_s < finding.saved_interval[1]
    assert made.saved_s == finding.saved_s
    assert "80 messages of 2 MiB from" in finding.text
    head, first, *_ = made.verdict
    assert "largest cause: small-page host memory (saves 0.048" in head
    assert first.startswith("1. Saves 0.048")
    assert "(priced on this machine)" in first
    assert first.endswith("slowpath prove watch-1 --remedy huge-pages")


def test_no_message_saves_more_than_it_takes(watch: Watched) -> None:
    (finding,) = concluded(watch, replayed(asked_of(watch), 4e-3, 0.4e-3)).findings
    assert finding.saved_s == pytest.approx(2 * ROUNDS * 0.9e-3, rel=0.02)  # nine tenths of its 1 ms


def test_cells_of_another_kind_price_nothing(watch: Watched) -> None:
    for other in ({"memory": "mpi"}, {"datatype": "vector", "blocks": "64"}, {"offset_bytes": "8"}):
        made = concluded(watch, replayed(asked_of(watch), 1e-3, 0.4e-3, **other))
        assert not made.findings
        assert made.not_measured is not None
        assert made.not_measured > 0.5


def test_a_difference_that_holds_zero_is_no_finding(watch: Watched) -> None:
    made = concluded(watch, replayed(asked_of(watch), 1e-3, 1e-3))
    assert not made.findings
    assert made.not_measured == 0.0


@pytest.mark.parametrize(("cell_s", "share"), [(0.25e-3, 0.75), (1e-3, 0.0), (3e-3, 0.0)])
def test_what_messages_take_beyond_their_cell_is_excess(watch: Watched, cell_s: float, share: float) -> None:
    before = {account.name: account.seconds for account in watch.results.accounts}
    after = {
        account.name: account.seconds
        for account in concluded(watch, replayed(asked_of(watch), cell_s, cell_s)).accounts
    }
    assert after.get("slow transfer", 0.0) == pytest.approx(share * before["moving bytes"], rel=0.01)
    assert sum(after.values()) == pytest.approx(sum(before.values()))


def test_what_a_rank_lacked_a_processor_is_no_excess() -> None:
    moving = Account(name="moving bytes", seconds=1.0, share=0.5, by_rank=(1.0, 1.0))
    lacked = Account(name="no processor", seconds=0.5, share=0.25, by_rank=(1.0, 0.0))
    by_account = {account.name: account.by_rank for account in with_excess((moving, lacked), np.array([0.8, 0.8]))}
    assert by_account == {
        "moving bytes": (1.0, pytest.approx(0.2)),
        "no processor": (1.0, 0.0),
        "slow transfer": (0.0, 0.8),
    }


def test_messages_that_no_rule_names_are_asked_for_as_they_are() -> None:
    fast = small_pages(page_bytes=2 * MIB)
    (question,) = asking(program(fast), None).questions
    assert (question.row, question.fast) == (None, None)
    assert question.slow["pages"] == "huge"


def test_messages_that_cost_less_than_a_hundredth_of_the_run_are_not_asked_for() -> None:
    few = small_pages(count=100, bytes=200 * MIB, transfer_s=0.1 / RANKS, time_s=0.1 / RANKS)
    assert not asking(program(few), None).questions
    assert asking(program(small_pages()), None).questions


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
    assert p2p_parameters(Load(blocks, replace(receiver, block_bytes=64), 1, MIB)) is None
    cell = p2p_parameters(Load(blocks, blocks, 1, MIB + 3))
    assert isinstance(cell, dict)
    assert (cell["message_bytes"], cell["block_bytes"], cell["datatype"]) == (str(MIB), "8", "vector")
    assert p2p_parameters(Load(replace(sender, memory="not known"), None, 1, 8)) is None


def test_matched_messages_are_shared_out_by_their_receivers() -> None:
    sender = small_pages()
    receivers = [
        small_pages(i, side="receive", call="MPI_Recv", page_bytes=page) for i, page in ((1, 4096), (2, 2 * MIB))
    ]
    pairs = np.array([[0, 1]] * 3 + [[0, 2]])
    loads = asking(program(sender, *receivers), KeptOrder(nothing(), pairs)).loads
    assert [(load.receiver.id if load.receiver else None, load.count) for load in loads] == [(1, 15_000), (2, 5_000)]
