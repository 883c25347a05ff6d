# SPDX-License-Identifier: Apache-2.0
"""slowpath gate"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.options import (
    Decorator,
    cell_timeout_option,
    format_option,
    grouped,
    json_option,
    metric_option,
    minimum_effect_option,
    phase_option,
    phases_of,
    quiet_option,
)
from slowpath.cli.telling import teller
from slowpath.cli.values import DURATION, EFFECT
from slowpath.core.errors import UsageError

if TYPE_CHECKING:
    from slowpath.compare.gate import Gate, Undecided
    from slowpath.compare.read import RunSource


@dataclass(frozen=True)
class SelfTestOptions:
    """Options of --self-test.

    Args: launches: launches on each side of a gate.  trials: gates of each kind.  slowdown: planted in one cell,
        relative.
    """

    self_test: bool
    launches: int
    trials: int
    slowdown: float
    seed: int


def self_test_options(name: str) -> Decorator:
    """Return a decorator that passes the options of --self-test as one argument of this name."""
    return grouped(
        name,
        SelfTestOptions,
        click.option(
            "--self-test", is_flag=True, help="How often gates on launches of RUN are wrong; needs no baseline."
        ),
        click.option(
            "--launches",
            type=click.IntRange(3),
            default=8,
            show_default=True,
            help="--self-test: on each side of a gate.",
        ),
        click.option(
            "--trials", type=click.IntRange(1), default=400, show_default=True, help="--self-test: gates of a kind."
        ),
        click.option(
            "--slowdown", type=EFFECT, default="8%", show_default=True, help="--self-test: planted in one cell."
        ),
        click.option(
            "--seed", type=click.IntRange(0), default=1, show_default=True, help="--self-test: of the splits."
        ),
    )


def run_self_test(run: Path, options: SelfTestOptions, minimum_effect: float, as_json: bool) -> int:
    """Print how often gates are wrong on this machine. Return 0 if both error rates meet their goals, else 1."""
    import msgspec

    from slowpath.compare.read import read_source
    from slowpath.compare.self_test import render_self_test, self_test

    source = read_source(run)
    found = self_test(source, options.launches, options.slowdown, options.trials, minimum_effect, options.seed)
    shown = msgspec.json.format(msgspec.json.encode(found), indent=1).decode() if as_json else render_self_test(found)
    click.echo(shown.rstrip("\n"))
    return 0 if found.met else 1


@dataclass(frozen=True)
class RemeasureOptions:
    """Options of --remeasure. `out`: run folder of the fresh launches. `budget`, `cell_timeout`: seconds."""

    remeasure: bool
    mpi: str | None
    out: Path | None
    budget: float | None
    cell_timeout: float
    quiet: bool


def remeasure_options(name: str) -> Decorator:
    """Return a decorator that passes the options of --remeasure as one argument of this name."""
    return grouped(
        name,
        RemeasureOptions,
        click.option("--remeasure", is_flag=True, help="Measure flagged cells again before the gate fails."),
        click.option(
            "--mpi", help="MPIs of --remeasure that no search finds: as slowpath run takes them; several by commas."
        ),
        click.option(
            "--out",
            type=click.Path(path_type=Path),
            help="Run folder of --remeasure.  [default: slowpath-runs/gate-DATE]",
        ),
        click.option("--budget", type=DURATION, help="Time for --remeasure (90s, 10m, 1h)."),
        cell_timeout_option(),
        quiet_option(),
    )


def measured_again(found: Gate, run: RunSource, baseline: RunSource, options: RemeasureOptions) -> Gate:
    """Measure the flagged rows of a gate again, and return the gate with the fresh values."""
    from slowpath.compare.gate import flagged, not_again, with_again
    from slowpath.compare.remeasure import find_sides, judge_again, measure_again, plan_again, refusal
    from slowpath.report.write import rebuild
    from slowpath.run.limits import RunLimits
    from slowpath.run.progress import choose

    tell = teller(options.quiet)
    rows, least = flagged(found), found.comparison.minimum_effect
    sides = find_sides(rows, run, baseline, os.environ, tell, options.mpi)
    if sides.refused:
        return not_again(found, sides.refused)
    plan = plan_again(rows, run, baseline, sides, least)
    if (why := refusal(plan, os.environ)) is not None:
        return not_again(found, why)
    tell(f"measuring {len(rows)} flagged comparisons again, under {', '.join(sides.libraries)}")
    limits, progress = RunLimits(options.cell_timeout, options.budget), choose(options.quiet)
    folder = measure_again(plan, run, baseline, sides, options.out, limits, progress, os.environ)
    fresh = judge_again(rows, rebuild(folder), baseline, sides.baseline, least)
    notes = [sides.note] if sides.note else []
    if missing := len(rows) - len(fresh):
        notes.append(
            f"{missing} flagged comparisons gave no fresh values (see the report in {folder}) and stay flagged"
        )
    return with_again(found, fresh, str(folder), notes)


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
    help="Exit code of an undecided gate: 3, 0 or 1; its cells in JUnit: error, skipped or failure.",
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
    undecided: Undecided,
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
            raise UsageError("--self-test takes only a run: leave out baseline, remeasure, export, accept and metric")
        return run_self_test(run, trial, minimum_effect, format == "json")
    if baseline is None:
        raise UsageError("a gate needs --baseline, a run folder or its results.json")
    from slowpath.watch.compare.measures import is_watch_source

    if is_watch_source(run) or is_watch_source(baseline):
        if again.remeasure or exports or metrics or format not in ("text", "json"):
            raise UsageError("--remeasure, --export, --metric and --format markdown or github are not for watches")
        return _watches(run, baseline, minimum_effect, _kinds(accept), undecided, format)
    from slowpath.compare.export import parse_exports, write_exports
    from slowpath.compare.gate import final_exit_code, flagged, gate
    from slowpath.compare.read import read_source

    wanted, accepted = parse_exports(exports), _kinds(accept)
    new, old = read_source(run), read_source(baseline)
    found = gate(new, old, minimum_effect, metrics, phases_of(phase), accepted)
    if again.remeasure and flagged(found):
        found = measured_again(found, new, old, again)
    write_exports(wanted, found, new, undecided)
    _print(found, format)
    return final_exit_code(found.outcome, undecided)


def _watches(
    run: Path, baseline: Path, minimum_effect: float, accepted: list[str], undecided: Undecided, format: str
) -> int:
    """Print the gate of watches, one or several on each side, and return its exit code."""
    import msgspec

    from slowpath.compare.gate import final_exit_code
    from slowpath.watch.compare.comparison import gate_watches
    from slowpath.watch.compare.measures import read_side
    from slowpath.watch.compare.text import render_watch_gate

    found = gate_watches(read_side(run), read_side(baseline), minimum_effect, accepted)
    if format == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1))
    else:
        click.echo(render_watch_gate(found).rstrip("\n"))
    return final_exit_code(found.outcome, undecided)


def _kinds(words: tuple[str, ...]) -> list[str]:
    """Return the kinds that --accept names, such as `hardware,mpi`.  Raises: UsageError."""
    from slowpath.compare.comparable import ACCEPTABLE

    kinds = [kind.strip() for word in words for kind in word.split(",")]
    if wrong := [kind for kind in kinds if kind not in ACCEPTABLE]:
        raise UsageError(f"--accept '{wrong[0]}': is none of {', '.join(ACCEPTABLE)}")
    return kinds


def _print(found: Gate, format: str) -> None:
    import msgspec

    from slowpath.compare.comparison_text import render_gate
    from slowpath.compare.export.gate_formats import render_github_commands, render_github_summary

    if format == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1))
        return
    render = {"text": render_gate, "markdown": render_github_summary, "github": render_github_commands}[format]
    click.echo(render(found).rstrip("\n"))
