# SPDX-License-Identifier: Apache-2.0
"""slowpath reference"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.options import json_option, minimum_effect_option

if TYPE_CHECKING:
    from slowpath.compare.read import RunSource

_IN = click.option(
    "--in",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder of references, such as one that a site shares.  [default: references in SLOWPATH_DATA_DIR, else in "
    "the user's data folder]",
)


@click.group("reference", epilog="Example: slowpath reference add slowpath-runs/checkup-20260131-120000")
def command() -> None:
    """Compare a run with earlier good runs on the same kind of machine.

    References are your own runs or those of your site. A range needs 5 runs on machines with the same processor
    model, number of processors and memory, under the same MPI library. Without them the answer is "no reference".
    """


@command.command("add", epilog="Example: slowpath reference add slowpath-runs/* --in /site/references")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@_IN
def add(runs: tuple[Path, ...], folder: Path | None) -> int:
    """Keep the results of RUNS as references. Only complete runs of slowpath run are accepted."""
    from slowpath.compare.read import read_source
    from slowpath.compare.reference import add as keep
    from slowpath.compare.reference import references_folder

    for run in runs:
        click.echo(keep(read_source(run), folder or references_folder()))
    return 0


@command.command("list", epilog="Example: slowpath reference list")
@_IN
def list_(folder: Path | None) -> int:
    """List the references with their date, campaign, MPI and machine."""
    from slowpath.compare.comparison import mpi_identity
    from slowpath.core.machine_kind import hardware

    for source in _read(folder):
        mpis = ", ".join(mpi_identity(mpi) for mpi in source.run.mpis if mpi.unavailable is None)
        machine = hardware(source.run.machine)
        click.echo(f"{source.run.id}  {source.run.campaign}, {mpis}; {machine[0]}, {machine[1]} processors")
    return 0


@command.command("show", epilog="Example: slowpath reference show slowpath-runs/checkup-20260131-120000")
@click.argument("run", type=click.Path(path_type=Path))
@_IN
@minimum_effect_option("5%", "How far beyond the range a value counts as outside.")
@json_option()
def show(run: Path, folder: Path | None, minimum_effect: float, as_json: bool) -> int:
    """Compare RUN with the references of the same kind of machine.

    Exit codes: 0 whatever the result, 2 wrong usage, 4 a file refused or nothing measured. To fail a job on a slowdown:
    slowpath gate.
    """
    import msgspec

    from slowpath.compare.read import read_source, require_measured
    from slowpath.compare.reference import hold, render_reference

    found = hold(require_measured(read_source(run)), _read(folder), minimum_effect)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1).decode())
    else:
        click.echo(render_reference(found).rstrip("\n"))
    return 0


def _read(folder: Path | None) -> list[RunSource]:
    from slowpath.compare.reference import read_references, references_folder

    found, left_out = read_references(folder or references_folder())
    for line in left_out:
        click.echo(f"left out: {line}", err=True)
    return found
