# SPDX-License-Identifier: Apache-2.0
"""Sections of the report that belong to one experiment, by the names in `Experiment.views`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from slowpath.core.results import Results
from slowpath.experiments.registry import EXPERIMENTS
from slowpath.report.cannon.view import cannon_answers, cannon_lines, cannon_view
from slowpath.report.coll.ways import coll_files, coll_lines, coll_view
from slowpath.report.first_use.view import first_use_files, first_use_lines, first_use_view
from slowpath.report.put.study_table import study_files
from slowpath.report.put.text import put_answers, put_lines
from slowpath.report.put.view import put_view
from slowpath.report.scaling.view import scaling_files, scaling_lines, scaling_view


@dataclass(frozen=True, slots=True)
class StudyView:
    """A section of the report for one experiment.

    Args: name: id in the page. title: title in the navigation. page: returns the value that the template shows as
          `view`, or None. template: file in this folder. lines: lines for a terminal, not wrapped. answers: sentences
          that answer what the study asks, for a run of nothing else. files: further derived files, content by name.
    """

    name: str
    title: str
    template: str
    page: Callable[[Results], object | None]
    lines: Callable[[Results], list[str]]
    answers: Callable[[Results], list[str]] = lambda _: []
    files: Callable[[Results], dict[str, str]] = lambda _: {}


VIEWS: dict[str, StudyView] = {
    view.name: view
    for view in (
        StudyView("put", "Put", "put/put.html.j2", put_view, put_lines, put_answers, study_files),
        StudyView("coll", "Collectives", "coll/coll.html.j2", coll_view, coll_lines, files=coll_files),
        StudyView("scaling", "Over ranks", "scaling/scaling.html.j2", scaling_view, scaling_lines, files=scaling_files),
        StudyView(
            "first_use",
            "First use",
            "first_use/first_use.html.j2",
            first_use_view,
            first_use_lines,
            files=first_use_files,
        ),
        StudyView("cannon", "Cannon", "cannon/cannon.html.j2", cannon_view, cannon_lines, cannon_answers),
    )
}


def views_of(results: Results) -> list[StudyView]:
    """Return the sections of the experiments that occur, in the order of the experiments."""
    occurring = {cell.experiment for cell in results.cells}
    return [VIEWS[name] for experiment in EXPERIMENTS if experiment.name in occurring for name in experiment.views]


def answers_of(results: Results) -> list[str]:
    """Return the sentences that answer a study, or [] for a run of several experiments."""
    if len({cell.experiment for cell in results.cells}) != 1:
        return []
    return [sentence for view in views_of(results) for sentence in view.answers(results)]
