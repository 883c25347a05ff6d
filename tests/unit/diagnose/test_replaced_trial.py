# SPDX-License-Identifier: Apache-2.0
"""The trial of a violated guideline: a table of one row, the preload that reads it, a length that it leaves alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import made_results
import pytest

from slowpath.core.campaign import recorded
from slowpath.core.cell_results import CellResult
from slowpath.diagnose.session import replaced_words
from slowpath.diagnose.sides import Condition, Sides
from slowpath.diagnose.steps.trial import replaceable
from slowpath.diagnose.trials import design
from slowpath.mpi.settings import resolver
from slowpath.plan.campaign import decode
from slowpath.plan.expand import MpiInUse, expand
from support.remedies import find_remedy

Json = dict[str, Any]
PRELOAD = Path("/cache/libslowpath-coll.so")
REMEDY = find_remedy("replaced collective")
DEFAULT = Condition("default", {}, (), "bound", "core")


def sides(description: Json, collective: str = "scatter", length: int = 8, **more: str) -> Sides:
    entry = next(one for one in description["experiments"] if one["name"] == "coll")
    common = {one["name"]: one["default"] for one in entry["parameters"]}
    common |= {"collective": collective, "message_bytes": str(length), **more}

    def cell(number: int, way: str) -> CellResult:
        return made_results.cell(number, {**common, "way": way}, experiment="coll")

    fast = "dissemination" if collective == "barrier" else "bcast"
    return Sides(cell(0, "library"), DEFAULT, cell(1, fast), DEFAULT, "way", "collective_work_s", "steady", "steady")


def table(of: Sides, ranks: int = 2) -> Json:
    found = replaceable(REMEDY, of, "mpich-5.0.2", ranks, PRELOAD)
    made: Json = json.loads(found.variables["SLOWPATH_COLL"])
    return made


def test_the_trial_toggles_the_preload_with_a_row_about_the_slow_cell_alone(description: Json) -> None:
    at = sides(description)
    remedy = replaceable(REMEDY, at, "mpich-5.0.2", 2, PRELOAD)
    row = {"collective": "scatter", "ranks": [2, 2], "bytes": [8, 8], "mockup": "bcast"}
    assert table(at) == {"schema": 1, "mpi": "mpich-5.0.2", "rows": [row]}
    assert remedy.variables["LD_PRELOAD"] == str(PRELOAD)
    made = design(at, remedy, frozenset(), 2)
    assert not isinstance(made, str)
    assert (made.axis, made.slow) == ("environment", "default")
    assert made.fast_side == "toggled", "the mock-up as a cell of its own is measured with the preload, too"
    mpis = [MpiInUse("mpich", "mpich 5.0.2", resolver("mpich", "5.0.2"))]
    plan = expand(decode(recorded(made.campaign), "made.toml"), description, mpis, 1)
    (remedied,) = [one for one in plan.environments if one.variables]
    assert json.loads(remedied.variables["SLOWPATH_COLL"])["rows"] == [row], "as it went through the campaign's text"
    lengths = {one.parameters["message_bytes"] for one in plan.cells if one.group == "negative control"}
    assert lengths == {"65536"}


@pytest.mark.parametrize(
    ("collective", "length", "control"),
    [
        ("scatter", 65536, ("scatter", 262144)),
        ("scatter", 1 << 20, ("scatter", 65536)),
        ("barrier", 0, ("allreduce", 65536)),
    ],
)
def test_the_control_is_what_the_table_leaves_alone(
    description: Json, collective: str, length: int, control: tuple[str, int]
) -> None:
    found = replaceable(REMEDY, sides(description, collective, length), "mpich-5.0.2", 2, PRELOAD).control
    assert found is not None
    assert found.parameters == {"collective": control[0], "message_bytes": str(control[1])}


def test_the_library_s_own_count_says_whether_it_acted(tmp_path: Path) -> None:
    assert replaced_words(tmp_path) is None
    for number, calls in enumerate(([3, 4], [0], None, [])):
        launch = tmp_path / "launches" / f"{number:06d}"
        launch.mkdir(parents=True)
        if calls is not None:
            (launch / "replaced.json").write_text(json.dumps({"rows": [{"calls": one} for one in calls]}))
    (tmp_path / "launches" / "000003" / "replaced.json").write_text("{")
    assert replaced_words(tmp_path) == "libslowpath-coll.so replaced 7 calls in 1 of 3 launches that reported"
