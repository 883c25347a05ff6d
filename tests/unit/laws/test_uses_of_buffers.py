# SPDX-License-Identifier: Apache-2.0
"""Single uses of fresh buffers: which message is which use, and which of them stand for a launch."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from slowpath.analyse.cells import _by_use
from slowpath.core.cell_results import ByRepetition, MetricEstimate, MetricResult
from slowpath.findings.laws import launch_times
from slowpath.stats.laws.law import Sweep


def estimate(launch_values: list[float]) -> MetricEstimate:
    return MetricEstimate(
        value=1.0, interval=None, interval_kind="", level=None, launches=2, location=0.5, launch_values=launch_values,
        samples=2, cut_samples=0, p50=None, p90=None, p99=None, p999=None, p999_reason=None, min=1.0, max=1.0,
        steady_class=None, within_ratio=None,
        between_ratio=None, batch=1, quantum_ratio=None,
    )  # fmt: skip


def test_later_messages_go_through_the_live_buffers_in_turn() -> None:
    # 2 sets of 2 buffers with 3 uses each; a time says set, use and buffer: 132 is set 1, use 3, buffer 2.
    first = np.array([111.0, 112, 211, 212])
    later = np.array([121.0, 122, 131, 132, 221, 222, 231, 232])
    uses = _by_use(first, later, (2, 2, 3))
    assert uses is not None
    assert uses.tolist() == [[111, 121, 131], [112, 122, 132], [211, 221, 231], [212, 222, 232]]
    assert _by_use(first, later[:-1], (2, 2, 3)) is None


def test_first_messages_are_fitted_to_undisturbed_buffers_where_the_launches_match() -> None:
    first, later = (estimate([7.0, 8.0]), estimate([1.0, 2.0]))
    entry = MetricResult(
        unit="s",
        better="lower",
        phases={"first": first, "steady": later},
        by_repetition=ByRepetition(repetitions=[1, 2], launches=[0, 1], launch_values=[[5.0, 1.0], [6.0, 1.0]]),
    )
    assert list(launch_times(entry, "first")) == [5.0, 6.0]
    assert list(launch_times(entry, "steady")) == [1.0, 2.0]
    fewer = ByRepetition(repetitions=[1, 2], launches=[0], launch_values=[[5.0, 1.0]])
    assert list(launch_times(replace(entry, by_repetition=fewer), "first")) == [7.0, 8.0]


@pytest.mark.parametrize("strays", [1, 2])
def test_a_few_wild_launches_do_not_carry_a_point_away(strays: int) -> None:
    from slowpath.stats.laws.fit import curve

    times = np.full((5, 6), 1e-5) * (1 + 0.01 * np.random.default_rng(1).standard_normal((5, 6)))
    times[:strays, 2] *= 400
    sweep = Sweep({"live_buffers": np.arange(1.0, 7.0)}, times, np.ones(6, dtype=np.int64))
    assert curve(sweep).centre_s[2] == pytest.approx(1e-5, rel=0.1)
