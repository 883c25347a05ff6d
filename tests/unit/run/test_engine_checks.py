# SPDX-License-Identifier: Apache-2.0
"""How often an engine is started to judge cells: once for each cell that it does not know yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from slowpath.core.plan import Cell
from slowpath.run.engine.describe import checker

SCRIPT = """#!/bin/sh
echo "$*" >> "{asked}"
while read -r word number experiment length; do
    [ "$word" = cell ] || continue
    if [ "$length" = message_bytes=0 ]; then reason='"too short"'; else reason=null; fi
    echo "{{\\"cell\\": $number, \\"reason\\": $reason}}"
done
"""


def cell(number: int, length: int) -> Cell:
    return Cell(
        cell=number,
        key="",
        group="g",
        label="",
        experiment="p2p",
        parameters={"message_bytes": str(length)},
        environment="",
        placement="",
    )


@dataclass(frozen=True)
class Scripted:
    program: Path

    @property
    def facts(self) -> Mapping[str, str]:
        return {}


@pytest.fixture
def engine(tmp_path: Path) -> Scripted:
    program = tmp_path / "slowpath-engine"
    program.write_text(SCRIPT.format(asked=tmp_path / "asked"))
    program.chmod(0o755)
    return Scripted(program)


def starts(engine: Scripted) -> int:
    asked = engine.program.parent / "asked"
    return len(asked.read_text().splitlines()) if asked.exists() else 0


def refused(engine: Scripted, cells: list[Cell], ranks: int = 2, environ: Mapping[str, str] | None = None) -> list[int]:
    found = checker(engine, {"PATH": "/usr/bin:/bin", **(environ or {})})(cells, ranks)
    assert sorted(found) == [one.cell for one in cells]
    assert all(verdict.cell == number for number, verdict in found.items())
    return [number for number, verdict in found.items() if verdict.reason is not None]


def test_an_engine_is_asked_about_a_cell_once_whatever_its_number(engine: Scripted) -> None:
    assert refused(engine, [cell(0, 8), cell(1, 0)]) == [1]
    assert starts(engine) == 1
    assert refused(engine, [cell(4, 0), cell(7, 8), cell(9, 0)]) == [4, 9]
    assert starts(engine) == 1
    assert refused(engine, [cell(0, 16), cell(1, 0)]) == [1]
    assert starts(engine) == 2
    assert "ranks 2" in (engine.program.parent / "asked").read_text()
