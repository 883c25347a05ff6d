# SPDX-License-Identifier: Apache-2.0
"""plants.json: what was drawn, and what came of it. A folder can be gone on with, and scored anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec

from slowpath.core.decoding import DAMAGE
from slowpath.core.errors import RecordError, UsageError
from slowpath.core.files import write_atomically
from slowpath.run.ownership import holds_nothing
from slowpath.studies.plants.baseline import Baseline
from slowpath.studies.plants.detection import DetectionLimit
from slowpath.studies.plants.table import Scored, counts, shares, table
from slowpath.studies.plants.trials import PlantTrial

FILE = "plants.json"
SCHEMA = 2


@dataclass(frozen=True)
class Drawn:
    """The source of the trials, and how they are measured. mpi: its identity."""

    seed: int
    mpi: str
    command: Sequence[str]


def check_folder(out: Path, drawn: Drawn, trials: Sequence[PlantTrial]) -> None:
    """Folders of another draw have the same names, and would be scored against plants that they never had.

    Raises: UsageError.
    """
    if not out.exists() or holds_nothing(out):
        return
    try:
        begun = msgspec.json.decode((out / FILE).read_bytes())
        before = begun["mpi"], begun["command"], begun["drawn"]
    except (OSError, *DAMAGE, KeyError, TypeError):
        raise UsageError(f"{out}: contains no plants to continue; name a new folder with --out") from None
    if before != (drawn.mpi, list(drawn.command), _texts(trials)):
        why = "was begun with another seed, count, MPI or budget"
        raise UsageError(f"{out}: {why}; use the same values again, or name a new folder with --out")


def read(out: Path) -> tuple[Drawn, list[PlantTrial]]:
    """Return what was planted in a folder, whatever would be drawn today.  Raises: RecordError."""
    try:
        found = msgspec.json.decode((out / FILE).read_bytes())
        trials = msgspec.convert(found["planned"], list[PlantTrial])
        return Drawn(found["seed"], found["mpi"], found["command"]), trials
    except (OSError, *DAMAGE, KeyError, TypeError) as error:
        raise RecordError(f"{out / FILE}: contains no plants that can be scored again: {error}") from None


def write(
    out: Path,
    drawn: Drawn,
    baseline: Baseline,
    scored: Sequence[Scored],
    trials: Sequence[PlantTrial],
    limits: Mapping[str, DetectionLimit] | None = None,
) -> None:
    """limits: of detection, by class.  Raises: EnvironmentFailure: the disk refuses."""
    content: dict[str, Any] = {
        "schema": SCHEMA,
        "seed": drawn.seed,
        "mpi": drawn.mpi,
        "command": list(drawn.command),
        "drawn": _texts(trials),
        "counts": counts(scored),
        "shares": shares(scored),
        "baseline": baseline.texts,
        "trials": [trial.as_dict() for trial in scored],
        "table": table(scored).splitlines(),
        "limits": {name: asdict(limit) for name, limit in (limits or {}).items()},
        "planned": msgspec.to_builtins(list(trials)),
    }
    write_atomically(out / FILE, msgspec.json.format(msgspec.json.encode(content), indent=1))


def _texts(trials: Sequence[PlantTrial]) -> dict[str, str | None]:
    """Shots are left out: they follow from what was seen."""
    return {trial.name: trial.plant.text if trial.plant else None for trial in trials if trial.purpose != "shot"}
