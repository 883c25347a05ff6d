# SPDX-License-Identifier: Apache-2.0
"""All trials, some of them side by side, and plants.json next to their folders; and old folders by today's rules."""

from __future__ import annotations

import multiprocessing
import queue
import signal
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from slowpath.core.errors import Interrupted, RecordError, SlowpathError
from slowpath.core.signals import held_back
from slowpath.run.ownership import Taken, owned
from slowpath.studies.plants.baseline import Baseline, false_alarms
from slowpath.studies.plants.folder import Drawn, check_folder, read, write
from slowpath.studies.plants.measure import Ground, concluded
from slowpath.studies.plants.pens import Pen, penned
from slowpath.studies.plants.plant import PlantedDiagnosis
from slowpath.studies.plants.score import score
from slowpath.studies.plants.table import Scored, forecasts_of
from slowpath.studies.plants.trials import PlantTrial

Outcome = PlantedDiagnosis | str  # or why there is none
MeasureOne = Callable[[PlantTrial, Path, Pen], PlantedDiagnosis]


def run(
    ground: Ground,
    trials: Sequence[PlantTrial],
    out: Path,
    drawn: Drawn,
    tell: Callable[[Scored], None],
    jobs: int = 1,
    take_over: bool = False,
) -> list[Scored]:
    """Measure every trial and score it; plants.json is written anew after each: an interrupted run keeps what it has.
    A trial that fails is reported and counted, and the others go on.

    Args: jobs: diagnoses side by side, each on two cores of its own.
    Raises: UsageError: the folder holds something else than these trials.  Taken: another process goes on in it.
            EnvironmentFailure: there are not so many cores, or no cpusets.
    """
    with standing(ground, out, drawn, trials, jobs, take_over) as (measure, pens):
        return each(measure, trials, out, drawn, tell, pens)


@contextmanager
def standing(
    ground: Ground, out: Path, drawn: Drawn, trials: Sequence[PlantTrial], jobs: int, take_over: bool
) -> Iterator[tuple[MeasureOne, Sequence[Pen]]]:
    """The folder, held, with how to measure in it, and the pens.

    Raises: as `run`.  Interrupted: by Ctrl-C; what is measured is kept.
    """
    check_folder(out, drawn, trials)
    with penned(jobs) as pens:
        out.mkdir(parents=True, exist_ok=True)
        with owned(out, "slowpath plants", take_over=take_over), _concluder(jobs) as conclude:
            here = replace(ground, conclude=conclude)
            try:
                yield lambda trial, at, pen: here.measured(trial.plant, at, pen), pens
            except BaseException as error:
                here.children.stop()
                if isinstance(error, KeyboardInterrupt | Interrupted):
                    raise Interrupted(
                        f"stopped; finished trials are kept in {out}; continue with the same command and --seed "
                        f"{drawn.seed} --out {out}"
                    ) from None
                raise


def each(
    measure: MeasureOne,
    trials: Sequence[PlantTrial],
    out: Path,
    drawn: Drawn,
    tell: Callable[[Scored], None],
    pens: Sequence[Pen],
) -> list[Scored]:
    """Measure all trials: those of the baseline first, then the others as pens get free."""
    clean: list[PlantedDiagnosis] = []
    scored: list[Scored] = []
    write(out, drawn, Baseline(clean), scored, trials)
    for part in (
        [trial for trial in trials if trial.purpose == "baseline"],
        [trial for trial in trials if trial.purpose != "baseline"],
    ):
        with closing(outcomes(measure, part, out, pens)) as ended:
            for trial, outcome, wall_s in ended:
                if trial.purpose == "baseline" and isinstance(outcome, PlantedDiagnosis):
                    clean.append(outcome)
                scored.append(judged(trial, outcome, Baseline(clean), wall_s))
                tell(scored[-1])
                write(out, drawn, Baseline(clean), scored, trials)
    return scored


def judged(trial: PlantTrial, outcome: Outcome, baseline: Baseline, wall_s: float) -> Scored:
    """A trial's score or alarms."""
    if isinstance(outcome, str):
        return Scored(trial, wall_s, failure=outcome)
    forecasts = forecasts_of(outcome.findings)
    if trial.plant is not None:
        return Scored(trial, wall_s, score(trial.plant, outcome, baseline), forecasts=forecasts)
    alarms = () if trial.purpose == "baseline" else false_alarms(outcome, baseline)
    return Scored(trial, wall_s, alarms=alarms, forecasts=forecasts)


def outcomes(
    measure: MeasureOne, trials: Sequence[PlantTrial], out: Path, pens: Sequence[Pen]
) -> Generator[tuple[PlantTrial, Outcome, float], None, None]:
    """Yield outcomes in the order in which trials end. Once it is closed no further trial begins."""
    free: queue.SimpleQueue[Pen] = queue.SimpleQueue()
    for pen in pens:
        free.put(pen)

    def measure_one(trial: PlantTrial) -> tuple[PlantTrial, Outcome, float]:
        pen, begun = free.get(), time.monotonic()
        try:
            return trial, measure(trial, out / trial.name, pen), time.monotonic() - begun
        except (Interrupted, Taken):
            raise
        except SlowpathError as error:
            return trial, str(error), time.monotonic() - begun
        finally:
            free.put(pen)

    if len(pens) == 1:
        yield from map(measure_one, trials)
        return
    pool = ThreadPoolExecutor(len(pens))
    try:
        left: set[Future[tuple[PlantTrial, Outcome, float]]] = {pool.submit(measure_one, trial) for trial in trials}
        while left:
            done, left = wait(left, return_when=FIRST_COMPLETED)
            for future in done:
                yield future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # whoever closes this ends what still runs


@contextmanager
def _concluder(jobs: int) -> Iterator[Callable[[Path, Pen], PlantedDiagnosis | None]]:
    """Concluding takes seconds of one core: side by side, a process for each job does it, in the pen whose diagnosis is
    over.
    """
    if jobs == 1:
        yield lambda folder, pen: concluded(folder)
        return
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_heedless)

    def conclude(folder: Path, pen: Pen) -> PlantedDiagnosis | None:
        with held_back():  # a worker that this starts begins so: Ctrl-C is answered by this process alone
            future = pool.submit(_in_pen, folder, pen)
        return future.result()

    try:
        yield conclude
    except BaseException:
        workers = multiprocessing.active_children()
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:
            worker.terminate()
        raise
    pool.shutdown()


def _heedless() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _in_pen(folder: Path, pen: Pen) -> PlantedDiagnosis | None:
    pen.enter()
    return concluded(folder)


def scored_again(out: Path, tell: Callable[[Scored], None]) -> list[Scored]:
    """Conclude every whole diagnosis of a folder anew and score it by what plants.json says was planted; that is
    written anew. A trial that was never measured is a failure.  Raises: RecordError: there is no such file."""
    drawn, trials = read(out)
    return each(_concluded, trials, out, drawn, tell, [Pen()])


def _concluded(trial: PlantTrial, folder: Path, pen: Pen) -> PlantedDiagnosis:
    if (found := concluded(folder)) is None:
        raise RecordError(f"{folder}: holds no whole diagnosis")
    return found
