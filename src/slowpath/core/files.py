# SPDX-License-Identifier: Apache-2.0
"""Files read and written so that no reader ever sees half of one, and every failure is one clear line."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from slowpath.core.errors import EnvironmentFailure, RecordError


def write_atomically(path: Path, content: bytes | str) -> None:
    """Writes next to `path` and renames, so that a reader never sees half a file; an existing file is replaced.

    Raises: EnvironmentFailure if the disk is full, read-only or gone; `path` is then as it was before.
    """
    data = content.encode() if isinstance(content, str) else content
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        _drop(part)
        raise cannot("write", path, error) from error
    except BaseException:
        _drop(part)
        raise


def _drop(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()


def read_bytes(path: Path) -> bytes:
    """Content of a file of a run folder.  Raises: RecordError if it is missing or can't be read."""
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise RecordError(f"{path}: is missing; is {path.parent} a run folder?") from error
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror or error}") from error


def cannot(action: str, path: Path, error: OSError) -> EnvironmentFailure:
    """What to raise where the disk refuses `action`, as "write", at `path`."""
    return EnvironmentFailure(
        f"cannot {action} {path}: {error.strerror or error}; free or name another place with --out"
    )
