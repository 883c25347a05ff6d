#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Man pages of slowpath and of each command, made from the program's own help: python packaging/man/make.py FOLDER

They are made when the package is installed and never kept in the repository, so that none is older than the program.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from slowpath import __version__
from slowpath.cli.main import slowpath

EXIT_CODES = """.SH EXIT STATUS
.TP
0
Done; a slow path is a result, not a failure.
.TP
1
A message arrived with wrong bytes; gate: a regression.
.TP
2
Wrong usage.
.TP
3
gate: undecided.
.TP
4
The machine or a file refused.
.TP
130
Interrupted; what was measured is kept.
"""


def pages() -> Iterator[tuple[str, str]]:
    """(file name, roff text) of every command."""
    for path, command, context in _commands(slowpath, "slowpath", None):
        yield f"{path.replace(' ', '-')}.1", _page(path, command, context)


def escaped(text: str) -> str:
    """`text` so that troff prints it as it is: backslashes, hyphens, and dots or quotes at the start of a line."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    return "\n".join("\\&" + line if line.startswith((".", "'")) else line for line in lines)


def _commands(
    command: click.Command, path: str, parent: click.Context | None
) -> Iterator[tuple[str, click.Command, click.Context]]:
    context = click.Context(command, info_name=path.split()[-1], parent=parent, help_option_names=["-h", "--help"])
    yield path, command, context
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if child := command.get_command(context, name):
                yield from _commands(child, f"{path} {name}", context)


def _page(path: str, command: click.Command, context: click.Context) -> str:
    summary, _, rest = (command.help or "").strip().partition("\n")
    title = path.replace(" ", "-").upper()
    parts = [
        f'.TH "{title}" "1" "" "slowpath {__version__}" "Slowpath"',
        f".SH NAME\n{escaped(path.replace(' ', '-'))} \\- {escaped(summary.rstrip('.'))}",
        f".SH SYNOPSIS\n.B {escaped(path)}\n{escaped(' '.join(command.collect_usage_pieces(context)))}",
        f".SH DESCRIPTION\n{_paragraphs(rest.strip() or summary)}",
        _options(command, context),
        _subcommands(command, context, path),
        f".SH EXAMPLE\n{_paragraphs(command.epilog)}" if command.epilog else "",
        EXIT_CODES.rstrip(),
        ".SH SEE ALSO\n" + _see_also(path),
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _paragraphs(text: str) -> str:
    joined = (" ".join(block.split()) for block in text.replace("\b", "").split("\n\n"))
    return "\n.PP\n".join(escaped(block) for block in joined if block)


def _options(command: click.Command, context: click.Context) -> str:
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    records = [record for one in options if (record := one.get_help_record(context))]
    entries = (f".TP\n.B {escaped(names)}\n{escaped(' '.join(meaning.split()))}" for names, meaning in records)
    return "\n".join([".SH OPTIONS", *entries]) if records else ""


def _subcommands(command: click.Command, context: click.Context, path: str) -> str:
    if not isinstance(command, click.Group):
        return ""
    entries = []
    for name in command.list_commands(context):
        child = command.get_command(context, name)
        summary = ((child.help if child else "") or "").split("\n")[0]
        entries.append(f".TP\n.BR {escaped(f'{path} {name}'.replace(' ', '-'))} (1)\n{escaped(summary)}")
    return "\n".join([".SH COMMANDS", *entries])


def _see_also(path: str) -> str:
    above = path.rpartition(" ")[0]
    if not above:
        return "The pages of the commands above, and docs/ of the source."
    return f".BR {escaped(above.replace(' ', '-'))} (1)"


def main(arguments: list[str]) -> int:
    """Writes every page into the folder named first."""
    if len(arguments) != 1:
        print("usage: make.py FOLDER: writes slowpath.1 and one page a command there", file=sys.stderr)
        return 2
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
