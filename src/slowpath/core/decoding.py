# SPDX-License-Identifier: Apache-2.0
"""JSON of a folder, decoded into its type; whatever is wrong with it is one clear line."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec

from slowpath.core.errors import RecordError
from slowpath.core.limits import Whole

Decoded = TypeVar("Decoded")
# What msgspec and the checks in our types raise on a document that is not of the type, and on none at all.
DAMAGE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


class Versioned(msgspec.Struct, frozen=True):
    """What tells one version of a file from another; read first."""

    schema: Whole


def decoded(content: bytes, kind: type[Decoded], path: Path, advice: str, problem: str = "is damaged") -> Decoded:
    """`content` of `path` as `kind`.

    Args: advice: what to do about a damaged one, as "measure again".  problem: in words.
    Raises: RecordError: it is no JSON, not of this type, or beyond the limits (core/limits.py).
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except DAMAGE as error:
        raise RecordError(f"{path}: {problem}: {why(error)}; {advice}") from error


def require_schema(content: bytes, path: Path, schema: int, advice: str, problem: str = "is damaged") -> None:
    """Refuse a file of another format than this slowpath reads.

    Args: schema: version that is read.  advice, problem: as of `decoded`.
    Raises: RecordError: it states no version, or another one.
    """
    written = decoded(content, Versioned, path, advice, problem).schema
    if written != schema:
        raise RecordError(
            f"{path}: was written by another version of slowpath (its format is {written}, this slowpath reads "
            f"{schema}); use that version, or make the file again"
        )


def why(error: Exception) -> str:
    """The reason in one line."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error)
