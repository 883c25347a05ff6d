# SPDX-License-Identifier: Apache-2.0
"""Tables of a campaign written by the program, as the TOML that a person would write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

QUOTE = '"'


def table_text(kind: str, values: Mapping[str, Any], comments: Sequence[str] = (), single: bool = False) -> str:
    """One table `[[kind]]`, its last newline included.

    Args: values: text, numbers, flags, lists of them; what `inline` made stays on its line, another mapping becomes a
          table below.  comments: lines above it.  single: `[kind]`, of which a file has one.
    """
    import tomlkit

    document = tomlkit.document()
    for line in comments:
        document.add(tomlkit.comment(line))
    table = tomlkit.item(_with_long_lists(values))
    if single:
        document.add(kind, table)
    else:
        tables = tomlkit.aot()
        tables.append(table)
        document.add(kind, tables)
    return tomlkit.dumps(document)


def _with_long_lists(values: Mapping[str, Any]) -> dict[str, Any]:
    """Lists of plain words as tomlkit parses them: what it makes of a list itself takes time with its square."""
    import tomlkit

    made = dict(values)
    for name, value in made.items():
        if isinstance(value, Mapping) and not isinstance(value, tomlkit.items.Item):
            made[name] = _with_long_lists(value)
        elif isinstance(value, list) and all(
            isinstance(item, str) and item.isascii() and item.isalnum() for item in value
        ):
            made[name] = tomlkit.value(f"[{', '.join(f'{QUOTE}{item}{QUOTE}' for item in value)}]")
    return made


def inline(values: Mapping[str, Any]) -> Any:
    """A mapping on one line: `{ name = "value" }`."""
    import tomlkit

    table = tomlkit.inline_table()
    table.update(dict(values))
    return table
