# SPDX-License-Identifier: Apache-2.0
"""The search for a limit of detection, with made-up plants whose limit is known."""

from __future__ import annotations

import math
import random
from pathlib import Path
from xml.etree import ElementTree

import made_results
import pytest

from slowpath.cli.plants import dry_limits
from slowpath.mpi.mpi import Mpi
from slowpath.report.svg.detection import Class, drawing
from slowpath.run.engine.describe import UnbuiltEngine
from slowpath.run.libraries import Library
from slowpath.studies.plants.classes import CLASSES, find
from slowpath.studies.plants.detection import DetectionLimit, Shot, limit_of, next_cost_s
from slowpath.studies.plants.folder import Drawn, read
from slowpath.studies.plants.limits import lines, run, searched
from slowpath.studies.plants.measure import Ground
from slowpath.studies.plants.plant import PlantedDiagnosis
from slowpath.studies.plants.table import Scored
from slowpath.studies.plants.trials import PlantCounts

LOW_S, HIGH_S = 1e-6, 1e-4
MIDDLE, WIDTH = -5.5, 0.15  # found half of the time at 3.2 us
TRUE_S = 10 ** (MIDDLE + WIDTH * math.log(19))


def searched_limit(seed: int, count: int = 30) -> DetectionLimit:
    source, shots = random.Random(seed), list[Shot]()
    for _ in range(count):
        cost_s = next_cost_s(shots, LOW_S, HIGH_S, source)
        share = 1 / (1 + math.exp(-(math.log10(cost_s) - MIDDLE) / WIDTH))
        shots.append(Shot(cost_s, source.random() < share))
    return limit_of(shots, LOW_S, HIGH_S)


def test_the_cost_found_95_times_of_100_is_inside_the_interval() -> None:
    found = [searched_limit(seed) for seed in range(8)]
    inside = [one.interval_s is not None and one.interval_s[0] <= TRUE_S <= one.interval_s[1] for one in found]
    assert sum(inside) >= 6
    middle = sorted(one.cost_s or 0.0 for one in found)[4]
    assert TRUE_S / 1.6 <= middle <= TRUE_S * 1.6
    shares = [share for _, share in found[0].curve]
    assert shares == sorted(shares)
    assert shares[0] < 0.05 < 0.95 < shares[-1]


def test_trials_gather_around_the_limit() -> None:
    shots = searched_limit(1).shots
    near = [shot for shot in shots if abs(math.log10(shot.cost_s / TRUE_S)) < 0.7]
    assert len(near) > len(shots) / 2


@pytest.mark.parametrize(("found", "reason"), [(True, "all costs"), (False, "none of the costs")])
def test_there_is_no_limit_without_both_answers(found: bool, reason: str) -> None:
    limit = limit_of([Shot(1e-5, found), Shot(2e-5, found)], LOW_S, HIGH_S)
    assert (limit.cost_s, limit.interval_s) == (None, None)
    assert limit.reason.startswith(reason)


def test_the_picture_has_a_row_for_each_class() -> None:
    limit = searched_limit(2)
    tried = [(shot.cost_s, shot.found) for shot in limit.shots]
    shown = drawing([Class("live", limit.curve, tried, limit.interval_s), Class("gate", (), [(1e-5, False)], None)])
    root = ElementTree.fromstring(str(shown))
    words = [one.text for one in root.iter("text")]
    assert {"live", "gate"} <= set(words)
    assert len(list(root.iter("circle"))) == len(limit.shots) + 1
    assert drawing([]) is None


def test_a_folder_is_gone_on_with_by_the_same_costs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was measured is not measured again, and what follows from it is the same."""
    monkeypatch.setattr(
        Ground, "measured", lambda self, plant, folder, pen: PlantedDiagnosis((), made_results.results())
    )
    mpi = Mpi("mpich", "5.0.2", "option", tmp_path, tmp_path / "mpiexec", None, "hydra", False, "hydra", "")
    ground = Ground(Library("mpich", mpi.identity, mpi, UnbuiltEngine(tmp_path)), tmp_path / "library.so", ["diagnose"])
    live = find("live")
    assert live is not None
    drawn, asked = Drawn(5, mpi.identity, ground.shown), PlantCounts(3, 0, 1)
    told: list[str] = []

    def tell(one: Scored) -> None:
        told.append(f"{one.trial.name} {one.trial.plant.text if one.trial.plant else ''}")

    limits = run(ground, [live], asked, tmp_path / "out", drawn, tell)
    again = run(ground, [live], asked, tmp_path / "out", drawn, tell)
    assert limits == again
    assert told[:4] == told[4:]
    assert len({text.split("cost_s=")[1] for text in told[1:4]}) == 3
    assert [one.name for one in read(tmp_path / "out")[1]] == [text.split()[0] for text in told[:4]]
    assert "| live | none of the costs that were tried was found |" in "\n".join(lines(limits, [live]))
    assert {one.name for one in CLASSES} - {one.name for one in searched(CLASSES)} == {
        "cold",
        "single_copy_off",
        "network_path",
        "one_core",
    }


def test_a_dry_run_measures_nothing_and_states_what_would_be(capsys: pytest.CaptureFixture[str]) -> None:
    classes = [one for name in ("queue", "cold") if (one := find(name)) is not None]
    assert dry_limits(classes, PlantCounts(12, 0, 2), seed=1) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said[:-1]] == ["baseline-001", "baseline-002", "shot-001-queue"]
    assert "11 more of each of 1 classes" in said[-1]
    assert "14 diagnoses in all" in said[-1]
