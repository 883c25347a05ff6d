# SPDX-License-Identifier: Apache-2.0
"""slowpath compare, gate and reference"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.options import (
    EFFECT,
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


PATH = click.Path(path_type=Path)


@click.command("compare", epilog="Example: slowpath compare slowpath-runs/before slowpath-runs/after")
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@minimum_effect_option("3%", "Smallest difference that counts.")
@metric_option()
@phase_option("all")
@format_option("text", "json")
@full_option()
@json_option()
def compare_command(
    a: Path,
    b: Path,
    minimum_effect: float,
    metrics: tuple[str, ...],
    phase: str,
    format: str,
    full: bool,
    as_json: bool,
) -> int:
    """Compare two runs cell by cell, or two watches.

    A and B are run folders or results.json files: two dates, two libraries, two machines. B is judged against A. The
    runs were not interleaved, and all differences between them are listed first. Exit codes: 0 whatever the result, 2
    wrong usage, 4 a file refused or nothing measured. To fail a job on a slowdown: slowpath gate.

    Runs of cannon are compared by the whole multiplication, its computation and its communication, for all styles.

    Of two folders of slowpath watch, before and after a change of the program: what became faster, by account and
    place, and whether it was what the first watch had promised. A folder of several watches is one side of several
    runs; from three on each side the ratio has an interval.
    """
    import msgspec

    if _are_watches(a, b):
        return _compare_watches(a, b, as_json or format == "json", full)
    from slowpath.compare.comparison import compare
    from slowpath.compare.read import read_source

    comparison = compare(read_source(a), read_source(b), minimum_effect, metrics, phases_of(phase), by_parts=True)
    if as_json or format == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(comparison), indent=1).decode())
    else:
        from slowpath.compare.views import render_comparison, render_comparison_brief

        click.echo((render_comparison if full else render_comparison_brief)(comparison).rstrip("\n"))
    return 0


def _are_watches(a: Path, b: Path) -> bool:
    from slowpath.watch.compare import watches_in

    watched = [bool(watches_in(side)) for side in (a, b)]
    if any(watched) and not all(watched):
        raise UsageError(f"{(b, a)[watched[1]]}: is not a watch, but {(a, b)[watched[1]]} is; name two watches")
    return all(watched)


def _compare_watches(a: Path, b: Path, as_json: bool, full: bool) -> int:
    from slowpath.watch.compare import compared, comparison_json, comparison_lines, read_side

    comparison = compared(read_side(a), read_side(b))
    for line in [comparison_json(comparison)] if as_json else comparison_lines(comparison, full):
        click.echo(line)
    return 0


@click.command("gate", epilog="Example: slowpath gate new --baseline old --junit gate.xml")
@click.argument("run", type=PATH)
@click.option("--baseline", "baselines", required=True, multiple=True, type=PATH, help="Run folder or results.json.")
@minimum_effect_option("10%", "Smallest slowdown that counts.")
@click.option(
    "--exclude", "excluded", type=EFFECT, default="50%", show_default=True, help="Slowdown in no cell of a pass."
)
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
    "shared, incomplete.",
)
@format_option("text", "json")
@json_option()
@click.option("--junit", type=PATH, metavar="FILE", help="Also write JUnit XML to this file.")
def gate_command(
    run: Path,
    baselines: tuple[Path, ...],
    minimum_effect: float,
    excluded: float,
    metrics: tuple[str, ...],
    phase: str,
    undecided: Undecided,
    accept: tuple[str, ...],
    format: str,
    as_json: bool,
    junit: Path | None,
) -> int:
    """Pass or fail a run against a baseline, or watches of a program against earlier ones.

    What all cells share is divided out and said. A regression is a cell that is slower than the others by more than the
    minimum effect, beyond what cells differ by among themselves, corrected for their number. A pass excludes a slowdown
    of --exclude in each cell; both runs need 8 launches a cell for it, and noisy cells 16.

    The two runs must be comparable: the same kind of machine, MPI, engine, placement and settings, each cell of both
    measured and compared, and no more than 10 % that all cells share: a machine that is slower as a whole says nothing
    about single cells. What differs is named, and the gate is undecided; --accept judges anyway. Of several
    baselines the one counts whose work without MPI took times most like those of RUN.

    Watches are compared by the whole program's time: three or more of it in RUN and three in the baseline.

    Exit codes: 0 pass, 1 regression, 2 wrong usage, 3 undecided, 4 the machine or a file refused, or nothing measured.
    """
    import msgspec

    if _are_watches(run, baselines[0]):
        if junit is not None:
            raise UsageError("--junit: has a case for each cell of a run, and a watch has none")
        if len(baselines) > 1:
            raise UsageError("--baseline: name one folder, which may hold several watches")
        return _gate_watches(run, baselines[0], minimum_effect, undecided, as_json or format == "json")
    from slowpath.compare.gate import final_exit_code, gate, of_nearest
    from slowpath.compare.read import read_source
    from slowpath.compare.views import render_gate, render_junit
    from slowpath.core.files import write_atomically

    chosen = minimum_effect, metrics, phases_of(phase), _kinds(accept), excluded
    source = read_source(run)
    judged = of_nearest([gate(source, read_source(baseline), *chosen) for baseline in baselines])
    if junit is not None:
        write_atomically(junit, render_junit(judged, undecided))
    if as_json or format == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(judged), indent=1).decode())
    else:
        click.echo(render_gate(judged).rstrip("\n"))
    return final_exit_code(judged.outcome, undecided)


def _gate_watches(run: Path, baseline: Path, minimum_effect: float, undecided: Undecided, as_json: bool) -> int:
    """By the interval of the program's time over its runs, at 95 %."""
    from slowpath.compare.gate import final_exit_code
    from slowpath.watch.compare import FEWEST_RUNS, compared, comparison_json, comparison_lines, read_side

    comparison = compared(read_side(baseline), read_side(run))
    low, high = comparison.interval or (0.0, math.inf)
    outcome, words = "undecided", f"is neither shown nor excluded; watch {FEWEST_RUNS} runs or more on a quiet machine"
    if low > 1 and comparison.ratio > 1 + minimum_effect:
        outcome, words = "regression", "is shown"
    elif high < 1 + minimum_effect:
        outcome, words = "pass", "is excluded"
    verdict = f"{outcome.upper()}: that the program takes {100 * minimum_effect:.3g} % longer {words}."
    for line in [comparison_json(comparison)] if as_json else [verdict, *comparison_lines(comparison)]:
        click.echo(line)
    return final_exit_code(outcome, undecided)


def _kinds(words: tuple[str, ...]) -> list[str]:
    """Return the kinds that --accept names, such as `hardware,mpi`.  Raises: UsageError."""
    from slowpath.compare.comparison import ACCEPTABLE

    kinds = [kind.strip() for word in words for kind in word.split(",")]
    if wrong := [kind for kind in kinds if kind not in ACCEPTABLE]:
        raise UsageError(f"--accept '{wrong[0]}': is none of {', '.join(ACCEPTABLE)}")
    return kinds


@click.group("reference", epilog="Example: slowpath reference add slowpath-runs/diagnose-20260131-120000")
def reference_command() -> None:
    """Keep healthy runs as references for diagnoses.

    A diagnosis compares each cell with healthy runs: those that come with Slowpath and your own. Three runs on the same
    kind of machine under the same MPI library give a range that is much narrower than that of other machines. Your
    references are kept in the folder references of SLOWPATH_DATA_DIR, else of the user's data folder.
    """


@reference_command.command("add", epilog="Example: slowpath reference add slowpath-runs/diagnose-*")
@click.argument("runs", nargs=-1, required=True, type=PATH)
def add(runs: tuple[Path, ...]) -> int:
    """Keep the times of RUNS as references. RUNS are run folders, diagnoses and results.json files."""
    from slowpath.analyse.references import add_reference, references_folder
    from slowpath.compare.read import read_source

    for run in runs:
        click.echo(add_reference(read_source(run).results, references_folder()))
    return 0


@reference_command.command("list", epilog="Example: slowpath reference list")
def list_() -> int:
    """List the references with their MPI, machine and number of times: your own, then those of Slowpath."""
    from slowpath.analyse.references import read_references, references_folder
    from slowpath.core.files import data_folder

    for folder in (references_folder(), data_folder("references")):
        tables, left_out = read_references(folder)
        for table in tables:
            for number, run in enumerate(table.runs):
                times = sum(row[number] is not None for row in table.values.values())
                click.echo(f"{run.name}  {run.source}; {run.mpi}; {run.machine}; {run.ranks} ranks, {times} times")
        for line in left_out:
            click.echo(f"left out: {line}", err=True)
    return 0


@reference_command.command("remove", epilog="Example: slowpath reference remove survey-20260131-120000@node1")
@click.argument("names", nargs=-1, required=True)
def remove(names: tuple[str, ...]) -> int:
    """Remove your references of these NAMES."""
    from slowpath.analyse.references import references_folder, remove_references

    remove_references(names, references_folder())
    return 0
