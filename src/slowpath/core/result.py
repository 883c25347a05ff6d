# SPDX-License-Identifier: Apache-2.0
"""The base of everything in results.json, and the kinds of its fields. Pure.

A kind states what a value can be; the schema of results.json and whoever reads one hold it to that.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

Interval = tuple[float, float]  # low, high
Text = Annotated[str, Meta(min_length=1)]
Count = Annotated[int, Meta(ge=0)]
AtLeastOne = Annotated[int, Meta(ge=1)]
Positive = Annotated[float, Meta(gt=0)]
NotNegative = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Phase = Annotated[str, Meta(pattern="^(first|steady)$")]
Role = Annotated[str, Meta(pattern="^(send|receive)$")]
Calls = dict[Annotated[str, Meta(pattern="^[0-9]+$")], AtLeastOne]  # instructions -> calls that took so many


def optional() -> Any:
    """A field that files of older versions lack: None there, and always written."""
    return msgspec.field(default_factory=type(None))


def means(text: str) -> Meta:
    """The meaning of a field: a few words, for the page and the schema of results.json."""
    return Meta(description=text)


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of everything in results.json. Structs that omit defaults leave out fields that have their default."""
