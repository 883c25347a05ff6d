# SPDX-License-Identifier: Apache-2.0
"""Overlap, late receives and peers: metrics from planted blocks."""

from __future__ import annotations

import numpy as np
import pytest

from slowpath.experiments.measured import Absent, Derived, LaunchContext, SampleBlock
from slowpath.experiments.p2p import P2P

BATCH = 4


def block(rank: int, part: int, ns: list[int], phase: str = "steady", seq0: int = 5, start: int = 0) -> SampleBlock:
    begins = np.arange(len(ns), dtype=np.int64) * 1000 + start
    return SampleBlock(
        rank, phase, 0, 1 if phase == "first" else BATCH, seq0, np.array(ns, dtype=np.int64), begins, part
    )


def launch(alone: int, computing: int, both: int, rank: int = 1) -> list[SampleBlock]:
    """Rank 0 is the slower end when it computes, the other one in all else; both times vary by a quarter."""
    noise = [0, 4, -4, 8, -8]
    found = [block(0, 0, [90], "first", 0), block(rank, 0, [100], "first", 0)]
    for part, length, slower in ((0, alone, rank), (1, computing, 0), (2, both, rank)):
        for one in (0, rank):
            less = 0 if one == slower else 40
            found.append(block(one, part, [BATCH * length + n - less for n in noise]))
    return found


def values(found: Derived, metric: str, phase: str = "steady") -> list[float]:
    series = found[metric]
    assert not isinstance(series, Absent), series.reason
    return [float(v) for v in series[phase].values_s]


@pytest.mark.parametrize(("both", "ratio"), [(2000, 1.0), (1500, 0.5), (2200, 1.2)])
def test_what_is_exposed(both: int, ratio: float) -> None:
    found = P2P.derive({"pattern": "overlap"}, launch(1000, 1000, both), LaunchContext(2, True))
    assert values(found, "communication_s")[0] == pytest.approx(1000e-9), "of the slower end"
    assert values(found, "communication_s", "first") == pytest.approx([100e-9])
    assert values(found, "compute_s")[0] == pytest.approx(1000e-9)
    assert values(found, "overlapped_s")[0] == pytest.approx(both * 1e-9)
    assert values(found, "exposed_s") == pytest.approx([(both - 1000) * 1e-9])
    assert values(found, "exposed_communication_ratio") == pytest.approx([ratio])


def test_hidden_communication_is_no_zero() -> None:
    found = P2P.derive({"pattern": "overlap"}, launch(1000, 1000, 999), LaunchContext(2, True))
    for metric in ("exposed_s", "exposed_communication_ratio"):
        told = found[metric]
        assert isinstance(told, Absent)
        assert "is hidden" in told.reason
    assert values(found, "overlapped_s")


def test_the_peer_is_asked() -> None:
    parameters = {"pattern": "overlap", "peer": "1"}
    found = P2P.derive(parameters, launch(1000, 1000, 1500), LaunchContext(4, True))
    assert values(found, "exposed_s") == pytest.approx([500e-9])
    pair = [block(0, 0, [50], start=0), block(2, 0, [70], start=30)]
    hosts = ("a", "a", "a", "b")
    near = P2P.derive({"pattern": "one_way", "peer": "2"}, pair, LaunchContext(4, False, hosts=hosts))
    assert values(near, "one_way_s") == pytest.approx([100e-9])
    far = P2P.derive({"pattern": "one_way", "peer": "3"}, pair, LaunchContext(4, False, hosts=hosts))
    assert isinstance(far["one_way_s"], Absent)
