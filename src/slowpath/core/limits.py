# SPDX-License-Identifier: Apache-2.0
"""What is read of a folder at most, whoever wrote it (docs/internals/record.md, "Limits"). Pure.

Each limit lies far above what Slowpath writes, and low enough that a file which somebody made up ends in one line and
not in the memory of the machine.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from msgspec import Meta

from slowpath.core.result import LARGEST, LARGEST_NUMBER, LONGEST_NAME, SMALLEST_NUMBER, Name, Number, Whole

__all__ = ["LARGEST", "LARGEST_NUMBER", "LONGEST_NAME", "SMALLEST_NUMBER", "Name", "Number", "Whole"]

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

Text = Annotated[str, Meta(max_length=LONGEST_TEXT)]


def limit_bytes(name: str) -> int | None:
    """Return the limit of the file of this name; None: the limit of any other file."""
    return FILE_BYTES.get(name)
