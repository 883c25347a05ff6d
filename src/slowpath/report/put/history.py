# SPDX-License-Identifier: Apache-2.0
"""What an earlier study reported of four designs of put over a memory-to-memory path: history, not a comparison.

Its processor, compiler and libraries are not this machine's. A count of instructions may be read beside today's; a
rate says nothing about today's rates.
"""

from __future__ import annotations

from dataclasses import dataclass

WHAT_IT_IS = "measured on another machine in another decade"


@dataclass(frozen=True, slots=True)
class Reported:
    """One row of the study."""

    design: str
    instructions: int  # of one put
    rate_per_s: float
    meaning: str


STUDY: tuple[Reported, ...] = (
    Reported("complex datatype", 272, 10.16e6, "origin and target datatypes decoded on every call"),
    Reported("simple datatype", 84, 43.07e6, "basic datatype whose properties are in its handle"),
    Reported("small args", 58, 53.55e6, "datatypes taken as equal and simple, and out of the call"),
    Reported("SHMEM", 48, 59.38e6, "put of a vendor's SHMEM over the same path"),
)
