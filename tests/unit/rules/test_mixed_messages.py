# SPDX-License-Identifier: Apache-2.0
"""SP073: messages that are slow at random, and what must not be called so."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec
import numpy as np
import pytest
from planted_results import Planted, witness
from plants import PLANTS

from slowpath.core.results import Finding
from slowpath.core.shape_results import CellShapes
from slowpath.experiments.registry import ROLES
from slowpath.findings.conclude import group_of
from slowpath.slowpaths.evaluate import findings
from slowpath.slowpaths.order_and_time.sp073_mixed_messages import Mixture, mixtures
from slowpath.stats.shapes import mixed_of
from support.results import a_cell
from support.series import Extra, Floats, Numbers, at_random, every, simulated

LENGTHS = {8: 8e-7, 65536: 7e-6}
CELLS = {number: a_cell(number, mpi="mpich") for number in range(2)}
COST_S = 9e-4


def of(extra: Extra, lengths: dict[int, float] | None = None, messages: int = 599) -> Sequence[CellShapes]:
    return list(simulated(lengths or LENGTHS, extra, messages=messages, burst_s=1e-3).values())


def named(extra: Extra) -> list[Mixture]:
    return mixtures(CELLS, of(extra), 0.03)


def planted(switches: int | None) -> list[Finding]:
    run = Planted(1)
    PLANTS["SP073"](run, True)
    if switches is not None:
        for cell in run.cells:
            cell["witness"] = witness("steady", 0.0)
            cell["witness"]["steady"]["receive"] |= {"involuntary_switches": switches, "operations": 599}
    return findings(run.results(), ROLES)


def test_it_says_which_part_is_slow_and_what_the_mean_message_loses() -> None:
    (one,) = planted(None)
    assert one.rule == "SP073"
    assert one.text.split("%")[0].isdigit()
    assert int(one.text.split("%")[0]) == pytest.approx(50, abs=10)
    assert one.ratio == pytest.approx(1 + 0.5 * 2e-5 / 8e-7, rel=0.2)
    assert one.status == "observed"


def test_it_is_a_fault_only_where_ranks_kept_their_processors() -> None:
    (unknown,), (kept,) = planted(None), planted(3)
    assert group_of(unknown) == "suspicion"
    assert group_of(kept) == "fault"
    assert planted(400) == []  # each slow message may be one that lost its processor


@pytest.mark.parametrize("share", [0.3, 0.5, 0.7])
@pytest.mark.parametrize("cost_s", [2e-5, COST_S])
def test_any_share_and_cost_far_above_a_message_is_named(share: float, cost_s: float) -> None:
    (one,) = named(at_random(share, cost_s))
    assert one.mixed.share == pytest.approx(share, abs=0.1)
    assert len(one.cells) == 2


def test_both_ways_of_a_ping_pong_draw_and_make_three_kinds() -> None:
    def both(number: Numbers, launch: int) -> Floats:
        return at_random(0.5, COST_S)(number, launch) + at_random(0.5, COST_S)(number, launch + 100)

    (one,) = named(both)
    assert one.mixed.share == pytest.approx(0.75, abs=0.1)


def _lasting(number: Numbers, launch: int) -> Floats:
    """Each state lasts for 10 to 60 messages, so that there is no period."""
    ends = np.cumsum(np.random.default_rng(launch).integers(10, 61, number.size))
    return np.asarray(COST_S * (np.searchsorted(ends, number) % 2))


def _after_a_time(share: float) -> Extra:
    return at_random(share, COST_S)


def _rivals() -> dict[str, Callable[[], Sequence[CellShapes]]]:
    """States that last; a period; what strikes after a time; one length; few messages that stall; by launch; none."""
    short, long = {8: LENGTHS[8]}, {65536: LENGTHS[65536]}
    return {
        "states": lambda: of(_lasting),
        "every second": lambda: of(every(2, COST_S)),
        "after a time": lambda: [*of(_after_a_time(0.2), short), _as(1, of(_after_a_time(0.8), long)[0])],
        "one length": lambda: of(at_random(0.5, COST_S), short),
        "stalls": lambda: of(at_random(0.05, COST_S)),
        "by launch": lambda: of(lambda number, launch: np.full(number.size, COST_S * (launch % 2))),
        "nothing": lambda: of(at_random(0.0, COST_S)),
        "as wide as apart": lambda: of(lambda number, launch: np.random.default_rng(launch).exponential(
            COST_S, number.size)),
    }  # fmt: skip


@pytest.mark.parametrize("rival", list(_rivals()))
def test_a_rival_is_not_named(rival: str) -> None:
    assert mixtures(CELLS, _rivals()[rival](), 0.03) == []


def _as(cell: int, one: CellShapes) -> CellShapes:
    return msgspec.structs.replace(one, cell=cell)


@pytest.mark.parametrize("size", [64, 599])
def test_no_single_law_has_two_kinds(size: int) -> None:
    """Far from the limit: three launches of one law would all have to show it."""
    random = np.random.default_rng(size)
    laws = (
        random.exponential(size=(50, 3, size)),
        np.exp(random.normal(size=(50, 3, size))),
        random.random((50, 3, size)),
    )
    for draws in laws:
        assert all(mixed_of([np.asarray(1e-3 + times) for times in launches]) is None for launches in draws)


def _beside(excess_s: float, kinds: bool = True) -> list[str]:
    """Rules that are named where a contrast of completions shows this excess, next to messages of two kinds."""
    run = Planted(1)
    PLANTS["SP073"](run, kinds)
    usual_s, metric = 3e-6, "half_round_trip_latency_s"
    fast, slow = (
        run.cell({metric: {"steady": time_s}}, pattern="ping_pong", message_bytes=4096, completion=completion)
        for completion, time_s in (("blocking", usual_s), ("test", usual_s + excess_s))
    )
    run.contrast("completion", metric, (fast, "blocking"), (slow, "test"))
    return [one.rule for one in findings(run.results(), ROLES)]


def test_a_contrast_of_medians_that_the_kinds_explain_is_no_finding_of_its_own() -> None:
    assert _beside(2e-5) == ["SP073"]  # the gap between the kinds
    assert _beside(2e-5, kinds=False) == ["SP064"]
    assert sorted(_beside(2e-4)) == ["SP064", "SP073"]  # ten times the gap


def test_what_is_no_median_of_messages_stays() -> None:
    run = Planted(1)
    PLANTS["SP073"](run, True)
    fast, slow = (
        run.cell({"time_per_put_s": {"steady": time_s}}, experiment="put", window=window)
        for window, time_s in (("allocate", 1e-6), ("create", 9e-6))
    )
    run.contrast("window", "time_per_put_s", (fast, "allocate"), (slow, "create"))
    assert len(findings(run.results(), ROLES)) == 2
