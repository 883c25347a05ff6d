# SPDX-License-Identifier: Apache-2.0
"""What tests need beyond what the README names: the list is true, and whatever isn't there skips with the reason."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from needs import NEEDS, Need, why_skipped

ROOT = Path(__file__).resolve().parents[2]


def test_a_need_that_is_not_met_is_named_with_what_supplies_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(NEEDS, "here", Need("nothing", lambda: True))
    monkeypatch.setitem(NEEDS, "absent", Need("Debian: absent", lambda: False))
    assert why_skipped(("here",)) is None
    assert why_skipped(("here", "absent")) == "needs absent: Debian: absent"


def test_ci_installs_every_debian_package_that_a_need_names() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    installed = set(re.findall(r"for package in (.+); do", script)[0].split())
    named = {name for need in NEEDS.values() if need.source.startswith("Debian: ") for name in need.source.split()[1:]}
    assert named <= installed


def test_every_need_is_some_test_s() -> None:
    text = "\n".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    asked = {name for call in re.findall(r"mark\.needs\(([^)]*)\)", text) for name in call.split(", ")}
    assert {f'"{name}"' for name in NEEDS} <= asked


def test_the_readme_has_one_line_that_installs_what_make_test_needs() -> None:
    """.ci/run makes a Debian root of this line's packages."""
    (line,) = re.findall(r"^apt-get install (.+)$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert line.split() == ["g++", "git", "libgtest-dev", "make", "python3-venv"]
