# SPDX-License-Identifier: Apache-2.0
"""Which shared libraries a program asks for, and where it looks, read from its dynamic section.

Source: System V ABI, chapter 5 (Dynamic Linking); ld.so(8) for the order of the search.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile

# What pyelftools raises for damaged files besides its own error.
_DAMAGE = (
    OSError,
    ELFError,
    IndexError,
    KeyError,
    ValueError,
    OverflowError,
    AttributeError,
    TypeError,
    AssertionError,
)


@dataclass(frozen=True)
class Dynamic:
    """needed: sonames in order.  rpath, runpath: folders, $ORIGIN replaced; with a runpath the rpath is ignored."""

    needed: tuple[str, ...]
    rpath: tuple[str, ...]
    runpath: tuple[str, ...]


def dynamic(path: Path) -> Dynamic | None:
    """Return the dynamic section, or None for a file that is damaged or is no dynamically linked ELF program."""
    words: dict[str, list[str]] = {"needed": [], "rpath": [], "runpath": []}
    try:
        with path.open("rb") as file:
            segments = ELFFile(file).iter_segments()
            segment = next((segment for segment in segments if isinstance(segment, DynamicSegment)), None)
            if segment is None:
                return None
            for tag in segment.iter_tags():
                kind = str(tag.entry.d_tag).removeprefix("DT_").lower()
                if kind in words:
                    words[kind].append(getattr(tag, kind))
    except _DAMAGE:
        return None
    origin = str(path.resolve().parent)

    def folders(kind: str) -> tuple[str, ...]:
        parts = (folder for word in words[kind] for folder in word.split(":") if folder)
        return tuple(folder.replace("$ORIGIN", origin) for folder in parts)

    return Dynamic(tuple(words["needed"]), folders("rpath"), folders("runpath"))
