# SPDX-License-Identifier: Apache-2.0
"""A run that was resumed on another machine: launches of unlike machines never stand together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import planted
import pytest
from msgspec.structs import replace

from slowpath.analyse.build import build_results
from slowpath.core.machine import differing
from slowpath.core.results import Results
from slowpath.record.folder import read_launches, read_run, write_launch, write_run

A: dict[str, Any] = {
    **{"host": "a", "processor": "Old", "processors": 8, "processors_allowed": "0-3", "kernel": "6.1"},
    **{"memory_bytes": 8 * 2**30, "gpus": []},
}
B = {**A, "host": "b", "processor": "New"}


def resumed(folder: Path, other: dict[str, Any], rounds: int) -> Results:
    """The planted run, whose last `rounds` rounds were measured on `other`, three times as slow on side b."""
    run = planted.make_run(folder)
    write_run(run, replace(read_run(run), machine=A, machines=[other]))
    for info in read_launches(run):
        if info.round >= planted.ROUNDS - rounds:
            write_launch(run, replace(info, machine=1))
    return build_results(run)


def launches(results: Results) -> int:
    return next(one.launches for one in results.contrasts if one.id == "environment") or 0


def test_only_launches_of_the_machine_with_most_of_them_count(tmp_path: Path) -> None:
    found = resumed(tmp_path / "r", B, 3)
    assert launches(found) == planted.ROUNDS - 3
    assert (found.run.machine["host"], found.run.launches.done) == ("a", 10)
    first = found.verdict.lines[0]
    assert first.level == "warning"
    assert first.text == (
        "Measured on machines that differ in processor: only the 10 launches on a (Old, 8 processors, kernel 6.1) are "
        "used, not the 6 on b (New, 8 processors, kernel 6.1)."
    )


def test_another_node_of_the_same_kind_stands_with_the_first_and_is_noted(tmp_path: Path) -> None:
    found = resumed(tmp_path / "r", {**A, "host": "b", "processors_allowed": "4-7"}, 3)
    assert launches(found) == planted.ROUNDS
    assert "6 launches ran on b, a machine of the same kind as a" in found.notes
    assert all("Measured on" not in line.text for line in found.verdict.lines)


@pytest.mark.parametrize(
    ("change", "differs"),
    [
        ({"host": "b"}, []),
        ({"processor": "New"}, ["processor"]),
        ({"processors": 4}, ["processors"]),
        ({"processors_allowed": "0-1"}, ["processors allowed"]),
        ({"processors_allowed": "0-99999999999999"}, ["processors allowed"]),
        ({"processors_allowed": ["no"]}, []),
        ({"memory_bytes": 16 * 2**30}, ["memory"]),
        ({"memory_bytes": 8 * 2**30 - 100 * 2**20}, []),
        ({"gpus": ["H200"]}, ["GPUs"]),
        ({"kernel": "6.2"}, ["kernel"]),
        ({"kernel": None}, []),
        ({"engines": {"mpich": "key"}}, []),
    ],
)
def test_what_makes_machines_unlike(change: dict[str, Any], differs: list[str]) -> None:
    assert [one.what for one in differing(A, {**A, **change})] == differs
