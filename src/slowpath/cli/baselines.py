# SPDX-License-Identifier: Apache-2.0
"""slowpath compare, gate and reference"""

from __future__ import annotations

import math
import os
import platform
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slowpath.cli.options import (
    EFFECT,
    full_option,
    json_option,
    metric_option,
    minimum_effect_option,
    phase_option,
    phases_of,
    teller,
)
from slowpath.core.errors import EnvironmentFailure, RecordError, UsageError, exclude, unknown

if TYPE_CHECKING:
    from slowpath.compare.gate import Undecided


PATH = click.Path(path_type=Path)


@click.command("compare", epilog="Example: slowpath compare slowpath-runs/before slowpath-runs/after")
@click.argument("a", type=PATH)
@click.argument("b", type=PATH)
@minimum_effect_option("3%")
@metric_option()
@phase_option("all")
@full_option()
@json_option()
def compare_command(
    a: Path,
    b: Path,
    minimum_effect: float,
    metrics: tuple[str, ...],
    phase: str,
    full: bool,
    as_json: bool,
) -> int:
    """Compare two runs or two watches: B is judged against A.

    A and B are folders or results.json files. To fail a job on a slowdown: slowpath gate.
    """
    import msgspec

    if _are_watches(a, b):
        _compare_watches(a, b, as_json, full)
        return 0
    from slowpath.compare.comparison import compare
    from slowpath.compare.read import read_source

    comparison = compare(read_source(a), read_source(b), minimum_effect, metrics, phases_of(phase), by_parts=True)
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(comparison), indent=1).decode())
    else:
        from slowpath.compare.views import render_comparison, render_comparison_brief

        click.echo((render_comparison if full else render_comparison_brief)(comparison).rstrip("\n"))
    return 0


def _are_watches(a: Path, b: Path) -> bool:
    from slowpath.compare.read import read_source
    from slowpath.watch.compare import watches_in

    watched = [side for side in (a, b) if watches_in(side)]
    if missing := [side for side in (a, b) if side not in watched and not side.exists()]:
        read_source(missing[0])  # says so
    if len({side.resolve() for side in watched}) == 1:
        raise UsageError(f"only {watched[0]} is a watch; name two watches or two runs")
    return len(watched) == 2


def _compare_watches(a: Path, b: Path, as_json: bool, full: bool, minimum_effect: float | None = None) -> str:
    """Print the comparison of watches, with a minimum effect also the verdict by 95 % intervals; return its outcome."""
    from slowpath.watch.compare import FEWEST_RUNS, compared, comparison_json, comparison_lines, read_side

    comparison, effect, outcome = compared(read_side(a), read_side(b)), minimum_effect or 0.0, "undecided"
    low, high = comparison.interval or (0.0, math.inf)
    words = f"may be {100 * effect:.3g} % slower; watch {FEWEST_RUNS} runs or more of each side"
    if low > 1 and comparison.ratio > 1 + effect:
        outcome, words = "regression", f"is more than {100 * effect:.3g} % slower"
    elif high < 1 + effect:
        outcome, words = "pass", f"is not {100 * effect:.3g} % slower"
    verdict = [f"{outcome.upper()}: the program {words}."] if minimum_effect else []
    for line in [comparison_json(comparison)] if as_json else [*verdict, *comparison_lines(comparison, full)]:
        click.echo(line)
    return outcome


@click.command("gate", epilog="Example: slowpath gate new --baseline old --junit gate.xml")
@click.argument("run", type=PATH)
@click.option("--baseline", "baselines", required=True, multiple=True, type=PATH, help="Run folder or results.json.")
@minimum_effect_option("10%")
@click.option(
    "--exclude", "excluded", type=EFFECT, default="50%", show_default=True, help="A pass has no cell this much slower."
)
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
    help="Accepted differences: hardware, mpi, engine, placement, settings, shared, incomplete.",
)
@click.option(
    "--again/--no-again",
    default=None,
    help="Measure RUN anew, into RUN-again, if it does not pass.  [default: if it was measured on this host]",
)
@json_option()
@click.option("--junit", type=PATH, metavar="FILE", help="JUnit XML file.")
def gate_command(
    run: Path,
    baselines: tuple[Path, ...],
    minimum_effect: float,
    excluded: float,
    metrics: tuple[str, ...],
    phase: str,
    undecided: Undecided,
    accept: tuple[str, ...],
    again: bool | None,
    as_json: bool,
    junit: Path | None,
) -> int:
    """Pass or fail a run, or three watches of a program, against a baseline.

    A regression is a cell that is slower than the others by more than the minimum effect. What all cells share is
    divided out. Runs that differ in machine, MPI or settings are undecided; --accept judges them.

    Of several baselines the one that is most like RUN counts. Exit codes: 0 pass, 1 regression, 2 wrong usage, 3
    undecided, 4 refused.
    """
    import msgspec

    from slowpath.compare.gate import final_exit_code, gate, of_nearest

    if _are_watches(run, baselines[0]):
        for option, given in (("--junit", junit), ("--again", again), ("several baselines", baselines[1:])):
            if given:
                raise exclude(option, "a watch")
        outcome = _compare_watches(baselines[0], run, as_json, False, minimum_effect)
        return final_exit_code(outcome, undecided)
    from slowpath.compare.read import read_source
    from slowpath.compare.views import render_gate, render_junit
    from slowpath.core.files import write_atomically
    from slowpath.core.machine import host_of
    from slowpath.run.measure import measure_again
    from slowpath.run.progress import choose

    chosen = minimum_effect, metrics, phases_of(phase), _kinds(accept), excluded
    source = read_source(run)
    if again and source.folder is None:
        raise UsageError(f"--again: {run} holds results and no plan to measure; name its run folder")
    judged = of_nearest([gate(source, read_source(baseline), *chosen) for baseline in baselines])
    host = host_of(source.run.machine)
    is_here = again or host == platform.node()
    why_not = judged.why_not_again or ("" if is_here else f"{run} was measured on {host}; --again measures it here")
    if again is False or judged.outcome == "pass":
        pass
    elif why_not or source.folder is None:
        click.echo(f"not measured again: {why_not or f'{run} has no plan; name its run folder'}", err=True)
    else:
        named = Path(os.path.abspath(run if run.is_dir() else source.folder))  # `.` has no name of its own
        later = named.with_name(f"{named.name}-again")
        try:
            measure_again(source.folder, later, teller(), lambda: choose(False))
            judged = gate(source, read_source(Path(judged.comparison.a.path)), *chosen, read_source(later))
        except (EnvironmentFailure, RecordError) as error:
            if again:
                raise
            click.echo(f"not measured again: {error}", err=True)
    if junit is not None:
        write_atomically(junit, render_junit(judged, undecided))
    if as_json:
        click.echo(msgspec.json.format(msgspec.json.encode(judged), indent=1).decode())
    else:
        click.echo(render_gate(judged).rstrip("\n"))
    return final_exit_code(judged.outcome, undecided)


def _kinds(words: tuple[str, ...]) -> list[str]:
    """Return the kinds that --accept names, such as `hardware,mpi`.  Raises: UsageError."""
    from slowpath.compare.comparison import ACCEPTABLE

    kinds = [kind.strip() for word in words for kind in word.split(",")]
    if wrong := [kind for kind in kinds if kind not in ACCEPTABLE]:
        raise unknown("kind to --accept", wrong[0], ACCEPTABLE)
    return kinds


@click.group("reference", epilog="Example: slowpath reference add slowpath-runs/diagnose-20260131-120000")
def reference_command() -> None:
    """Keep your own healthy runs as references for diagnoses.

    Three runs on this kind of machine give a narrower range than those that come with Slowpath.
    """


@reference_command.command("add", epilog="Example: slowpath reference add slowpath-runs/diagnose-*")
@click.argument("runs", nargs=-1, required=True, type=PATH)
def add(runs: tuple[Path, ...]) -> int:
    """Keep run folders, diagnoses or results.json files as references.

    They lie in references/ of SLOWPATH_DATA_DIR, else of ~/.local/share/slowpath. A site sets the variable for all.
    """
    from slowpath.analyse.references import add_reference, references_folder
    from slowpath.compare.read import read_source

    for run in runs:
        results = read_source(run).results
        if results.verdict.faults:
            click.echo(f"{run} has faults, and they count as healthy now; to undo: slowpath reference remove", err=True)
        click.echo(add_reference(results, references_folder()))
    return 0


@reference_command.command("list", epilog="Example: slowpath reference list")
def list_() -> int:
    """List your references, then those of Slowpath, each with their folder."""
    from slowpath.analyse.references import read_references, references_folder
    from slowpath.core.files import data_folder

    for whose, folder in (("yours", references_folder()), ("Slowpath's", data_folder("references"))):
        tables, left_out = read_references(folder)
        click.echo(f"{whose}, in {folder}:{'' if tables else ' none'}")
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
    """Remove references by name."""
    from slowpath.analyse.references import references_folder, remove_references

    remove_references(names, references_folder())
    return 0
