# SPDX-License-Identifier: Apache-2.0
"""What results and records are made of: types of numbers, names and texts with their limits. Pure."""

from __future__ import annotations

from collections.abc import Mapping
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


MIB = 2**20
LONGEST_ID = 200  # characters of a run's id, which files are called by
LONGEST_TEXT = 1_000_000  # characters of a sentence, a path, a note, the last lines of a job
DEEPEST = 24  # lists and objects within each other where the record leaves the shape open (facts of a machine)
MOST_VALUES = 1_000_000  # values there
MOST_RANKS = 1_000_000  # of a launch, as in a campaign
MOST_CPUS = 65_536  # numbers of processors of a node; Linux has 8192 at most (CONFIG_NR_CPUS)
MOST_LAUNCHES = 100_000  # folders in `launches`
MOST_STEPS = 1000  # of a diagnosis
LONGEST_LINE_BYTES = 16 * MIB  # of events.jsonl
LARGEST_GAP_BYTES = 64 * MIB  # of samples.blk without a block in it, after which the rest counts as lost
MOST_SAMPLES_BYTES = 256 * MIB  # of the blocks of one cell in one launch

# The largest file that is read, by name; others have the limit of core/files.py.
FILE_BYTES: Mapping[str, int] = {
    "run.json": 16 * MIB,
    "launch.json": 16 * MIB,
    "plan.json": 64 * MIB,
    "plan.txt": 64 * MIB,
    "diagnosis.json": 64 * MIB,
    "results.json": 256 * MIB,
    "printed.json": 64 * MIB,
    "events.jsonl": 256 * MIB,
    "samples.blk": 1024 * MIB,
    "control_variables.json": 16 * MIB,
    "performance_variables.json": 16 * MIB,
    "campaign.toml": MIB,
}
LOG_BYTES = 16 * MIB  # of UCX's table of protocols, a file a rank

LongText = Annotated[str, Meta(max_length=LONGEST_TEXT)]
