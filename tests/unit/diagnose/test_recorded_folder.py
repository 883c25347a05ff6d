# SPDX-License-Identifier: Apache-2.0
"""A diagnosis that goes on judges what was recorded by the rules of today."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import msgspec
import pytest
from fake_bench import Bench
from made_results import finding, results

from slowpath.analyse.build import build_results
from slowpath.diagnose.session import resume
from slowpath.diagnose.tasks import FILE, SCHEMA

pytestmark = pytest.mark.needs("minutes")

DATA = Path(__file__).parents[2] / "data" / "diagnose"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A survey and a trial of machines with GPUs, as steps of a diagnosis without its diagnosis.json."""
    made = tmp_path_factory.mktemp("old") / "diagnosis"
    made.mkdir()
    for archive, name, step in (("two-gpus", "diagnose-two-gpus", "01-survey"), ("padding-trial",) * 2 + ("02-trial",)):
        shutil.unpack_archive(DATA / f"{archive}.tar.xz", made)
        (made / name).rename(made / step)
    return made


def test_a_recorded_folder_is_judged_anew(recorded: Path) -> None:
    survey = build_results(recorded / "01-survey")
    [pages] = [finding for finding in survey.findings if finding.rule == "SP001" and "within one GPU" in finding.where]
    about = {
        "finding": pages.id, "remedy": "pad to 2 MiB", "axis": "overalloc_bytes", "slow": "4096",
        "remedied": "2097152", "metric": "one_way_s", "phase": "first", "constant_s": 0.00032,
        "fast_side": "none",
    }  # fmt: skip
    stale = msgspec.to_builtins(finding("SP001", text="An earlier rule said so."))
    step = {"why": "w", "estimate_s": 1.0, "wall_s": 2.0}
    steps = [
        {**step, "number": 1, "folder": "01-survey", "summary": "1 finding", "task": {"kind": "survey"}},
        {**step, "number": 2, "folder": "02-trial", "summary": "an old outcome", "task": {"kind": "trial", **about}},
    ]
    content = {
        "schema": SCHEMA, "slowpath": "0", "command": [], "started": "now", "budget_s": 60.0, "spent_s": 4.0,
        "mpi": Bench.identity, "status": "settled", "findings": [stale], "steps": steps,
    }  # fmt: skip
    (recorded / FILE).write_text(json.dumps(content))
    loaded = resume(recorded, Bench(results()), 0.0, 0.0).diagnosis  # type: ignore[arg-type]
    assert loaded.schema == SCHEMA
    assert {finding.id for finding in loaded.findings} == {finding.id for finding in survey.findings}
    [proven] = [finding for finding in loaded.findings if finding.id == pages.id]
    assert [remedy.name for remedy in proven.remedies if remedy.verdict == "proven"] == ["pad to 2 MiB"]
    assert [step.summary for step in loaded.steps] == ["1 finding", "an old outcome"]
    assert loaded.verdict is not None
    assert "An earlier rule" not in str(loaded.verdict)
    assert (recorded / FILE).read_text() == json.dumps(content)
