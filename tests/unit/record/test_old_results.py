# SPDX-License-Identifier: Apache-2.0
"""Every results.json of schema 1 can be read: tests/data/results holds some as slowpath 0.1.0 wrote them.

planted and cannon: of the planted runs of tests/unit/analyse. field: of the logs of tests/data/field.
"""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import msgspec
import pytest

from slowpath.core.results import Results
from slowpath.report import render_html, render_text

OLD = sorted((Path(__file__).parents[2] / "data" / "results").glob("*.json.xz"))


@pytest.fixture(params=OLD, ids=lambda path: path.name.split(".")[0])
def content(request: pytest.FixtureRequest) -> bytes:
    return lzma.decompress(request.param.read_bytes())


def lost(old: Any, new: Any, path: str = "") -> list[str]:
    """Where the old document holds something that the new one does not; a null may be left out."""
    if isinstance(old, dict):
        return [text for name, value in old.items() for text in lost(value, new.get(name), f"{path}.{name}")]
    if isinstance(old, list) and len(old) == len(new):
        return [
            text
            for i, (one, other) in enumerate(zip(old, new, strict=True))
            for text in lost(one, other, f"{path}[{i}]")
        ]
    return [] if old == new else [f"{path}: {old} -> {new}"]


def test_it_is_read_and_nothing_in_it_is_lost(content: bytes) -> None:
    results = msgspec.json.decode(content, type=Results)
    assert results.cells
    assert lost(json.loads(content), json.loads(msgspec.json.encode(results))) == []


def test_it_renders(content: bytes) -> None:
    results = msgspec.json.decode(content, type=Results)
    assert results.verdict.headline in render_text(results)
    assert "<svg" in render_html(results)
