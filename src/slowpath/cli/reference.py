# SPDX-License-Identifier: Apache-2.0
"""The page docs/reference/cli.md, made from --help: python -m slowpath.cli.reference > docs/reference/cli.md"""

from __future__ import annotations

from collections.abc import Iterator

import click

from slowpath.cli.main import slowpath

HEAD = """# The command line

Made from `--help` by `python -m slowpath.cli.reference > docs/reference/cli.md`; a test fails when it is not current.
"""
WIDTH = 100


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
    yield path, command.get_help(context)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                yield from _helps(child, f"{path} {name}", context)


if __name__ == "__main__":
    click.echo(reference().rstrip("\n"))
