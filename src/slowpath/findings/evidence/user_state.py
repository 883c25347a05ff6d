# SPDX-License-Identifier: Apache-2.0
"""What the user's own environment does to a run, as a fact that rules are given next to the results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class UserState:
    """A slow state that the user's own variables force wherever the plan sets nothing.

    state: as settings name it ("single_copy_off").  variables: name -> value, as exported.  without: name of the run's
    environment that unsets them; it shows what the library does by itself.
    """

    state: str
    variables: Mapping[str, str]
    without: str
