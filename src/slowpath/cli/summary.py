# SPDX-License-Identifier: Apache-2.0
"""slowpath summary"""

from __future__ import annotations

from pathlib import Path

import click


@click.command("summary", epilog="Example: slowpath summary slowpath-runs/checkup-20260131-120000 > summary.csv")
@click.argument("run", type=click.Path(path_type=Path))
def command(run: Path) -> int:
    """Print the samples of a run as CSV, summarised.

    One line for each cell, launch, rank and phase. Times are nanoseconds of one operation: each sample divided by its
    batch. Nothing is judged here; the report does that. Every checksum is verified, and what is damaged is named on
    stderr and left out.
    """
    import csv
    import sys
    from dataclasses import asdict, fields

    from slowpath.analyse.summary import CellSummary, summarise
    from slowpath.record.blocks import scan
    from slowpath.record.folder import launch_folder, read_launches, read_run

    read_run(run)
    out = csv.DictWriter(sys.stdout, [field.name for field in fields(CellSummary)], lineterminator="\n")
    out.writeheader()
    for launch in read_launches(run):
        path = launch_folder(run, launch.launch) / "samples.blk"
        if not path.exists():
            click.echo(f"launch {launch.launch}: no samples ({launch.ended})", err=True)
            continue
        index = scan(path)
        for note in index.notes:
            click.echo(f"launch {launch.launch}: {note}", err=True)
        out.writerows(asdict(line) for line in summarise(index))
    return 0
