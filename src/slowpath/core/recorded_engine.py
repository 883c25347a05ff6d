# SPDX-License-Identifier: Apache-2.0
"""What the engine of this version says of itself, as schema/engine.json records it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import msgspec

from slowpath.core.engine_description import EngineDescription
from slowpath.core.resources import data_folder


@lru_cache(maxsize=1)
def recorded() -> EngineDescription:
    """Return what the engine of this version says of itself (schema/engine.json)."""
    return msgspec.json.decode((data_folder("schema") / "engine.json").read_bytes(), type=EngineDescription)


def recorded_defaults(*experiments: str) -> Mapping[str, str]:
    """Return the default of every parameter of these experiments; the first one that has a parameter gives it."""
    return {
        name: value
        for experiment in reversed(experiments)
        for name, value in recorded().experiment(experiment).defaults().items()
    }
