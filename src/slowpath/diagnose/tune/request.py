# SPDX-License-Identifier: Apache-2.0
"""What is to be tuned; tune.json of the folder, so that it can be continued."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from slowpath.core.errors import UsageError
from slowpath.core.files import Versioned, decoded, json_bytes, read_bytes, write_atomically
from slowpath.core.result import AtLeastOne, Count, Name, NotNegative
from slowpath.mpi.guidelines import GUIDELINES
from slowpath.mpi.tuning import ALGORITHMS

FILE: Final = "tune.json"
SCHEMA: Final = 2
MOST_USES: Final = 40
_NEARLY_ALL: Final = 0.99
DEFAULT_COLLECTIVES: Final = (
    "barrier",
    "bcast",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "exscan",
)
DEFAULT_BYTES: Final = (8, 1024, 16384, 131072, 1048576)


class Use(msgspec.Struct, frozen=True):
    """Calls of a watched program that are alike: one collective, communicators of one size, lengths of one size class.

    bytes: mean.  seconds: of a rank, from the last rank's entry to the last exit, all of them.
    """

    collective: Name
    ranks: AtLeastOne
    bytes: Count
    calls: Count
    seconds: NotNegative


class TuneRequest(msgspec.Struct, frozen=True):
    """mpi: as the user names it; null: the one in use.  identity: library and version, as tuning.json has it.

    bytes: of the message, as `message_bytes` of the experiment coll.
    rounds: launches of an environment that prove; half as many choose, twice as many verify.
    at_once: whether two communicators of one job, which call at once, are a view, too.
    program, uses: that a watch saw, most time first; then these cells alone are tuned, and a choice is for all lengths
    of the class.
    """

    library: str
    identity: str
    mpi: str | None
    collectives: tuple[str, ...]
    ranks: tuple[int, ...]
    bytes: tuple[int, ...]
    rounds: int
    at_once: bool = False
    program: str | None = None
    uses: tuple[Use, ...] = ()
    schema: int = SCHEMA

    @property
    def choosing_rounds(self) -> int:
        """Few: what looks good by luck is not proven afterwards."""
        return max(4, self.rounds // 2)

    @property
    def verifying_rounds(self) -> int:
        """Many: a cell that is left alone must not look worse by luck."""
        return 2 * self.rounds

    def lengths(self, collective: str, ranks: int) -> tuple[int, ...]:
        """All, ascending; a barrier has one."""
        if self.uses:
            return tuple(sorted({one.bytes for one in self.uses if (one.collective, one.ranks) == (collective, ranks)}))
        return (0,) if collective == "barrier" else self.bytes


def most_of(uses: Sequence[Use]) -> tuple[Use, ...]:
    """Those that hold nearly all time, most first.  Args: uses: most time first."""
    whole_s, held_s, kept = sum(use.seconds for use in uses), 0.0, list[Use]()
    for use in uses[:MOST_USES]:
        if held_s >= _NEARLY_ALL * whole_s:
            break
        kept.append(use)
        held_s += use.seconds
    return tuple(kept)


def save(folder: Path, request: TuneRequest) -> None:
    """Raises: EnvironmentFailure: the disk refuses."""
    write_atomically(folder / FILE, json_bytes(request))


def load(folder: Path) -> TuneRequest:
    """Raises: UsageError: the folder is none of `slowpath tune`.  RecordError: the file is damaged."""
    file = folder / FILE
    if not file.is_file():
        raise UsageError(f"{folder}: no {FILE}; name a folder that slowpath tune began")
    content, advice = read_bytes(file), "tune anew"
    if decoded(content, Versioned, file, advice, "is no request").schema != SCHEMA:
        raise UsageError(f"{file}: by another version of slowpath; tune anew")
    return decoded(content, TuneRequest, file, advice)


def tunable(library: str) -> list[str]:
    """Collectives that have another way under this library."""
    return sorted({one.collective for one in GUIDELINES if one.mockup} | set(ALGORITHMS.get(library, {})))


def require_known(request: TuneRequest) -> None:
    """Raises: UsageError: a collective that can't be tuned."""
    known = tunable(request.library)
    for name in request.collectives:
        if name not in known:
            raise UsageError(f"--collectives {name}: can't be tuned under {request.library}; one of {', '.join(known)}")
