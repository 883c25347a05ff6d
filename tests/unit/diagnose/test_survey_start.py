# SPDX-License-Identifier: Apache-2.0
"""A survey says what the start of MPI and the first uses take."""

from __future__ import annotations

import made_results
from msgspec.structs import replace

from slowpath.core.cell_results import CellResult, MetricResult
from slowpath.diagnose.steps.survey import start_words
from slowpath.plan.campaign import load


def once(number: int, pattern: str, metric: str, **phases_s: float) -> CellResult:
    found = {phase: made_results.estimate([time_s, time_s]) for phase, time_s in phases_s.items()}
    made = made_results.cell(number, {"pattern": pattern}, experiment="first_use")
    times = MetricResult(unit="s", better="lower", phases=found, by_repetition=None)
    return replace(made, group="start", metrics={metric: times})


def test_the_line_has_each_first_use_next_to_later_ones() -> None:
    cells = [
        once(0, "init", "init_s", first=0.061),
        once(1, "communicator", "communicator_s", first=82e-6, steady=21e-6),
        once(2, "collective", "collective_first_s", steady=1e-6),  # the first one was not measured
        made_results.cell(3, {"pattern": "ping_pong"}, [1e-6, 1e-6]),
    ]
    words = start_words(made_results.results(cells))
    assert words == "MPI_Init 61.0 ms, the first communicator 82.0 us (later ones 21.0 us)"
    assert start_words(made_results.results(cells[3:])) is None


def test_the_survey_holds_what_the_line_says() -> None:
    (group,) = [one for one in load("panel").cells if one.name == "start"]
    assert group.parameters["pattern"] == ["init", "communicator", "collective"]
