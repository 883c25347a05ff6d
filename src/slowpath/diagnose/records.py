# SPDX-License-Identifier: Apache-2.0
"""diagnosis.json: what was done and what follows from it. Written after every step, so that nothing is lost."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from slowpath.core.errors import RecordError
from slowpath.core.files import read_bytes, write_atomically

SCHEMA = 1
FILE = "diagnosis.json"


class Step(msgspec.Struct, frozen=True):
    """One run of the diagnosis. about: what it is to decide, enough to conclude from its folder again.

    kind: survey, witness, trial, refine, attribute, suspect, separate, repeat or together.  said: what came out, one
    line; None: not over.
    """

    number: int
    kind: str
    folder: str
    why: str
    estimate_s: float
    about: dict[str, Any] = {}
    wall_s: float | None = None
    said: str | None = None


class Diagnosis(msgspec.Struct, frozen=True):
    """A whole diagnosis. status: running, settled, named (no more was asked for), budget, interrupted.  forced:
    variables of the user's that the table knows to force a slow state, as {state, name, value}.  name_only: nothing is
    explained, refined or tried.  next: what would be measured next.  together: what proven remedies do together
    (together_judge.outcome_of); None: not tried.
    """

    schema: int
    slowpath: str
    command: list[str]
    started: str
    budget_s: float
    mpi: str | None
    status: str = "running"
    finished: str | None = None
    spent_s: float = 0.0
    forced: list[dict[str, str]] = []
    steps: list[Step] = []
    findings: list[dict[str, Any]] = []
    next: list[str] = []
    name_only: bool = False
    together: dict[str, Any] | None = None


def write_diagnosis(folder: Path, diagnosis: Diagnosis) -> None:
    """Raises: EnvironmentFailure when the disk refuses."""
    write_atomically(folder / FILE, msgspec.json.format(msgspec.json.encode(diagnosis), indent=1) + b"\n")


def read_diagnosis(folder: Path) -> Diagnosis:
    """Raises: RecordError: it is missing, damaged or from a newer version."""
    path = folder / FILE
    content = read_bytes(path)
    try:
        found = msgspec.json.decode(content, type=Diagnosis)
    except msgspec.DecodeError as error:
        raise RecordError(f"{path}: is not a diagnosis: {error}; name a folder that slowpath diagnose wrote") from error
    if found.schema > SCHEMA:
        raise RecordError(
            f"{path}: was written by a newer slowpath (schema {found.schema}); update slowpath to read it"
        )
    return found
