# SPDX-License-Identifier: Apache-2.0
"""Everything about a slow path is in its own module: no code of one stands elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from slowpath.slowpaths.registry import PROGRAM_REMEDIES, REMEDIES, SLOW_PATHS, codes_helped_by

ROOT = Path(__file__).parents[3]
CODE = re.compile(r"[\"']SP[0-9]{3}[\"']")


def test_no_code_of_a_slow_path_stands_outside_its_family() -> None:
    sources = [path for folder in ("src", "engine") for path in (ROOT / folder).rglob("*") if path.is_file()]
    outside = [path for path in sources if {"slowpaths", "__pycache__"}.isdisjoint(path.parts)]
    places = [
        f"{path.relative_to(ROOT)}: {hit}" for path in outside for hit in CODE.findall(path.read_text(errors="replace"))
    ]
    assert places == []


def test_each_module_of_a_slow_path_is_loaded() -> None:
    """By its name: spNNN_name.py, but those of programs, which the registry lists."""
    modules = [path.stem for path in (ROOT / "src" / "slowpath" / "slowpaths").rglob("*.py")
               if re.search(r"^SLOW_PATH\b", path.read_text(encoding="utf-8"), re.MULTILINE)]  # fmt: skip
    assert len(modules) == len(SLOW_PATHS), f"one of these is in no registry: {modules}"


def test_each_code_is_defined_once() -> None:
    codes = [path.code for path in SLOW_PATHS]
    assert len(codes) == len(set(codes))


def test_each_remedy_belongs_to_a_slow_path() -> None:
    assert all(codes_helped_by(remedy) for remedy in (*REMEDIES, *PROGRAM_REMEDIES))
