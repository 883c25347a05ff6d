# SPDX-License-Identifier: Apache-2.0
"""tools/cannon-ranks: how what goes through rank 0 grows with ranks, from the results of several runs."""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

TOOL = Path(__file__).parents[3] / "tools" / "cannon-ranks"
WHOLE_S = {1: 0.8, 2: 0.4, 4: 0.25}  # of 4 ranks on fewer than 4 cores
MOVED_S = 0.1


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    loader = importlib.machinery.SourceFileLoader("cannon_ranks", str(TOOL))
    spec = importlib.util.spec_from_loader("cannon_ranks", loader)
    assert spec is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["cannon_ranks"] = made
    loader.exec_module(made)
    return made


def results(ranks: int, distribute_s: float | None = MOVED_S / 2) -> dict[str, Any]:
    ratio = {"value": 1 + MOVED_S / WHOLE_S[ranks], "interval": [1.0, 2.0]}
    moved = {
        "n": 512, "in_place_cell": 0, "distribute_s": distribute_s, "gather_s": MOVED_S / 2,
        "moved_ratio": MOVED_S / WHOLE_S[ranks], "over_in_place": ratio,
    }  # fmt: skip
    cell = {"metrics": {"multiply_s": {"phases": {"steady": {"value": WHOLE_S[ranks]}}}}}
    return {"cells": [cell], "cannon": {"distribution": [moved | {"source": "root"}, moved | {"source": "file"}]}}


def test_the_share_with_a_core_each_grows_as_the_ranks(tool: ModuleType) -> None:
    found = tool.rows({ranks: results(ranks) for ranks in (4, 1, 2)})
    assert [row.ranks for row in found] == [1, 2, 4]
    assert [row.own_core_ratio for row in found] == pytest.approx([ranks * MOVED_S / WHOLE_S[1] for ranks in (1, 2, 4)])
    assert [row.moved_ratio for row in found] == pytest.approx([MOVED_S / WHOLE_S[ranks] for ranks in (1, 2, 4)])


def test_what_was_not_measured_is_none(tool: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    found = tool.rows({2: results(2), 4: results(4, None)})
    assert [row.own_core_ratio for row in found] == [None, None]
    assert found[1].moved_s is None
    tool.show(found)
    assert "| 512 | 2 | 100 | 25 % | not measured | 1.250 [1.000, 2.000] |" in capsys.readouterr().out
