# SPDX-License-Identifier: Apache-2.0
"""slowpath report, table, trace and import"""

from __future__ import annotations

from pathlib import Path

import click

from slowpath.cli.options import format_option, full_option, json_option
from slowpath.core.errors import exclude, unknown

EXIT_NOTHING = 4  # no rank left a record


@click.command("report", epilog="Example: slowpath report slowpath-runs/checkup-20260131-120000 --format csv")
@click.argument("run", type=click.Path(path_type=Path))
@format_option("text", "html", "json", "csv")
@click.option("--panel", is_flag=True, help="Compare each kind of call with healthy runs.")
def report_command(run: Path, format: str, panel: bool) -> int:
    """Rebuild the report of a run, a diagnosis or a watch."""
    from slowpath.cli.options import exit_code_of, show
    from slowpath.core.files import is_diagnosis
    from slowpath.report.terminal import render_panel
    from slowpath.report.write import rebuild
    from slowpath.run.ownership import measured_by
    from slowpath.watch.folder import is_watch

    if panel and (format != "text" or is_watch(run)):
        raise exclude("--panel", "a watch" if is_watch(run) else "--format")
    if is_watch(run):
        return _watch(run, format)
    if (busy := measured_by(run)) is not None:
        click.echo(busy, err=True)
    if is_diagnosis(run):
        return _diagnosis(run, format, panel)
    results = rebuild(run)
    if panel:
        click.echo(render_panel(results).rstrip("\n"))
    else:
        show(run, results, format, full=True)
    return exit_code_of(results)


def _watch(folder: Path, format: str) -> int:
    """Rebuild and print the report of a watch, and return the exit code."""
    from slowpath.watch.report.write import PAGE_FILE, TEXT_FILE, rebuild

    results = rebuild(folder)
    name = {"text": TEXT_FILE, "html": PAGE_FILE, "json": "results.json", "csv": "classes.csv"}[format]
    click.echo((folder / name).read_text(encoding="utf-8").rstrip("\n"))
    if format != "text":
        click.echo(f"report: {folder / PAGE_FILE}", err=True)
    return 0 if results.program.recorded_ranks else EXIT_NOTHING


def _diagnosis(folder: Path, format: str, panel: bool) -> int:
    """Rebuild the reports of a diagnosis and of its steps, print the first, and return the exit code."""
    from slowpath.cli.options import exit_code_of
    from slowpath.diagnose.page import contrasts_csv, rebuild, render, render_panel

    diagnosis, results = rebuild(folder)
    if format == "csv":
        click.echo(contrasts_csv(folder).rstrip("\n"))
    elif format == "text":
        click.echo((render_panel if panel else render)(diagnosis, str(folder)).rstrip("\n"))
    else:
        name = {"html": "report.html", "json": "diagnosis.json"}[format]
        click.echo((folder / name).read_text(encoding="utf-8").rstrip("\n"))
    if format != "text":
        click.echo(f"report: {folder / 'report.html'}", err=True)
    return exit_code_of(*results)


_KINDS = ("latency", "bandwidth", "bidirectional", "message-rate", "collective", "overlap", "bus", "copies", "all")


@click.command("table", epilog="Example: slowpath table slowpath-runs/numbers-20260131-120000 --kind latency")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--kind",
    type=click.Choice(_KINDS),
    default="all",
    show_default=True,
    help="Which tables.",
)
@click.option("--mpi", help="Only this MPI.")
@format_option("osu", "csv")
@json_option()
def table_command(run: Path, kind: str, mpi: str | None, format: str, as_json: bool) -> int:
    """Print a run's numbers as tables in the format of the OSU benchmarks.

    The first columns are OSU's, then the value's interval.
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
        raise UsageError(f"{run}: is a watch; its tables: slowpath report {watch} --format csv")
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
            raise unknown("MPI of this run", mpi, names)
        tables = [table for table in tables if table.where["mpi"] == mpi]
    if as_json:
        click.echo(json.dumps(as_records(results, tables), indent=1))
    elif format == "csv":
        click.echo(rows_as_csv(as_records(results, tables)).rstrip("\n"))
    else:
        click.echo(as_text(results, tables).rstrip("\n"))
        if missing := missing_kinds(tables, kinds):
            click.echo(missing_words(missing), err=True)
    return 0


@click.command("trace", epilog="Example: slowpath trace slowpath-runs/cannon-20260131-120000 --cell 7")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--cell", type=click.IntRange(min=0), help="Only this cell.")
@click.option("--launch", type=click.IntRange(min=0), help="Only this launch.")
@click.option("--begin", type=click.FloatRange(min=0), metavar="S", help="Of a watch: from this second.")
@click.option("--end", type=click.FloatRange(min=0), metavar="S", help="Of a watch: to this second.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="New folder.  [default: in RUN/traces]")
def trace_command(
    run: Path, cell: int | None, launch: int | None, begin: float | None, end: float | None, out: Path | None
) -> int:
    """Write a timeline of all ranks of a run or watch for ui.perfetto.dev."""
    from slowpath.core.files import inside
    from slowpath.report.trace import read_trace, write_trace
    from slowpath.watch.folder import is_watch

    if is_watch(run):
        from slowpath.watch.trace import read_watch_trace

        if cell is not None or launch is not None:
            raise exclude("a watch", "--cell and --launch")
        trace, name = read_watch_trace(run, begin, end), _stretch(begin, end)
    elif begin is not None or end is not None:
        raise exclude("a run", "--begin and --end")
    else:
        trace = read_trace(run, cell, launch)
        name = ("all" if cell is None else f"cell-{cell}") + ("" if launch is None else f"-launch-{launch}")
    folder = out or inside(run, Path("traces") / name)
    for note in trace.notes:
        click.echo(f"note: {note}", err=True)
    click.echo(f"{write_trace(trace, folder)}   open it at ui.perfetto.dev, in a browser")
    click.echo(f"{trace.title}: {trace.ranks} ranks, {trace.spans} intervals, {trace.messages} messages", err=True)
    return 0


def _stretch(begin: float | None, end: float | None) -> str:
    """Return the name of the folder, such as `all` or `from-1-to-2.5`."""
    words = [f"from-{begin:g}"] if begin is not None else []
    words += [f"to-{end:g}"] if end is not None else []
    return "-".join(words) or "all"


@click.command("import", epilog="Example: slowpath import overalloc-0.txt overalloc-64KiB.txt --out field")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), help="Run folder.  [default: slowpath-runs/NAME-DATE]")
@click.option(
    "--condition",
    "conditions",
    multiple=True,
    metavar="LOG:NAME=VALUE",
    help="Launch conditions of a log: nodes, transport, bind.",
)
@full_option()
@json_option()
def import_command(
    files: tuple[Path, ...], out: Path | None, conditions: tuple[str, ...], full: bool, as_json: bool
) -> int:
    """Make a run folder from logs of reproducers or benchmarks.

    FILES are what gpudirect_p2p_overalloc and intranode_pinned_host_comm print, or OSU tables.
    """
    from slowpath.cli.options import exit_code_of, show
    from slowpath.record.imports.choose import import_files
    from slowpath.report.write import rebuild

    run = import_files(list(files), out, conditions)
    results = rebuild(run)
    show(run, results, "json" if as_json else "text", full)
    return exit_code_of(results)
