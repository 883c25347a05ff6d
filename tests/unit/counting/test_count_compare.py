# SPDX-License-Identifier: Apache-2.0
"""Two counts of one function: more instructions a call, or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from slowpath.compare import gate
from slowpath.core.errors import RecordError, UsageError
from slowpath.studies.counting.report import (
    EXIT_CODES,
    CountComparison,
    compare_counts,
    comparison_text,
    read_earlier,
)
from slowpath.studies.counting.trace import Call, ProcessCount, SteppedFunction

LIBRARY = "libmpi.so.40"


def count(calls: list[int], shares: dict[str, int] | None = None, rank: str | None = "0") -> ProcessCount:
    """One process; shares: instructions of one call, by function."""
    parts = {"MPI_Put": calls[0]} if shares is None and calls else shares or {}
    return ProcessCount(
        host="n0",
        pid=7,
        rank=rank,
        program="/opt/app",
        function="MPI_Put",
        skip=20,
        libraries=(f"/lib/{LIBRARY}",),
        troubles=(),
        calls_met=len(calls),
        calls=tuple(Call(number, 7, value, value, None) for number, value in enumerate(calls, 1)),
        shares=tuple(
            SteppedFunction(LIBRARY, name, value * len(calls), value * len(calls)) for name, value in parts.items()
        ),
    )


def compared(old: list[int], new: list[int], threshold_ratio: float = 0.01) -> CountComparison:
    return compare_counts([count(old)], [count(new)], "MPI_Put", threshold_ratio)


@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [
        ([200] * 4, [200] * 4, "not more"),
        ([200] * 4, [202] * 4, "not more"),  # 1 % is not above 1 %
        ([200] * 4, [203] * 4, "more"),
        ([200] * 4, [150] * 4, "not more"),
        ([200] * 8, [200] * 7 + [900], "undecided"),  # the mean alone
        ([200] * 7 + [900], [210] * 8, "undecided"),  # the median alone
        ([200] * 7 + [900], [210] * 7 + [910], "more"),
    ],
)
def test_median_and_mean_judge_together(old: list[int], new: list[int], outcome: str) -> None:
    assert compared(old, new).outcome == outcome


def test_exit_codes_are_those_of_the_gate() -> None:
    assert [EXIT_CODES[name] for name in ("not more", "more", "undecided")] == [
        gate.EXIT_CODES[name] for name in ("pass", "regression", "undecided")
    ]


def test_processes_meet_by_rank() -> None:
    old = [count([100], rank="0"), count([300], rank="1")]
    compared = compare_counts(old, [count([300], rank="1"), count([100], rank="0")], "MPI_Put", 0.01)
    assert [(process.rank, process.change_ratio) for process in compared.processes] == [("0", 0), ("1", 0)]
    compared = compare_counts(old, [count([300], rank="1"), count([104], rank="0")], "MPI_Put", 0.01)
    assert compared.outcome == "more"


def test_a_process_that_is_missing_is_undecided() -> None:
    compared = compare_counts([count([100])], [count([], rank="0")], "MPI_Put", 0.01)
    assert compared.outcome == "undecided"
    assert "no call now" in comparison_text(compared)
    never = count([], rank="1")
    assert len(compare_counts([count([100]), never], [count([100]), never], "MPI_Put", 0.01).processes) == 1


def test_functions_that_changed_come_by_size_and_places_are_no_names() -> None:
    old = count([110], {"MPI_Put": 60, "copy": 20, f"{LIBRARY}+0x10": 25, f"{LIBRARY}+0x90": 5})
    new = count([160], {"MPI_Put": 60, "check": 70, f"{LIBRARY}+0x20": 30})
    new = replace(new, shares=tuple(replace(share, library="libmpi.so.41") for share in new.shares))
    new = replace(
        new, shares=tuple(replace(share, function=share.function.replace(".40", ".41")) for share in new.shares)
    )
    [process] = compare_counts([old], [new], "MPI_Put", 0.01).processes
    assert [(change.library, change.function, change.new - change.old) for change in process.changes] == [
        ("libmpi.so", "check", 70),
        ("libmpi.so", "copy", -20),
    ]


def test_text_says_the_verdict_first() -> None:
    text = comparison_text(compared([251] * 8, [263] * 7 + [300]))
    assert text.startswith("MORE: MPI_Put executes more instructions a call than before, by over 1 %.")
    assert "rank 0: 251 -> 263 (263 to 300) instructions a call, +4.78 %" in text
    assert "mean: 251.00 -> 267.62, +6.62 %" in text
    assert "rank 0: 251 -> 251 instructions a call, the same" in comparison_text(compared([251], [251]))


@pytest.mark.parametrize(
    ("text", "kind", "words"),
    [
        ("not JSON", RecordError, "name what slowpath count --json printed"),
        ('{"schema": 2, "function": "MPI_Put", "processes": []}', RecordError, "schema is 2"),
        ('{"schema": 1, "function": "MPI_Get", "processes": []}', UsageError, "counted MPI_Get"),
        ('{"schema": 1, "function": "MPI_Put", "processes": []}', RecordError, "no call of MPI_Put"),
        (None, RecordError, "is missing"),
    ],
)
def test_what_is_no_earlier_count_is_refused(tmp_path: Path, text: str | None, kind: type, words: str) -> None:
    kept = tmp_path / "counts.json"
    if text is not None:
        kept.write_text(text)
    with pytest.raises(kind, match=words):
        read_earlier(kept, "MPI_Put")
