# SPDX-License-Identifier: Apache-2.0
"""A rule's page: one screen of text; and all rules as Markdown, docs/reference/rules.md. Pure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from slowpath.findings.slow_path import SlowPath

WIDTH = 100
LINES = 24  # of a screen
_LABEL = 14


def _parts(path: SlowPath) -> list[tuple[str, str]]:
    return [
        ("What it is", path.summary),
        ("How to fix", path.remedy),
        ("How it is found", path.needs),
        ("Other causes", "; ".join(path.hypotheses)),
    ]


def text_page(path: SlowPath) -> str:
    """At most 24 lines of 100 columns, without a newline at the end."""
    lines = [f"{path.code}  {path.title}", ""]
    parts = [*_parts(path), ("Remedies", "; ".join(remedy.name for remedy in path.remedies))]
    for heading, text in parts:
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


def markdown_page(paths: Sequence[SlowPath]) -> str:
    """All rules, docs/reference/rules.md."""
    lines = [
        "# Rules",
        "",
        "The slow paths that Slowpath can name. `slowpath explain CODE` prints one. [Findings](findings.md) says what "
        "observed, explained and proven mean. [Remedies](remedies.md) lists each library's variables.",
        "",
    ]
    for path in paths:
        lines += [f"## {path.code}", "", f"**{path.title}.** {path.summary}", ""]
        lines += [f"*Fix:* {path.remedy}", "", f"*Found:* {path.needs}", ""]
    return re.sub(r"docs/([\w-]+)/([\w-]+)\.md", _link, "\n".join(lines))


def _link(page: re.Match[str]) -> str:
    folder = "" if page[1] == "reference" else f"../{page[1]}/"
    return f"[{page[2]}]({folder}{page[2]}.md)"
