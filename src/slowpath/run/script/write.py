# SPDX-License-Identifier: Apache-2.0
"""The job script of a campaign. Pure: text out of what was asked."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from dataclasses import dataclass

from slowpath.core.campaign import Campaign, PlacementTable
from slowpath.core.clean import line
from slowpath.mpi.batch_systems import JobScript
from slowpath.plan.places import most_nodes

BODY = """\
set -euo pipefail

campaign={campaign}
job={job}
out=slowpath-runs/{name}-$job
{before}
# The MPI to be measured and a C++20 compiler have to be loaded here.
{modules}
# On a file system that all nodes of the job see: the engine is built once, here, and started there.
export SLOWPATH_CACHE_DIR="${{SLOWPATH_CACHE_DIR:-$PWD/.slowpath-cache}}"

{slowpath} doctor
if [[ -f $out/run.json ]]; then # the job was started anew: what has been measured is kept
    {slowpath} resume "$out"{again}
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
    each = ranks_on_a_node(campaign.placements, ranks, nodes)
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


def ranks_on_a_node(placements: Sequence[PlacementTable], ranks: int, nodes: int) -> int:
    """The most ranks that any placement puts on one of `nodes`."""
    return max([1, *(_on_a_node(table, ranks, nodes) for table in placements)])


def too_few_nodes(campaign: Campaign, nodes: int) -> str | None:
    """A note on placements that `nodes` can't hold; None: they hold all."""
    short = [table.name for table in campaign.placements if most_nodes([table]) > nodes]
    if not short:
        return None
    return f"note: {', '.join(short)}: needs more than {nodes} nodes, so the cells there will be skipped"


def _on_a_node(table: PlacementTable, ranks: int, nodes: int) -> int:
    if table.spread is not None:
        return ranks
    if table.pairs:
        return 1
    return table.ranks_per_node or math.ceil(ranks / (table.nodes or nodes))
