# SPDX-License-Identifier: Apache-2.0
"""A bench that measures nothing: every run takes as long as was estimated, or a multiple of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from made_results import results

from slowpath.analyse.reference import NONE, HealthyRuns
from slowpath.core.campaign import Campaign
from slowpath.core.errors import EnvironmentFailure, UsageError
from slowpath.core.machine import Others
from slowpath.core.results import Finding, Results
from slowpath.diagnose.state import EVERYTHING, Asked, LibraryFacts, MeasuredStep, State
from slowpath.mpi.own_settings import OwnSetting
from slowpath.run.schedule import Against


@dataclass
class Cost:
    wall_s: float


@dataclass
class Prepared:
    cost: Cost
    plan: SimpleNamespace = field(default_factory=lambda: SimpleNamespace(cells=[None] * 2))


@dataclass
class Bench:
    """The survey shows a slow cell with small pages. ratio: of what its launches show, to what was estimated."""

    survey: Results
    cost_s: float = 10.0
    refused: Sequence[str] = ()
    fails: type[Exception] | None = None
    lines: list[str] = field(default_factory=list)
    measured: list[str] = field(default_factory=list)
    resumed: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    cores: int = 4
    identity: str = "mpich 5.0.2"
    healthy: HealthyRuns = NONE
    library = LibraryFacts("mpich", "5.0.2")
    environ: dict[str, str] = field(default_factory=dict)
    settings: Sequence[OwnSetting] = ()
    limits: dict[str, tuple[float | None, str | None]] = field(default_factory=dict)
    ratio: float = 1.0
    paced: list[list[str]] = field(default_factory=list)
    judged: list[int] = field(default_factory=list)

    @property
    def built(self) -> Bench:
        return self

    def tell(self, line: str) -> None:
        self.lines.append(line)

    def state(self, findings: Sequence[Finding], measured: Sequence[MeasuredStep], asked: Asked = EVERYTHING) -> State:
        return State(
            findings, measured, self.library, self.environ, asked=asked, cores=self.cores, settings=self.settings
        )

    def judge_ahead(self, campaigns: Sequence[Campaign]) -> None:
        self.judged.append(len(campaigns))

    def prepare(self, campaign: Campaign, kind: str) -> Prepared:
        if kind in self.refused:
            raise UsageError("this engine has none")
        return Prepared(Cost(self.cost_s))

    def less(self, names: Collection[str]) -> Bench:
        return dataclasses.replace(
            self,
            environ={name: value for name, value in self.environ.items() if name not in names},
            settings=[setting for setting in self.settings if setting.name not in names],
        )

    def paced_by(self, runs: Iterable[Path]) -> Bench:
        self.paced.append([run.name for run in runs])
        return dataclasses.replace(self, cost_s=self.cost_s * self.ratio)

    def ratio_of(self, run: Path) -> float | None:
        return None

    def create(self, prepared: Prepared, folder: Path, others: Others | None = None) -> None:
        folder.mkdir()

    def measure(
        self, prepared: Prepared, folder: Path, budget_s: float | None, against: Against | None, is_survey: bool = False
    ) -> None:
        self.measured.append(folder.name)
        self.limits[folder.name] = budget_s, against.environment if against else None
        if self.fails is not None:
            raise self.fails("no")

    def require_machine_of(self, folder: Path) -> None:
        if folder.name in self.elsewhere:
            raise EnvironmentFailure(f"{folder.name}: was measured on another machine")

    def resume(self, folder: Path, budget_s: float | None, against: Against | None) -> None:
        self.resumed.append(folder.name)

    def results(self, folder: Path) -> Results:
        return self.survey if folder.name.endswith("-survey") else results()
