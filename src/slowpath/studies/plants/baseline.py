# SPDX-License-Identifier: Apache-2.0
"""What is true of the machine and its library without any plant. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from slowpath.core.results import Finding
from slowpath.studies.plants.plant import PlantedDiagnosis

GROWN = 2.0  # a finding of the clean machine that is so many times larger is another one
Key = tuple[str, ...]


class Baseline:
    """Findings and times of clean runs."""

    def __init__(self, runs: Iterable[PlantedDiagnosis]) -> None:
        self._runs = list(runs)
        self._excess_s: dict[Key, float] = {}
        self._seen: dict[Key, int] = {}
        self._texts: dict[Key, str] = {}
        for listed in (finding for run in self._runs for finding in run.findings):
            key = key_of(listed)
            self._excess_s[key] = max(self._excess_s.get(key, 0.0), (listed.excess_s or 0.0))
            self._seen[key] = self._seen.get(key, 0) + 1
            self._texts.setdefault(key, f"{listed.rule} {listed.where}: {listed.text}")
        self._cells = [{cell.key: cell for cell in run.results.cells} for run in self._runs]

    @property
    def texts(self) -> list[str]:
        """Return each finding once, and in how many of the runs."""
        runs = len(self._runs)
        return [f"in {self._seen[key]} of {runs}: {text}" for key, text in self._texts.items()]

    def lists(self, finding: Finding) -> bool:
        """Whether a finding was named before anything was planted, of whatever size: machines have phases."""
        return key_of(finding) in self._seen

    def holds(self, finding: Finding) -> bool:
        """Whether it was named before anything was planted, and was about as large."""
        return self.lists(finding) and (finding.excess_s or 0.0) <= GROWN * self._excess_s[key_of(finding)]

    def time_s(self, cell_key: str, metric: str, phase: str) -> float | None:
        """Return what a cell takes without a plant: median over the runs; None: none of them measured it."""
        cells = [cells[cell_key] for cells in self._cells if cell_key in cells]
        found = [estimate.value for cell in cells if (estimate := cell.estimate(metric, phase)) is not None]
        return float(median(found)) if found else None


def key_of(finding: Finding) -> Key:
    """Return what a finding is about, without its numbers."""
    return finding.rule, str(finding.mpi), str(finding.environment), str(finding.placement), finding.about


def false_alarms(measured: PlantedDiagnosis, baseline: Baseline) -> tuple[str, ...]:
    """Return the findings of a run without a plant that the baseline does not list."""
    return tuple(f"{finding.rule}: {finding.text}" for finding in measured.findings if not baseline.lists(finding))
