# SPDX-License-Identifier: Apache-2.0
"""slowpath trace"""

from __future__ import annotations

from pathlib import Path

import click


@click.command("trace", epilog="Example: slowpath trace slowpath-runs/cannon-20260131-120000 --cell 7")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--cell", type=click.IntRange(min=0), help="One cell, by its number.  [default: all with start times]")
@click.option("--launch", type=click.IntRange(min=0), help="By its number.  [default: the one with most styles]")
@click.option(
    "--begin", type=click.FloatRange(min=0), metavar="S", help="Of a watch: calls from here, seconds since MPI_Init."
)
@click.option("--end", type=click.FloatRange(min=0), metavar="S", help="Of a watch: calls up to here.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="DIR", help="A new or empty folder.  [default: in RUN/traces]"
)
def command(
    run: Path,
    cell: int | None,
    launch: int | None,
    begin: float | None,
    end: float | None,
    out: Path | None,
) -> int:
    """Write a timeline of all ranks for ui.perfetto.dev.

    The timeline of one launch has every recorded interval of every rank, with its step and repetition. Cells of cannon
    and of p2p pattern=one_way have start times; other cells record durations only.

    RUN may be a watch: the timeline then has MPI calls by name, a track per rank and thread, and messages as arrows.
    """
    from slowpath.core.files import inside
    from slowpath.report.trace import read_trace, write_trace
    from slowpath.watch.folder import is_watch

    if is_watch(run):
        from slowpath.watch.trace import read_watch_trace

        if cell is not None or launch is not None:
            raise click.UsageError("a watch has no cells and launches; choose a time range with --begin and --end")
        trace, name = read_watch_trace(run, begin, end), _stretch(begin, end)
    elif begin is not None or end is not None:
        raise click.UsageError("--begin and --end are for watches; choose a cell of a run with --cell")
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
