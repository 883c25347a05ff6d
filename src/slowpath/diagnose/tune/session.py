# SPDX-License-Identifier: Apache-2.0
"""A tuning from its request to verified files: choose, prove, verify, each in launches of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowpath.core.results import Results
from slowpath.diagnose.campaign_text import CampaignText
from slowpath.diagnose.tune.campaigns import choosing, proving
from slowpath.diagnose.tune.choose import Cell, Factor, confirmed, picks, proven, with_picks
from slowpath.diagnose.tune.files import preload_beside, written
from slowpath.diagnose.tune.request import TuneRequest
from slowpath.diagnose.tune.results import factors, trials
from slowpath.mpi.mpi import Mpi
from slowpath.mpi.tuning import Pick
from slowpath.report.rebuild import rebuild
from slowpath.run.engine.meter import Tell
from slowpath.run.execute import RunLimits
from slowpath.run.measure import create, measure_prepared, resume
from slowpath.run.prepare import Prepared, prepare
from slowpath.run.progress import choose, duration
from slowpath.run.reopen import Terms

MOST_VERIFICATIONS = 3  # each time that a cell got worse its collective goes back to the default


@dataclass(frozen=True)
class Tuned:
    """What a tuning came to. factors: of the last verification, each cell.  variables: that switch the files on.

    mockups: picks proven against the library in one process, where no preload could be verified with the files.
    """

    factors: tuple[Factor, ...]
    picks: tuple[Pick, ...]
    variables: Mapping[str, str]
    mockups: tuple[Factor, ...] = ()
    verifications: int = 0


@dataclass(frozen=True)
class Session:
    """Folder, request, and how to measure."""

    folder: Path
    request: TuneRequest
    mpi: Mpi
    environ: Mapping[str, str]
    tell: Tell
    quiet: bool
    command: Sequence[str]
    cores: int
    cell_timeout_s: float = 60.0
    budget_s: float | None = None
    preload: Path | None = field(default=None)

    def prepared(self, text: CampaignText, ranks: int, *, dry: bool = False) -> Prepared:
        """A step.  Raises: UsageError, EnvironmentFailure."""
        share_s = None if self.budget_s is None else self.budget_s / (3 * len(self.request.ranks))
        request = self.request
        with tempfile.TemporaryDirectory(prefix="slowpath-tune-") as folder:
            file = Path(folder) / "tune.toml"
            file.write_text(text.text, encoding="utf-8")
            return prepare(
                str(file), self.environ, self.tell, request.mpi, (ranks,), request.rounds, None, share_s, dry
            )

    def first(self) -> Prepared:
        """The first step, planned; the engine is built."""
        return self.prepared(choosing(self.request, self.bind(self.request.ranks[0])), self.request.ranks[0])

    def costs(self, *, dry: bool = False) -> list[str]:
        """What all steps take, a line for each number of ranks: proving and verifying measure each cell twice."""
        said, total_s = [], 0.0
        for ranks in self.request.ranks:
            prepared = self.prepared(choosing(self.request, self.bind(ranks)), ranks, dry=dry)
            choose_s, environments = prepared.cost.wall_s, max(1, prepared.cost.launches // prepared.plan.rounds)
            pair_s = 2 * choose_s / (environments + 1)
            total_s += choose_s + 2 * pair_s
            said.append(
                f"{ranks} ranks: {len(prepared.plan.cells)} cells, choosing about {duration(choose_s)}, proving and "
                f"verifying about {duration(pair_s)} each"
            )
        return [*said, f"all steps: about {duration(total_s)}"]

    def first_text(self) -> str:
        """The campaign of the first step."""
        return choosing(self.request, self.bind(self.request.ranks[0])).text

    def bind(self, ranks: int) -> str:
        """Ranks that share cores are not bound."""
        return "core" if ranks <= self.cores else "none"

    def tuned(self) -> Tuned:
        """All steps; those that were measured before are not measured again.  Raises: Interrupted; as `run`."""
        chosen = [pick for ranks in self.request.ranks for pick in self._chosen(ranks)]
        kept, mockups = self._proven(chosen)
        return self._verified(kept, mockups)

    def _chosen(self, ranks: int) -> list[Pick]:
        results = self._measured(f"choose-{ranks}", choosing(self.request, self.bind(ranks)), ranks)
        found = picks(trials(results, self.request, ranks))
        self.tell(f"{ranks} ranks: {_cells(len(found))} with a way that seems 5 % faster, now to be proven")
        return found

    def _proven(self, chosen: Sequence[Pick]) -> tuple[list[Pick], list[Factor]]:
        files = self.folder / "candidates"
        variables = written(
            files, self.request, [one for one in chosen if one.kind == "algorithm"], self.mpi, self.environ, None
        )
        kept: list[Pick] = []
        mockups: list[Factor] = []
        for ranks in self.request.ranks:
            mine = [one for one in chosen if one.ranks == ranks]
            if not mine:
                continue
            text = proving(self.request, ranks, mine, variables, self.bind(ranks))
            by_file, by_way = factors(self._measured(f"prove-{ranks}", text, ranks), ranks)
            own = with_picks(by_file, [one for one in mine if one.kind == "algorithm"])
            ways = [(one, by_way.get((Cell(one.collective, one.ranks, one.bytes), one.name))) for one in mine]
            other = [found for one, factor in ways if factor is not None for found in with_picks([factor], [one])]
            kept += proven([*own, *other])
            mockups += [one for one in other if one.faster]
        return kept, mockups

    def _verified(self, kept: list[Pick], mockups: Sequence[Factor]) -> Tuned:
        """Files of what was proven, against the library without them; what is not confirmed goes."""
        for number in range(1, MOST_VERIFICATIONS + 1):
            checked = [one for one in kept if one.kind == "algorithm" or self.preload is not None]
            alone = [one for one in kept if one not in checked]
            variables = written(self.folder, self.request, kept, self.mpi, self.environ, self.preload)
            if not checked:
                return Tuned((), tuple(kept), variables, tuple(mockups), number - 1)
            found: list[Factor] = []
            for ranks in self.request.ranks:
                text = proving(self.request, ranks, [], variables, self.bind(ranks))
                results = self._measured(f"verify-{number}-{ranks}", text, ranks)
                found += with_picks(factors(results, ranks)[0], checked)
            good = confirmed(found)
            if len(good) == len(checked):
                return Tuned(tuple(found), tuple(kept), variables, tuple(mockups), number)
            self.tell(f"{_cells(len(checked) - len(good))} not confirmed: the library's own choice is kept there")
            kept = [*good, *alone]
        variables = written(self.folder, self.request, kept, self.mpi, self.environ, self.preload)
        return Tuned(tuple(with_picks(found, kept)), tuple(kept), variables, tuple(mockups), MOST_VERIFICATIONS)

    def _measured(self, name: str, text: CampaignText, ranks: int) -> Results:
        run = self.folder / name
        limits = RunLimits(self.cell_timeout_s, None)
        if (run / "run.json").is_file():
            results = rebuild(run)
            if results.run.status in ("complete", "partial"):
                return results
            resume(run, self.environ, self.tell, limits, lambda: choose(self.quiet), Terms(self.request.mpi))
            return rebuild(run)
        prepared = self.prepared(text, ranks)
        self.tell(f"{name}: {prepared.cost.launches} launches, about {duration(prepared.cost.wall_s)}")
        create(prepared, run, list(self.command))
        measure_prepared(run, prepared, limits, choose(self.quiet))
        return rebuild(run)


def found_preload(prepared: Prepared) -> Path | None:
    """libslowpath-coll.so of the engine that measures."""
    engine = prepared.libraries[0].engine
    program = getattr(engine, "program", None)
    return preload_beside(program) if isinstance(program, Path) else None


def _cells(count: int) -> str:
    return f"{count} cell" + ("" if count == 1 else "s")
