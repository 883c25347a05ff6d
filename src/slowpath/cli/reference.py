# SPDX-License-Identifier: Apache-2.0
"""The page docs/reference/cli.md, made from --help: python -m slowpath.cli.reference > docs/reference/cli.md"""

from __future__ import annotations

import re
from collections.abc import Iterator

import click

from slowpath.cli.main import slowpath

HEAD = """# The command line

Generated from `--help` by `python -m slowpath.cli.reference > docs/reference/cli.md`. Every command also takes `-h` or
`--help`.
"""
WIDTH = 100
_HELP = re.compile(r"^  -h, --help +Show this message and exit\.\n?", re.MULTILINE)
_HELP_ALONE = re.compile(r"^Options:\n(\n|\Z)", re.MULTILINE)


def reference() -> str:
    """Return the whole page as Markdown."""
    sections = [f"## {name}\n\n```\n{text.rstrip()}\n```\n" for name, text in _helps(slowpath, "slowpath", None)]
    return "\n".join([HEAD, *sections])


def _helps(command: click.Command, path: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    """Yield path and help text of a command and its subcommands, in the order of --help."""
    context = click.Context(
        command,
        info_name=path.split()[-1],
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )
    yield path, _HELP_ALONE.sub("", _HELP.sub("", command.get_help(context)))
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                yield from _helps(child, f"{path} {name}", context)


if __name__ == "__main__":
    click.echo(reference().rstrip("\n"))
