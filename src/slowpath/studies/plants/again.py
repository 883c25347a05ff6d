# SPDX-License-Identifier: Apache-2.0
"""Old folders of plants by today's rules and today's score, without measuring."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from slowpath.core.errors import RecordError
from slowpath.studies.plants.folder import read
from slowpath.studies.plants.harness import each
from slowpath.studies.plants.measure import concluded
from slowpath.studies.plants.pens import Pen
from slowpath.studies.plants.plant import PlantedDiagnosis
from slowpath.studies.plants.table import Scored
from slowpath.studies.plants.trials import PlantTrial


def scored_again(out: Path, tell: Callable[[Scored], None]) -> list[Scored]:
    """Conclude every whole diagnosis of a folder anew and score it by what plants.json says was planted; that is
    written anew. A trial that was never measured is a failure.  Raises: RecordError: there is no such file."""
    drawn, trials = read(out)
    return each(_concluded, trials, out, drawn, tell, [Pen()])


def _concluded(trial: PlantTrial, folder: Path, pen: Pen) -> PlantedDiagnosis:
    if (found := concluded(folder)) is None:
        raise RecordError(f"{folder}: holds no whole diagnosis")
    return found
