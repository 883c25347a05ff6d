# SPDX-License-Identifier: Apache-2.0
"""Gates and measured values in the formats of other tools. A new format needs a renderer, a line here, and a test."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slowpath.compare.export import openmetrics
from slowpath.compare.export.gate_formats import render_github_summary, render_junit
from slowpath.compare.export.values import render_action_benchmark, render_bencher
from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.core.files import append_at_once

if TYPE_CHECKING:
    from slowpath.compare.gate import Gate, Undecided
    from slowpath.compare.read import RunSource

Render = Callable[["Gate", "RunSource", "Undecided"], str]


@dataclass(frozen=True)
class ExportFormat:
    """A format of --export. `append` keeps the content of the file, as for GITHUB_STEP_SUMMARY, which steps share."""

    name: str
    render: Render
    append: bool = False


FORMATS: dict[str, ExportFormat] = {
    export.name: export
    for export in (
        ExportFormat("junit", lambda found, run, undecided: render_junit(found, undecided)),
        ExportFormat("github-summary", lambda found, run, undecided: render_github_summary(found), append=True),
        ExportFormat("openmetrics", lambda found, run, undecided: openmetrics.render(found, run)),
        ExportFormat("bencher", lambda found, run, undecided: render_bencher(run)),
        ExportFormat("action-benchmark", lambda found, run, undecided: render_action_benchmark(run)),
    )
}


def parse_exports(words: Sequence[str]) -> list[tuple[ExportFormat, Path]]:
    """Return formats and files of options FORMAT=FILE.  Raises: UsageError."""
    found = []
    for word in words:
        name, sign, path = word.partition("=")
        if name not in FORMATS or not sign or not path:
            raise UsageError(f"--export '{word}' is not FORMAT=FILE; FORMAT is one of: {', '.join(FORMATS)}")
        found.append((FORMATS[name], Path(path)))
    return found


def write_exports(
    wanted: Sequence[tuple[ExportFormat, Path]], found: Gate, run: RunSource, undecided: Undecided = "undecided"
) -> None:
    """Write each file.

    Args: undecided: what the user takes an undecided gate for.  Raises: EnvironmentFailure: a file can't be written.
    """
    for export, path in wanted:
        text = export.render(found, run, undecided)
        try:
            if export.append:
                append_at_once(path, text)
            else:
                path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise EnvironmentFailure(
                f"{path}: cannot be written: {error.strerror or error}; name another file"
            ) from error
