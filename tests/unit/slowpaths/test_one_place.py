# SPDX-License-Identifier: Apache-2.0
"""Everything about a slow path is in its own module: no code of one stands elsewhere, and each can be taken out."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slowpath.slowpaths.registry import PROGRAM_REMEDIES, REMEDIES, SLOW_PATHS, codes_helped_by
from support.copies import copy_of_sources, python

ROOT = Path(__file__).parents[3]
CODE = re.compile(r"[\"']SP[0-9]{3}[\"']")
# What works without any one slow path: its page, the survey that it probes, plants, and tables of the docs.
WITHOUT = """
import slowpath.analyse.build, slowpath.diagnose.session, slowpath.report.page, slowpath.studies.plants.claims
from slowpath.findings.page import markdown_files, table
from slowpath.slowpaths.registry import SLOW_PATHS
assert "{code}" not in [path.code for path in SLOW_PATHS]
assert len(markdown_files(SLOW_PATHS)) == len(SLOW_PATHS) + 1
print(table(SLOW_PATHS))
"""


def test_no_code_of_a_slow_path_stands_outside_its_family() -> None:
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "engine").rglob("*.?pp")]
    outside = [path for path in sources if "slowpaths" not in path.parts]
    found = [f"{path.relative_to(ROOT)}: {hit}" for path in outside for hit in CODE.findall(path.read_text())]
    assert found == []


def test_each_code_is_defined_once_and_names_only_others() -> None:
    codes = [path.code for path in SLOW_PATHS]
    assert len(codes) == len(set(codes))
    for path in SLOW_PATHS:
        assert set(path.stronger) <= set(codes) - {path.code}


def test_each_remedy_belongs_to_a_slow_path() -> None:
    assert all(codes_helped_by(remedy) for remedy in (*REMEDIES, *PROGRAM_REMEDIES))


def without(family: str, module: str) -> str:
    """The family's list without one module."""
    rest = re.sub(rf" *\b{module}(\.SLOW_PATH)?,?", "", family)
    rest = re.sub(r"^from \S+ import *(\(\s*\))?$", "", rest, flags=re.MULTILINE)  # the only one of its family
    return re.sub(r"^(from .*),$", r"\1", rest, flags=re.MULTILINE)


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_sources(tmp_path_factory.mktemp("copy"))


@pytest.mark.parametrize("path", SLOW_PATHS, ids=lambda path: path.code)
def test_each_can_be_taken_out(copy: Path, path: object) -> None:
    code = str(getattr(path, "code", ""))
    (module,) = (copy / "src" / "slowpath" / "slowpaths").rglob(f"{code.lower()}_*.py")
    family = module.parent / "__init__.py"
    texts = {file: file.read_text() for file in (module, family)}
    try:
        module.unlink()
        family.write_text(without(texts[family], module.stem))
        assert code not in python(copy, "-c", WITHOUT.format(code=code)).split()
    finally:
        for file, text in texts.items():
            file.write_text(text)
