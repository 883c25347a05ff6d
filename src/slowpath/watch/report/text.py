# SPDX-License-Identifier: Apache-2.0
"""The verdict of a watch for a terminal: the lines of its results, cleaned. Pure."""

from __future__ import annotations

from slowpath.core.clean import line, text
from slowpath.watch.results import WatchResults

_PLAIN = str.maketrans({"µ": "u", "×": "x", "–": "-", "→": ">", "·": ","})


def render_watch_text(results: WatchResults, folder: str) -> str:
    """The verdict, and where the page is. Ends with a newline.  Args: folder: of the watch."""
    lines = [line(one).translate(_PLAIN) for one in results.verdict] or [f"{line(results.program.program)}: no verdict"]
    return text("\n".join([*lines, f"report: {line(folder)}/report.html"])) + "\n"
