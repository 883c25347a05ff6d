# SPDX-License-Identifier: Apache-2.0
"""An experiment costs Python one file and two lines of the registry: it is added to a copy, and used there."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from support.copies import built_page, changed, copy_of_sources, python

pytestmark = pytest.mark.needs("minutes")

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources, with the experiment `toy`."""
    copy = copy_of_sources(tmp_path_factory.mktemp("copy"))
    experiments = copy / "src" / "slowpath" / "experiments"
    shutil.copy(HERE / "toy_experiment.py", experiments / "toy.py")
    registry = experiments / "registry.py"
    changed(registry, "\nEXPERIMENTS:", "from slowpath.experiments.toy import TOY\n\nEXPERIMENTS:")
    changed(registry, "    PRINTED,\n", "    PRINTED,\n    TOY,\n")
    return copy


@pytest.fixture(scope="module")
def used(copy: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the copy makes of a campaign of the experiment and of its record."""
    folder = tmp_path_factory.mktemp("run") / "run"
    found: dict[str, Any] = json.loads(python(copy, HERE / "use_toy_experiment.py", folder))
    return found


def test_it_is_planned_at_its_own_cost(used: dict[str, Any]) -> None:
    assert used["wall_s"] == pytest.approx(6 * (0.3 + 2.0 + 4.0))


def test_its_record_is_analysed(used: dict[str, Any]) -> None:
    assert used["value_s"] == pytest.approx(2e-6, rel=1e-3)
    assert used["verdicts"] == ["slower"]
    assert used["reproduce"].endswith("slowpath-engine toy --pattern barriers --depth 2 --samples 10")
    assert (used["better"], used["role"]) == ("lower", "covariate")


def test_it_is_reported(used: dict[str, Any]) -> None:
    assert "depth 2 is 2.000x [2.000, 2.000] slower than depth 1" in used["text"]
    assert "2.00 us" in used["text"]


def test_its_metric_comes_into_the_generated_page(copy: Path) -> None:
    row = "`barrier_s` | `toy barriers` |  | one MPI_Barrier, seen by rank 0"
    assert row in built_page(copy, "reference/metrics.md").splitlines()
