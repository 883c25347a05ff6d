# SPDX-License-Identifier: Apache-2.0
"""slowpath explain: a rule's page as one screen of text, and as Markdown for docs/reference/rules."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from pathlib import Path

import click

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
        lines += [f"Merged into {links} where one of them holds for the same excess.", ""]
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


@click.command("explain", epilog="Example: slowpath explain SP001")
@click.argument("code", required=False)
@click.option(
    "--markdown",
    "folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write every rule's page as Markdown into this folder.",
)
def command(code: str | None, folder: Path | None) -> int:
    """Explain a slow path on one screen, or list all slow paths.

    Shows its symptoms, its cause, how Slowpath detects it, how to fix it, and what can be mistaken for it.
    """
    from slowpath.core.errors import UsageError
    from slowpath.slowpaths.registry import SLOW_PATHS, find

    if folder is not None:
        if code is not None:
            raise UsageError("--markdown writes the pages of all rules: leave the code out")
        _write(folder, markdown_files(SLOW_PATHS))
        click.echo(f"{len(SLOW_PATHS)} rules written to {folder}")
        return 0
    click.echo(text_page(find(code)) if code else table(SLOW_PATHS))
    return 0


def _write(folder: Path, pages: dict[str, str]) -> None:
    from slowpath.core.errors import EnvironmentFailure

    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in pages.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise EnvironmentFailure(
            f"cannot write {folder}: {error.strerror or error}; free space or name another place"
        ) from error
