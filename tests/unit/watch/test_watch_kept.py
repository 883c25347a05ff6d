# SPDX-License-Identifier: Apache-2.0
"""From records of ranks to a replayed order: chains, dependencies and the messages that calls moved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slowpath.watch.analysis import Watched, concluded_watch, read_watched
from slowpath.watch.conclude import asking
from slowpath.watch.folder import WatchInfo, write_watch
from slowpath.watch.what_if import KindCounts, Scenario, possible, replay, what_if
from support.watch_record import Job, buffer_class

ROUNDS, LENGTH = 40, 2**21


def ping_pong(tmp_path: Path, one_way_s: float = 1e-3, compute_s: float = 0.5e-3) -> Path:
    """Rank 0 sends and waits for the answer; both compute in between. Sends return with the message."""
    job = Job(2)
    for rank in job.ranks:
        rank.site(0x1234)
        rank.allocation(LENGTH, buffer_class=buffer_class(2))
    at = 0.01
    for _ in range(ROUNDS):
        for one, other in ((0, 1), (1, 0)):
            end = at + one_way_s
            job.ranks[one].send(other, tag=1, start_s=at, end_s=end, message_bytes=LENGTH, site=0, allocation=0)
            job.ranks[other].receive(
                one, tag=1, start_s=at - compute_s / 2, end_s=end, message_bytes=LENGTH, site=0, allocation=0
            )
            at = end + compute_s
    job.write(tmp_path / "ranks", at)
    info = WatchInfo(
        slowpath="1", command=("./app",), started="2026-01-01T00:00:00Z", working_folder="/", host="node1",
        library="/l.so", wall_s=2.0, exit_code=0,
    )  # fmt: skip
    write_watch(tmp_path, info)
    return tmp_path


def saved_s(found: Watched, price_s: float) -> float:
    loads = asking(found.results, found.kept, {}).loads
    assert len(loads) == 1
    count = np.array([float(loads[0].count)])
    order = found.kept.order
    kinds = type(order)(
        order.chain, order.stretch, order.start_s, order.end_s, order.after,
        np.stack([order.done[:, 0], np.zeros(len(order.done), dtype=np.int64)], axis=1),
    )  # fmt: skip
    change = Scenario({0: (price_s, price_s, price_s)})
    saved = what_if(kinds, [change], KindCounts(count, count, np.array([1e-3])), 10.0).saved[0].value_s
    assert saved is not None
    return saved


def test_a_ping_pong_saves_what_each_of_its_messages_does(tmp_path: Path) -> None:
    found = read_watched(ping_pong(tmp_path))
    assert found.kept.pairs.shape == (2 * ROUNDS, 2)
    assert (found.kept.pairs >= 0).all()
    assert replay(possible(found.kept.order), np.zeros((found.kept.order.calls, 1))).error_ratio < 1e-6
    assert saved_s(found, 0.4e-3) == pytest.approx(2 * ROUNDS * 0.4e-3, rel=0.02)


def test_what_it_costs_more_makes_the_run_longer_by_as_much(tmp_path: Path) -> None:
    found = read_watched(ping_pong(tmp_path))
    once, twice = saved_s(found, -0.2e-3), saved_s(found, -0.4e-3)
    assert once == pytest.approx(-2 * ROUNDS * 0.2e-3, rel=0.02)
    assert twice == pytest.approx(2 * once, rel=1e-6)


def test_a_watch_without_prices_asks_for_them_and_claims_nothing(tmp_path: Path) -> None:
    found = concluded_watch(ping_pong(tmp_path))
    assert not found.findings
    assert found.saved_s is None
    assert f"not priced yet: slowpath replay {tmp_path}" in found.verdict[0]
    assert found.not_measured == sum("nothing was measured for it yet" in reason for reason in found.unpriced) > 0
