# SPDX-License-Identifier: Apache-2.0
"""The base of everything in results.json, and the kinds of its fields. Pure.

A kind states what a value can be; the schema of results.json and whoever reads one hold it to that.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

LARGEST = 2**63 - 1  # of a whole number, to either side: what the engine's and the block's integers hold
LARGEST_NUMBER = 1e24  # of any other number; its square is finite, and so is its ratio to SMALLEST_NUMBER
SMALLEST_NUMBER = 1e-24  # above zero
LONGEST_NAME = 1000  # characters: of an environment, a metric, a host
Whole = Annotated[int, Meta(ge=-LARGEST, le=LARGEST)]
Number = Annotated[float, Meta(ge=-LARGEST_NUMBER, le=LARGEST_NUMBER)]
Name = Annotated[str, Meta(max_length=LONGEST_NAME)]
Interval = tuple[Number, Number]  # low, high
Text = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0, le=LARGEST)]
AtLeastOne = Annotated[int, Meta(ge=1, le=LARGEST)]
Positive = Annotated[float, Meta(ge=SMALLEST_NUMBER, le=LARGEST_NUMBER)]
NotNegative = Annotated[float, Meta(ge=0, le=LARGEST_NUMBER)]
Share = Annotated[float, Meta(ge=0, le=1)]
Phase = Annotated[str, Meta(pattern="^(first|steady)$")]
Role = Annotated[str, Meta(pattern="^(send|receive)$")]
Calls = dict[Annotated[str, Meta(pattern="^[0-9]+$")], AtLeastOne]  # instructions -> calls that took so many


def optional() -> Any:
    """Return a field that is None unless given, and always written."""
    return msgspec.field(default_factory=type(None))


def means(text: str) -> Meta:
    """The meaning of a field: a few words, for the page and the schema of results.json."""
    return Meta(description=text)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of everything in results.json. Structs that omit defaults leave out fields that have their default."""
