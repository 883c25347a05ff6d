# SPDX-License-Identifier: Apache-2.0
"""A rule's page: one screen of text, and the same as Markdown for docs/reference/rules. Pure."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence

from slowpath.findings.slow_path import SlowPath

WIDTH = 100
LINES = 24  # of a screen
_LABEL = 14


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
    lines = [f"# {path.code}: {path.title}", "", f"*{path.name}*", ""]
    for heading, text in _parts(path):
        lines += [f"## {heading}", "", text, ""]
    lines += ["## What an explained finding says", "", path.cause, ""]
    if path.hypotheses:
        lines += ["Until it is explained it may be:", "", *(f"- {one}" for one in path.hypotheses), ""]
    lines += _rivals(path)
    if path.stronger:
        links = ", ".join(f"[{code}]({code}.md)" for code in path.stronger)
        lines += [f"Where one of {links} holds for the same excess, this finding is merged into it.", ""]
    lines += ["[Remedies](../remedies.md) has the remedies for each library.", ""]
    lines += ["## Sources", "", *(f"- {source}" for source in path.sources), "", _MADE, ""]
    return _linked("\n".join(lines))


def _rivals(path: SlowPath) -> list[str]:
    """What else would look the same, and what refutes it."""
    kinds = path.rivals
    if not kinds:
        return []
    head = [
        "## Rivals: what else would look the same",
        "",
        _RIVALS,
        "",
        "| rival | what is true then | distinguished by |",
    ]
    rows = [f"| {one.name} | {one.cause} | {one.experiment} |" for one in kinds]
    return [*head, "|---|---|---|", *rows, ""]


_RIVALS = (
    "The finding is explained only once each of these is refuted by what was measured "
    '([findings](../findings.md#rivals)); until then it says "either ... or ...".'
)


def _linked(text: str) -> str:
    """Pages of the documentation (docs/how-to/traces.md) as links from docs/reference/rules."""
    return re.sub(r"docs/([\w-]+)/([\w-]+)\.md", _link, text)


def _link(page: re.Match[str]) -> str:
    folder = ".." if page[1] == "reference" else f"../../{page[1]}"
    return f"[{page[2]}]({folder}/{page[2]}.md)"


_MADE = "Generated from the rule by `slowpath explain --markdown DIR`."


def index_page(paths: Sequence[SlowPath]) -> str:
    """The table of all rules, docs/reference/rules/README.md."""
    rows = [f"| [{path.code}]({path.code}.md) | {path.title} | {path.remedy} |" for path in paths]
    head = ["# Rules", "", "What Slowpath can name. [Findings](../findings.md) says what a finding is.", ""]
    return _linked("\n".join([*head, "| code | slow path | remedy |", "|---|---|---|", *rows, "", _MADE, ""]))


def markdown_files(paths: Sequence[SlowPath]) -> dict[str, str]:
    """File name -> text of everything in docs/reference/rules."""
    return {f"{path.code}.md": markdown_page(path) for path in paths} | {"README.md": index_page(paths)}
