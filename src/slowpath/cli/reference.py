# SPDX-License-Identifier: Apache-2.0
"""The page docs/reference/cli.md, made from --help: python -m slowpath.cli.reference > docs/reference/cli.md

An option that several commands share is described once, on top of the page; those commands name it alone.
"""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterator, Sequence

import click

from slowpath.cli.main import slowpath

HEAD = """# The command line

Generated from `--help` by `python -m slowpath.cli.reference > docs/reference/cli.md`. Every command also takes `-h` or
`--help`.
"""
WIDTH = 100
SHARED = 3  # commands
_HELP = re.compile(r"^  -h, --help +Show this message and exit\.\n?", re.MULTILINE)
_HELP_ALONE = re.compile(r"^Options:\n(\n|\Z)", re.MULTILINE)

Record = tuple[str, str]  # of --help: an option's names, its text


def reference() -> str:
    """Return the whole page as Markdown."""
    contexts = list(_contexts(slowpath, "slowpath", None))
    shared = _shared(contexts)
    sections = [f"## {each.command_path}\n\n```\n{_help(each, shared)}\n```\n" for each in contexts]
    options = _definitions(shared)
    return "\n".join([HEAD, sections[0], f"## Options of several commands\n\n```\n{options}\n```\n", *sections[1:]])


def _contexts(command: click.Command, name: str, parent: click.Context | None) -> Iterator[click.Context]:
    """Yield a context of a command and of its subcommands, in the order of --help."""
    context = click.Context(
        command,
        info_name=name,
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )
    yield context
    if isinstance(command, click.Group):
        for child in command.list_commands(context):
            found = command.get_command(context, child)
            if found is not None:
                yield from _contexts(found, child, context)


def _options(context: click.Context) -> dict[Record, click.Parameter]:
    """Return the options of a command by what --help prints of each."""
    records = [(each.get_help_record(context), each) for each in context.command.params]
    return {record: each for record, each in records if record and isinstance(each, click.Option)}


def _shared(contexts: Sequence[click.Context]) -> list[Record]:
    """Return the options that so many commands describe in the same words, one of each name, in their order."""
    uses = Counter(record for context in contexts for record in _options(context))
    by_name = {_long(record): record for record, count in reversed(uses.most_common()) if count >= SHARED}
    return [record for _, record in sorted(by_name.items())]


def _long(record: Record) -> str:
    """Return the long name of an option, as --quiet of `-q, --quiet`."""
    return next(word for word in re.split(r"[ ,]+", record[0]) if word.startswith("--"))


def _definitions(records: Sequence[Record]) -> str:
    """Return names and texts in two columns, as --help lays them out."""
    formatter = click.HelpFormatter(width=WIDTH, max_width=WIDTH)
    formatter.write_dl(records)
    return formatter.getvalue().rstrip()


def _help(context: click.Context, shared: Sequence[Record]) -> str:
    """Return a command's --help, in which a line ahead of the example names the shared options."""
    found = _options(context)
    common = [record for record in shared if record in found]
    command = copy.copy(context.command)
    left_out = [found[record] for record in common]
    command.params = [each for each in command.params if each not in left_out]
    text = _HELP_ALONE.sub("", _HELP.sub("", command.get_help(context))).rstrip()
    if not common:
        return text
    heading = "" if "\nOptions:\n" in text else "\nOptions:\n"
    body, gap, example = text.rpartition("\n\n")
    return f"{body}\n{heading}  Of several commands: {' '.join(map(_long, common))}{gap}{example}"


if __name__ == "__main__":
    click.echo(reference().rstrip("\n"))
