# SPDX-License-Identifier: Apache-2.0
"""Changes a part of results.json where it stands, for tests that are about one value of a whole document."""

from __future__ import annotations

from typing import Any

import msgspec


def change(struct: msgspec.Struct, **fields: Any) -> None:
    """Sets fields of a frozen struct; a field that does not exist (any more) is an error."""
    unknown = fields.keys() - set(struct.__struct_fields__)
    if unknown:
        raise AttributeError(f"{type(struct).__name__} has no field {', '.join(sorted(unknown))}")
    for name, value in fields.items():
        msgspec.structs.force_setattr(struct, name, value)
