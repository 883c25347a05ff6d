# SPDX-License-Identifier: Apache-2.0
"""slowpath run"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from slowpath.cli.options import DURATION, RANKS, cell_timeout_option, dry_run_option, full_option, quiet_option, teller
from slowpath.core.errors import UsageError
from slowpath.core.units import listed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from slowpath.core.plan import Cell, Plan
    from slowpath.core.results import Results
    from slowpath.run.prepare import Library, PreparedRun

EPILOG = "Example: slowpath run checkup --mpi openmpi --budget 10m --out my-run"


@click.command("run", epilog=EPILOG)
@click.argument("campaign", required=False)
@click.option("--ranks", type=RANKS, help="MPI ranks instead of the campaign's: 4, or several as 1,2,4.")
@click.option(
    "--mpi",
    help="Path of mpiexec, a prefix, mpich, craympich, ..., embedded, cuda; several with commas, "
    "or all.  [default: the campaign's, else PATH]",
)
@click.option("--out", type=click.Path(path_type=Path), help="Run folder.  [default: slowpath-runs/CAMPAIGN-DATE]")
@click.option("--rounds", type=click.IntRange(1), help="Launches of each configuration.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**48 - 1),
    help="Order of the launches.",
)
@click.option("--budget", type=DURATION, help="Time limit (90s, 5m, 1h).")
@cell_timeout_option()
@click.option(
    "--fail-on",
    type=click.Choice(["bad-node", "slow-link"]),
    multiple=True,
    help="Exit with 1 if no pair of a node was measured (bad-node), or a pair is slower than the others (slow-link).",
)
@click.option("--list", "listing", is_flag=True, help="List shipped campaigns.")
@dry_run_option()
@click.option("--resume", "resumed", type=click.Path(path_type=Path), help="Continue this folder, hung launches too.")
@click.option(
    "--trust",
    is_flag=True,
    help="Allow the commands that the folder names, and another machine.",
)
@click.option(
    "--script",
    type=click.Choice(["slurm", "pbs", "lsf", "flux"]),
    help="Print a job script for this batch system.",
)
@click.option("--nodes", type=click.IntRange(1), help="Nodes of --script.  [default: as needed]")
@click.option("--time", "limit_s", type=DURATION, help="Time of --script.  [default: twice the plan]")
@quiet_option()
@full_option()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
def run_command(
    campaign: str | None,
    ranks: tuple[int, ...] | None,
    mpi: str | None,
    out: Path | None,
    rounds: int | None,
    seed: int | None,
    budget: float | None,
    cell_timeout: float,
    fail_on: tuple[str, ...],
    listing: bool,
    dry_run: bool,
    resumed: Path | None,
    trust: bool,
    script: str | None,
    nodes: int | None,
    limit_s: float | None,
    quiet: bool,
    full: bool,
    as_json: bool,
) -> int:
    """Measure a campaign on this machine and report what is slow.

    CAMPAIGN is the name of a shipped campaign (default: checkup) or a TOML file. --resume keeps finished launches.
    """
    from slowpath.analyse.build import CHECKS
    from slowpath.cli.options import exit_code_of, show
    from slowpath.record.folder import require_free
    from slowpath.report.write import rebuild
    from slowpath.run.machine import others_now
    from slowpath.run.measure import create, measure, resume
    from slowpath.run.prepare import command_lines, inherited_processors, prepare
    from slowpath.run.progress import choose
    from slowpath.run.reopen import Terms
    from slowpath.run.schedule import Patience, RunLimits

    _require_fitting(resumed, [campaign, ranks, out, rounds, seed, script, *fail_on], trust)
    if (nodes or limit_s) and not script:
        raise UsageError("--nodes and --time need --script")
    if listing:
        return _list_campaigns()
    if script is not None:
        from slowpath.cli.script import print_script

        return print_script(campaign or "checkup", script, nodes, ranks, limit_s, mpi, budget)
    is_told = click.get_current_context().get_parameter_source("cell_timeout") is ParameterSource.COMMANDLINE
    patience = None if is_told else Patience()
    limits = RunLimits(cell_timeout, budget, patience=patience, whole_rounds=resumed is None)
    tell = teller(quiet)
    if resumed is not None:
        resume(resumed, os.environ, tell, limits, lambda: choose(quiet), Terms(mpi, trust))
        results = rebuild(resumed)
        show(resumed, results, "json" if as_json else "text", full)
        return exit_code_of(results)
    if out is not None and not dry_run:
        require_free(out)  # before minutes of compiling
    prepared = prepare(campaign or "checkup", os.environ, tell, mpi, ranks, rounds, seed, budget, dry_run)
    for line in summary(prepared):
        tell(line)
    if dry_run:
        for line in _parameter_lines(prepared.plan, campaign or "checkup"):
            tell(line)
        for line in command_lines(prepared.commands, prepared.expected, out or Path("RUN")):
            click.echo(line)
        return 0
    others = others_now(inherited_processors()) if prepared.plan.campaign in CHECKS else None
    run = create(prepared, out, ["slowpath", *sys.argv[1:]], others)
    tell(f"run folder: {run}")
    measure(run, prepared.plan, prepared.commands, limits, choose(quiet))
    results = rebuild(run)
    show(run, results, "json" if as_json else "text", full)
    return exit_code_of(results) or int(any(_is_there(condition, results) for condition in fail_on))


def _require_fitting(resumed: Path | None, for_new_runs: Sequence[object], for_resume: bool) -> None:
    if resumed is not None and any(value is not None for value in for_new_runs):
        raise UsageError("--resume FOLDER keeps its plan: leave out campaign, ranks, out, rounds and seed")
    if resumed is None and for_resume:
        raise UsageError("--trust needs --resume FOLDER")


def _list_campaigns() -> int:
    from slowpath.run.prepare import campaign_named, shipped_campaigns

    names = shipped_campaigns()
    width = max(map(len, names))
    for name in names:
        click.echo(f"{name:<{width}}  {campaign_named(name).title}")
    return 0


MOST_VALUES = 6


def _parameter_lines(plan: Plan, campaign: str) -> list[str]:
    """Return the campaign's file, and of each group of cells the experiment and what differs from its defaults."""
    from slowpath.core.engine_description import recorded
    from slowpath.plan.campaign import shipped

    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in plan.cells:
        groups.setdefault((cell.group, cell.experiment), []).append(cell)
    lines = [f"campaign file: {shipped().get(campaign, campaign)}"]
    for (group, experiment), cells in groups.items():
        values: dict[str, dict[str, None]] = {}
        for name, value in ((name, value) for cell in cells for name, value in cell.parameters.items()):
            values.setdefault(name, {})[str(value)] = None
        defaults = recorded().experiment(experiment).defaults()
        shown = [
            f"{name} {_some(list(different))}"
            for name, different in values.items()
            if list(different) != [defaults.get(name)]
        ]
        lines.append(f"  {group}: {len(cells)} cells of {experiment}: {'; '.join(shown)}")
    return lines


def _some(values: Sequence[str]) -> str:
    """Return the first and the last of many values, and how many they are."""
    if len(values) <= MOST_VALUES:
        return ", ".join(values)
    return f"{', '.join(values[: MOST_VALUES - 2])}, ... {values[-1]} ({len(values)} values)"


def _is_there(condition: str, results: Results) -> bool:
    if condition == "bad-node":
        return any(matrix.failed_nodes for matrix in results.node_pairs)
    return any(pair.verdict == "slower" for matrix in results.node_pairs for pair in matrix.pairs)


def summary(prepared: PreparedRun) -> list[str]:
    """Return the lines that state what the run will do, cost and leave out."""
    from slowpath.run.progress import duration

    plan, cost = prepared.expected, prepared.cost
    skipped = sum(cell.skip is not None for cell in plan.cells)
    lines = [
        f"{plan.campaign}: {len(plan.cells) - skipped} cells, {plan.rounds} rounds, {cost.launches} launches of "
        f"{_either(plan.rank_counts)} ranks, about {duration(cost.wall_s)} ({cost.node_s:.0f} node-seconds), "
        f"seed {plan.seed}",
        *(library.line for library in prepared.libraries),
    ]
    cores = prepared.commands.cores
    if over := [count for count in _timed_ranks(plan) if count > cores]:
        lines.append(
            f"warning: oversubscribed: {_either(over)} ranks share {cores} cores, so times include waiting for a core"
        )
        lines += [hint for library in prepared.libraries if (hint := _yielding(library))]
    reasons: dict[str, int] = {}
    for cell in plan.cells:
        if cell.skip is not None:
            reasons[cell.skip] = reasons.get(cell.skip, 0) + 1
    lines += [f"skipped: {count} cells: {reason}" for reason, count in reasons.items()]
    return [*lines, *prepared.notes, *([prepared.budget_note] if prepared.budget_note else [])]


def _timed_ranks(plan: Plan) -> list[int]:
    """Return the rank counts of launches whose times are used. Witnessed launches are only counted."""
    witnessed = {environment.name for environment in plan.environments if environment.witness}
    return sorted({plan.ranks_of(launch.placement) for launch in plan.launches if launch.environment not in witnessed})


def _yielding(library: Library) -> str | None:
    """Return the hint that makes waiting ranks of this library yield their core, or None if there is no known setting.

    A rank that spins in MPICH's shared memory keeps its core until the scheduler's slice ends: a reduction of 1 MiB
    over 8 ranks on 2 cores was not over after 60 s.
    """
    variables, _ = library.resolve("yield_when_idle")
    if not variables:
        return None
    written = " ".join(f"{name}={value}" for name, value in variables.items())
    return f"hint: {written} in front of this command lets ranks of {library.mpi.name} yield in collectives"


def _either(counts: Sequence[int]) -> str:
    return listed([str(count) for count in counts], "or")
