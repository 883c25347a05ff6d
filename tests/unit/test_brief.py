# SPDX-License-Identifier: Apache-2.0
from slowpath.core.results import MOST_LINES, Brief


def test_a_healthy_machine_gets_one_line() -> None:
    assert Brief(answer="Nothing is wrong.").lines() == ["Nothing is wrong."]


def test_never_more_than_a_screen() -> None:
    long = "word " * 100
    brief = Brief(answer=long, actions=(long,) * 9, undecided=long, notes=(long,) * 9, report="x/report.html")
    for width in (20, 40, 80, 100):
        lines = brief.lines(width)
        assert len(lines) <= MOST_LINES
        assert lines[-1] == "Report: x/report.html"
    assert sum(line.startswith("  3. ") for line in lines) == 1
    assert not any(line.startswith("  4. ") for line in lines)


def test_what_is_cut_is_marked_as_cut() -> None:
    lines = Brief(answer="yes", actions=("word " * 100,)).lines(80)
    assert lines[-1].endswith(" ...")
    assert lines[1].startswith("  1. ")
    assert lines[2].startswith("     ")
