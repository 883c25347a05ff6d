# SPDX-License-Identifier: Apache-2.0
"""What other processes take, from a /proc that a test wrote."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowpath.run.machine import ASK_AGAIN_CORES, between, others_now, ticks
from slowpath.slowpaths.placement.load import LEAST_CORES


def proc(folder: Path, idle: list[int], busy: list[int], processes: dict[int, tuple[str, int]], on: int = 0) -> Path:
    """A /proc with so many ticks of each processor and of each process, all of which ran last on processor `on`."""
    folder.mkdir()
    lines = [
        f"cpu{number} {user} 0 0 {rest} 5 0 0 0 0 0" for number, (user, rest) in enumerate(zip(busy, idle, strict=True))
    ]
    (folder / "stat").write_text("\n".join(["cpu 1 2 3 4 5 6 7 8 9 10", *lines, "ctxt 1"]))
    for pid, (name, count) in processes.items():
        (folder / str(pid)).mkdir()
        rest = " ".join(["R", *["0"] * 10, str(count), "1", *["0"] * 23, str(on), *["0"] * 6])
        (folder / str(pid) / "stat").write_text(f"{pid} ({name}) {rest}")
    return folder


def test_a_busy_loop_on_one_of_two_processors_is_one_core(tmp_path: Path) -> None:
    before = ticks(proc(tmp_path / "a", [100, 100], [50, 50], {7: ("a (loop)", 50), 8: ("quiet", 3)}))
    after = ticks(proc(tmp_path / "b", [130, 101], [50, 79], {7: ("a (loop)", 79), 8: ("quiet", 4), 9: ("new", 30)}))
    found = between(before, after, frozenset({0, 1}), 0.3, 100)
    assert found is not None
    assert (found.processors, found.cores) == (2, 0.97)
    assert [(one.name, one.pid, one.cores) for one in found.processes] == [("a (loop)", 7, 0.97)]
    alone = between(before, after, frozenset({0}), 0.3, 100)
    assert alone is not None
    assert (alone.processors, alone.cores) == (1, 0.0)


@pytest.mark.parametrize(("second_busy", "cores"), [(30, 1.0), (0, 0.0)])
def test_load_is_what_is_still_there_at_a_second_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second_busy: int, cores: float
) -> None:
    """A core that is busy for a moment is none that ranks have to share."""
    steps = iter([(0, 30), (30, 0), (30 - second_busy, second_busy)])  # idle and busy ticks of each sleep
    counted = [100, 100]

    def write() -> None:
        (tmp_path / "stat").write_text(f"cpu0 {counted[1]} 0 0 {counted[0]} 0 0 0 0 0 0\n")

    def sleep(_: float) -> None:
        for place, more in enumerate(next(steps)):
            counted[place] += more
        write()

    write()
    monkeypatch.setattr("slowpath.run.machine.time.sleep", sleep)
    found = others_now(frozenset({0}), 0.3, tmp_path)
    assert found is not None
    assert found.cores == cores
    assert ASK_AGAIN_CORES < LEAST_CORES
