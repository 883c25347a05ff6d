# SPDX-License-Identifier: Apache-2.0
"""Types of option values: times, shares and numbers of ranks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    FloatParameter = click.ParamType[float]
    CountsParameter = click.ParamType[tuple[int, ...]]
else:
    CountsParameter = click.ParamType
    FloatParameter = click.ParamType  # generic only from click 8.2 on

UNITS_S = {"": 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class DurationType(FloatParameter):
    """A time such as 90, 90s, 10m or 1h, in seconds."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the time in seconds, above zero."""
        if isinstance(value, int | float):
            return float(value)
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|min|h)?", str(value).strip())
        if found is None or float(found[1]) == 0:
            self.fail(f"'{value}' is not a time; write for example 90s, 10m or 1h", param, ctx)
        return float(found[1]) * UNITS_S[found[2] or ""]


DURATION = DurationType()


class EffectType(FloatParameter):
    """A share such as 5% or 0.05, as a ratio."""

    name = "percent"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the share, above 0 and below 1."""
        if isinstance(value, float):
            return value
        found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)\s*(%?)", str(value).strip())
        ratio = float(found[1]) / (100 if found[2] else 1) if found else 0.0
        if not 0.0 < ratio < 1.0:
            self.fail(f"'{value}' is not a share above 0 and below 1; write for example 5% or 0.05", param, ctx)
        return ratio


EFFECT = EffectType()


class RankCountsType(CountsParameter):
    """Numbers of ranks, such as 4 or 1,2,4."""

    name = "ranks"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the numbers of ranks, each at least 1 and none twice."""
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in str(value).split(",")]
        if not all(re.fullmatch(r"[1-9][0-9]{0,6}", word) for word in words) or len(set(words)) < len(words):
            self.fail(f"'{value}' is not a number of ranks; write for example 4, or several as 1,2,4", param, ctx)
        return tuple(int(word) for word in words)


RANKS = RankCountsType()
