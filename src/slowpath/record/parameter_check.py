# SPDX-License-Identifier: Apache-2.0
"""Parameters of cells as a folder states them: a number is one, so that who reads the cell need not ask."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache

from slowpath.core.engine_description import Parameter
from slowpath.core.recorded_engine import recorded

_WHOLE = re.compile(r"[0-9]{1,18}")  # below 2**63
_SECONDS = re.compile(r"[0-9.eE+-]{1,40}")


def require_parameters(experiment: str, parameters: Mapping[str, str]) -> None:
    """Raises: ValueError: a number of bytes, of things or of seconds is none, or is below its least value.

    Words, and parameters and experiments that this version does not know, may be anything.
    """
    known = _known().get(experiment, {})
    for name, value in parameters.items():
        if name in known and not _fits(known[name], value):
            kind = {"bytes": "number of bytes", "count": "whole number"}.get(known[name].type, "number of seconds")
            least = " from 1 on" if _least(known[name]) else ""
            raise ValueError(f"parameter {name} is '{value[:40]}', which is no {kind}{least}")


@lru_cache(maxsize=1)
def _known() -> dict[str, dict[str, Parameter]]:
    return {experiment.name: {p.name: p for p in experiment.parameters} for experiment in recorded().experiments}


@lru_cache(maxsize=65536)
def _one_fits(value: str, kind: str, least: int, words: tuple[str, ...]) -> bool:
    if value in words:
        return True
    if kind == "seconds":
        return bool(_SECONDS.fullmatch(value)) and _is_seconds(value)
    return bool(_WHOLE.fullmatch(value)) and int(value) >= least


def _fits(parameter: Parameter, value: str) -> bool:
    if parameter.type not in ("bytes", "count", "seconds"):
        return True
    sides = value.split(":") if parameter.sided else [value]
    words = tuple(word for word in (*(parameter.choices or ()), parameter.default) if word[:1].isalpha())
    return len(sides) <= 2 and all(_one_fits(side, parameter.type, _least(parameter), words) for side in sides)


def _least(parameter: Parameter) -> int:
    """1 where there is none without it; logs of other programs hold what is less than our engine measures."""
    return int(parameter.type != "seconds" and parameter.minimum not in (None, "0"))


def _is_seconds(text: str) -> bool:
    try:
        value = float(text)
    except ValueError:
        return False
    return math.isfinite(value) and 0 <= value <= 1e9
