# SPDX-License-Identifier: Apache-2.0
"""slowpath summary"""

from __future__ import annotations

from pathlib import Path

import click


@click.command("summary", epilog="Example: slowpath summary slowpath-runs/checkup-20260131-120000 > summary.csv")
@click.argument("run", type=click.Path(path_type=Path))
def command(run: Path) -> int:
    """Print a summary of a run's samples as CSV.

    One line for each cell, launch, rank and phase. Times are nanoseconds per operation: each sample divided by its
    batch. Every checksum is verified. Damaged files are named on stderr and left out.
    The report has the verdicts.
    """
    import sys

    from slowpath.report.samples import write_samples_csv

    write_samples_csv(run, sys.stdout, lambda line: click.echo(line, err=True))
    return 0
