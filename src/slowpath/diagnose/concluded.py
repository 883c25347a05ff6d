# SPDX-License-Identifier: Apache-2.0
"""What a diagnosis found, concluded anew from its folder: for those who judge diagnoses."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slowpath.analyse.build import build_results
from slowpath.core.results import Finding, Results
from slowpath.diagnose.conclusion import conclude
from slowpath.diagnose.records import FILE, read_diagnosis
from slowpath.diagnose.state import MeasuredStep, survey_of

Concluded = tuple[Sequence[Finding], Results]


def concluded(folder: Path) -> Concluded | None:
    """Findings of the whole diagnosis and results of its survey; None: there is none in this folder, or it is not over.

    Raises: RecordError: the folder is damaged.
    """
    if not (folder / FILE).is_file():
        return None
    diagnosis = read_diagnosis(folder)
    if diagnosis.status not in ("named", "settled", "budget"):
        return None
    measured = [MeasuredStep(step, build_results(folder / step.folder)) for step in diagnosis.steps]
    return conclude(measured, diagnosis.forced).findings, survey_of(measured).results
