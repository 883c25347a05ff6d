# SPDX-License-Identifier: Apache-2.0
"""The two walks of docs/internals/architecture.md: each file and function is there, and passes on what it is given."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import numpy as np
import pytest
from planted import ROUNDS, add_launch, events
from test_watch_prices import MIB, asked_of, replayed

from slowpath.analyse.build import build_results
from slowpath.core.plan import Cell, Contrast, Environment, Launch, Placement, Plan, Side
from slowpath.record.blocks import Block
from slowpath.record.folder import RunInfo, write_run
from slowpath.record.plan_files import write_plan
from slowpath.report.terminal import render_text
from slowpath.watch.analysis import read_watched
from slowpath.watch.conclude import concluded
from support.watched_program import kept_ping_pong

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "internals" / "architecture.md"
MOST_FILES = 20


class Step(NamedTuple):
    room: str
    file: str
    function: str


def steps(walk: str) -> list[Step]:
    """The rows of a walk."""
    (table,) = re.findall(rf"<!-- walk: {walk} -->\n(.*?)<!-- end -->", PAGE.read_text(), re.DOTALL)
    return [Step(*row) for row in re.findall(r"^(\w+) \| `([^`]+)` \| `(\w+)` \|", table, re.MULTILINE)]


def entered(*bodies: Callable[[], object]) -> set[tuple[str, str]]:
    """File and name of each function that they enter."""
    called: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            called.add((frame.f_code.co_filename, frame.f_code.co_name))

    sys.setprofile(note)
    try:
        for body in bodies:
            body()
    finally:
        sys.setprofile(None)
    return {(str(Path(file).resolve().relative_to(ROOT)), name) for file, name in called if str(ROOT / "src") in file}


def missing(walk: str, called: set[tuple[str, str]]) -> list[Step]:
    return [step for step in steps(walk) if step.file.endswith(".py") and (step.file, step.function) not in called]


@pytest.mark.parametrize("walk", ["sample", "event"])
def test_each_step_is_there_and_none_goes_back_to_an_earlier_room(walk: str) -> None:
    passed = steps(walk)
    rooms = list(dict.fromkeys(step.room for step in passed))
    assert [step.room for step in passed] == sorted((step.room for step in passed), key=rooms.index)
    assert len({step.file for step in passed}) <= MOST_FILES
    for step in passed:
        assert re.search(rf"\b{step.function}\(", (ROOT / step.file).read_text()), step


def planted_small_pages(folder: Path) -> Path:
    """A run in which messages of 2 MiB take twice as long from small pages."""
    rng = np.random.default_rng(1)
    folder.mkdir()
    cells = [
        Cell(i, f"key{i}", "pages", pages, "p2p",
             {"pattern": "one_way", "message_bytes": str(2 * MIB), "pages": pages}, "default", "bound")
        for i, pages in enumerate(("small", "huge"))
    ]  # fmt: skip
    sides = [Side(i, "steady", pages) for i, pages in enumerate(("small", "huge"))]
    contrast = Contrast("pages", "pages", "pages?", "pages", "one_way_s", sides[0], sides[1], False, None)
    launches = [Launch(r, r, "default", "bound", [0, 1], 1) for r in range(ROUNDS)]
    given = ([Environment("default")], [Placement("bound")], cells, [contrast], launches)
    write_plan(folder / "plan.json", Plan(1, "planted", "Planted", 2, ROUNDS, 1, 0.03, *given))
    stamp = "2026-01-01T00:00:00+00:00"
    write_run(folder, RunInfo(1, "id", "planted", "Planted", stamp, "0.1.0", status="complete"))
    for r in range(ROUNDS):
        blocks = [block for cell, ns in ((0, 400_000), (1, 200_000)) for block in messages(rng, r, cell, ns)]
        add_launch(folder, r, r, "default", blocks, events([0, 1]))
    return folder


def messages(rng: np.random.Generator, launch: int, cell: int, length_ns: int) -> list[Block]:
    noise = np.rint(length_ns * np.exp(rng.normal(0, 0.01, 40))).astype(np.int64)
    start = np.arange(40) * 10 * length_ns
    return [Block(cell, launch, "steady", noise, start, rank=rank, t0_ns=1000, seq0=1) for rank in (0, 1)]


def test_a_sample_walks_to_its_sentence(tmp_path: Path) -> None:
    run = planted_small_pages(tmp_path / "run")
    said: list[str] = []
    called = entered(lambda: said.append(render_text(build_results(run))))
    assert "from host memory on small pages" in " ".join(said[0].split())
    assert missing("sample", called) == []


def test_an_event_walks_to_its_priced_finding(tmp_path: Path) -> None:
    source = replayed(asked_of(read_watched(kept_ping_pong(tmp_path))), 1e-3, 0.4e-3)
    findings: list[object] = []
    called = entered(lambda: findings.extend(concluded(read_watched(tmp_path), source).findings))
    assert findings
    assert missing("event", called) == []
