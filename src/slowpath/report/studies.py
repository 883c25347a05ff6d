# SPDX-License-Identifier: Apache-2.0
"""What the report shows of one experiment, by the names in `Experiment.views`: a section, lines, answers, files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from slowpath.core.results import Results
from slowpath.experiments.registry import EXPERIMENTS
from slowpath.report.cannon import cannon_answers, cannon_lines, cannon_section, cannon_table
from slowpath.report.coll import coll_files, coll_lines, coll_section
from slowpath.report.figure import Section
from slowpath.report.first_use import first_use_files, first_use_lines, first_use_section
from slowpath.report.put import put_answers, put_lines, put_section, put_table, study_files


@dataclass(frozen=True, slots=True)
class StudyView:
    """What the report shows of one experiment.

    Args: section: of the page, or None. lines: for a terminal, not wrapped. answers: sentences that answer what the
          study asks, for a run of nothing else. table: the numbers of the answer for a terminal, eight rows at most.
          files: further derived files, content by name.
    """

    name: str
    section: Callable[[Results], Section | None]
    lines: Callable[[Results], list[str]]
    answers: Callable[[Results], list[str]] = lambda _: []
    table: Callable[[Results], list[str]] = lambda _: []
    files: Callable[[Results], dict[str, str]] = lambda _: {}


VIEWS: dict[str, StudyView] = {
    view.name: view
    for view in (
        StudyView("put", put_section, put_lines, put_answers, put_table, study_files),
        StudyView("coll", coll_section, coll_lines, files=coll_files),
        StudyView("first_use", first_use_section, first_use_lines, files=first_use_files),
        StudyView("cannon", cannon_section, cannon_lines, cannon_answers, cannon_table),
    )
}


def views_of(results: Results) -> list[StudyView]:
    """Return the views of the experiments that occur, in the order of the experiments."""
    occurring = {cell.experiment for cell in results.cells}
    return [VIEWS[name] for experiment in EXPERIMENTS if experiment.name in occurring for name in experiment.views]


def study_sections(results: Results) -> list[Section]:
    """Return the sections of the page that belong to experiments."""
    return [section for view in views_of(results) if (section := view.section(results)) is not None]


def answers_of(results: Results) -> list[str]:
    """Return the sentences that answer a study, or [] for a run of several experiments."""
    if len({cell.experiment for cell in results.cells}) != 1:
        return []
    return [sentence for view in views_of(results) for sentence in view.answers(results)]
