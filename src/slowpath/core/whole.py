# SPDX-License-Identifier: Apache-2.0
"""Whole numbers in text that somebody else wrote. Pure."""

from __future__ import annotations

import re

_WHOLE = re.compile("[0-9]{1,18}")  # below 2**63


def whole_number(text: str) -> int | None:
    """`17` -> 17; None for what is none, such as a superscript two, or has more digits than a number of ours."""
    return int(text) if _WHOLE.fullmatch(text) else None
