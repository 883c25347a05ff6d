# SPDX-License-Identifier: Apache-2.0
"""The two documents of tests/data/report, and raw samples that fit them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DATA = Path(__file__).parents[2] / "data" / "report"


@pytest.fixture(scope="session")
def made() -> ModuleType:
    """tests/data/report/make.py."""
    spec = importlib.util.spec_from_file_location("report_data", DATA / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def results() -> dict[str, Any]:
    """A complete check-up."""
    document: dict[str, Any] = json.loads((DATA / "results.json").read_text(encoding="utf-8"))
    return document


@pytest.fixture
def imported() -> dict[str, Any]:
    """Logs of one launch."""
    document: dict[str, Any] = json.loads((DATA / "imported.json").read_text(encoding="utf-8"))
    return document
