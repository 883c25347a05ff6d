# SPDX-License-Identifier: Apache-2.0
"""Which launch comes next, what is measured again or left out, and the limits of a launch."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowpath.core.errors import SlowpathError
from slowpath.core.plan import Cell, Launch, Pace, Plan
from slowpath.core.units import format_time
from slowpath.plan.cost import LaunchTime, pace_of, times_of, typical_ratio
from slowpath.record.events import CellBegin, read_events
from slowpath.record.folder import FailedCell, read_launches
from slowpath.record.plan_files import read_plan

DEFAULT_CELL_TIMEOUT_S = 60.0
# A launch that would end soon after the budget is worth waiting for: without it its cells lack a round.
OVERRUN_RATIO, OVERRUN_S = 0.1, 2.0


@dataclass(frozen=True)
class Against:
    """Launches that are held against those in one environment and placement: whoever takes `times` as long as the
    longest of these is ended, and that is a result.

    least_s: nobody is ended before.  unknown_s: limit while none of these has ended well.
    """

    environment: str
    placement: str
    times: float
    least_s: float
    unknown_s: float

    def is_reference(self, planned: Launch) -> bool:
        """Whether the others are held against it."""
        return (planned.environment, planned.placement) == (self.environment, self.placement)

    def limit_s(self, walls_s: Sequence[float]) -> float:
        """Of a launch.  Args: walls_s: of those that it is held against, so far."""
        return max(self.least_s, self.times * max(walls_s)) if walls_s else self.unknown_s

    @property
    def words(self) -> str:
        """Why a launch was ended."""
        return (
            f"over {self.times:g}x the time of launches in environment '{self.environment}', placement "
            f"'{self.placement}'"
        )


@dataclass(frozen=True)
class Patience:
    """How long a launch may stand still by what it was estimated to take: `times` its longest part, its start or one
    of its cells, and least_s at least.

    launch_s: start and end of a job of two ranks here; None: not timed.
    """

    launch_s: float | None = None
    times: float = 20.0
    least_s: float = 10.0

    def limit_s(self, part_s: float) -> float:
        """Args: part_s: of the launch's longest part, as it was estimated."""
        return max(self.least_s, self.times * part_s)


@dataclass(frozen=True)
class RunLimits:
    """cell_timeout_s: time without progress after which a launch counts as hung.  budget_s: wall time of the run.

    budget_s ends a launch that still runs soon after it, unless `against` does: what it measured until then counts.
    against: None: launches are not held against each other.  patience: a launch of short steps counts as hung sooner;
    None: it does not.
    fair_s: where cells take many times as long as estimated, those that take longest are put off until the others have
    the rounds that a conclusion needs within this time (slow_cells); None: every launch measures all of its cells.
    whole_rounds: a round that is not expected to end within the budget is not begun, and the plan ends before it.
    """

    cell_timeout_s: float = DEFAULT_CELL_TIMEOUT_S
    budget_s: float | None = None
    against: Against | None = None
    patience: Patience | None = None
    fair_s: float | None = None
    whole_rounds: bool = False

    def budget_end_s(self, spent_s: float) -> float:
        """Return after which time a launch is ended for the budget, s; inf: never.  Args: spent_s: before it began."""
        if self.budget_s is None or self.against is not None:
            return math.inf
        return max(0.0, self.budget_s - spent_s) + max(OVERRUN_S, OVERRUN_RATIO * self.budget_s)


def hung_words(idle_s: float, cell_timeout_s: float, part_s: float) -> str:
    """Why a launch that did not move for idle_s was ended.  Args: part_s: as _Begun has it."""
    if idle_s >= cell_timeout_s:
        return f"no progress for {idle_s:g} s (--cell-timeout)"
    longest = format_time(part_s)
    return f"no progress for {idle_s:.3g} s (longest step: {longest})"


@dataclass
class Paces:
    """By number of ranks: kinds of launches that are over.

    launch_s: start and end of a job of two ranks, as campaigns were estimated with; None: not timed.
    """

    launch_s: float | None = None
    _times: dict[int, list[LaunchTime]] = field(default_factory=dict)

    def add(self, run: Path, ranks: int, nodes: int = 1) -> None:
        """A step that is over, or as far as it came; one that can't be read teaches nothing. nodes: as allocated."""
        try:
            plan, launches = read_plan(run / "plan.json"), read_launches(run)
        except (OSError, SlowpathError):
            return
        wall_s = {launch.launch: launch.wall_s for launch in launches if launch.ended == "ok" and launch.wall_s}
        self.learn(plan, ranks, wall_s, nodes)

    def learn(self, plan: Plan, ranks: int, wall_s: Mapping[int, float], nodes: int = 1) -> None:
        """Args: wall_s: launch -> seconds, of launches that ended well."""
        self._times.setdefault(ranks, []).extend(times_of(plan, wall_s, nodes, self.launch_s))

    def pace(self, ranks: int) -> Pace:
        """Of these ranks; of all others where nothing is known of these."""
        own = self._times.get(ranks)
        return pace_of(own or [launch for times in self._times.values() for launch in times])

    def ratio(self, ranks: int) -> float | None:
        """Wall time over the estimated, as most kinds of launches of these ranks took it; None: too few are over."""
        return typical_ratio(self._times.get(ranks, []))

    @property
    def is_empty(self) -> bool:
        """Whether no launch is over."""
        return not any(self._times.values())


# Which node of many is the bad one: a node on which no pair starts, while its partners start with others.

FEWEST_FAILURES = 2  # pairs with different partners; one failed pair does not say which of its two nodes it was


class NodeHealth:
    """What launches on pairs of nodes showed so far."""

    def __init__(self) -> None:
        self._started_with: dict[str, set[str]] = {}
        self._failed_with: dict[str, dict[str, str]] = {}

    def saw(self, hosts: Sequence[str], started: bool, reason: str | None) -> None:
        """One launch on these nodes reached a cell, or ended before any; others than pairs show nothing."""
        if len(hosts) != 2:
            return
        for node, partner in (hosts, reversed(hosts)):
            if started:
                self._started_with.setdefault(node, set()).add(partner)
            else:
                self._failed_with.setdefault(node, {})[partner] = reason or "no start"

    def quarantined(self) -> dict[str, str]:
        """Node -> why no more launches are started on it.

        A node of which every pair failed, with FEWEST_FAILURES partners at least that did start with other nodes.
        """
        reasons = {}
        for node, failed in self._failed_with.items():
            proven = {partner: why for partner, why in failed.items() if self._started_with.get(partner)}
            if not self._started_with.get(node) and len(proven) >= FEWEST_FAILURES:
                partners = ", ".join(proven)
                why = next(iter(proven.values()))
                reasons[node] = f"{node} is left out: its pairs with {partners} failed: {why}"
        return reasons


# How far one launch came: its cells, from what the engine wrote in events.jsonl.


@dataclass(frozen=True)
class CellOutcome:
    """cell_end of one cell: status ok, skipped or failed, with its reason."""

    status: str
    reason: str | None


@dataclass(frozen=True)
class LaunchProgress:
    """Cells that began, cells that ended, and whether the engine came to its own end."""

    begun: tuple[int, ...] = ()
    ended: dict[int, CellOutcome] = field(default_factory=dict)
    complete: bool = False
    running: int | None = None  # the cell in which the job died or hung; None if it did so outside of any
    took_s: dict[int, float] = field(default_factory=dict)  # of each cell that ended, seconds


def read_account(events: Path) -> LaunchProgress:
    """Account of a launch. A missing file means that nothing began; a half-written last line is left out."""
    if not events.exists():
        return LaunchProgress()
    seen = read_events(events)
    begun = tuple(event.cell for event in seen.of(CellBegin))
    ended = {cell: CellOutcome(end.status, end.reason) for cell, end in seen.cell_ends.items()}
    begun_ns = {event.cell: event.t_ns for event in seen.of(CellBegin)}
    took_s = {cell: (end.t_ns - begun_ns[cell]) / 1e9 for cell, end in seen.cell_ends.items() if cell in begun_ns}
    return LaunchProgress(begun, ended, seen.end is not None, seen.open_cell, took_s)


# A cell that ends two launches in a row by force, or fails in two, would do so again: its time is better spent on the
# others. Once may be chance (a node that went down, memory that another took), so it gets a second launch at once.
CELL_FAILURES = 2
# Two starts in a row that reach no cell are not chance: this MPI, environment and placement don't work here.
START_FAILURES = 2
# A cell that the engine skips is skipped in every launch, but for memory: another process may have had it.
LACKING = re.compile(r"cannot allocate memory|out of memory", re.IGNORECASE)
# One that hangs in so many environments and ends in none would hang in the others, too.
HUNG_ENVIRONMENTS = 2

Kind = tuple[str | None, str, str]  # MPI, environment, placement
Twins = tuple[str | None, str, frozenset[tuple[str, str]]]  # cells that environment and placement alone set apart


@dataclass(frozen=True)
class Task:
    """One launch to start now: cells of `planned` that are left; continues the launch of that number, if any."""

    planned: Launch
    cells: tuple[int, ...]
    continues: int | None


class Schedule:
    """Keeps account of a plan's launches."""

    def __init__(self, plan: Plan) -> None:
        skipped = {cell.cell for cell in plan.cells if cell.skip is not None}
        self._plan = plan
        self._left = {launch.launch: [c for c in launch.cells if c not in skipped] for launch in plan.launches}
        self._put_off: dict[int, set[int]] = {}
        self._last: dict[int, int] = {}
        self._failures: Counter[int] = Counter()
        self._starts: Counter[Kind] = Counter()
        self.dead: dict[Kind, str] = {}  # MPIs, environments and placements in which no launch starts, and why
        self._twins = {cell.cell: _twins(cell) for cell in plan.cells}
        self._hung: dict[Twins, set[str]] = {}
        self._ended_once: set[Twins] = set()
        self._hosts = {placement.name: placement.hosts for placement in plan.placements}
        self._health = NodeHealth()
        self.quarantined: dict[str, str] = {}  # nodes on which no more launches are started, and why
        self.cells_ok = 0

    def next(self) -> list[Task]:
        """The launches to start now, at the same time: one, or those of a turn; [] when nothing is left."""
        tasks: list[Task] = []
        for launch in self._plan.launches:
            turn = tasks[0].planned if tasks else launch
            if tasks and (turn.turn is None or (turn.round, turn.turn) != (launch.round, launch.turn)):
                continue
            cells = self._cells_of(launch)
            if cells:
                tasks.append(Task(launch, tuple(cells), self._last.get(launch.launch)))
                if launch.turn is None:
                    break
        return tasks

    def launches_left(self) -> list[Launch]:
        """Planned launches that still have cells to run."""
        return [launch for launch in self._plan.launches if self._cells_of(launch)]

    def try_again(self) -> None:
        """Forget what failed: what was given up in an earlier pass is tried again, as often as at first."""
        self._failures, self._starts, self._health = Counter(), Counter(), NodeHealth()
        self.dead, self._hung, self.quarantined = {}, {}, {}

    def put_off(self, planned: Launch, cells: Collection[int]) -> None:
        """These cells of a launch are not measured in this pass; a run that is resumed measures them."""
        self._put_off.setdefault(planned.launch, set()).update(cells)

    def superseded(self, planned: Launch, number: int) -> None:
        """Launch `number` of `planned` was cut off without a record of its end: all its cells are run again."""
        self._last[planned.launch] = number

    def ended(
        self,
        planned: Launch,
        number: int,
        cells: tuple[int, ...],
        how: str,
        reason: str | None,
        account: LaunchProgress,
        final: bool = False,
    ) -> list[FailedCell]:
        """Take in the end of launch `number`. Returns its cells without usable samples, each with why.

        how: as LaunchInfo.ended.  cells: those that it was to run.  final: its end is a result, and no second launch is
        to make up for what it left.
        """
        self._last[planned.launch] = number
        if how != "interrupted":
            self._health.saw(self._hosts.get(planned.placement, ()), bool(account.begun), reason)
            self.quarantined = self._health.quarantined()
        failed = [
            FailedCell(cell, end.status, end.reason or "no reason given")
            for cell, end in account.ended.items()
            if end.status != "ok"
        ]
        good = [cell for cell, end in account.ended.items() if end.status == "ok"]
        self.cells_ok += len(good)
        self._ended_once.update(self._twins[cell] for cell in good)
        if how == "hung" and account.running is not None:
            self._hung.setdefault(self._twins[account.running], set()).add(planned.environment)
        for cell in good:
            self._failures[cell] = 0
        left = [cell for cell in cells if cell not in account.ended]
        if how == "interrupted":
            pass
        elif final:
            failed += [FailedCell(cell, _status(how), reason or f"the launch {how}") for cell in left]
            self._left[planned.launch] = []
            return failed
        elif how == "ok":
            failed += [FailedCell(cell, "failed", "not run") for cell in left]
            left = []
        elif not account.begun:
            failed += self._not_started(planned, left, how, reason)
        else:
            culprit = account.running
            if culprit is not None:
                failed.append(FailedCell(culprit, _status(how), reason or f"the launch {how}"))
                # Last, so that what ends the launch once more takes no other cell with it.
                left = [*(cell for cell in left if cell != culprit), culprit]
        if account.begun:
            self._starts[_kind(planned)] = 0
        lacking = [cell.cell for cell in failed if cell.status == "skipped" and LACKING.search(cell.reason)]
        self._failures.update([*lacking, *(cell.cell for cell in failed if cell.status != "skipped")])
        others = [cell for cell in self._left[planned.launch] if cell not in cells]
        self._left[planned.launch] = [*left, *lacking, *others]
        return failed

    def _not_started(self, planned: Launch, left: list[int], how: str, reason: str | None) -> list[FailedCell]:
        kind = _kind(planned)
        self._starts[kind] += 1
        if self._starts[kind] < START_FAILURES:
            return []
        under = f" under {kind[0]}" if kind[0] and self._plan.several_mpis else ""
        why = f"no launch starts{under} in environment '{kind[1]}', placement '{kind[2]}': {reason or how}"
        self.dead[kind] = why
        return [FailedCell(cell, "failed", why) for cell in left]

    def _cells_of(self, launch: Launch) -> list[int]:
        if _kind(launch) in self.dead:
            return []
        if self.quarantined and any(host in self.quarantined for host in self._hosts.get(launch.placement, ())):
            return []
        off = self._put_off.get(launch.launch, ())
        kept = [c for c in self._left[launch.launch] if self._failures[c] < CELL_FAILURES and c not in off]
        return [c for c in kept if not self._hangs_everywhere(self._twins[c])]

    def _hangs_everywhere(self, twins: Twins) -> bool:
        return twins not in self._ended_once and len(self._hung.get(twins, ())) >= HUNG_ENVIRONMENTS

    @property
    def hangs(self) -> list[str]:
        """Why cells are left out that hang wherever they were begun, a line for each."""
        labels = {self._twins[cell.cell]: cell.group for cell in self._plan.cells}
        return [
            f"{labels[twins]}: left out, because it hung in {len(names)} environments"
            for twins, names in self._hung.items()
            if self._hangs_everywhere(twins)
        ]


def _twins(cell: Cell) -> Twins:
    return cell.mpi, cell.experiment, frozenset(cell.parameters.items())


def _kind(launch: Launch) -> Kind:
    return launch.mpi, launch.environment, launch.placement


def _status(how: str) -> str:
    return how if how in ("hung", "crashed") else "failed"
