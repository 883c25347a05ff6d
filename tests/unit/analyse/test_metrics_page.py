# SPDX-License-Identifier: Apache-2.0
"""docs/reference/metrics.md defines every metric that results can hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slowpath.experiments.metrics import METRICS, PATTERNS

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*METRICS, "bandwidth_bytes_per_s", "message_rate_per_s"])
def test_every_metric_has_its_definition(name: str) -> None:
    section = re.search(rf"^## {name}\n(.+?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    assert re.search(rf"^    {name} = ", section[1], re.MULTILINE)
    assert f"[`{name}`](#{name})" in PAGE


def test_every_pattern_is_named() -> None:
    assert not [pattern for _, pattern in PATTERNS if f"`{pattern}`" not in PAGE]
