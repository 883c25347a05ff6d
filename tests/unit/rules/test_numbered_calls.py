# SPDX-License-Identifier: Apache-2.0
"""The call at which a path opens, the communicator at which it closes: exactly, and moved by the library's variable."""

from __future__ import annotations

import re

import numpy as np
import pytest
from collective_plants import BEFORE_S, CALLS, COMMUNICATORS, closing, numbered, opening, opens
from planted_results import KIB, Planted

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


def test_a_variable_that_does_not_move_it_refutes_the_cause() -> None:
    run = Planted()
    run.environment("at 9", MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD="9")
    for environment in ("default", "at 9"):
        for length, scale in ((8, 1.0), (64 * KIB, 20.0)):
            for name in ("bcast", "reduce"):
                more = {"collective": name, "message_bytes": length, "environment": environment}
                opens(run, True, 5, scale, **more)
    found = only(run)
    assert found.legs.explained.state == "refuted"
    assert found.status == "observed"


def test_a_first_use_under_a_variable_is_no_opening_that_it_moved() -> None:
    run = Planted()
    run.environment("never", MPIR_CVAR_POSIX_NUM_COLLS_THRESHOLD="1000000")
    for length in (8, 64 * KIB):
        for name in ("bcast", "reduce"):
            opens(run, True, 5, collective=name, message_bytes=length)
            slow_first = [20 * BEFORE_S, *[BEFORE_S] * (CALLS - 1)]
            more = {"collective": name, "message_bytes": length, "environment": "never"}
            numbered(run, slow_first, 1, pattern="counted", **more)
    found = only(run)
    assert found.legs.explained.state == "missing"
    assert any("which was not measured, seen none" in line for line in found.legs.explained.evidence)


def test_one_cell_alone_is_chance() -> None:
    run = Planted()
    opens(run, True, collective="bcast", message_bytes=8)
    opens(run, False, collective="reduce", message_bytes=8)
    assert findings(run.results(), ROLES) == []


def test_the_communicator_is_that_of_the_limit() -> None:
    run = Planted()
    closing(run, True)
    found = only(run)
    assert "on communicator 656 and later ones" in found.text
    assert found.status == "proven"
    evidence = found.legs.explained.evidence
    assert any("predicted communicator 329, seen 328" in one for one in evidence)  # 32768 / 100 = 327.68
    assert any("predicted communicator 1311, which was not measured, seen none" in one for one in evidence)


def test_a_slope_is_no_step() -> None:
    run = Planted()
    slope_s = np.linspace(0.3e-6, 0.9e-6, COMMUNICATORS).tolist()
    numbered(run, slope_s, 1, pattern="communicators", collective="allreduce", message_bytes=8)
    found = findings(run.results(), ROLES)
    assert all(one.status == "observed" for one in found)


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


def test_a_first_call_alone_has_a_level_in_front_of_itself() -> None:
    """There is no call before call 1: an empty mean would be no number."""
    times_s = np.array([[1e-3, *[1.1e-6] * 3, *[0.3e-6] * 60]] * 5)
    found = change_points.opening(times_s)
    assert found is not None
    assert (found.number, list(found.before)) == (1, [1e-3] * 5)
