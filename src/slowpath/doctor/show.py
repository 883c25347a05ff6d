# SPDX-License-Identifier: Apache-2.0
"""The doctor's answers as text and as JSON. Pure."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import msgspec

from slowpath.doctor.check import Check
from slowpath.doctor.possible import Ability

MARKS = {"ok": "ok  ", "warn": "WARN", "missing": "MISS"}
WIDTH = 100


def as_text(checks: Sequence[Check], abilities: Sequence[Ability]) -> str:
    """A table of checks with what to do, then what can be measured."""
    width = max(len(check.name) for check in checks)
    lines = []
    for check in checks:
        first = f"{MARKS[check.status]}  {check.name:<{width}}  "
        lines += _wrapped(first, check.value or "unknown")
        lines += _wrapped(" " * len(first), check.means)
        if check.do:
            lines += _wrapped(" " * len(first), f"-> {check.do}")
    lines += ["", "What can be measured here:"]
    for ability in abilities:
        lines += _wrapped("  yes  " if ability.possible else "  no   ", ability.what)
        if ability.why:
            lines += _wrapped(" " * 7, f"because: {ability.why}")
    return "\n".join(lines) + "\n"


def as_json(checks: Sequence[Check], abilities: Sequence[Ability]) -> str:
    """{"checks": [...], "possible": [...]}"""
    content = {"checks": list(checks), "possible": list(abilities)}
    return msgspec.json.format(msgspec.json.encode(content), indent=2).decode() + "\n"


def _wrapped(first: str, text: str) -> list[str]:
    return textwrap.wrap(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_long_words=False,
        break_on_hyphens=False,
    )
