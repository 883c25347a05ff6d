# SPDX-License-Identifier: Apache-2.0
"""Two runs of Cannon's algorithm: computation and communication are compared for all styles."""

from __future__ import annotations

import re
from pathlib import Path

import planted_cannon as truth
import pytest

from slowpath.compare.comparison import compare
from slowpath.compare.read import read_source
from slowpath.compare.views import part_lines, render_comparison, render_comparison_brief


def test_computation_stays_and_communication_is_slower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    a = read_source(truth.make_run(tmp_path / "a"))
    slower = {variant: {n: 2 * ratio for n, ratio in by_n.items()} for variant, by_n in truth.EXPOSED.items()}
    monkeypatch.setattr(truth, "EXPOSED", slower)
    b = read_source(truth.make_run(tmp_path / "b"))
    found = compare(a, b, 0.3, by_parts=True)
    metrics = {row.metric for row in found.rows if row.experiment == "cannon"}
    assert metrics == {"multiply_s", "dgemm_s", "exposed_s"}
    verdicts = {
        metric: {row.verdict for row in found.rows if row.metric == metric} for metric in ("dgemm_s", "exposed_s")
    }
    assert verdicts["dgemm_s"] <= {"same", "undecided"}
    assert "slower" in verdicts["exposed_s"] <= {"slower", "undecided"}
    lines = part_lines(found)
    assert [line.split(":")[0] for line in lines] == [
        "Cannon, the whole of all styles", "Cannon, computation of all styles", "Cannon, communication of all styles"
    ]  # fmt: skip
    assert "slower" not in lines[1]
    assert re.search(r"\d+ slower.*; B over A", lines[2])
    for text in (render_comparison(found), render_comparison_brief(found)):
        assert "Cannon, communication of all styles" in " ".join(text.split())
