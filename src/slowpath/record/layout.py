# SPDX-License-Identifier: Apache-2.0
"""The header of a block as a numpy dtype, built from schema/block.json; no offset is written down twice."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from slowpath.core.resources import data_folder

COLUMN_DURATION = 1
COLUMN_START = 2


@dataclass(frozen=True)
class Layout:
    """schema/block.json, ready for use."""

    version: int
    magic: bytes
    header: np.dtype[Any]
    phases: dict[int, str]
    flags: dict[str, int]  # name -> bit

    def phase_number(self, name: str) -> int:
        """Return the number of a phase in the header of a block.

        Raises: ValueError: the schema does not have this name.
        """
        for number, known in self.phases.items():
            if known == name:
                return number
        raise ValueError(f"phase {name!r}: one of {', '.join(self.phases.values())}")


@lru_cache(maxsize=1)
def layout() -> Layout:
    """The block layout of this version of the package."""
    schema = json.loads((data_folder("schema") / "block.json").read_text(encoding="utf-8"))
    fields = schema["fields"]
    header = np.dtype(
        {
            "names": [field["name"] for field in fields],
            "formats": [field["type"] for field in fields],
            "offsets": [field["offset"] for field in fields],
            "itemsize": schema["header_bytes"],
        }
    )
    return Layout(
        version=schema["version"],
        magic=schema["magic"].encode("ascii"),
        header=header,
        phases={int(number): name for number, name in schema["phases"].items()},
        flags={text.split(":")[0]: int(bit) for bit, text in schema["flags"].items()},
    )


def columns_in(columns: int) -> int:
    """Number of int64 columns in the payload."""
    return 2 if columns & COLUMN_START else 1
