# SPDX-License-Identifier: Apache-2.0
"""A copy of the sources to which a test adds something, as a contributor would."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def copy_of_sources(folder: Path) -> Path:
    """The sources, the tools and the pages, in a new folder."""
    for name in ("src", "schema", "campaigns", "tools", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.png"))
    return folder


def changed(path: Path, old: str, new: str) -> None:
    """Replace the only occurrence of `old`."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{path}: {text.count(old)} times: {old}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def python(copy: Path, *argv: str | Path) -> str:
    """What a program prints that imports the copy's sources."""
    environ = {**os.environ, "PYTHONPATH": str(copy / "src")}
    done = subprocess.run([sys.executable, *argv], env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def built_page(copy: Path, name: str) -> str:
    """A page of the copy's docs/ as it is built."""
    program = "import sys; sys.path.insert(0, sys.argv[1]); from docs_pages import built_pages as built"
    return python(copy, "-c", f"{program}; print(built()[sys.argv[2]])", copy / "tools", name)
