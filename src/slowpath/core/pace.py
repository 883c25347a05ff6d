# SPDX-License-Identifier: Apache-2.0
"""What a campaign takes here: its size as estimated, and how much longer than estimated launches take. Pure."""

from __future__ import annotations

from typing import NamedTuple

import msgspec


class Size(NamedTuple):
    """Of a campaign. wall_s: estimated, seconds.  cells: their number."""

    wall_s: float
    cells: int


class Pace(msgspec.Struct, frozen=True):
    """How long launches take here, in multiples of what is estimated: starting and ending one, and its cells."""

    start_ratio: float = 1.0
    cells_ratio: float = 1.0


AS_ESTIMATED = Pace()
