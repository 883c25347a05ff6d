# SPDX-License-Identifier: Apache-2.0
"""A recorded survey of two H200s (Open MPI 5.0.11 on UCX 1.22): what is named, and what not; and a recorded trial."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from slowpath.analyse.build import build_results
from slowpath.core.results import Finding, Results
from slowpath.diagnose.tasks import TrialTask
from slowpath.diagnose.trials import judge_trial

pytestmark = pytest.mark.needs("minutes")

DATA = Path(__file__).parents[2] / "data" / "diagnose"
ARCHIVE = DATA / "two-gpus.tar.xz"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("diagnose")
    shutil.unpack_archive(ARCHIVE, folder)
    return build_results(folder / "diagnose-two-gpus")


@pytest.fixture(scope="module")
def findings(results: Results) -> list[Finding]:
    return results.findings


def test_within_a_gpu_pages_are_named_with_their_cost_and_their_witness(findings: list[Finding]) -> None:
    [finding] = [f for f in findings if f.rule == "SP001" and "within one GPU" in f.where]
    # Recorded before calls were counted: whether the side with the system time works or yields is not known.
    assert finding.status == "observed"
    assert finding.law.name == "granules"
    costs = {c.per: c.value for c in finding.law.coefficients if c.per}
    assert 20e-9 < costs["4 KiB page"] < 30e-9
    assert 200e-9 < costs["64 KiB page"] < 350e-9
    assert any("system time" in line for line in finding.legs.explained.evidence)


def test_between_gpus_no_law_is_named_since_long_clean_allocations_cost_as_much(
    findings: list[Finding],
) -> None:
    [finding] = [f for f in findings if f.rule == "SP001" and "between GPUs 0 and 1" in f.where]
    assert finding.status == "observed"
    assert finding.law.name is None
    assert "268435456" in finding.law.refused


def test_padding_within_a_gpu_is_proven_by_its_trial(tmp_path: Path) -> None:
    shutil.unpack_archive(DATA / "padding-trial.tar.xz", tmp_path)
    task = TrialTask(
        finding="SP001:00000000", remedy="pad to 2 MiB", axis="overalloc_bytes", slow="4096", remedied="2097152",
        metric="one_way_s", phase="first", constant_s=0.00032,
        fast_side="none",
    )  # fmt: skip
    outcome = judge_trial(task, build_results(tmp_path / "padding-trial"))
    assert outcome.verdict == "proven"
    assert outcome.interval[0] > 4
    assert outcome.removed_ratio.interval[0] > 0.75  # of what lies above the law's constant
    assert any("negative control: 1.02" in line and "], unchanged" in line for line in outcome.leg.evidence)
