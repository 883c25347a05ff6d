# SPDX-License-Identifier: Apache-2.0
"""slowpath table"""

from __future__ import annotations

from pathlib import Path

import click

from slowpath.cli.options import format_option, json_option

_KINDS = (
    "latency",
    "bandwidth",
    "bidirectional",
    "message-rate",
    "collective",
    "overlap",
    "bus",
    "copies",
    "all",
)


@click.command("table", epilog="Example: slowpath table slowpath-runs/numbers-20260131-120000 --kind latency")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--kind",
    type=click.Choice(_KINDS),
    default="all",
    show_default=True,
    help="Which tables: messages (latency, bandwidth, bidirectional, message-rate by pairs and threads), collectives "
    "(collective, overlap), GPUs (bus, copies).",
)
@click.option("--mpi", help="Only this MPI of the run, by its short name.")
@format_option("osu", "csv", "json")
@json_option()
def command(run: Path, kind: str, mpi: str | None, format: str, as_json: bool) -> int:
    """Print a run's numbers as tables in the format of the OSU benchmarks.

    RUN is a run folder or a results.json: slowpath run numbers has all tables. A table for each collective, MPI,
    environment, placement and setting. The first columns are OSU's, so that programs which read OSU's tables read
    these; then the value's interval and, where rows differ in it, the number of launches. The head of each table says
    what its numbers are. What a run lacks stands in one line on stderr.
    """
    import json

    from slowpath.compare.read import read_source, require_measured
    from slowpath.core.errors import UsageError
    from slowpath.report.csv import rows_as_csv
    from slowpath.report.osu import (
        as_records,
        as_text,
        cell_lines,
        kinds_named,
        measured_tables,
        missing_kinds,
        missing_words,
        tables_of,
    )
    from slowpath.watch.folder import is_watch

    if is_watch(watch := run if run.is_dir() else run.parent):
        raise UsageError(
            f"{run}: is a watch, but this table is for runs; the watch's own tables: slowpath report {watch} "
            "--format csv"
        )
    results = require_measured(read_source(run)).results
    kinds = kinds_named(kind)
    in_text = format == "osu" and not as_json
    if kind == "all" and in_text and mpi is None and not measured_tables(results, kinds):
        click.echo("\n".join(cell_lines(results, most=None)))
        return 0
    tables = tables_of(results, kinds)
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
        if missing := missing_kinds(tables, kinds):
            click.echo(missing_words(missing), err=True)
    return 0
