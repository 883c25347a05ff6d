# SPDX-License-Identifier: Apache-2.0
"""The rivals of a finding in words, for text and page."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.results import Rival

_ORDER = ("true", "standing", "refuted")


def rival_lines(rivals: Sequence[Rival]) -> list[str]:
    """`rival refuted: cold cache: with the message's bytes in the caches, ...`, what is open or true first."""
    ordered = sorted(rivals, key=lambda rival: _ORDER.index(rival.state))
    return [f"rival {rival.state}: {rival.name}: {rival.text}" for rival in ordered]
