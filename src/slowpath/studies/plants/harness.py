# SPDX-License-Identifier: Apache-2.0
"""All trials one after the other, and plants.json next to their folders."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from slowpath.core.errors import Interrupted, SlowpathError, UsageError
from slowpath.core.files import write_atomically
from slowpath.core.secrets import clean_words
from slowpath.run.ownership import Taken, holds_nothing, keep_held, owned
from slowpath.studies.plants.measure import Ground
from slowpath.studies.plants.plant import Measured
from slowpath.studies.plants.score import Baseline, false_alarms, score
from slowpath.studies.plants.table import Scored, counts, table
from slowpath.studies.plants.trials import PlantTrial

FILE = "plants.json"


def run(
    ground: Ground,
    trials: Sequence[PlantTrial],
    out: Path,
    seed: int,
    tell: Callable[[Scored], None],
    take_over: bool = False,
) -> list[Scored]:
    """Measure every trial and score it; plants.json is written anew after each: an interrupted run keeps what it has.
    A trial that fails is reported and counted, and the others go on.

    Raises: UsageError: the folder holds something else than the beginning of these trials.  Taken: another process
    goes on in it.
    """
    _check_folder(out, ground, trials)
    out.mkdir(parents=True, exist_ok=True)
    with owned(out, "slowpath plants", take_over=take_over):
        return _run(ground, trials, out, seed, tell)


def _run(
    ground: Ground, trials: Sequence[PlantTrial], out: Path, seed: int, tell: Callable[[Scored], None]
) -> list[Scored]:
    clean: list[Measured] = []
    scored: list[Scored] = []
    _write(out, seed, ground, Baseline(clean), scored, trials)
    for trial in trials:
        keep_held()
        begun = time.monotonic()
        try:
            measured = ground.measured(trial.plant, out / trial.name)
            if trial.purpose == "baseline":
                clean.append(measured)
            one = _judged(trial, measured, Baseline(clean), time.monotonic() - begun)
        except (Interrupted, Taken):
            raise
        except SlowpathError as error:
            one = Scored(trial, time.monotonic() - begun, failure=str(error))
        scored.append(one)
        tell(one)
        _write(out, seed, ground, Baseline(clean), scored, trials)
    return scored


def _judged(trial: PlantTrial, measured: Measured, baseline: Baseline, wall_s: float) -> Scored:
    if trial.plant is not None:
        return Scored(trial, wall_s, score(trial.plant.truth, measured, baseline))
    alarms = () if trial.purpose == "baseline" else false_alarms(measured, baseline)
    return Scored(trial, wall_s, alarms=alarms)


def _drawn(trials: Sequence[PlantTrial]) -> dict[str, str | None]:
    return {trial.name: trial.plant.text if trial.plant else None for trial in trials}


def _check_folder(out: Path, ground: Ground, trials: Sequence[PlantTrial]) -> None:
    """Folders of another draw have the same names, and would be scored against plants that they never had."""
    if not out.exists() or holds_nothing(out):
        return
    try:
        begun = msgspec.json.decode((out / FILE).read_bytes())
        before = begun["mpi"], begun["command"], begun["drawn"]
    except (OSError, msgspec.DecodeError, KeyError, TypeError):
        raise UsageError(f"{out}: holds no plants that can be gone on with; name a new folder with --out") from None
    if before != (ground.library.identity, clean_words(ground.command), _drawn(trials)):
        why = "was begun with another seed, count, MPI or budget"
        raise UsageError(f"{out}: {why}; give the same again, or name a new folder with --out")


def _write(
    out: Path, seed: int, ground: Ground, baseline: Baseline, scored: Sequence[Scored], trials: Sequence[PlantTrial]
) -> None:
    content = {
        "schema": 1,
        "seed": seed,
        "mpi": ground.library.identity,
        "command": clean_words(ground.command),
        "drawn": _drawn(trials),
        "counts": counts(scored),
        "baseline": baseline.texts,
        "trials": [one.as_dict() for one in scored],
        "table": table(scored).splitlines(),
    }
    write_atomically(out / FILE, msgspec.json.format(msgspec.json.encode(content), indent=1))
