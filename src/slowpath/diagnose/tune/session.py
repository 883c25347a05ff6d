# SPDX-License-Identifier: Apache-2.0
"""What the runs of a tuning show: ways of a cell with their times, and factors of the files. Pure."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Final

from slowpath.core.campaign import Campaign
from slowpath.core.cell_results import CellResult
from slowpath.core.errors import UsageError
from slowpath.core.results import Results
from slowpath.diagnose.tune.cells import (
    TOGETHER,
    TUNED,
    VIEWS,
    CellFactor,
    CollectiveCell,
    Grid,
    Shares,
    TuneRequest,
    WayTrial,
    broken,
    choosing,
    comparing,
    grid_of,
    picks,
    pooled,
    proven,
    to_go,
    view_of,
    whole,
    with_picks,
)
from slowpath.diagnose.tune.files import PRELOAD, preload_beside, written
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.tuning import Measured, Pick, environments
from slowpath.report.write import rebuild
from slowpath.run.engine.build import Tell
from slowpath.run.measure import create, measure, resume
from slowpath.run.prepare import PreparedRun, allocated_nodes, prepare
from slowpath.run.progress import choose, duration
from slowpath.run.reopen import Terms
from slowpath.run.schedule import Paces, RunLimits


def trials(results: Results, request: TuneRequest, ranks: int) -> dict[CollectiveCell, list[WayTrial]]:
    """Of the run that chooses: the ways of each cell that were measured."""
    forced = {
        f"forced {n + 1}": chosen for n, (chosen, _) in enumerate(environments(request.library, request.collectives))
    }
    by_cell: dict[CollectiveCell, list[WayTrial]] = {}
    for cell in results.cells:
        metric = cell.metrics.get(TOGETHER.metric)
        estimate = metric.phases.get("steady") if metric is not None else None
        time_s = None if estimate is None else estimate.value
        if time_s is None:
            continue
        place, way = cell_of(cell, ranks), cell.parameters["way"]
        algorithm = forced.get(cell.environment, {}).get(place.collective)
        if way != "library":
            by_cell.setdefault(place, []).append(WayTrial("mockup", way, time_s))
        elif algorithm is not None:
            by_cell.setdefault(place, []).append(WayTrial("algorithm", algorithm, time_s))
        else:
            by_cell.setdefault(place, []).append(WayTrial(None, "", time_s))
    return by_cell


def factors(results: Results, ranks: int) -> list[CellFactor]:
    """Of a run with contrasts: those of the file as a whole."""
    cells = {cell.cell: cell for cell in results.cells}
    measured: list[CellFactor] = []
    for contrast in results.contrasts:
        cell = cells[contrast.b.cell]
        view = view_of(cell.parameters, contrast.metric)
        if view is not None and contrast.pairs and contrast.axis == "environment" and contrast.b.value == TUNED:
            pairs = tuple((a_s, b_s) for a_s, b_s in contrast.pairs)
            measured.append(CellFactor(cell_of(cell, ranks), pairs, view=view.name))
    return measured


def cell_of(cell: CellResult, ranks: int) -> CollectiveCell:
    """Where a cell stands in the grid."""
    return CollectiveCell(cell.parameters["collective"], ranks, int(cell.parameters["message_bytes"]))


# A tuning from its request to verified files: choose, prove, verify, each in launches of its own.

NEAR_RATIO: Final = 2.0  # so close may neighbours choose differently
MOST_STEPS: Final = 5  # each halves the octaves between two lengths: enough for any two below 4 GiB
_WHOLE: Final = 8  # lengths are multiples of it, so that reductions can take doubles


def between(grid: Grid, picks: Sequence[Pick]) -> Grid:
    """The lengths to be measured next: the middle of neighbours that choose differently and are not near each other.

    Args: picks: of one number of ranks.
    """
    chosen = {(pick.collective, pick.bytes): (pick.kind, pick.name) for pick in picks}
    by_collective: dict[str, list[int]] = {}
    for collective, lengths in grid.items():
        for low, high in pairwise(sorted(lengths)):
            if chosen.get((collective, low)) == chosen.get((collective, high)):
                continue
            length = middle(low, high)
            if length is not None:
                by_collective.setdefault(collective, []).append(length)
    return by_collective


def middle(low: int, high: int) -> int | None:
    """The power of two nearest to the geometric mean, or else a multiple of 8; None: they are near each other."""
    if high <= NEAR_RATIO * max(low, 1):
        return None
    wanted = math.sqrt(max(low, 1) * high)
    for length in (2 ** round(math.log2(wanted)), round(wanted / _WHOLE) * _WHOLE):
        if low < length < high:
            return length
    return None


def joined(grid: Grid, more: Grid) -> Mapping[str, Sequence[int]]:
    """The lengths of both."""
    return {name: sorted({*lengths, *more.get(name, ())}) for name, lengths in grid.items()}


MOST_PROOFS = 2  # of one choice: what is neither proven nor refuted by then keeps the library's own choice
MOST_VERIFICATIONS = 6  # runs; each file that does badly is measured twice before something of it goes
WAYS_OF_TIMING = len({tuple(sorted(view.parameters.items())) for view in VIEWS})
_LEAST_ROUNDS = 5  # of a step that the budget would make shorter, unless it ends the step before
_SHORT = "{} left out; allow a longer --budget"
LEAST_S = 5.0  # of a step that can't be left out, however little the budget leaves it


@dataclass(frozen=True)
class Tuned:
    """What a tuning came to. factors: of the last files that were verified, each cell in each view.  variables: that
    switch them on.

    unverified: what was taken out after the last verification, for which no further one was left.  measured: all
    lengths, those between the asked ones included.
    """

    factors: tuple[CellFactor, ...]
    picks: tuple[Pick, ...]
    variables: Mapping[str, str]
    unverified: tuple[Pick, ...] = ()
    measured: Measured = field(default_factory=dict)


@dataclass(frozen=True)
class Session:
    """Folder, request, and how to measure."""

    folder: Path
    request: TuneRequest
    mpi: Mpi
    environ: Mapping[str, str]
    tell: Tell
    quiet: bool
    command: Sequence[str]
    cores: int
    cell_timeout_s: float = 60.0
    shares: Shares = field(default_factory=Shares)
    paces: Paces = field(default_factory=Paces)
    preload: Path | None = None

    def prepared(
        self,
        campaign: Campaign,
        ranks: int,
        share_s: float | None = None,
        *,
        rounds: int | None = None,
        dry: bool = False,
    ) -> PreparedRun:
        """A step, in so many seconds.  Raises: UsageError, EnvironmentFailure."""
        mpi = self.request.mpi
        pace = self.paces.pace(ranks)
        return prepare(campaign, self.environ, self.tell, mpi, (ranks,), rounds, None, share_s, dry, pace=pace)

    def first(self) -> PreparedRun:
        """The first step, planned; the engine is built."""
        return self.prepared(self.first_campaign(), self.request.ranks[0])

    def costs(self, *, dry: bool = False) -> list[str]:
        """What all steps take, a line for each number of ranks: verifying measures each cell in three ways, with and
        without the files."""
        said, total_s, request = [], 0.0, self.request
        for ranks in request.ranks:
            prepared = self.prepared(choosing(request, self.bind(ranks), whole(request, ranks)), ranks, dry=dry)
            choose_s, environments = prepared.cost.wall_s, max(1, prepared.cost.launches // prepared.plan.rounds)
            round_s = 2 * choose_s / ((environments + 1) * prepared.plan.rounds)  # of each cell with and without
            prove_s, verify_s = request.rounds * round_s / 2, request.verifying_rounds * WAYS_OF_TIMING * round_s
            total_s += choose_s + prove_s + verify_s
            said.append(
                f"{ranks} ranks: {len(prepared.plan.cells)} cells, choosing about {duration(choose_s)}, proving up "
                f"to {duration(prove_s)}, each verification {duration(verify_s)}"
            )
        return [
            *said,
            f"all steps: about {duration(total_s)} with one verification",
        ]

    def first_campaign(self) -> Campaign:
        """The campaign of the first step."""
        ranks = self.request.ranks[0]
        return choosing(self.request, self.bind(ranks), whole(self.request, ranks))

    def bind(self, ranks: int) -> str:
        """Ranks that share cores are not bound."""
        return "core" if ranks <= self.cores else "none"

    def tuned(self) -> Tuned:
        """All steps; those that were measured before are not measured again.  Raises: Interrupted; as `run`."""
        chosen: list[Pick] = []
        grids: dict[int, Grid] = {}
        for ranks in self.request.ranks:
            picked, grids[ranks] = self._chosen(ranks)
            chosen += picked
        return self._verified(self._proven(chosen, measured_of(grids)), grids)

    def _chosen(self, ranks: int) -> tuple[list[Pick], Grid]:
        """What seems fastest, and all lengths that this took: those between neighbours that choose differently, too."""
        grid, bind = whole(self.request, ranks), self.bind(ranks)
        results = self._measured(f"choose-{ranks}", choosing(self.request, bind, grid), ranks)
        ways = trials(results, self.request, ranks)
        picked = picks(ways)
        for number in range(1, MOST_STEPS + 1):
            more = {} if self.request.uses else between(grid, picked)
            if not more:
                break
            cells = _cells(sum(map(len, more.values())))
            self.tell(f"{ranks} ranks: {cells} between lengths")
            finer = self._if_held(f"finer-{number}-{ranks}", choosing(self.request, bind, more), ranks)
            if finer is None:
                self.tell(_SHORT.format(cells))
                break
            results = finer
            ways, grid = {**ways, **trials(results, self.request, ranks)}, joined(grid, more)
            picked = picks(ways)
        if self.preload is None:  # nothing puts a mock-up in place
            picked = [pick for pick in picked if pick.kind == "algorithm"]
        self.tell(f"{ranks} ranks: {_cells(len(picked))} to prove")
        return picked, grid

    def _proven(self, chosen: Sequence[Pick], measured: Measured) -> list[Pick]:
        """Their cells alone, by the files as they will be used; once more where that leaves it open."""
        folder = self.folder / "candidates"
        variables = written(folder, self.request, chosen, measured, self.mpi, self.environ, self.preload)
        kept: list[Pick] = []
        for ranks in self.request.ranks:
            open_, runs = [pick for pick in chosen if pick.ranks == ranks], list[list[CellFactor]]()
            for number in range(1, MOST_PROOFS + 1):
                if not open_:
                    break
                if number > 1 and self._is_spent():
                    self.tell(_SHORT.format(_cells(len(open_))))
                    break
                campaign = comparing(self.request, grid_of(open_), variables, self.bind(ranks), self.request.rounds)
                runs.append(factors(self._measured(f"prove-{number}-{ranks}", campaign, ranks, variables), ranks))
                joint = with_picks(pooled(runs), [pick for pick in chosen if pick.ranks == ranks])
                open_ = [factor.pick for factor in joint if factor.pick in open_ and factor.promising]
            kept += proven(with_picks(pooled(runs), chosen))
        self.tell(f"{_cells(len(kept))} of {len(chosen)} proven to be faster")
        return kept

    def _verified(self, kept: list[Pick], grids: Mapping[int, Grid]) -> Tuned:
        """Files of what was proven, all cells against the library without them, in fresh launches, timed in each view.

        Files with a cell that does badly, or of which nothing can be promised, are measured a second time; what both
        runs together speak against goes.
        """
        runs: list[list[CellFactor]] = []
        seen: list[CellFactor] = []
        gone: set[Pick] = set()
        measured = measured_of(grids)
        for number in range(1, MOST_VERIFICATIONS + 1):
            variables = written(self.folder, self.request, kept, measured, self.mpi, self.environ, self.preload)
            if not kept:
                return Tuned((), (), variables, (), measured)
            if number > 1 and self._is_spent():
                self.tell(_SHORT.format("a second verification"))
                break
            runs.append(self._verification(number, grids, variables))
            seen = with_picks(pooled(runs), kept)
            gone = to_go(seen) | broken(seen) | unseen(seen, kept)
            if not gone:
                return Tuned(tuple(seen), tuple(kept), variables, (), measured)
            if len(runs) > 1:
                self.tell(f"{_cells(len(gone))} not confirmed")
                kept, runs = [pick for pick in kept if pick not in gone], []
        kept = [pick for pick in kept if pick not in gone]
        variables = written(self.folder, self.request, kept, measured, self.mpi, self.environ, self.preload)
        left = tuple(with_picks(seen, kept))
        return Tuned(left, tuple(kept), variables, tuple(sorted(gone)), measured)

    def _verification(self, number: int, grids: Mapping[int, Grid], variables: Mapping[str, str]) -> list[CellFactor]:
        measured: list[CellFactor] = []
        for ranks in self.request.ranks:
            rounds = self.request.verifying_rounds
            campaign = comparing(self.request, grids[ranks], variables, self.bind(ranks), rounds, views=VIEWS)
            measured += factors(self._measured(f"verify-{number}-{ranks}", campaign, ranks, variables), ranks)
        return measured

    def _is_spent(self) -> bool:
        left_s = self.shares.left_s()
        return left_s is not None and left_s < LEAST_S

    def _if_held(self, name: str, campaign: Campaign, ranks: int) -> Results | None:
        """A step that can be left out: measured where its share of the budget holds it, or read; None: left out."""
        share_s = self.shares.share_s(name.partition("-")[0], len(self.request.ranks))
        is_there = (self.folder / name / "run.json").is_file()
        if share_s is not None and not is_there and self._fits(campaign, ranks, share_s) is None:
            return None
        return self._measured(name, campaign, ranks)

    def _measured(
        self, name: str, campaign: Campaign, ranks: int, variables: Mapping[str, str] | None = None
    ) -> Results:
        """A step, measured, continued or read; its share of the budget ends it.

        Args: variables: of its campaign, which name files of this folder; this process has just written these files.
        """
        run = self.folder / name
        share_s = self._share_s(name.partition("-")[0], campaign, ranks)
        most_s = None if share_s is None else max(LEAST_S, share_s)
        limits = RunLimits(self.cell_timeout_s, most_s, whole_rounds=True)
        if (run / "run.json").is_file():
            results = self._learned(run, ranks)
            if results.run.status in ("complete", "partial"):
                return results
            preload = {} if self.preload is None else {PRELOAD: str(self.preload)}
            terms = Terms(self.request.mpi, own={**(variables or {}), **preload})
            resume(run, self.environ, self.tell, limits, lambda: choose(self.quiet), terms)
            return self._learned(run, ranks)
        if run.is_dir():  # a disk was full before anything could be measured
            shutil.rmtree(run)
        prepared = self._within(campaign, ranks, share_s)
        self.tell(f"{name}: {prepared.cost.launches} launches, about {duration(prepared.cost.wall_s)}")
        create(prepared, run, list(self.command))
        measure(run, prepared.plan, prepared.commands, limits, choose(self.quiet))
        return self._learned(run, ranks)

    def _learned(self, run: Path, ranks: int) -> Results:
        """What a step shows; later ones are forecast by what its launches took."""
        self.paces.add(run, ranks, allocated_nodes(self.environ))
        return rebuild(run)

    def _share_s(self, step: str, campaign: Campaign, ranks: int) -> float | None:
        """What the budget leaves a step. A verification that half of it does not hold gets all: without one nothing can
        be promised, and then there is no second one."""
        share_s, left_s = self.shares.next_s(step, len(self.request.ranks)), self.shares.left_s()
        if share_s is None or left_s is None or step != "verify" or self._fits(campaign, ranks, share_s) is not None:
            return share_s
        return left_s / (1 + sum(later > ranks for later in self.request.ranks))

    def _fits(self, campaign: Campaign, ranks: int, share_s: float) -> PreparedRun | None:
        """A step with as many rounds as its share of the budget holds; None: too few to say anything."""
        try:
            prepared = self.prepared(campaign, ranks, share_s)
        except UsageError:
            return None
        return prepared if prepared.expected.rounds >= min(_LEAST_ROUNDS, campaign.rounds) else None

    def _within(self, campaign: Campaign, ranks: int, share_s: float | None) -> PreparedRun:
        """A step in its share of the budget; where that holds too few rounds, the fewest that say anything: what it
        takes is known better after its first launches, and the budget ends it anyway."""
        if share_s is None:
            return self.prepared(campaign, ranks)
        if (prepared := self._fits(campaign, ranks, share_s)) is not None:
            return prepared
        self.tell(_SHORT.format("part of this step"))
        return self.prepared(campaign, ranks, rounds=min(_LEAST_ROUNDS, campaign.rounds))


def unseen(measured: Sequence[CellFactor], checked: Sequence[Pick]) -> set[Pick]:
    """Return what no launch of the verification was about: the budget ended it before, or its launches failed."""
    return set(checked) - {factor.pick for factor in measured if factor.pick is not None}


def found_preload(prepared: PreparedRun) -> Path | None:
    """libslowpath-coll.so of the engine that measures."""
    engine = prepared.libraries[0].engine
    program = getattr(engine, "program", None)
    return preload_beside(program) if isinstance(program, Path) else None


def measured_of(grids: Mapping[int, Grid]) -> Measured:
    """All lengths of all numbers of ranks."""
    return {(name, ranks): tuple(lengths) for ranks, grid in grids.items() for name, lengths in grid.items()}


def _cells(count: int) -> str:
    return f"{count} cell" + ("" if count == 1 else "s")
