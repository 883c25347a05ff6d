# SPDX-License-Identifier: Apache-2.0
"""What a target of tools/fuzz is: one reader in Python."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from slowpath.core.errors import SlowpathError


class Defect(Exception):
    """A reader accepted what it must not accept, or misread it."""


@dataclass(frozen=True)
class Target:
    """One reader.

    name: also of its corpus, tests/data/corpora/NAME.tar.xz.  seeds: valid inputs; a folder is there to make them in.
    read: gives an input to the reader, in a folder of its own, and checks the result. Raises SlowpathError: the reader
    refused the input, as it may. Anything else is a defect.  is_json: inputs are JSON, one document or one a line.
    """

    name: str
    seeds: Callable[[Path], list[bytes]]
    read: Callable[[bytes, Path], None]
    is_json: bool = False


def refused(target: Target, content: bytes, folder: Path) -> bool:
    """Whether the reader refused the input.  Raises: what is a defect."""
    try:
        target.read(content, folder)
    except SlowpathError:
        return True
    return False


def of_file(name: str, read: Callable[[Path], object]) -> Callable[[bytes, Path], None]:
    """Reader of a file of this name; `read` gets the file's folder."""

    def read_it(content: bytes, folder: Path) -> None:
        (folder / name).write_bytes(content)
        read(folder)

    return read_it


def always(*seeds: bytes) -> Callable[[Path], list[bytes]]:
    """The same valid inputs whatever the folder."""
    return lambda folder: list(seeds)
