# SPDX-License-Identifier: Apache-2.0
"""What a parameter is to whoever compares cells (docs/reference/engine-interface.md, `role`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

# setting: names what is measured, by a word or by a number.
# covariate: a number that a time may follow by a law.
# effort: how long, how often and how carefully is measured; cells that differ in nothing else measure the same.
ParameterRole = Literal["setting", "covariate", "effort"]
Roles = Mapping[str, ParameterRole]  # parameter -> role; a name has the same role in every experiment


def is_effort(roles: Roles, parameter: str) -> bool:
    """Whether the parameter states how much was measured, and not what."""
    return roles.get(parameter) == "effort"
