# SPDX-License-Identifier: Apache-2.0
"""slowpath table"""

from __future__ import annotations

from pathlib import Path

import click

from slowpath.cli.options import format_option, json_option


@click.command("table", epilog="Example: slowpath table slowpath-runs/checkup-20260131-120000 --kind latency")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--kind",
    type=click.Choice(["latency", "bandwidth", "all"]),
    default="all",
    show_default=True,
    help="latency: cells with pattern=ping_pong; bandwidth: with pattern=windowed.",
)
@click.option("--mpi", help="Only this MPI of the run, by its short name.")
@format_option("osu", "csv", "json")
@json_option()
def command(run: Path, kind: str, mpi: str | None, format: str, as_json: bool) -> int:
    """Print latency and bandwidth by message size in the format of the OSU benchmarks.

    RUN is a run folder or a results.json with ping-pongs or windows of messages: slowpath run checkup has both. A table
    for each MPI, environment, placement and setting. The first two columns are those of osu_latency and osu_bw, so
    that programs which read those read this; then the value's interval and the number of launches. The head of each
    table says what its numbers are: medians over launches, not means.
    """
    import json

    from slowpath.compare.read import read_source, require_measured
    from slowpath.core.errors import UsageError
    from slowpath.report.csv import rows_as_csv
    from slowpath.report.osu_table import KINDS, as_records, as_text, tables_of
    from slowpath.watch.folder import is_watch

    if is_watch(watch := run if run.is_dir() else run.parent):
        raise UsageError(
            f"{run}: is a watch of a program, and this table is of a run's messages; the watch's own tables: "
            f"slowpath report {watch} --format csv"
        )
    results = require_measured(read_source(run)).results
    tables = tables_of(results, [kind_of_table for kind_of_table in KINDS if kind in (kind_of_table.name, "all")])
    if mpi is not None:
        names = dict.fromkeys(table.where["mpi"] for table in tables)
        if mpi not in names:
            raise UsageError(f"--mpi {mpi}: this run has tables of {', '.join(names)}")
        tables = [table for table in tables if table.where["mpi"] == mpi]
    if as_json or format == "json":
        click.echo(json.dumps(as_records(results, tables), indent=1))
    elif format == "csv":
        click.echo(rows_as_csv(as_records(results, tables)).rstrip("\n"))
    else:
        click.echo(as_text(results, tables).rstrip("\n"))
    return 0
