# SPDX-License-Identifier: Apache-2.0
"""slowpath gate"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.compare import EFFECT
from slowpath.cli.values import DURATION
from slowpath.core.errors import UsageError

if TYPE_CHECKING:
    from slowpath.compare.gate import Gate
    from slowpath.compare.read import Source

FORMATS = ("text", "json", "markdown", "github")


@click.command("gate", epilog="Example: slowpath gate new --baseline old --remeasure --export junit=gate.xml")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--baseline", type=click.Path(path_type=Path), help="Run folder or results.json.")
@click.option("--minimum-effect", type=EFFECT, default="5%", show_default=True, help="Smallest slowdown that counts.")
@click.option(
    "--metric", "metrics", multiple=True, metavar="NAME", help="May be repeated; or all.  [default: each cell's first]"
)
@click.option(
    "--phase",
    type=click.Choice(["first", "steady", "all"]),
    default="steady",
    show_default=True,
    help="First or later messages.",
)
@click.option("--remeasure", is_flag=True, help="Measure flagged cells again before the gate fails.")
@click.option(
    "--out", type=click.Path(path_type=Path), help="Run folder of --remeasure.  [default: slowpath-runs/gate-DATE]"
)
@click.option(
    "--undecided",
    type=click.Choice(["undecided", "pass", "fail"]),
    default="undecided",
    show_default=True,
    help="What an undecided gate ends with: exit code 3, 0 or 1.",
)
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", show_default=True, help="What to print on stdout."
)
@click.option("--json", "as_json", is_flag=True, help="The same as --format json.")
@click.option(
    "--export",
    "exports",
    multiple=True,
    metavar="FORMAT=FILE",
    help="May be repeated: junit, github-summary, openmetrics, bencher, action-benchmark.",
)
@click.option("--budget", type=DURATION, help="Time for --remeasure (90s, 10m, 1h).")
@click.option(
    "--cell-timeout", type=DURATION, default="60s", show_default=True, help="A launch without progress ends after it."
)
@click.option("--quiet", is_flag=True, help="No progress; failures are still reported.")
@click.option(
    "--self-test", "own", is_flag=True, help="How often gates on launches of RUN are wrong; needs no baseline."
)
@click.option(
    "--launches", type=click.IntRange(3), default=8, show_default=True, help="--self-test: on each side of a gate."
)
@click.option("--trials", type=click.IntRange(1), default=400, show_default=True, help="--self-test: gates of a kind.")
@click.option("--slowdown", type=EFFECT, default="8%", show_default=True, help="--self-test: planted in one cell.")
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, help="--self-test: of the splits.")
def command(
    run: Path,
    baseline: Path | None,
    minimum_effect: float,
    metrics: tuple[str, ...],
    phase: str,
    remeasure: bool,
    out: Path | None,
    undecided: str,
    form: str,
    as_json: bool,
    exports: tuple[str, ...],
    budget: float | None,
    cell_timeout: float,
    quiet: bool,
    own: bool,
    launches: int,
    trials: int,
    slowdown: float,
    seed: int,
) -> int:
    """Let a run pass against a baseline, or not.

    A regression is a cell that is slower beyond the minimum effect, corrected for the number of cells. A pass means
    that such a slowdown is excluded for every cell; both runs need 8 launches a cell for it.

    Exit codes: 0 pass, 1 regression, 2 wrong usage, 3 undecided, 4 the machine or a file refused.
    """
    if own:
        if baseline or remeasure or exports or metrics or form not in ("text", "json"):
            raise UsageError("--self-test takes a run alone: leave out baseline, remeasure, export and metric")
        return _self_test(run, launches, slowdown, trials, minimum_effect, seed, as_json or form == "json")
    if baseline is None:
        raise UsageError("a gate needs --baseline, a run folder or its results.json")
    from slowpath.compare.comparison import PHASES
    from slowpath.compare.export import parse_exports, write_exports
    from slowpath.compare.gate import flagged, gate
    from slowpath.compare.read import read_source

    wanted = parse_exports(exports)
    new, old = read_source(run), read_source(baseline)
    found = gate(new, old, minimum_effect, metrics, PHASES if phase == "all" else (phase,))
    if remeasure and flagged(found):
        found = _again(found, new, old, out, budget, cell_timeout, quiet)
    write_exports(wanted, found, new)
    _print(found, "json" if as_json else form)
    chosen = {"undecided": found.exit_code, "pass": 0, "fail": 1}[undecided]
    return chosen if found.outcome == "undecided" else found.exit_code


def _self_test(
    run: Path, launches: int, slowdown: float, trials: int, minimum_effect: float, seed: int, as_json: bool
) -> int:
    """Exit code: 0 both rates meet their goal, 1 one does not."""
    import msgspec

    from slowpath.compare.read import read_source
    from slowpath.compare.self_test import self_test
    from slowpath.compare.self_test_text import render_self_test

    found = self_test(read_source(run), launches, slowdown, trials, minimum_effect, seed)
    shown = msgspec.json.format(msgspec.json.encode(found), indent=1).decode() if as_json else render_self_test(found)
    click.echo(shown.rstrip("\n"))
    return 0 if found.met else 1


def _again(
    found: Gate, run: Source, baseline: Source, out: Path | None, budget: float | None, cell_timeout: float, quiet: bool
) -> Gate:
    """The gate after its flagged rows were measured again."""
    from slowpath.cli.finish import rebuild
    from slowpath.compare.gate import flagged, with_again
    from slowpath.compare.remeasure import find_sides, judge_again, measure_again
    from slowpath.run.execute import RunLimits
    from slowpath.run.progress import choose

    def tell(line: str) -> None:
        if not quiet:
            click.echo(line, err=True)

    rows, least = flagged(found), found.comparison.minimum_effect
    sides = find_sides(rows, run, baseline, os.environ, tell)
    tell(f"measuring {len(rows)} flagged comparisons again, under {', '.join(sides.libraries)}")
    limits, progress = RunLimits(cell_timeout, budget), choose(quiet)
    folder = measure_again(rows, run, baseline, sides, out, least, limits, progress, os.environ)
    fresh = judge_again(rows, rebuild(folder), baseline, sides.baseline, least)
    notes = [sides.note] if sides.note else []
    if missing := len(rows) - len(fresh):
        notes.append(
            f"{missing} flagged comparisons gave no fresh values (see the report in {folder}) and stay flagged"
        )
    return with_again(found, fresh, str(folder), notes)


def _print(found: Gate, form: str) -> None:
    import msgspec

    from slowpath.compare.export import github
    from slowpath.compare.text import render_gate

    if form == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=1))
        return
    render = {"text": render_gate, "markdown": github.summary, "github": github.commands}[form]
    click.echo(render(found).rstrip("\n"))
