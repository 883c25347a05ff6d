# SPDX-License-Identifier: Apache-2.0
"""A replay from its campaign to a measured run in the folder of the watch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowpath.core.campaign import Campaign
from slowpath.core.errors import EnvironmentFailure
from slowpath.run.cores import allocated_nodes, allowed_cores
from slowpath.run.engine.meter import Tell
from slowpath.run.limits import RunLimits
from slowpath.run.measure import create, measure_prepared
from slowpath.run.prepare import PreparedRun, prepare
from slowpath.run.progress import choose
from slowpath.watch.analysis import Watched
from slowpath.watch.collective_prices import CollectiveQuestion, collective_words
from slowpath.watch.conclude import Asking
from slowpath.watch.replay.campaign import campaign_of
from slowpath.watch.replay.library import launcher_of
from slowpath.watch.results import WatchResults
from slowpath.watch.sources import next_price_folder, settings_of


def prepared_for(
    watched: Watched,
    asked: Asking,
    environ: Mapping[str, str],
    tell: Tell,
    mpi: str | None,
    rounds: int | None,
    budget_s: float,
    dry: bool,
) -> tuple[PreparedRun, Campaign]:
    """What would be measured, and its campaign.

    Args:   mpi: as the user names the program's MPI; None: it is searched.  dry: nothing is compiled.
    Raises: UsageError: it is another MPI; the budget is too small.  EnvironmentFailure: the program's MPI is not here,
            or no question can be measured here.
    """
    launcher = launcher_of(watched.results.program, mpi, environ)
    collectives, crowded = _with_cores(asked.collectives, allowed_cores() * allocated_nodes(environ))
    for line in crowded:
        tell(line)
    then, now = settings_of(watched.variables), settings_of(environ)
    given = {name: value for name, value in then.items() if value is not None and now.get(name) != value}
    taken = [name for name in now if name not in then]
    campaign = campaign_of(asked.questions, asked.loads, given, taken, _nodes(watched.results), collectives)
    if not campaign.cells:
        raise EnvironmentFailure(nothing_left(asked))
    return prepare(campaign, environ, tell, launcher, None, rounds, None, budget_s, dry), campaign


def nothing_left(asked: Asking) -> str:
    """Why a program has nothing that can be measured here, and what can be done. Args: asked: its collectives alone."""
    ranks = sorted({one.of.ranks for one in asked.collectives})
    least = f"of {ranks[0]} cores or more" if ranks else "with more cores"
    return (
        "nothing of this program can be measured here: its time is in collectives, which need a core for each rank; "
        f"replay the watch on a machine {least}, or take prices from one: slowpath replay WATCH --laws RUN"
    )


def _with_cores(asked: Sequence[CollectiveQuestion], cores: int) -> tuple[list[CollectiveQuestion], list[str]]:
    """Those whose ranks can have a core each, and a line for each other one."""
    found = [one for one in asked if one.of.ranks <= cores]
    here = "there is one core" if cores == 1 else f"there are {cores} cores"
    return found, [
        f"no cell for {collective_words(one.of)}: {here} here, so its time would be the scheduler's"
        for one in asked
        if one.of.ranks > cores
    ]


def measured(
    watch: Path, prepared: PreparedRun, command: list[str], cell_timeout_s: float, budget_s: float, quiet: bool
) -> Path:
    """Measure into a new folder of the watch.  Raises: Interrupted, EnvironmentFailure; what was measured is kept."""
    run = next_price_folder(watch)
    create(prepared, run, command)
    measure_prepared(run, prepared, RunLimits(cell_timeout_s, budget_s), choose(quiet))
    return run


def _nodes(results: WatchResults) -> int:
    """2 where most bytes go between hosts."""
    host = {rank.rank: rank.host for rank in results.ranks}
    sent: Counter[bool] = Counter()
    for pair in results.pairs:
        sent[host.get(pair.source) != host.get(pair.destination)] += pair.bytes
    return 2 if sent[True] > sent[False] else 1
