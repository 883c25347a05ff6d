# SPDX-License-Identifier: Apache-2.0
"""Lines for people: no sentence is cut within a clause, no name is cut, no unit stands twice, no end twice."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from slowpath.core.cell_results import RoleWitness
from slowpath.core.results import LINES_EACH, cut
from slowpath.core.study_results import CannonComputation
from slowpath.report import format as fmt
from slowpath.report.cannon import clock_lines
from slowpath.report.osu import _cell_line
from slowpath.report.put import put_lines
from support.report_studies import cannon_results, put_results


def test_a_sentence_loses_whole_clauses_and_says_so() -> None:
    parts = [f"question {i} is open since this machine is too noisy" for i in range(9)]
    lines = cut(f"Undecided: {'; '.join(parts)}.", 100)
    text = " ".join(lines)
    assert len(lines) <= LINES_EACH
    assert text.endswith("too noisy; more in the report.")
    clause = "a single clause " * 20
    assert " ".join(cut(clause.strip(), 100)) == clause.strip()
    assert cut("short.", 100, "  1. ") == ["  1. short."]


@pytest.mark.parametrize(
    ("shown", "ends", "words"),
    [
        ("34.34 ns", "[33.76, 35.12] ns", "34.34 ns [33.76, 35.12]"),
        ("1.2 GB/s", "[1.1, 1.3] GB/s", "1.2 GB/s [1.1, 1.3]"),
        ("2.00×", "[1.9, 2.1]", "2.00× [1.9, 2.1]"),
        ("5 s", None, "5 s"),
    ],
)
def test_a_unit_stands_once(shown: str, ends: str | None, words: str) -> None:
    assert fmt.beside(shown, ends) == words


def test_names_that_are_alike_at_first_stay_apart() -> None:
    names = [f"messages of 1 MiB from host memory, touch {touch}" for touch in ("write", "none:write")]
    for name in names:
        above, row = _cell_line([name, "1 us", "none", "1 us", "1 us", "1 us", "8"]).splitlines()
        assert above.strip() == name
        assert row.split() == ["1", "us", "none", "1", "us", "1", "us", "1", "us", "8"]


def test_one_style_has_one_spread() -> None:
    (group,) = cannon_results().cannon.groups
    computed = CannonComputation(
        variant="sendrecv_replace", n=1024, cell=1, spread_ratio=0.029, clock_spread_ratio=None, correlation=None,
        interval=None, follows=False, launches=1, reason="too few",
    )  # fmt: skip
    (line,) = clock_lines(replace(group, computation=[computed]))
    assert line.count(f"({computed.variant})") == 1
    assert " to " not in line.split(" between repetitions")[0]


def test_the_kernels_part_of_a_put_is_a_row_of_its_library() -> None:
    results = put_results()
    origin = RoleWitness(
        minor_faults_per_op=0.0, major_faults_per_op=0.0, system_time_s_per_op=5e-6, involuntary_switches=0
    )
    cells = [
        replace(cell, parameters={**cell.parameters, "puts": "100"}, witness={"steady": {"send": origin}})
        for cell in results.cells
    ]
    lines = put_lines(replace(results, cells=cells))
    kernel = [i for i, line in enumerate(lines) if line.strip().startswith("of it in the kernel")]
    assert [lines[i].split()[-3] for i in kernel] == ["50"] * len(kernel)
    assert all(lines[i - 1].strip().startswith("MPI_Put of ") for i in kernel)
    assert kernel
    assert not any("in the kernel" in line for line in put_lines(results))
