# SPDX-License-Identifier: Apache-2.0
"""Carrying out a plan launch by launch into a run folder, without the secrets of the environment."""

from __future__ import annotations

import contextlib
import errno
import math
import stat
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from secrets import token_hex
from statistics import median

import msgspec

from slowpath.core.errors import EnvironmentFailure
from slowpath.core.files import write_atomically
from slowpath.core.guard import KnownSecrets, why_secret
from slowpath.core.plan import Cell, Launch, Plan
from slowpath.core.units import format_time
from slowpath.plan.cost import (
    FEWEST_ROUNDS,
    LEAST_ROUNDS,
    Kind,
    TimeLeft,
    kind_of,
    launch_parts_s,
    longest_parts_s,
    too_few,
)
from slowpath.record.folder import FailedCell, LaunchInfo, launch_folder, launch_folders, settle, write_launch
from slowpath.record.plan_files import engine_plan_text
from slowpath.record.witness import CONTROL_VARIABLES, PERFORMANCE_VARIABLES, UCX_LOGS
from slowpath.run.prepare import Commands, allocated_nodes
from slowpath.run.process import JobLimits, LaunchedJob, Outcome, run_jobs
from slowpath.run.progress import Progress
from slowpath.run.schedule import LaunchProgress, RunLimits, Schedule, Task, hung_words, read_account

_WRITTEN = ("stdout", "stderr", "stacks", UCX_LOGS, CONTROL_VARIABLES, PERFORMANCE_VARIABLES, "events.jsonl")


def hide_secrets(folder: Path, secrets: KnownSecrets) -> None:
    """Rewrite the files of a launch that is over, where they hold a secret; others are not touched."""
    for path in (path for pattern in _WRITTEN for path in folder.glob(pattern)):
        with contextlib.suppress(OSError):  # one that can't be read holds nothing to share
            if stat.S_ISREG(path.lstat().st_mode):
                _rewrite(path, secrets)


def _rewrite(path: Path, secrets: KnownSecrets) -> None:
    """Write the file anew line by line, since a program may print much; keep the old one if nothing is hidden."""
    part = path.with_name(f".{path.name}.{token_hex(8)}.part")
    hidden = False
    try:
        with path.open("rb") as given, part.open("xb") as made:
            while piece := given.readline(2**20):
                # surrogateescape: bytes that are no UTF-8 come back as they were.
                words = piece.decode("utf-8", "surrogateescape")
                kept = secrets.text(words)
                hidden |= kept != words
                made.write(kept.encode("utf-8", "surrogateescape"))
        if hidden:
            part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def without_secrets(info: LaunchInfo, secrets: KnownSecrets) -> LaunchInfo:
    """Return launch.json's content without them: in words, in values of variables, in reasons."""
    variables = {
        name: f"({reason})" if (reason := why_secret(name, value)) else secrets.text(value)
        for name, value in info.variables.items()
    }
    failed = [msgspec.structs.replace(cell, reason=secrets.text(cell.reason)) for cell in info.failed_cells]
    reason = None if info.reason is None else secrets.text(info.reason)
    return msgspec.structs.replace(
        info, argv=secrets.words(info.argv), variables=variables, failed_cells=failed, reason=reason
    )


SLOW = 3.0  # times as long as estimated, all measured cells together, from which on cells are put off
GIVEN_UP = 4.0  # a launch is ended after so many times what it is expected to take
# One that stands still is to be recognised as that: it may have taken so many times the expected until then.
BEFORE_HANG = 2.0


class CellTimes:
    """How long cells take in a launch: as estimated, and as they took."""

    def __init__(self, plan: Plan, nodes: int = 1, launch_s: float | None = None) -> None:
        """Args: nodes: of the allocation.  launch_s: start and end of a job of two ranks here; None: not timed."""
        self._start_s: dict[Kind, float] = {}
        self._estimated_s: dict[int, float] = {}
        first = {kind_of(launch): launch for launch in reversed(plan.launches)}
        for kind, (start_s, cells_s) in launch_parts_s(plan, nodes, launch_s).items():
            self._start_s[kind] = start_s
            self._estimated_s.update(zip(first[kind].cells, cells_s, strict=True))
        self._class = {cell.cell: _length_class(cell) for cell in plan.cells}
        self._took_s: dict[int, list[float]] = defaultdict(list)
        self._rounds: Counter[Kind] = Counter()

    def saw(self, planned: Launch, took_s: Mapping[int, float]) -> None:
        """A launch is over.  Args: took_s: of each cell that ended in it, seconds."""
        self._rounds[kind_of(planned)] += 1
        for cell, seconds in took_s.items():
            self._took_s[cell].append(seconds)

    def held(self, planned: Launch, cells: Sequence[int], left: Sequence[Launch], left_s: float) -> tuple[int, ...]:
        """Return the cells of a launch that the time left holds, in their order; one at least.

        All of them where cells take about what was estimated, where the rounds that a conclusion needs fit with all,
        or where this kind of launch has had them.

        Args: cells: to be measured by it.  left: launches that are not over, this one among them.  left_s: for all.
        """
        rounds = FEWEST_ROUNDS - self._rounds[kind_of(planned)]
        if rounds <= 0 or not self._are_slow():
            return tuple(cells)
        expected_s = self._expected_s()
        kinds = {kind_of(launch): launch.cells for launch in left}
        round_s = sum(self._launch_s(kind, of_kind, expected_s) for kind, of_kind in kinds.items())
        if rounds * round_s <= left_s:
            return tuple(cells)
        share = self._launch_s(kind_of(planned), cells, expected_s) / round_s
        allowed_s = left_s / rounds * share - self._start_s[kind_of(planned)]
        kept = set[int]()
        for cell in sorted(cells, key=lambda number: (expected_s[number], number)):
            allowed_s -= expected_s[cell]
            if kept and allowed_s < 0:
                break
            kept.add(cell)
        return tuple(cell for cell in cells if cell in kept)

    def limit_s(self, planned: Launch, cells: Sequence[int], idle_s: float) -> float:
        """Wall time after which a launch of these cells is ended, seconds; what it measured until then counts.

        Args: idle_s: without progress for so long a launch counts as hung.
        """
        expected_s = self._launch_s(kind_of(planned), cells, self._expected_s())
        return max(GIVEN_UP * expected_s, BEFORE_HANG * expected_s + idle_s)

    def longest_s(self, cells: Sequence[int]) -> float:
        """What the slowest of these cells is expected to take, seconds."""
        expected_s = self._expected_s()
        return max((expected_s[cell] for cell in cells), default=0.0)

    def _launch_s(self, kind: Kind, cells: Sequence[int], expected_s: Mapping[int, float]) -> float:
        return self._start_s[kind] + sum(expected_s[cell] for cell in cells)

    def _are_slow(self) -> bool:
        took_s = sum(median(times) for times in self._took_s.values())
        return took_s >= SLOW * sum(self._estimated_s[cell] for cell in self._took_s) > 0

    def _expected_s(self) -> dict[int, float]:
        """Of each cell the median of what it took; where it was not measured, as much longer than estimated as cells of
        about its length are, or else those of the nearest one.
        """
        ratios: dict[int, list[float]] = defaultdict(list)
        for cell, times in self._took_s.items():
            if self._estimated_s[cell] > 0:
                ratios[self._class[cell]].append(median(times) / self._estimated_s[cell])
        of_class = {length: median(many) for length, many in ratios.items()}
        nearest = {
            length: min(of_class, key=lambda known: abs(known - length)) if of_class else None
            for length in set(self._class.values())
        }

        def expected_s(cell: int) -> float:
            if cell in self._took_s:
                return median(self._took_s[cell])
            like = nearest[self._class[cell]]
            return self._estimated_s[cell] * (1.0 if like is None else of_class[like])

        return {cell: expected_s(cell) for cell in self._estimated_s}


def _length_class(cell: Cell) -> int:
    """Lengths of one class differ by less than a factor of 2."""
    written = cell.parameters.get("message_bytes", "")
    return int(written).bit_length() if written.isdigit() else 0


@dataclass(frozen=True)
class RunEnd:
    """How the run ended: status complete, partial (the budget ended it, or launches failed) or interrupted."""

    status: str
    rounds: int  # of the plan that were begun, where the budget ended it; else all
    launches: int
    launches_ok: int
    cells_ok: int
    first_reason: str | None
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Begun:
    """A launch that is about to start.

    budget_end_s, slow_s: wall time after which it is ended for the budget, and since it is so slow; inf: never.
    part_s: its longest part, as it was estimated.
    """

    task: Task
    number: int
    folder: Path
    job: LaunchedJob
    variables: dict[str, str]
    budget_end_s: float
    slow_s: float
    part_s: float


class Execution:
    """One pass over a plan; `schedule` may already know the launches of an earlier pass."""

    def __init__(
        self,
        run: Path,
        plan: Plan,
        commands: Commands,
        limits: RunLimits,
        progress: Progress,
        schedule: Schedule | None = None,
        run_all: Callable[[list[LaunchedJob]], list[Outcome]] = run_jobs,
        machine: int = 0,
    ) -> None:
        """machine: as LaunchInfo.machine."""
        self._machine = machine
        self._run, self._plan, self._commands, self._run_all = run, plan, commands, run_all
        self._limits, self._progress = limits, progress
        self._schedule = schedule or Schedule(plan)
        nodes = allocated_nodes(commands.environ)
        self._time_left = TimeLeft(plan, nodes)
        launch_s = limits.patience.launch_s if limits.patience else None
        self._parts_s = longest_parts_s(plan, nodes, launch_s)
        self._times = CellTimes(plan, nodes, launch_s) if limits.fair_s is not None else None
        self._put_off: set[int] = set()
        self._todo = {launch.launch for launch in self._schedule.launches_left()}
        for launch in plan.launches:
            if launch.launch not in self._todo:
                self._time_left.skipped(launch)
        self._begun_s = time.monotonic()
        self._spent: dict[int, float] = {}
        self._reference_s: list[float] = []  # wall times of launches that others are held against
        self._first_reason: str | None = None
        self._notes: list[str] = []
        self._launches = self._launches_ok = 0
        self._rounds = plan.rounds
        self._round = 0  # the latest that has begun

    def execute(self) -> RunEnd:
        """Run all that is left. Raises EnvironmentFailure if the disk refuses; what is there stays readable."""
        self._begun_s = time.monotonic()
        status = "complete"
        try:
            while tasks := self._schedule.next():
                tasks = [self._held(task) for task in tasks]
                self._show_progress(tasks[0])
                if ended := self._ends_before(tasks, time.monotonic() - self._begun_s):
                    status = ended
                    break
                if any(outcome.ended == "interrupted" for outcome in self._together(tasks)):
                    status = "interrupted"
                    break
        except KeyboardInterrupt:
            status = "interrupted"
        finally:
            self._show_progress(None)
            self._progress.close()
        hangs = self._schedule.hangs
        if status == "complete" and (self._schedule.dead or self._schedule.quarantined or self._put_off or hangs):
            status = "partial"
        self._notes += [*self._schedule.quarantined.values(), *self._schedule.dead.values(), *hangs]
        done = (self._launches, self._launches_ok, self._schedule.cells_ok)
        return RunEnd(status, self._rounds, *done, self._first_reason, tuple(self._notes))

    def _held(self, task: Task) -> Task:
        """The launch without the cells that are put off."""
        if self._times is None or self._limits.fair_s is None:
            return task
        left_s = self._limits.fair_s - (time.monotonic() - self._begun_s)
        cells = self._times.held(task.planned, task.cells, self._schedule.launches_left(), left_s)
        self._put_off_cells(task.planned, [cell for cell in task.cells if cell not in cells])
        return replace(task, cells=cells)

    def _put_off_cells(self, planned: Launch, cells: Sequence[int]) -> None:
        self._schedule.put_off(planned, cells)
        if self._times is not None and cells and not self._put_off:
            self._notes.append(
                f"the slowest cells (up to {format_time(self._times.longest_s(cells))}) get fewer launches than planned"
            )
            self._progress.note(self._notes[-1])
        self._put_off.update(cells)

    def _together(self, tasks: list[Task]) -> list[Outcome]:
        """Run the launches at the same time, and record each."""
        begun = [self._begin(task) for task in tasks]
        started = datetime.now(UTC)
        try:
            outcomes = self._run_all([launch.job for launch in begun])
        except OSError as error:
            raise disk_failure(error, self._run) from error
        known, now = dict(self._schedule.quarantined), datetime.now(UTC)
        for launch, outcome in zip(begun, outcomes, strict=True):
            # Of several at the same time only the last ended now.
            ended = now if len(begun) == 1 else started + timedelta(seconds=outcome.wall_s)
            self._end(launch, outcome, started, ended)
        for node, why in self._schedule.quarantined.items():
            if node not in known:
                self._progress.note(why)
        return outcomes

    def _begin(self, task: Task) -> _Begun:
        number, folder = self._new_folder(task.planned)
        numbered = msgspec.structs.replace(task.planned, launch=number)
        write_atomically(folder / "plan.txt", engine_plan_text(self._plan, numbered, task.cells))
        made = self._commands.command(self._plan, task.planned, folder.absolute())
        budget_end_s = self._limits.budget_end_s(time.monotonic() - self._begun_s)
        part_s = self._parts_s[kind_of(task.planned)]
        idle_s = self._idle_s(task.planned, part_s)
        slow_s = self._times.limit_s(task.planned, task.cells, idle_s) if self._times else math.inf
        total_s = min(budget_end_s, slow_s, self._total_s(task.planned))
        job = LaunchedJob(
            list(made.argv),
            {**self._commands.environ, **made.variables},
            folder / "stdout",
            folder / "stderr",
            [folder / "events.jsonl", folder / "samples.blk"],
            JobLimits(total_s if total_s < math.inf else None, idle_s),
            folder / "stacks",
        )
        return _Begun(task, number, folder, job, dict(made.variables), budget_end_s, slow_s, part_s)

    def _idle_s(self, planned: Launch, part_s: float) -> float:
        """Time without progress after which a launch counts as hung, s."""
        against, patience = self._limits.against, self._limits.patience
        # One that is held against others is ended by their times: how slow it is, is the result.
        if patience is None or (against is not None and not against.is_reference(planned)):
            return self._limits.cell_timeout_s
        return min(self._limits.cell_timeout_s, patience.limit_s(part_s))

    def _total_s(self, planned: Launch) -> float:
        """Wall time after which a launch is held to be too slow, s; inf: never."""
        against = self._limits.against
        if against is None or against.is_reference(planned):
            return math.inf
        return against.limit_s(self._reference_s)

    def _end(self, begun: _Begun, outcome: Outcome, started: datetime, ended: datetime) -> None:
        task = begun.task
        secrets = KnownSecrets(begun.job.environ)
        hide_secrets(begun.folder, secrets)
        if outcome.reason is not None:
            outcome = replace(outcome, reason=secrets.text(outcome.reason))
        settle(begun.folder)
        account = read_account(begun.folder / "events.jsonl")
        idle_s = begun.job.limits.idle_s or self._limits.cell_timeout_s
        how, reason = _judge(outcome, account, hung_words(idle_s, self._limits.cell_timeout_s, begun.part_s))
        against, limit_s = self._limits.against, begun.job.limits.total_s
        is_late = how == "hung" and outcome.is_late
        is_cut = is_late and limit_s == begun.budget_end_s
        is_slow = is_late and not is_cut and limit_s == begun.slow_s
        too_long = is_late and not is_cut and not is_slow
        stood_s = min(idle_s, outcome.wall_s) if how == "hung" and not is_late else 0.0
        if is_cut:
            how, reason = "interrupted", f"cut off by the budget of {self._limits.budget_s:g} s"
        elif is_slow:
            how, reason = "interrupted", f"over {begun.slow_s:.3g} s, many times the estimate"
        elif against is not None and too_long:
            reason = against.words
        elif against is not None and how == "ok" and against.is_reference(task.planned):
            self._reference_s.append(outcome.wall_s)
        failed = self._schedule.ended(task.planned, begun.number, task.cells, how, reason, account, final=too_long)
        if self._times is not None:
            self._times.saw(task.planned, account.took_s)
        if is_slow:
            self._put_off_cells(task.planned, [cell for cell in task.cells if cell not in account.ended])
        info = LaunchInfo(
            launch=begun.number,
            round=task.planned.round,
            environment=task.planned.environment,
            placement=task.planned.placement,
            argv=list(begun.job.argv),
            variables=begun.variables,
            started=started.isoformat(timespec="milliseconds"),
            finished=ended.isoformat(timespec="milliseconds"),
            wall_s=outcome.wall_s,
            return_code=outcome.return_code,
            ended=how,
            reason=reason,
            failed_cells=failed,
            continues=task.continues,
            mpi=task.planned.mpi,
            machine=self._machine,
        )
        info = without_secrets(info, secrets)
        write_launch(self._run, info)
        self._launches += 1
        self._launches_ok += how == "ok"
        # Others of its kind won't stand still that long: it says nothing of the time that they need.
        moved_s = outcome.wall_s - stood_s
        self._spent[task.planned.launch] = self._spent.get(task.planned.launch, 0.0) + moved_s
        self._report(info, failed)

    def _new_folder(self, planned: Launch) -> tuple[int, Path]:
        """A launch folder that no other process has made, whatever happens at the same time."""
        while True:
            number = self._number_for(planned)
            folder = launch_folder(self._run, number)
            try:
                folder.mkdir(parents=True)
            except FileExistsError:
                continue
            except OSError as error:
                raise disk_failure(error, self._run) from error
            return number, folder

    def _number_for(self, planned: Launch) -> int:
        """The planned number for a first try, else the next that neither plan nor folder knows."""
        if not launch_folder(self._run, planned.launch).exists():
            return planned.launch
        highest = max(launch.launch for launch in self._plan.launches)
        folders = [int(folder.name) for folder in launch_folders(self._run)]
        return max([highest, *folders]) + 1

    def _report(self, info: LaunchInfo, failed: list[FailedCell]) -> None:
        labels = {cell.cell: cell.label for cell in self._plan.cells}
        bad = [cell for cell in failed if cell.status != "skipped"]
        alike: dict[tuple[str, str], list[str]] = {}
        for cell in bad:
            alike.setdefault((cell.status, cell.reason), []).append(labels[cell.cell])
        for (status, reason), cells in list(alike.items())[:3]:
            few = ", ".join(cells[:3]) + f" and {len(cells) - 3} more" * (len(cells) > 3)
            self._progress.note(f"launch {info.launch:06d}: {few}: {status}: {reason}")
        if len(alike) > 3:
            self._progress.note(f"launch {info.launch:06d}: cells failed for {len(alike) - 3} more reasons")
        if info.ended not in ("ok", "interrupted"):
            self._first_reason = self._first_reason or info.reason
            if not bad:
                self._progress.note(f"launch {info.launch:06d} {info.ended}: {info.reason}")
            if info.reason and "no space left on device" in info.reason.lower():
                raise disk_failure(OSError(errno.ENOSPC, "No space left on device"), self._run)

    def _show_progress(self, task: Task | None) -> None:
        """Show how far the run is; planned launches without cells left are over."""
        left = {launch.launch for launch in self._schedule.launches_left()}
        for launch in self._plan.launches:
            if launch.launch in self._todo - left:
                if launch.launch in self._spent:
                    self._time_left.finished(launch, self._spent[launch.launch])
                else:
                    self._time_left.skipped(launch)
        self._todo &= left
        total = len(self._plan.launches)
        running = self._kind_in_words(task.planned) if task else ""
        left_s = self._time_left.remaining_s()
        if self._limits.budget_s is not None:
            left_s = min(left_s, max(0.0, self._limits.budget_s - (time.monotonic() - self._begun_s)))
        self._progress.step(total - len(left), total, left_s, running)

    def _kind_in_words(self, planned: Launch) -> str:
        words = [planned.environment, planned.placement]
        return ", ".join([planned.mpi, *words] if planned.mpi and self._plan.several_mpis else words)

    def _ends_before(self, tasks: Sequence[Task], spent_s: float) -> str | None:
        """Return the status that ends a run whose budget lacks the time for these launches; None: they are begun."""
        budget_s, number, expected_s = self._limits.budget_s, tasks[0].planned.round, self._time_left.expected_s
        begun, self._round = self._round, number
        if budget_s is None:
            return None
        left = self._schedule.launches_left()
        round_s = sum(expected_s(launch) for launch in left if launch.round == number)
        is_new = self._limits.whole_rounds and self._launches > 0 and number > max(begun, LEAST_ROUNDS)
        next_s = max(expected_s(task.planned) for task in tasks) if self._launches else 0.0
        if is_new and spent_s + round_s >= budget_s:
            status, self._rounds = "complete", number - 1
            words = f"{self._rounds} of {self._plan.rounds} rounds fit in {budget_s:g} s"
            self._notes.append(
                f"warning: only {words}; {too_few(spent_s / self._rounds)}" if number <= FEWEST_ROUNDS else words
            )
        elif spent_s + next_s >= budget_s:
            status = "partial"
            if self._limits.whole_rounds:
                done = [launch.round for launch in self._plan.launches if launch.launch not in self._todo]
                self._rounds = max(done, default=1)
            self._notes.append(
                f"the budget of {budget_s:.4g} s ended the run with {len(left)} launches not started: "
                f"the next one takes about {next_s:.3g} s, and {max(0.0, budget_s - spent_s):.3g} s were left"
            )
        else:
            return None
        self._progress.note(self._notes[-1])
        return status


def disk_failure(error: OSError, run: Path) -> EnvironmentFailure:
    """The one line for a disk that refuses."""
    return EnvironmentFailure(f"{run}: {error.strerror or error}; free space, then run: slowpath run --resume {run}")


def _judge(outcome: Outcome, account: LaunchProgress, hung: str) -> tuple[str, str | None]:
    """Return how the launch ended, in the words of LaunchInfo, and why.  Args: hung: why it was, if it hung."""
    if outcome.ended == "hung":
        return "hung", hung
    if outcome.ended == "failed" and account.complete:
        failed = sum(end.status == "failed" for end in account.ended.values())
        return "failed", outcome.reason if failed == 0 else f"{failed} cells failed"
    if outcome.ended == "ok" and not account.complete:
        return "failed", "the engine did not finish"
    return outcome.ended, outcome.reason
