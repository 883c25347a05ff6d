# SPDX-License-Identifier: Apache-2.0
"""The rivals of a finding as lines for text and page."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.results import Rival

_ORDER = ("true", "standing", "refuted")


def rival_lines(rivals: Sequence[Rival]) -> list[str]:
    """Return a line for each rival, such as `rival refuted: cold cache: with the message's ...`, open ones first."""
    ordered = sorted(rivals, key=lambda rival: _ORDER.index(rival.state))
    return [f"rival {rival.state}: {rival.name}: {rival.text}" for rival in ordered]
