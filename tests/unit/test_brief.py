# SPDX-License-Identifier: Apache-2.0
from slowpath.core.results import MOST_LINES, Brief


def test_a_healthy_machine_gets_one_line() -> None:
    assert Brief(answer="Nothing is wrong.").lines() == ["Nothing is wrong."]


def test_never_more_than_a_screen() -> None:
    long = "; ".join(["word " * 9] * 12)
    brief = Brief(answer=long, actions=(long,) * 9, undecided=long, notes=(long,) * 9, report="x/report.html")
    for width in (60, 80, 100):
        lines = brief.lines(width)
        assert len(lines) <= MOST_LINES
        assert lines[-1] == "Report: x/report.html"
    assert sum(line.startswith("  3. ") for line in lines) == 1
    assert not any(line.startswith("  4. ") for line in lines)


def test_whole_clauses_are_left_out_and_that_is_said() -> None:
    lines = Brief(answer="yes", actions=("; ".join(["word " * 9] * 12),)).lines(80)
    assert lines[-1].endswith("; more in the report.")
    assert lines[1].startswith("  1. ")
    assert lines[2].startswith("     ")


def test_a_clause_is_never_cut() -> None:
    (_, *action) = Brief(answer="yes", actions=("word " * 100 + "end",)).lines(80)
    assert action[-1].endswith("end")
    many = Brief(answer="yes", actions=("word " * 100 + "end",) * 3).lines(80)
    assert len(many) <= MOST_LINES
    assert many[-1].endswith("end")
