# SPDX-License-Identifier: Apache-2.0
"""The split of one_way_s by which of its two calls were running."""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path

import numpy as np
import planted
import pytest

from slowpath.analyse.build import build_results
from slowpath.experiments.messages import MessageMetrics, split, statement


def messages(send: tuple[int, int], receive: tuple[int, int]) -> MessageMetrics:
    return MessageMetrics(*(np.array([end], dtype=np.int64) for end in (*send, *receive)))


@pytest.mark.parametrize(
    ("send", "receive", "alone", "both", "receiver", "neither"),
    [
        ((0, 100), (0, 100), 0.0, 1.0, 0.0, 0.0),
        ((0, 10), (0, 100), 0.0, 0.1, 0.9, 0.0),  # a short message: copied away, the receiver goes on
        ((0, 100), (50, 100), 0.5, 0.5, 0.0, 0.0),  # the receiver is late
        ((0, 10), (60, 100), 0.1, 0.0, 0.4, 0.5),  # sent before the receiver came
        ((0, 120), (-50, 100), 0.0, 1.0, 0.0, 0.0),  # what lies outside of one_way_s does not count
    ],
)
def test_the_four_parts(
    send: tuple[int, int], receive: tuple[int, int], alone: float, both: float, receiver: float, neither: float
) -> None:
    found = split(messages(send, receive))
    assert found is not None
    assert astuple(found)[:4] == pytest.approx((alone, both, receiver, neither))
    assert found.receiver_early_s == pytest.approx((send[0] - receive[0]) * 1e-9)
    assert found.sender_after_s == pytest.approx((send[1] - receive[1]) * 1e-9)


def test_the_statement_counts_every_launch_and_names_both_sides() -> None:
    found = [split(messages((0, 10), (0, 100))), split(messages((0, 30), (0, 100)))]
    said = statement([one for one in found if one], 1e-3)
    assert said.both_ratio == pytest.approx(0.2)
    assert said.sender_s == pytest.approx(0.2e-3)
    assert said.receiver_s == pytest.approx(1e-3)
    assert said.launches == 2
    assert "the sender is in its call for 20 %, the receiver in its own for 100 %" in said.text


def test_planted_messages(tmp_path: Path) -> None:
    """The sender is through at half of the time, the receiver begins 100 ns after the sender."""
    cells = build_results(planted.make_run(tmp_path / "run")).cells
    late = 100 / planted.FIRST_NS
    first = cells[3].who_pays["first"]
    assert first.sender_alone_ratio == pytest.approx(late, rel=0.1)
    assert first.both_ratio == pytest.approx(0.5, abs=0.01)
    assert first.receiver_early_s == pytest.approx(-100e-9)
    assert cells[3].who_pays["steady"].receiver_alone_ratio == pytest.approx(0.5, abs=0.02)
    assert cells[3].who_pays_reason is None
    assert cells[0].who_pays is None
    assert cells[0].who_pays_reason == "only pattern=one_way times both sides of a message"
