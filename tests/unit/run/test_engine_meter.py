# SPDX-License-Identifier: Apache-2.0
"""The progress of a build, from what make or Ninja writes into its log."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from slowpath.cli.options import TerminalLines
from slowpath.run.engine.build import PLAIN_EVERY_S, BuildMeter, share_done


class Clock:
    """Seconds that a test sets."""

    now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


@pytest.mark.parametrize(
    ("log", "share"),
    [
        ("", None),
        ("-- Configuring done\nwarning: 100%] of nothing\n", None),
        ("[  7%] Building CXX object a.o\n[ 45%] Building CXX object b.o\n", 0.45),
        ("[100%] Built target slowpath-engine\n", 1.0),
        ("[3/120] Building a.o\n", 0.025),
    ],
)
def test_share_done(log: str, share: float | None) -> None:
    assert share_done(log) == share


def test_a_line_now_and_then_off_a_terminal(tmp_path: Path) -> None:
    log, clock, told = tmp_path / "log", Clock(), list[str]()
    meter = BuildMeter(log, told.append, clock)
    meter.look()
    assert told == []
    clock.now_s += PLAIN_EVERY_S
    meter.look()
    meter.look()
    log.write_text("[ 45%] Building\n")
    clock.now_s += PLAIN_EVERY_S
    meter.look()
    meter.close()
    assert told == ["building the engine: configuring, 10 s", "building the engine: 45% compiled, 20 s"]


def test_one_line_drawn_anew_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    log, clock, stream = tmp_path / "log", Clock(), io.StringIO()
    lines = TerminalLines(stream)
    lines("building the engine for mpich")
    meter = BuildMeter(log, lines, clock)
    log.write_text("[ 45%] Building\n")
    meter.look()
    clock.now_s += 1
    meter.look()
    meter.close()
    lines("done")
    drawn = stream.getvalue()
    assert drawn.startswith("building the engine for mpich\n\rbuilding the engine: 45% compiled, 0 s\rbuilding")
    assert drawn.endswith("compiled, 1 s\r" + " " * len("building the engine: 45% compiled, 1 s") + "\rdone\n")
