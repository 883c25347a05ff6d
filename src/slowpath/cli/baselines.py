# SPDX-License-Identifier: Apache-2.0
"""slowpath compare, gate and reference"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.options import (
    format_option,
    full_option,
    json_option,
    metric_option,
    minimum_effect_option,
    phase_option,
    phases_of,
)
from slowpath.core.errors import UsageError

if TYPE_CHECKING:
    from slowpath.compare.gate import Undecided
    from slowpath.compare.read import RunSource


@click.command("compare", epilog="Example: slowpath compare slowpath-runs/before slowpath-runs/after")
@click.argument("a", type=click.Path(path_type=Path))
@click.argument("b", type=click.Path(path_type=Path))
@minimum_effect_option("3%", "Smallest difference that counts.")
@metric_option()
@phase_option("all")
@format_option("text", "json", "csv")
@full_option()
@json_option()
@click.option(
    "--html", type=click.Path(path_type=Path), help="Write a page with both runs in each picture to this file, too."
)
def compare_command(
    a: Path,
    b: Path,
    minimum_effect: float,
    metrics: tuple[str, ...],
    phase: str,
    format: str,
    full: bool,
    as_json: bool,
    html: Path | None,
) -> int:
    """Compare two runs cell by cell.

    A and B are run folders or results.json files: two dates, two libraries, two machines. B is judged against A. The
    runs were not interleaved, and all differences between them are listed first. Exit codes: 0 whatever the result, 2
    wrong usage, 4 a file refused or nothing measured. To fail a job on a slowdown: slowpath gate.

    Runs of cannon are compared by the whole multiplication, its computation and its communication, for all styles.
    """
    import msgspec

    from slowpath.compare.comparison import compare
    from slowpath.compare.read import read_source

    baseline, run = read_source(a), read_source(b)
    found = compare(baseline, run, minimum_effect, metrics, phases_of(phase), by_parts=True)
    if html is not None:
        from slowpath.compare.views import render_comparison_html
        from slowpath.core.files import write_atomically

        write_atomically(html, render_comparison_html(found, baseline.results, run.results))
        click.echo(f"page: {html}", err=True)
    if as_json or format == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1).decode())
    elif format == "csv":
        from slowpath.compare.views import render_csv

        for doubt in found.doubts:
            click.echo(f"not alike: {doubt.kind}: {doubt.reason}", err=True)
        click.echo(render_csv(found).rstrip("\n"))
    else:
        from slowpath.compare.views import render_comparison, render_comparison_brief

        click.echo((render_comparison if full else render_comparison_brief)(found).rstrip("\n"))
    return 0


@click.command("gate", epilog="Example: slowpath gate new --baseline old --junit gate.xml")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--baseline", required=True, type=click.Path(path_type=Path), help="Run folder or results.json.")
@minimum_effect_option("5%", "Smallest slowdown that counts.")
@metric_option()
@phase_option("steady")
@click.option(
    "--undecided",
    type=click.Choice(["undecided", "pass", "fail"]),
    default="undecided",
    show_default=True,
    help="Exit code of an undecided gate: 3, 0 or 1; its cells in JUnit: error, skipped or failure.",
)
@click.option(
    "--accept",
    multiple=True,
    metavar="KINDS",
    help="Judge although the runs differ in these, with commas: hardware, mpi, engine, placement, settings, "
    "incomplete.",
)
@format_option("text", "json")
@json_option()
@click.option("--junit", type=click.Path(path_type=Path), metavar="FILE", help="Also write JUnit XML to this file.")
def gate_command(
    run: Path,
    baseline: Path,
    minimum_effect: float,
    metrics: tuple[str, ...],
    phase: str,
    undecided: Undecided,
    accept: tuple[str, ...],
    format: str,
    as_json: bool,
    junit: Path | None,
) -> int:
    """Pass or fail a run against a baseline.

    A regression is a cell that is slower beyond the minimum effect, corrected for the number of cells. A pass means
    that such a slowdown is excluded for every cell; both runs need 8 launches a cell for it.

    First the two runs have to be comparable: the same kind of machine, MPI, engine, placement and settings, and each
    cell of both measured and compared. What is not so is named, and the gate is undecided; --accept judges anyway.

    Exit codes: 0 pass, 1 regression, 2 wrong usage, 3 undecided, 4 the machine or a file refused, or nothing measured.
    """
    import msgspec

    from slowpath.compare.gate import final_exit_code, gate
    from slowpath.compare.read import read_source
    from slowpath.compare.views import render_gate, render_junit
    from slowpath.core.files import write_atomically

    format = "json" if as_json else format
    accepted = _kinds(accept)
    found = gate(read_source(run), read_source(baseline), minimum_effect, metrics, phases_of(phase), accepted)
    if junit is not None:
        write_atomically(junit, render_junit(found, undecided))
    if format == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1).decode())
    else:
        click.echo(render_gate(found).rstrip("\n"))
    return final_exit_code(found.outcome, undecided)


def _kinds(words: tuple[str, ...]) -> list[str]:
    """Return the kinds that --accept names, such as `hardware,mpi`.  Raises: UsageError."""
    from slowpath.compare.comparison import ACCEPTABLE

    kinds = [kind.strip() for word in words for kind in word.split(",")]
    if wrong := [kind for kind in kinds if kind not in ACCEPTABLE]:
        raise UsageError(f"--accept '{wrong[0]}': is none of {', '.join(ACCEPTABLE)}")
    return kinds


_IN = click.option(
    "--in",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder of references, such as one that a site shares.  [default: references in SLOWPATH_DATA_DIR, else in "
    "the user's data folder]",
)


@click.group("reference", epilog="Example: slowpath reference add slowpath-runs/checkup-20260131-120000")
def reference_command() -> None:
    """Compare a run with earlier good runs on the same kind of machine.

    References are your own runs or those of your site. A range needs 5 runs on machines with the same processor
    model, number of processors and memory, under the same MPI library. Without them the answer is "no reference".
    """


@reference_command.command("add", epilog="Example: slowpath reference add slowpath-runs/* --in /site/references")
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


@reference_command.command("list", epilog="Example: slowpath reference list")
@_IN
def list_(folder: Path | None) -> int:
    """List the references with their date, campaign, MPI and machine."""
    from slowpath.compare.comparison import mpi_identity
    from slowpath.core.machine import hardware

    for source in _read(folder):
        mpis = ", ".join(mpi_identity(mpi) for mpi in source.run.mpis if mpi.unavailable is None)
        machine = hardware(source.run.machine)
        click.echo(f"{source.run.id}  {source.run.campaign}, {mpis}; {machine[0]}, {machine[1]} processors")
    return 0


@reference_command.command("show", epilog="Example: slowpath reference show slowpath-runs/checkup-20260131-120000")
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
