# SPDX-License-Identifier: Apache-2.0
"""The documents of tests/data/report, and raw samples that fit them."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DATA = Path(__file__).parents[2] / "data" / "report"


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"report_{name}", DATA / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def made() -> ModuleType:
    """tests/data/report/make.py."""
    return _module("make")


@pytest.fixture(scope="session")
def studies() -> ModuleType:
    """tests/data/report/studies.py."""
    return _module("studies")


@pytest.fixture
def puts(studies: ModuleType, made: ModuleType) -> dict[str, Any]:
    """Puts under two MPIs."""
    document: dict[str, Any] = studies.put_results(made)
    return document


@pytest.fixture
def cannon(studies: ModuleType, made: ModuleType) -> dict[str, Any]:
    """Cannon's algorithm on 2 x 2 ranks."""
    document: dict[str, Any] = studies.cannon_results(made)
    return document


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
