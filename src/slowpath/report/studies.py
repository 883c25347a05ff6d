# SPDX-License-Identifier: Apache-2.0
"""Sections of the report that experiments have for themselves, by the names that they give (`Experiment.views`)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from slowpath.experiments.registry import EXPERIMENTS
from slowpath.report.cannon.text import cannon_lines
from slowpath.report.cannon.view import cannon_view
from slowpath.report.put.text import put_lines
from slowpath.report.put.view import put_view


@dataclass(frozen=True)
class StudyView:
    """section: of results, what the template shows under the view's name; falsy: nothing.  lines: for a terminal."""

    section: Callable[[Any], Any]
    lines: Callable[[Any], list[str]]


VIEWS: dict[str, StudyView] = {
    "put": StudyView(put_view, put_lines),
    "cannon": StudyView(cannon_view, cannon_lines),
}


def study_sections(results: Any) -> dict[str, Any]:
    """What the page shows of each view, by its name, in the order of the experiments."""
    return {name: VIEWS[name].section(results) for name in _names()}


def study_lines(results: Any) -> list[list[str]]:
    """What a terminal shows of each view, in the order of the experiments; [] where it has nothing to show."""
    return [VIEWS[name].lines(results) for name in _names()]


def _names() -> list[str]:
    return [name for experiment in EXPERIMENTS for name in experiment.views]
