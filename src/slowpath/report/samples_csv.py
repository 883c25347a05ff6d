# SPDX-License-Identifier: Apache-2.0
"""The samples of a run, summarised: one line of CSV for each cell, launch, rank and phase."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import asdict, fields
from pathlib import Path
from typing import TextIO

from slowpath.analyse.summary import CellSummary, summarise
from slowpath.record.blocks import scan
from slowpath.record.folder import launch_folder, read_launches, read_run


def write_samples_csv(run: Path, out: TextIO, tell: Callable[[str], None]) -> None:
    """Nanoseconds of one operation: each sample divided by its batch. Every checksum is verified.

    Args:   tell: gets a line for each launch without samples and for each block that is damaged and left out.
    Raises: RecordError: no run folder.
    """
    read_run(run)
    writer = csv.DictWriter(out, [field.name for field in fields(CellSummary)], lineterminator="\n")
    writer.writeheader()
    for launch in read_launches(run):
        path = launch_folder(run, launch.launch) / "samples.blk"
        if not path.exists():
            tell(f"launch {launch.launch}: no samples ({launch.ended})")
            continue
        index = scan(path)
        for note in index.notes:
            tell(f"launch {launch.launch}: {note}")
        writer.writerows(asdict(line) for line in summarise(index))
