# SPDX-License-Identifier: Apache-2.0
"""What an engine can do: its own `describe --json`, kept next to it."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from slowpath.core.decoding import DAMAGE
from slowpath.core.errors import EnvironmentFailure, RecordError
from slowpath.core.files import read_bytes
from slowpath.core.resources import data_folder
from slowpath.mpi.probe import output_of
from slowpath.run.engine.cache import UsableEngine
from slowpath.run.engine.planned import UnbuiltEngine
from slowpath.run.engine.whole import checksum

KEPT = "describe.json"


class _Kept(msgspec.Struct, frozen=True):
    """describe.json. program: checksum of the engine that it describes; with another one it is made anew."""

    program: str
    description: dict[str, Any]


def describe(engine: UsableEngine, environ: Mapping[str, str]) -> dict[str, Any]:
    """The engine's description (docs/reference/engine-interface.md). Raises EnvironmentFailure if it can't be had."""
    if isinstance(engine, UnbuiltEngine):
        return shipped_description()
    kept = engine.program.parent / KEPT
    program = _checksum(engine)
    with contextlib.suppress(OSError, *DAMAGE, RecordError):
        found = msgspec.json.decode(read_bytes(kept), type=_Kept)
        if found.program == program and _is_whole(found.description):
            return found.description
    text = output_of([str(engine.program), "describe", "--json"], environ)
    try:
        description = msgspec.json.decode((text or "").encode(), type=dict[str, Any])
    except DAMAGE:
        description = {}
    if not _is_whole(description):
        raise EnvironmentFailure(
            f"{engine.program} describe --json gave no description; build it anew: slowpath engine build --force"
        )
    _keep(kept, msgspec.json.encode(_Kept(program, description)))
    return description


def _checksum(engine: UsableEngine) -> str:
    try:
        return checksum(engine.program)
    except OSError as error:
        raise EnvironmentFailure(f"{engine.program} can't be read: {error.strerror or error}") from error


def _is_whole(description: dict[str, Any]) -> bool:
    return isinstance(description.get("experiments"), list)


def shipped_description() -> dict[str, Any]:
    """What the engine of this version says of itself, recorded: for plans without an engine."""
    found: dict[str, Any] = msgspec.json.decode((data_folder("schema") / "engine.json").read_bytes())
    return found


def _keep(path: Path, content: bytes) -> None:
    """A cache that can't be written only costs time."""
    with contextlib.suppress(OSError):
        handle, part = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.replace(part, path)
