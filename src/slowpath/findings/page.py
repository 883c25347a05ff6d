# SPDX-License-Identifier: Apache-2.0
"""A rule's page: one screen of text. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from slowpath.findings.slow_path import SlowPath

WIDTH = 100
LINES = 24  # of a screen
_LABEL = 15


def text_page(path: SlowPath) -> str:
    """At most 24 lines of 100 columns, without a newline at the end."""
    lines = [f"{path.code}  {path.title}", ""]
    parts = {"What it is": path.summary, "How to fix": path.remedy, "How it is found": path.needs}
    remedies = "; ".join(remedy.name for remedy in path.remedies)
    for heading, text in {**parts, "Remedies": remedies}.items():
        if text:
            lines += textwrap.wrap(
                text,
                WIDTH,
                initial_indent=f"{heading:<{_LABEL}}  ",
                subsequent_indent=" " * (_LABEL + 2),
                break_long_words=False,
                break_on_hyphens=False,
            )
    return "\n".join(lines)


def table(paths: Sequence[SlowPath]) -> str:
    """One line a rule: its code and title."""
    return "\n".join(f"{path.code}  {path.title}" for path in paths)
