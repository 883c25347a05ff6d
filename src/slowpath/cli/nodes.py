# SPDX-License-Identifier: Apache-2.0
"""slowpath nodes"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from slowpath.cli.options import cell_timeout_option, dry_run_option, quiet_option, teller
from slowpath.core.errors import EnvironmentFailure, UsageError


@click.command("nodes", epilog="Example: salloc -N 16 slowpath nodes --fail-above 1.2 --write-exclude slow-nodes")
@click.option("--mpi", help="Path of mpiexec, a prefix, mpich, craympich, ..., embedded, cuda.  [default: PATH]")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="New folder, or one to continue.  [default: slowpath-runs/nodes-DATE]",
)
@click.option(
    "--fail-above",
    type=click.FloatRange(1.0),
    metavar="RATIO",
    help="Exit with 1 if something is RATIO (1.2) times slower or silent.",
)
@click.option(
    "--write-exclude",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File for Slurm's --exclude.",
)
@click.option("--message-bytes", default="1MiB", show_default=True, help="Message length.")
@cell_timeout_option()
@dry_run_option()
@click.option("--nodes", "count", type=click.IntRange(2), help="Nodes of --dry-run.")
@quiet_option()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def nodes_command(
    mpi: str | None,
    out: Path | None,
    fail_above: float | None,
    write_exclude: Path | None,
    message_bytes: str,
    cell_timeout: float,
    dry_run: bool,
    count: int | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Find the slow node or link of an allocation.

    1,000 nodes take minutes: each alone, then all in rings, then suspicious pairs. Exit codes: 0 measured, 1 beyond
    --fail-above, 2 wrong usage, 4 nothing compared.
    """
    from slowpath.core.files import dated_folder, write_atomically
    from slowpath.core.units import parse_bytes
    from slowpath.record.folder import DEFAULT_PARENT
    from slowpath.run.progress import choose
    from slowpath.run.reopen import Terms
    from slowpath.run.schedule import RunLimits
    from slowpath.studies.nodes import measure
    from slowpath.studies.nodes.measure import NodeBench

    if count is not None and not dry_run:
        raise UsageError("--nodes needs --dry-run")
    environ = dict(os.environ)
    tell = teller(quiet)
    nodes, names = (count, ()) if count is not None else measure.nodes_here(environ)
    words = ["slowpath", *sys.argv[1:]]
    limits = RunLimits(cell_timeout)
    bench = NodeBench(
        environ, tell, limits, lambda: choose(quiet), words, names, mpi, Terms(mpi), parse_bytes(message_bytes)
    )
    if dry_run:
        for line in measure.cost_lines(bench, nodes):
            click.echo(line)
        return 0
    folder = out or dated_folder(DEFAULT_PARENT, "nodes")
    measure.require_folder(folder)
    tell(f"folder: {folder}")
    for line in measure.cost_lines(bench, nodes):
        tell(line)
    verdict = measure.measure_nodes(folder, bench, nodes)
    if as_json:
        click.echo((folder / measure.VERDICT).read_text(encoding="utf-8").rstrip("\n"))
    else:
        for line in measure.verdict_lines(verdict):
            click.echo(line)
    click.echo(f"verdict: {folder / measure.VERDICT}", err=True)
    if write_exclude is not None:
        names_out = ",".join(measure.excluded(verdict, fail_above))
        write_atomically(write_exclude, names_out + "\n" if names_out else "")
    if fail_above is not None and measure.fails(verdict, fail_above):
        return 1
    if not verdict.compared and not verdict.silent:
        raise EnvironmentFailure(f"{folder}: nothing was measured: {verdict.why}; see also: slowpath doctor")
    return 0 if verdict.compared else 4
