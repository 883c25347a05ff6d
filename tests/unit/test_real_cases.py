# SPDX-License-Identifier: Apache-2.0
"""benchmarks/real-cases: every case says what counts as found, and what was said is judged by that alone."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from slowpath.slowpaths.registry import known
from support.programs_as_modules import module_of

HERE = Path(__file__).parents[2] / "benchmarks" / "real-cases"


@pytest.fixture(scope="module")
def suite() -> ModuleType:
    return module_of(HERE / "run")


def test_every_case_is_whole(suite: ModuleType) -> None:
    cases = suite.read_cases()
    assert len(cases) >= 20
    for name, case in cases.items():
        assert re.fullmatch(r"[0-9]{2}-[a-z0-9-]+", name)
        assert case.sources
        assert all(source.startswith("https://") for source in case.sources)
        assert (case.run is None) == (case.not_run is not None) == (case.expect is None)
        if case.run is None:
            continue
        expected = case.expect
        assert expected.rules or expected.waits or expected.mentions
        assert all(known(rule) is not None for rule in expected.rules)
        assert (HERE / "cases" / name / "program.c").exists() == (case.run.tool == "watch")
        sides = [(case.run.command(side, "p"), case.run.variables(side)) for side in ("present", "absent")]
        assert sides[0] != sides[1]


@pytest.mark.parametrize(
    ("present", "absent", "answer", "place"),
    [
        ([("SP001", "a"), ("SP061", "4 threads")], [], "named", 2),
        ([("SP061", "4 processes")], [], "missed", None),
        ([("SP061", "4 threads")], [("SP061", "3 threads")], "false alarm", 1),
        ([], [], "missed", None),
    ],
)
def test_the_judge(
    suite: ModuleType, present: list[tuple[str, str]], absent: list[tuple[str, str]], answer: str, place: int | None
) -> None:
    expected = suite.Expectation(rules=["SP061"], mentions="threads")
    sides = [[suite.Said(rule, None, text) for rule, text in side] for side in (present, absent)]
    outcome = suite.judge("x", expected, *sides)
    assert (outcome.answer, outcome.place) == (answer, place)


def test_what_a_watch_says_of_the_place_comes_first(suite: ModuleType, tmp_path: Path) -> None:
    results = {
        "program": {"span_s": 1.0, "wall_s": 2.0},
        "place": [{"text": "A copy is refused", "do": "Allow process_vm_readv"}],
        "findings": [
            {"rule": "SP061", "text": "threads", "seconds": 0.06},
            {"rule": "SP060", "text": "ranks", "seconds": 0.04},
        ],
        "accounts": [],
    }
    (tmp_path / "results.json").write_bytes(msgspec.json.encode(results))
    said = suite.said_by_watch(tmp_path)
    assert [(finding.rule, finding.text) for finding in said] == [
        (None, "A copy is refused. Allow process_vm_readv."),
        ("SP061", "threads"),
    ]
