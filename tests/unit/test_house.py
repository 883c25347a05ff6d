# SPDX-License-Identifier: Apache-2.0
"""tools/house: a part that grows by 5,000 lines is beyond its budget."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from watchdog import WATCHDOG_S

TOOL = Path(__file__).parents[2] / "tools" / "house"
FILES = {
    "src/slowpath/slowpaths/sp001_a.py": 90_000,
    "src/slowpath/core/b.py": 100,
    "engine/core/c.cpp": 60_000,
    "engine/core/tests/d.cpp": 10,
    "tests/e.c": 60_000,
    "tests/data/f.py": 10**6,
    "docs/g.md": 40_000,
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A repository whose files are of these lengths, with its budget."""
    for name, count in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#\n" * count)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "budget.toml").touch()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    rows = re.findall(r"^(\S.*\S) +([\d,]+) of ", house(tmp_path).stdout, re.MULTILINE)
    budget = "".join(f'"{part}" = {int(size.replace(",", "")) * 1.03:.0f}\n' for part, size in rows)
    (tmp_path / "tools" / "budget.toml").write_text(budget)
    return tmp_path


def house(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOL), str(root), *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=WATCHDOG_S, check=False)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("src/slowpath/core/new.py", "src/slowpath/core"),
        ("src/slowpath/new/new.py", "src/slowpath/new"),
        ("src/slowpath/core/new.toml", "src (tables)"),
        ("engine/core/new.hpp", "engine"),
        ("engine/core/tests/new.cpp", "tests"),
        ("tools/new", "tests"),
        ("docs/new.md", "docs (words)"),
    ],
)
def test_5000_more_lines_are_too_many(checkout: Path, name: str, part: str) -> None:
    assert house(checkout).returncode == 0
    (checkout / name).parent.mkdir(exist_ok=True)
    (checkout / name).write_text("#\n" * 5000)
    done = house(checkout)
    assert done.returncode == 1
    (line,) = [line for line in done.stdout.splitlines() if line.endswith("TOO LARGE") and "Python files" not in line]
    assert line.startswith(f"{part} ")


def test_recorded_data_and_a_few_lines_more_fit(checkout: Path) -> None:
    (checkout / "tests/data/new.json").write_text("#\n" * 5000)
    (checkout / "src/slowpath/slowpaths/sp001_a.py").write_text("#\n" * 92_000)
    assert house(checkout).returncode == 0
