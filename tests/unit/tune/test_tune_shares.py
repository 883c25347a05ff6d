# SPDX-License-Identifier: Apache-2.0
"""How a tuning's budget is shared out, by a clock that is set by hand."""

from __future__ import annotations

import pytest

from slowpath.diagnose.tune.cells import Shares


def test_each_step_gets_its_share_of_what_is_left() -> None:
    now_s = [100.0]
    shares = Shares(100.0, lambda: now_s[0])
    assert shares.next_s("choose", 1) == pytest.approx(100 * 4 / 16)
    now_s[0] += 10.0  # quicker than its share: the rest is for the others
    assert shares.next_s("prove", 1) == pytest.approx(90 * 2 / 10)
    now_s[0] += 30.0
    assert shares.next_s("verify", 1) == pytest.approx(30.0), "half: it may have to be repeated"
    now_s[0] += 200.0
    assert shares.next_s("verify", 1) == 0.0, "never negative"


def test_numbers_of_ranks_share_a_step() -> None:
    now_s = [0.0]
    shares = Shares(100.0, lambda: now_s[0])
    each_s = 100 * 4 / 32
    assert shares.next_s("choose", 2) == pytest.approx(each_s)
    now_s[0] += each_s
    assert shares.next_s("choose", 2) == pytest.approx(each_s)
    now_s[0] += each_s
    assert shares.next_s("finer", 2) == pytest.approx((100 - 2 * each_s) / 24), "half: there may be further steps"
    assert shares.next_s("prove", 2) == pytest.approx((100 - 2 * each_s) * 2 / 20)
