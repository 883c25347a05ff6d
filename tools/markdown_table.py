# SPDX-License-Identifier: Apache-2.0
"""Tables and code in Markdown, for the generators of docs/."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table, its last newline included; with outer borders only where a row begins or ends empty."""
    lines = [list(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    border = any(not line[0] or not line[-1] for line in lines)
    written = [" | ".join(line) for line in lines]
    written.insert(1, "|".join(["---"] * len(head)))
    return "".join(f"| {line} |\n" if border else f"{line}\n" for line in written)


def code(words: Iterable[str]) -> str:
    """The words as code, or nothing."""
    text = " ".join(words)
    return f"`{text}`" if text else ""
