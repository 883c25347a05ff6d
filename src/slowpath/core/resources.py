# SPDX-License-Identifier: Apache-2.0
"""Where the files that are not Python live: engine source, shipped campaigns, schema."""

from __future__ import annotations

from pathlib import Path

_PACKAGED = Path(__file__).parents[1] / "_data"
_CHECKOUT = Path(__file__).parents[3]


def data_folder(name: str) -> Path:
    """Folder `name` (engine, campaigns or schema) of the installed package, or of the checkout it is run from."""
    packaged = _PACKAGED / name
    return packaged if packaged.is_dir() else _CHECKOUT / name
