# SPDX-License-Identifier: Apache-2.0
"""slowpath run --script: the job script of a campaign."""

from __future__ import annotations

import math
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from slowpath.core.campaign import Campaign, PlacementTable
from slowpath.core.errors import SlowpathError
from slowpath.core.files import data_folder
from slowpath.core.guard import line
from slowpath.mpi.batch_systems import JobScript, script_for
from slowpath.plan.campaign import Nodes, most_nodes
from slowpath.run.engine.build import WHEEL
from slowpath.run.prepare import campaign_named, prepare
from slowpath.run.progress import duration

BODY = """\
set -euo pipefail

campaign={campaign}
job={job}
out=slowpath-runs/{name}-$job
{before}
{modules}
# A folder that all nodes see:
export SLOWPATH_CACHE_DIR="${{SLOWPATH_CACHE_DIR:-$PWD/.slowpath-cache}}"

{slowpath} doctor
if [[ -f $out/run.json ]]; then
    {slowpath} run --resume "$out"{again}
else
    {slowpath} run "$campaign" --out "$out" --quiet{options}
fi
echo "report: $out/report.html"
"""


@dataclass(frozen=True)
class ScriptRequest:
    """What a script is for.

    campaign: name or absolute path, as the job is to call it.  slowpath: words that start it.  nodes: None: what the
    campaign's placements need.  mpi: as --mpi.  options: further words for `slowpath run`.  modules: those that are
    loaded now.
    """

    campaign: str
    slowpath: Sequence[str]
    minutes: int
    nodes: int | None = None
    ranks: Sequence[int] | None = None
    options: Sequence[str] = ()
    mpi: str | None = None
    modules: Sequence[str] = ()


def job_script(campaign: Campaign, script: JobScript, asked: ScriptRequest) -> str:
    """The text of the script, to be submitted by whoever wants to."""
    ranks = max(asked.ranks or campaign.ranks)
    nodes = asked.nodes or most_nodes(campaign.placements)
    each = max([1, *(_on_a_node(table, ranks, nodes) for table in campaign.placements)])
    known = {
        "job": f"slowpath-{campaign.name}",
        "nodes": nodes,
        "per_node": each,
        "ranks": nodes * each,
        "minutes": asked.minutes,
        "hours_minutes": f"{asked.minutes // 60:02d}:{asked.minutes % 60:02d}",
    }
    mpi = ["--mpi", asked.mpi] if asked.mpi else []
    options = [*mpi, *asked.options, *(["--ranks", ",".join(map(str, asked.ranks))] if asked.ranks else [])]
    head = [
        "#!/bin/bash",
        f"# {line(campaign.title)}",
        f"# Submit from a folder that all nodes see: {script.submit} SCRIPT",
        *(directive.format(**known) for directive in script.directives),
    ]
    body = BODY.format(
        campaign=shlex.quote(asked.campaign),
        job=script.job,
        name=campaign.name,
        before="\n".join(["", *script.before, ""]) if script.before else "",
        modules=f"module load {shlex.join(asked.modules)}" if asked.modules else "# module load ...",
        slowpath=shlex.join(asked.slowpath),
        options=_words(options),
        again=_words(mpi),
    )
    return "\n".join(head) + "\n\n" + body


def _words(words: Sequence[str]) -> str:
    return "".join(f" {shlex.quote(word)}" for word in words)


def too_few_nodes(campaign: Campaign, nodes: int) -> str | None:
    """A note on placements that `nodes` can't hold; None: they hold all."""
    short = [table.name for table in campaign.placements if most_nodes([table]) > nodes]
    if not short:
        return None
    return f"note: {', '.join(short)}: skipped, needs more than {nodes} nodes"


def _on_a_node(table: PlacementTable, ranks: int, nodes: int) -> int:
    if table.spread is not None:
        return ranks
    if table.pairs:
        return 1
    return table.ranks_per_node or math.ceil(ranks / (table.nodes or nodes))


BUILD_S, START_S = 300.0, 60.0
CACHE = "SLOWPATH_CACHE_DIR"
ROOM = 2  # the plan is an estimate; a job that is cut off goes on when it is submitted again
UNKNOWN_S = 1800.0


def print_script(
    campaign: str,
    scheduler: str,
    nodes: int | None,
    ranks: Sequence[int] | None,
    limit_s: float | None,
    mpi: str | None,
    budget_s: float | None,
) -> int:
    """Print the job script of a campaign on stdout, and the reason for the time that it asks for on stderr.

    The script runs the campaign in its allocation, and continues it when the batch system restarts the job. Modules
    that are loaded now are also loaded in the job.
    """
    resolved = campaign_named(campaign)
    if limit_s is None:
        limit_s, why = _time_for(campaign, nodes or most_nodes(resolved.placements), mpi, ranks, budget_s)
        click.echo(why, err=True)
    asked = ScriptRequest(
        campaign=str(Path(campaign).absolute()) if Path(campaign).is_file() else campaign,
        slowpath=_started_by(),
        minutes=max(1, math.ceil(limit_s / 60)),
        nodes=nodes,
        ranks=ranks,
        mpi=mpi,
        options=["--budget", f"{budget_s:g}s"] if budget_s else [],
        modules=[name for name in os.environ.get("LOADEDMODULES", "").split(":") if name],
    )
    if nodes and (note := too_few_nodes(resolved, nodes)):
        click.echo(note, err=True)
    click.echo(job_script(resolved, script_for(scheduler), asked), nl=False)
    return 0


def _time_for(
    campaign: str, nodes: int, mpi: str | None, ranks: Sequence[int] | None, budget_s: float | None
) -> tuple[float, str]:
    """Return the seconds to ask for, and a line with the reason: a build counts where the job has no engine."""
    there = Nodes(nodes, tuple(f"n{number}" for number in range(1, nodes + 1)))
    # A wheel's engine is put into the job's cache in no time; others are built into it.
    cache = os.environ if data_folder(WHEEL).is_dir() else {CACHE: os.environ.get(CACHE, ".slowpath-cache")}
    try:
        prepared = prepare(campaign, {**os.environ, **cache}, lambda _: None, mpi, ranks, dry=True, nodes=there)
        is_built, wall_s = all(library.is_built for library in prepared.libraries), prepared.cost.wall_s
        asked_s, why = ROOM * wall_s, f"{ROOM} times {duration(wall_s)} for {prepared.cost.launches} launches"
    except SlowpathError as error:
        is_built, asked_s = budget_s is None, UNKNOWN_S
        why = f"{duration(UNKNOWN_S)}, without a plan ({error}); set it with --time"
    if budget_s is not None:
        asked_s, why = budget_s, "the budget"
    build_s, more = (0.0, "") if is_built else (BUILD_S, f" and {duration(BUILD_S)} to build the engine")
    return asked_s + START_S + build_s, f"time: {why}, {duration(START_S)} to start{more}"


def _started_by() -> list[str]:
    """Return the words that start this program on any node."""
    beside = Path(sys.executable).parent / "slowpath"
    return [str(beside)] if beside.is_file() else [sys.executable, "-m", "slowpath.cli"]
