# SPDX-License-Identifier: Apache-2.0
"""Values whose shape the record leaves open: facts of a machine, of an MPI, of an engine. Held to the limits. Pure."""

from __future__ import annotations

import math
from typing import Any, TypeVar

import msgspec

from slowpath.core.limits import DEEPEST, LARGEST, LARGEST_NUMBER, LONGEST_TEXT, MOST_VALUES

Shape = TypeVar("Shape")


def require_small(value: Any) -> None:
    """Raises: ValueError: nested too deeply, too many values, or one that no program of ours writes."""
    left = MOST_VALUES
    level = [value]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below += [*item.keys(), *item.values()]
            elif isinstance(item, list | tuple):
                below += item
            else:
                _require_plain(item)
        left -= len(below)
        if left < 0:
            raise ValueError(f"Expected at most {MOST_VALUES} values")
        if not below:
            return
        level = below
    raise ValueError(f"Expected at most {DEEPEST} lists and objects within each other")


def _require_plain(value: Any) -> None:
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise ValueError(f"Expected text of at most {LONGEST_TEXT} characters, got {len(value)}")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise ValueError(f"Expected a whole number of at most {LARGEST}")
    if isinstance(value, float) and not (math.isfinite(value) and abs(value) <= LARGEST_NUMBER):
        raise ValueError(f"Expected a number of at most {LARGEST_NUMBER:g}")


def require_shape(values: Any, shape: type[Shape]) -> Shape:
    """What is known of `values`, typed; more may be in it, within the limits.

    Raises: ValueError: a fact is of another kind than `shape` has it.
    """
    require_small(values)
    try:
        return msgspec.convert(values, shape)
    except msgspec.ValidationError as error:
        raise ValueError(str(error)) from error
