# SPDX-License-Identifier: Apache-2.0
"""slowpath gate"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.options import (
    format_option,
    json_option,
    metric_option,
    minimum_effect_option,
    phase_option,
    phases_of,
)
from slowpath.core.errors import UsageError

if TYPE_CHECKING:
    from slowpath.compare.gate import Undecided


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
def command(
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
