# SPDX-License-Identifier: Apache-2.0
"""slowpath gate"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.gate_remeasure import RemeasureOptions, measured_again, remeasure_options
from slowpath.cli.gate_self_test import SelfTestOptions, run_self_test, self_test_options
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
    from slowpath.compare.gate import Gate


@click.command("gate", epilog="Example: slowpath gate new --baseline old --remeasure --export junit=gate.xml")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--baseline", type=click.Path(path_type=Path), help="Run folder or results.json.")
@minimum_effect_option("5%", "Smallest slowdown that counts.")
@metric_option()
@phase_option("steady")
@click.option(
    "--undecided",
    type=click.Choice(["undecided", "pass", "fail"]),
    default="undecided",
    show_default=True,
    help="Exit code of an undecided gate: 3, 0 or 1.",
)
@click.option(
    "--accept",
    multiple=True,
    metavar="KINDS",
    help="Judge although the runs differ in these, with commas: hardware, mpi, engine, placement, settings, "
    "incomplete.",
)
@format_option("text", "json", "markdown", "github")
@json_option()
@click.option(
    "--export",
    "exports",
    multiple=True,
    metavar="FORMAT=FILE",
    help="May be repeated: junit, github-summary, openmetrics, bencher, action-benchmark.",
)
@remeasure_options("again")
@self_test_options("trial")
def command(
    run: Path,
    baseline: Path | None,
    minimum_effect: float,
    metrics: tuple[str, ...],
    phase: str,
    undecided: str,
    accept: tuple[str, ...],
    format: str,
    as_json: bool,
    exports: tuple[str, ...],
    again: RemeasureOptions,
    trial: SelfTestOptions,
) -> int:
    """Pass or fail a run against a baseline.

    A regression is a cell that is slower beyond the minimum effect, corrected for the number of cells. A pass means
    that such a slowdown is excluded for every cell; both runs need 8 launches a cell for it.

    First the two runs have to be comparable: the same kind of machine, MPI, engine, placement and settings, and each
    cell of both measured and compared. What is not so is named, and the gate is undecided; --accept judges anyway.

    Watches, or folders of several: calls and bytes are judged exactly, seconds from 3 watches a side on (a pass: 8).

    Exit codes: 0 pass, 1 regression, 2 wrong usage, 3 undecided, 4 the machine or a file refused, or nothing measured.
    """
    format = "json" if as_json else format
    if trial.self_test:
        if baseline or again.remeasure or exports or metrics or accept or format not in ("text", "json"):
            raise UsageError("--self-test takes a run alone: leave out baseline, remeasure, export, accept and metric")
        return run_self_test(run, trial, minimum_effect, format == "json")
    if baseline is None:
        raise UsageError("a gate needs --baseline, a run folder or its results.json")
    from slowpath.watch.compare.measures import is_watch_source

    if is_watch_source(run) or is_watch_source(baseline):
        if again.remeasure or exports or metrics or format not in ("text", "json"):
            raise UsageError("watches take no --remeasure, --export, --metric and --format markdown or github")
        return _watches(run, baseline, minimum_effect, _kinds(accept), undecided, format)
    from slowpath.compare.export import parse_exports, write_exports
    from slowpath.compare.gate import flagged, gate
    from slowpath.compare.read import read_source

    wanted, accepted = parse_exports(exports), _kinds(accept)
    new, old = read_source(run), read_source(baseline)
    found = gate(new, old, minimum_effect, metrics, phases_of(phase), accepted)
    if again.remeasure and flagged(found):
        found = measured_again(found, new, old, again)
    write_exports(wanted, found, new)
    _print(found, format)
    chosen = {"undecided": found.exit_code, "pass": 0, "fail": 1}[undecided]
    return chosen if found.outcome == "undecided" else found.exit_code


def _watches(run: Path, baseline: Path, minimum_effect: float, accepted: list[str], undecided: str, format: str) -> int:
    """The gate of watches, or of several a side."""
    import msgspec

    from slowpath.watch.compare.comparison import gate_watches
    from slowpath.watch.compare.measures import read_side
    from slowpath.watch.compare.text import render_watch_gate

    found = gate_watches(read_side(run), read_side(baseline), minimum_effect, accepted)
    if format == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1))
    else:
        click.echo(render_watch_gate(found).rstrip("\n"))
    chosen = {"undecided": found.exit_code, "pass": 0, "fail": 1}[undecided]
    return chosen if found.outcome == "undecided" else found.exit_code


def _kinds(words: tuple[str, ...]) -> list[str]:
    """`hardware,mpi`, several times.  Raises: UsageError."""
    from slowpath.compare.comparable import ACCEPTABLE

    kinds = [kind.strip() for word in words for kind in word.split(",")]
    if wrong := [kind for kind in kinds if kind not in ACCEPTABLE]:
        raise UsageError(f"--accept '{wrong[0]}': is none of {', '.join(ACCEPTABLE)}")
    return kinds


def _print(found: Gate, format: str) -> None:
    import msgspec

    from slowpath.compare.export import github
    from slowpath.compare.text import render_gate

    if format == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1))
        return
    render = {"text": render_gate, "markdown": github.summary, "github": github.commands}[format]
    click.echo(render(found).rstrip("\n"))
