# SPDX-License-Identifier: Apache-2.0
"""A rule is read with few files: what it imports, and what these import, counted by ast."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import slowpath

SOURCE = Path(slowpath.__file__).parent.parent
RULES = sorted((SOURCE / "slowpath" / "findings" / "catalogue").glob("sp*.py"))
MOST = 11  # files under slowpath, the rule itself included


def file_of(module: str) -> Path | None:
    """None: not a module of slowpath."""
    path = SOURCE.joinpath(*module.split("."))
    return next((one for one in (path.with_suffix(".py"), path / "__init__.py") if one.is_file()), None)


def imported(file: Path) -> set[Path]:
    """Every import of slowpath's in the file, those under TYPE_CHECKING and inside functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports relatively"
            names |= {node.module or ""} | {f"{node.module}.{alias.name}" for alias in node.names}
    return {path for name in names if name.startswith("slowpath") and (path := file_of(name)) is not None}


def closure(file: Path) -> set[Path]:
    seen: set[Path] = set()
    ahead = [file]
    while ahead:
        one = ahead.pop()
        if one not in seen:
            seen.add(one)
            ahead += imported(one)
    return seen


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.stem)
def test_a_rule_is_read_with_few_files(rule: Path) -> None:
    files = closure(rule)
    assert len(files) <= MOST, "\n".join(sorted(str(one.relative_to(SOURCE)) for one in files))


def test_every_rule_is_looked_at() -> None:
    assert {rule.stem for rule in RULES} == set(CATALOGUE)
    assert len(closure(SOURCE / "slowpath" / "findings" / "evaluate.py")) > MOST  # the count does count
