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
        for one in level:
            if isinstance(one, dict):
                below += [*one.keys(), *one.values()]
            elif isinstance(one, list | tuple):
                below += one
            else:
                _require_plain(one)
        left -= len(below)
        if left < 0:
            raise ValueError(f"Expected at most {MOST_VALUES} values")
        if not below:
            return
        level = below
    raise ValueError(f"Expected at most {DEEPEST} lists and objects within each other")


def _require_plain(one: Any) -> None:
    if isinstance(one, str) and len(one) > LONGEST_TEXT:
        raise ValueError(f"Expected text of at most {LONGEST_TEXT} characters, got {len(one)}")
    if isinstance(one, int) and abs(one) > LARGEST:
        raise ValueError(f"Expected a whole number of at most {LARGEST}")
    if isinstance(one, float) and not (math.isfinite(one) and abs(one) <= LARGEST_NUMBER):
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
