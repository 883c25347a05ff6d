# SPDX-License-Identifier: Apache-2.0
"""[[cells]] with design = "screening": few combinations, each factor as often at either level."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Callable

from slowpath.core.files import data_folder
from slowpath.core.plan import Plan

GROUP = """
[[cells]]
name = "many"
experiment = "p2p"
design = "screening"
[cells.parameters]
pattern = "one_way"
overalloc_bytes = "4KiB"
message_bytes = ["8", "64", "4KiB"]
"""
FACTORS = """
offset_bytes = ["0:0", "1:0", "0:1", "1:1"]
order = ["forward", "shuffled"]
other_bytes = ["none", "8"]
direction = ["forward", "reverse"]
"""


def test_a_screening_takes_a_fraction_of_all_combinations(plan_of: Callable[..., Plan]) -> None:
    cells = plan_of(GROUP + FACTORS).cells
    assert len(cells) == 3 * 16, "five factors in 16 runs, for each of three lengths"
    for length in ("8", "64", "4096"):
        here = [cell.parameters for cell in cells if cell.parameters["message_bytes"] == length]
        for name, values in (("order", 2), ("other_bytes", 2), ("direction", 2), ("offset_bytes", 4)):
            assert sorted(Counter(p[name] for p in here).values()) == [16 // values] * values, name
        pairs = Counter((p["order"], p["direction"], p["other_bytes"]) for p in here)
        assert sorted(pairs.values()) == [2] * 8, "any three of five factors meet in all ways"
    usual = cells[0].parameters
    assert (usual["offset_bytes"], usual["order"], usual["other_bytes"], usual["direction"]) == (
        "0",
        "forward",
        "none",
        "forward",
    )
    assert len({cell.label for cell in cells}) == len(cells)


def test_the_survey_screens_the_same_factors_at_three_lengths() -> None:
    groups = tomllib.loads((data_folder("campaigns") / "survey.toml").read_text())["cells"]
    screenings = [group for group in groups if group.get("design") == "screening"]
    assert [group["parameters"]["message_bytes"] for group in screenings] == ["64KiB", "1KiB", "1MiB"]
    varied = [{n for n, v in group["parameters"].items() if isinstance(v, list)} for group in screenings]
    always = {"offset_bytes", "order", "other_bytes", "idle_s", "direction", "completion"}
    assert varied == [always | {"memory"}, always | {"source"}, always | {"open_receive"}]
    completions = {one for group in screenings for one in group["parameters"]["completion"]}
    assert completions == {"blocking", "wait", "waitall", "test"}
