# SPDX-License-Identifier: Apache-2.0
"""What one check of the doctor found."""

from __future__ import annotations

from typing import Literal

import msgspec

Status = Literal["ok", "warn", "missing"]


class Check(msgspec.Struct, frozen=True):
    """One fact about this machine.

    value: what was found, in words; None if it can't be known, and then `means` has the reason.
    status: ok; warn (measuring works, numbers may suffer); missing (something can't be measured).
    do: what to do about it, None if nothing.
    """

    name: str
    value: str | None
    status: Status
    means: str
    do: str | None = None
