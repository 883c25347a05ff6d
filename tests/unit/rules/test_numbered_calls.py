# SPDX-License-Identifier: Apache-2.0
"""The call at which a path opens, the communicator at which it closes: exactly, and moved by the library's variable."""

from __future__ import annotations

import re

import numpy as np
import pytest
from collective_plants import CALLS, opening
from planted_results import Planted

from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.slowpaths.collectives import numbered as change_points
from slowpath.slowpaths.evaluate import findings


def only(run: Planted) -> Finding:
    found = findings(run.results(), ROLES)
    assert len(found) == 1, [one.text for one in found]
    return found[0]


def test_the_call_is_exact_and_its_variable_proves_it() -> None:
    run = Planted()
    opening(run, True)
    found = only(run)
    assert "at call 5 of each communicator" in found.text
    assert found.status == "proven"
    assert found.legs.explained.state == "shown"
    assert [one.name for one in found.rivals] == ["bytes", "time", "warm-up of the process"]
    assert any("predicted call 9, seen 9" in line for line in found.legs.explained.evidence)
    assert found.remedies[0].name == "later opening of shared-memory collectives in MPICH"
    assert found.remedies[0].side_effects, "it closes the faster path for all communicators, and has to say so"
    assert "few calls" in found.remedies[0].text
    assert any("alltoall" in line and "unchanged" in line for line in found.legs.proven.evidence)


def test_the_set_up_is_what_it_costs_and_what_it_saves() -> None:
    run = Planted()
    opening(run, True)
    found = only(run)
    # 45 + 3 x 5 us less four calls of 0.3 us, for 0.8 us saved by each later call: 4 + 58.8 / 0.8 = 77.5
    pays = re.search(r"it pays from call (\d+) on", found.text)
    assert pays is not None
    assert 74 <= int(pays[1]) <= 82


@pytest.mark.parametrize(
    ("at", "setup"),
    [(at, setup) for at in (3, 5, 9, 17) for setup in ([], [40.0], [40.0, 5.0, 5.0, 5.0]) if setup or at > 3],
)
def test_each_opening_is_found_where_it_is(at: int, setup: list[float]) -> None:
    random = np.random.default_rng(at)
    row = ([1.4, *[1.1] * (at - 2), *setup] + [0.3] * CALLS)[:CALLS]
    times_s = np.array(row) * np.exp(random.normal(0, 0.03, (5, CALLS)))
    times_s[0, 2] *= 30  # a launch that something disturbed
    found = change_points.opening(times_s)
    assert found is not None
    assert (found.number, found.settled) == (at, at + len(setup))


def test_noise_opens_nothing() -> None:
    random = np.random.default_rng(7)
    for _ in range(200):
        times_s = np.exp(random.normal(0, 0.1, (5, CALLS)))
        times_s[random.random(times_s.shape) < 0.03] *= 20
        times_s[:, 0] *= 2
        assert change_points.opening(times_s) is None
        assert change_points.closing(times_s) is None
