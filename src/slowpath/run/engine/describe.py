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

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.resources import data_folder
from slowpath.mpi.probe import output_of
from slowpath.run.engine.cache import UsableEngine
from slowpath.run.engine.planned import UnbuiltEngine

KEPT = "describe.json"


def describe(engine: UsableEngine, environ: Mapping[str, str]) -> dict[str, Any]:
    """The engine's description (docs/reference/engine-interface.md). Raises EnvironmentFailure if it can't be had."""
    if isinstance(engine, UnbuiltEngine):
        return shipped_description()
    kept = engine.program.parent / KEPT
    with contextlib.suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(kept.read_bytes(), type=dict[str, Any])
    text = output_of([str(engine.program), "describe", "--json"], environ)
    try:
        description = msgspec.json.decode((text or "").encode(), type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise EnvironmentFailure(
            f"{engine.program} describe --json gave no description; build it anew: slowpath engine build --force"
        ) from error
    _keep(kept, msgspec.json.encode(description))
    return description


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
