# SPDX-License-Identifier: Apache-2.0
"""Puts prebuilt engines into the wheel: those in the folder that SLOWPATH_WHEEL_ENGINES names (tools/build-wheel).

Without the variable the wheel holds Python and source alone, and the engine is compiled where it is used.
"""

from __future__ import annotations

import os
import sysconfig
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

VARIABLE = "SLOWPATH_WHEEL_ENGINES"


class Engines(BuildHookInterface):  # type: ignore[type-arg]
    """Hatchling finds it by its base class."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Programs make it a wheel of this platform, for any Python."""
        folder = os.environ.get(VARIABLE)
        if not folder or version == "editable":
            return
        build_data["force_include"][folder] = "slowpath/_data/engines"
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
