# SPDX-License-Identifier: Apache-2.0
"""Gates and measured values in the formats of other tools. Adding one: a file, a line in FORMATS, a test line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slowpath.compare.export import action_benchmark, bencher, github, junit, openmetrics
from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.core.files import append_at_once

if TYPE_CHECKING:
    from slowpath.compare.gate import Gate
    from slowpath.compare.read import Source

Render = Callable[["Gate", "Source"], str]


@dataclass(frozen=True)
class Format:
    """append: what the file holds already is kept, as with GITHUB_STEP_SUMMARY, which belongs to all of a step."""

    name: str
    render: Render
    append: bool = False


FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        Format("junit", lambda found, run: junit.render(found)),
        Format("github-summary", lambda found, run: github.summary(found), append=True),
        Format("openmetrics", openmetrics.render),
        Format("bencher", lambda found, run: bencher.render(run)),
        Format("action-benchmark", lambda found, run: action_benchmark.render(run)),
    )
}


def parse_exports(words: Sequence[str]) -> list[tuple[Format, Path]]:
    """FORMAT=FILE, each.  Raises: UsageError."""
    found = []
    for word in words:
        name, sign, path = word.partition("=")
        if name not in FORMATS or not sign or not path:
            raise UsageError(f"--export '{word}' is not FORMAT=FILE; FORMAT is one of: {', '.join(FORMATS)}")
        found.append((FORMATS[name], Path(path)))
    return found


def write_exports(wanted: Sequence[tuple[Format, Path]], found: Gate, run: Source) -> None:
    """Writes each file.  Raises: EnvironmentFailure if one can't be written."""
    for export, path in wanted:
        text = export.render(found, run)
        try:
            if export.append:
                append_at_once(path, text)
            else:
                path.write_text(text, encoding="utf-8")
        except OSError as error:
            raise EnvironmentFailure(
                f"{path}: cannot be written: {error.strerror or error}; name another file"
            ) from error
