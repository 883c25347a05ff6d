# SPDX-License-Identifier: Apache-2.0
"""Roles of parameters: what makes two cells one thing, one sweep, or two settings."""

from __future__ import annotations

import pytest

from slowpath.compare.comparison import differing_parts
from slowpath.core.cell_results import CellResult
from slowpath.core.plan import is_effort
from slowpath.diagnose.limits import SHORT_EFFORT, shortened
from slowpath.experiments.registry import EXPERIMENTS, ROLES
from slowpath.findings.laws import sweeps
from support.results import a_cell, a_metric, an_estimate

PUT = {"pattern": "burst", "message_bytes": "8", "window": "allocate", "instructions": "16", "samples": "200"}


def put(number: int, **changed: str) -> CellResult:
    metrics = {"time_per_put_s": a_metric(an_estimate(1e-6 * (number + 1)))}
    return a_cell(number, experiment="put", parameters={**PUT, **changed}, metrics=metrics)


def test_every_parameter_has_a_role_of_three() -> None:
    roles = {role for experiment in EXPERIMENTS for role in experiment.roles.values()}
    assert roles == {"setting", "covariate", "effort"}
    assert is_effort(ROLES, "samples")
    assert not is_effort(ROLES, "puts")
    assert not is_effort(ROLES, "what no experiment has")


@pytest.mark.parametrize("name", ["samples", "instructions", "allocations", "messages", "quiet_wait_s", "validate"])
def test_cells_of_two_runs_that_differ_in_effort_are_one_thing(name: str) -> None:
    assert differing_parts(put(0, **{name: "1"}), put(0, **{name: "2"})) == []


@pytest.mark.parametrize("name", ["window", "message_bytes", "peer", "what no experiment has"])
def test_cells_of_two_runs_that_differ_otherwise_are_two(name: str) -> None:
    assert differing_parts(put(0, **{name: "1"}), put(0, **{name: "2"})) == [f"{name} is 1 against 2"]


def varied(cells: list[CellResult]) -> list[list[str]]:
    """What varies in each sweep of the cells."""
    return [sorted(sweep.varied()) for sweep in sweeps(cells, ROLES)]


def test_what_a_diagnosis_shortens_is_effort() -> None:
    assert all(is_effort(ROLES, name) for name in SHORT_EFFORT)
    assert shortened(PUT) == {**PUT, "samples": SHORT_EFFORT["samples"]}


def test_effort_is_no_covariate_and_splits_no_sweep() -> None:
    lengths = ("8", "64", "512")
    alike = [put(i, message_bytes=length) for i, length in enumerate(lengths)]
    other = [put(i, message_bytes=length, instructions=str(i), samples="9") for i, length in enumerate(lengths)]
    assert varied(alike) == varied(other) == [["message_bytes"]]
