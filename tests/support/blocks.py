# SPDX-License-Identifier: Apache-2.0
"""What a page is made of, found by kind and title."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from slowpath.report.figure import Block, Section

B = TypeVar("B")


def flat(blocks: Iterable[Block]) -> Iterator[Block]:
    """Every block, with those inside of others."""
    for block in blocks:
        yield block
        for name in ("blocks", "side", "more"):
            yield from flat(getattr(block, name, ()))
        for row in getattr(block, "rows", ()):
            yield from flat(getattr(row, "blocks", ()))


def every(section: Section | None, kind: type[B]) -> list[B]:
    """All blocks of a kind, in their order."""
    return [block for block in flat(section.blocks if section else ()) if isinstance(block, kind)]


def titled(section: Section | None, kind: type[B], title: str) -> B:
    """The one block of a kind with this title, or with this line that opens it."""
    titled = [
        view for view in every(section, kind) if title in (getattr(view, "title", ""), getattr(view, "summary", ""))
    ]
    assert len(titled) == 1, [getattr(view, "title", "") for view in every(section, kind)]
    return titled[0]
