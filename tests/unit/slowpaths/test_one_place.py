# SPDX-License-Identifier: Apache-2.0
"""Everything about a slow path is in its own module: no code of one stands elsewhere, and each can be taken out."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from slowpath.slowpaths.registry import PROGRAM_REMEDIES, REMEDIES, SLOW_PATHS, codes_helped_by
from support.copies import copy_of_sources, python

ROOT = Path(__file__).parents[3]
CODE = re.compile(r"[\"']SP[0-9]{3}[\"']")
# Takes each slow path out of a copy of the sources in turn. What works without it: its page, `explain`, the plan of a
# diagnosis and of plants, prices, and tables of the documentation. A child for each, so that libraries are imported
# once; every second one, so that two copies take half the time. The budget lets the whole survey be planned, every
# probe of every slow path that is left.
TAKE_OUT = r"""
import compileall, contextlib, io, os, re, runpy, sys, traceback
from pathlib import Path
import click, jinja2, msgspec, numpy

def without(family, module):
    rest = re.sub(rf" *\b{module}(\.SLOW_PATH)?,?", "", family)
    rest = re.sub(r"^from \S+ import *(\(\s*\))?$", "", rest, flags=re.MULTILINE)
    return re.sub(r"^(from .*),$", r"\1", rest, flags=re.MULTILINE)

def printed(command, *words):
    with contextlib.redirect_stdout(io.StringIO()) as text, contextlib.redirect_stderr(io.StringIO()):
        assert command.main(list(words), standalone_mode=False) in (None, 0)
    return text.getvalue()

def works(code):
    import slowpath.analyse.build, slowpath.diagnose.session, slowpath.watch.conclude
    from slowpath.cli import diagnose, machine
    from slowpath.findings.page import markdown_page
    from slowpath.slowpaths.registry import SLOW_PATHS
    assert code not in [path.code for path in SLOW_PATHS]
    assert f"## {code}\n" not in markdown_page(SLOW_PATHS)
    assert code not in printed(machine.explain_command)
    assert "survey: " in printed(diagnose.diagnose_command, "--dry-run", "--mpi", "embedded", "--budget", "24h")
    tables = runpy.run_path(sys.argv[2])["BLOCKS"]
    assert all(table() for table in tables.values())

compileall.compile_dir(Path(sys.argv[1]).parent, quiet=1)
for compiled in Path(sys.argv[1]).rglob("__init__.*.pyc"):
    compiled.unlink()  # of the families, which change each time
sys.dont_write_bytecode = True
sys.path.append(str(Path(sys.argv[2]).parent))
for module in sorted(Path(sys.argv[1]).rglob("sp[0-9]*.py"))[int(sys.argv[3])::2]:
    family, code = module.parent / "__init__.py", module.stem[:5].upper()
    texts = {file: file.read_text() for file in (module, family)}
    module.unlink()
    family.write_text(without(texts[family], module.stem))
    child = os.fork()
    if child == 0:
        try:
            works(code)
        except BaseException:
            traceback.print_exc(file=sys.stdout)
            sys.stdout.flush()
            os._exit(1)
        os._exit(0)
    print(code, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    for file, text in texts.items():
        file.write_text(text)
"""


def test_no_code_of_a_slow_path_stands_outside_its_family() -> None:
    sources = [path for folder in ("src", "engine") for path in (ROOT / folder).rglob("*") if path.is_file()]
    outside = [path for path in sources if {"slowpaths", "__pycache__"}.isdisjoint(path.parts)]
    found = [
        f"{path.relative_to(ROOT)}: {hit}" for path in outside for hit in CODE.findall(path.read_text(errors="replace"))
    ]
    assert found == []


def test_each_code_is_defined_once() -> None:
    codes = [path.code for path in SLOW_PATHS]
    assert len(codes) == len(set(codes))


def test_each_remedy_belongs_to_a_slow_path() -> None:
    assert all(codes_helped_by(remedy) for remedy in (*REMEDIES, *PROGRAM_REMEDIES))


def taken_out(copy: Path, first: int) -> list[str]:
    """Of the first slow path and every second one after it: its code, and how its child ended."""
    copy_of_sources(copy)
    (copy / "engine").symlink_to(ROOT / "engine")  # a dry run asks whether it is built
    sources = copy / "src" / "slowpath" / "slowpaths"
    return python(copy, "-c", TAKE_OUT, sources, copy / "tools" / "docs_pages.py", str(first)).splitlines()


@pytest.mark.needs("minutes")
def test_each_can_be_taken_out(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as pool:
        ends = pool.map(taken_out, (tmp_path / "even", tmp_path / "odd"), (0, 1))
        assert sorted(end for part in ends for end in part) == [f"{path.code} 0" for path in SLOW_PATHS]
