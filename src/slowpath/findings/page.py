# SPDX-License-Identifier: Apache-2.0
"""A rule's page: one screen of text, and the same as Markdown for docs/reference/rules. Pure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from slowpath.findings.rivals.kinds import COLD, SIDE, UNTOUCHED, USER, WAITING
from slowpath.findings.rivals.rival import RivalKind
from slowpath.findings.slow_path import SlowPath

WIDTH = 100
LINES = 24  # of a screen
_LABEL = 14
SHARED = (WAITING, SIDE, COLD, UNTOUCHED, USER)  # rivals of four rules and more


def _parts(path: SlowPath) -> list[tuple[str, str]]:
    """Heading and text, in the order in which one reads them."""
    parts = [
        ("What it is", path.what),
        ("How it shows", path.shows),
        ("Why", path.why),
        ("How it is found", path.needs),
        ("How to fix", path.remedy),
        ("False alarms", path.false_alarms),
        ("Out of reach", path.out_of_reach),
    ]
    return [(heading, text) for heading, text in parts if text]


def text_page(path: SlowPath) -> str:
    """At most 24 lines of 100 columns, without a newline at the end."""
    lines = [f"{path.code}  {path.title}", ""]
    for heading, text in _parts(path):
        lines += _entry(heading, text)
    names = [remedy.name for remedy in path.remedies]
    if names:
        lines += _entry("Remedies", "; ".join(names), most=2)
    lines += _entry("Sources", "; ".join(path.sources))
    return "\n".join(lines)


def _entry(heading: str, text: str, most: int | None = None) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=f"{heading:<{_LABEL}}  ",
        subsequent_indent=" " * (_LABEL + 2),
        break_long_words=False,
        break_on_hyphens=False,
        max_lines=most,
        placeholder=" ...",
    )


def table(paths: Sequence[SlowPath]) -> str:
    """One line a rule: its code and title."""
    return "\n".join(f"{path.code}  {path.title}" for path in paths)


def markdown_page(path: SlowPath) -> str:
    """A rule as a page of docs/reference/rules."""
    lines = [f"# {path.code}: {path.title}", ""]
    for heading, text in _parts(path):
        lines += [f"**{heading}.** {text}", ""]
    lines += _rivals(path)
    if path.stronger:
        links = ", ".join(f"[{code}]({code}.md)" for code in path.stronger)
        lines += [f"Merged into {links} where that rule explains the same excess.", ""]
    lines += [f"**Sources.** {'; '.join(path.sources)}", ""]
    return _linked("\n".join(lines))


def _rivals(path: SlowPath) -> list[str]:
    """Return what else would look the same and what refutes it; rivals of several rules are in the index."""
    kinds = path.rivals
    if not kinds:
        return []
    own = [_rival(kind) for kind in kinds if kind not in SHARED]
    shared = [kind.name for kind in kinds if kind in SHARED]
    if shared:
        own += [f"- [Shared rivals](README.md#shared-rivals): {', '.join(shared)}."]
    return ["## Rivals", "", *own, ""]


def _rival(kind: RivalKind) -> str:
    return f"- **{kind.name}**: {kind.experiment}."


def _linked(text: str) -> str:
    """Pages of the documentation (docs/how-to/traces.md) as links from docs/reference/rules."""
    return re.sub(r"docs/([\w-]+)/([\w-]+)\.md", _link, text)


def _link(page: re.Match[str]) -> str:
    folder = ".." if page[1] == "reference" else f"../../{page[1]}"
    return f"[{page[2]}]({folder}/{page[2]}.md)"


def index_page(paths: Sequence[SlowPath]) -> str:
    """The table of all rules and the rivals that several of them share, docs/reference/rules/README.md."""
    rows = [f"[{path.code}]({path.code}.md) | {path.title}" for path in paths]
    rivals = (f"- **{kind.name}**: {kind.cause} Distinguished by: {kind.experiment}." for kind in SHARED)
    lines = [*_HEAD, "code | slow path", "---|---", *rows, "", *_RIVALS, *rivals, ""]
    return _linked("\n".join(lines))


_HEAD = (
    "# Rules",
    "",
    "Slowpath can name these slow paths. `slowpath explain CODE` prints a page. [Findings](../findings.md) says what a "
    "finding is, [remedies](../remedies.md) lists each library's remedies. These pages are generated from the rules by "
    "`slowpath explain --markdown DIR`.",
    "",
)
_RIVALS = (
    "## Shared rivals",
    "",
    "A rival is another cause that would look the same. A finding is explained only once measurements refute each "
    'rival on its page ([findings](../findings.md#rivals)); until then it says "either ... or ...". Several pages '
    "name these rivals:",
    "",
)


def markdown_files(paths: Sequence[SlowPath]) -> dict[str, str]:
    """File name -> text of everything in docs/reference/rules."""
    return {f"{path.code}.md": markdown_page(path) for path in paths} | {"README.md": index_page(paths)}
