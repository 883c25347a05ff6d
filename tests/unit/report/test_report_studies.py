# SPDX-License-Identifier: Apache-2.0
"""Sections of single experiments: found by the names that experiments list, shown where one of these was measured."""

from __future__ import annotations

from pathlib import Path

import slowpath.report
from slowpath.core.results import Results
from slowpath.experiments.registry import EXPERIMENTS
from slowpath.report.studies import VIEWS, views_of
from slowpath.report.trace.read import KINDS

HERE = Path(slowpath.report.__file__).parent


def test_every_name_that_an_experiment_lists_is_known() -> None:
    assert {name for one in EXPERIMENTS for name in one.views} == set(VIEWS)
    assert {name for one in EXPERIMENTS for name in one.timelines.values()} == set(KINDS)


def test_every_view_has_its_template_in_a_room_of_its_own() -> None:
    for name, view in VIEWS.items():
        assert view.name == name
        assert (HERE / view.template).is_file()
        assert view.template.startswith(f"{name}/")


def test_a_run_shows_the_views_of_its_experiments_alone(results: Results, puts: Results, cannon: Results) -> None:
    assert [view.name for document in (results, puts, cannon) for view in views_of(document)] == ["put", "cannon"]
