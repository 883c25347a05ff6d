# SPDX-License-Identifier: Apache-2.0
"""Tables of a campaign written by the program, as the TOML that a person would write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def table_text(kind: str, values: Mapping[str, Any], comments: Sequence[str] = (), single: bool = False) -> str:
    """One table `[[kind]]`, its last newline included.

    Args: values: text, numbers, flags, lists of them; what `inline` made stays on its line, another mapping becomes a
          table below.  comments: lines above it.  single: `[kind]`, of which a file has one.
    """
    import tomlkit

    document = tomlkit.document()
    for line in comments:
        document.add(tomlkit.comment(line))
    table = tomlkit.item(dict(values))
    if single:
        document.add(kind, table)
    else:
        tables = tomlkit.aot()
        tables.append(table)
        document.add(kind, tables)
    return tomlkit.dumps(document)


def inline(values: Mapping[str, Any]) -> Any:
    """A mapping on one line: `{ name = "value" }`."""
    import tomlkit

    table = tomlkit.inline_table()
    table.update(dict(values))
    return table
