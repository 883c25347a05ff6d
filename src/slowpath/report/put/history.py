# SPDX-License-Identifier: Apache-2.0
"""Results of an earlier study on four designs of put over a memory-to-memory path.

The study's processor, compiler and libraries are not this machine's. Counts of instructions can be read next to today's
counts. Its rates say nothing about today's rates.
"""

from __future__ import annotations

from dataclasses import dataclass

WHAT_IT_IS = "measured on another machine in another decade"
SOURCE = "as Underwood and Barrett reported it for SMARTMAP on a Cray; no publication with these numbers is known to us"


@dataclass(frozen=True, slots=True)
class ReportedVariant:
    """A row of the study. `layer`: the corresponding design of the experiment put; `checked`: with its checks."""

    variant: str
    design: str
    instructions: int  # of one put
    rate_per_s: float
    meaning: str
    layer: str
    checked: bool


STUDY: tuple[ReportedVariant, ...] = (
    ReportedVariant("complex_datatype", "complex datatype", 272, 10.16e6,
             "origin and target datatypes decoded on every call", "complex", True),
    ReportedVariant("simple_datatype", "simple datatype", 84, 43.07e6,
             "basic datatype whose properties are in its handle", "simple", True),
    ReportedVariant("small_args", "small args", 58, 53.55e6,
             "datatypes taken as equal and simple, and out of the call", "small_args", True),
    ReportedVariant("shmem", "SHMEM", 48, 59.38e6,
             "put of a vendor's SHMEM over the same path", "shmem_put", False),
)  # fmt: skip
