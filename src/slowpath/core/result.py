# SPDX-License-Identifier: Apache-2.0
"""The base of everything in results.json. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

Interval = tuple[float, float]  # low, high
Phase = Annotated[str, msgspec.Meta(pattern="^(first|steady)$")]
Role = Annotated[str, msgspec.Meta(pattern="^(send|receive)$")]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """Base of everything in results.json. Structs that omit defaults leave a null field out of the file."""

    def __getitem__(self, name: str) -> Any:
        for field, encoded in zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True):
            if encoded == name:
                return getattr(self, field)
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return name in self.__struct_encode_fields__

    def __iter__(self) -> Iterator[str]:
        return iter(self.__struct_encode_fields__)

    def keys(self) -> tuple[str, ...]:
        return self.__struct_encode_fields__

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self.__struct_encode_fields__ else default

    def items(self) -> list[tuple[str, Any]]:
        return [(name, self[name]) for name in self]

    def __or__(self, other: dict[str, Any]) -> dict[str, Any]:
        return {**dict(self.items()), **other}
