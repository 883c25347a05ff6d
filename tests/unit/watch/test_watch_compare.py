# SPDX-License-Identifier: Apache-2.0
"""slowpath compare of two watches: what became faster, and whether it was what the first had promised."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slowpath.cli.main import exit_code
from slowpath.core.results import MOST_LINES
from slowpath.slowpaths.sp060_shared_processors import OTHERS
from slowpath.watch.compare import WatchComparison, compared, comparison_lines
from slowpath.watch.results import Account, WatchResults
from support.watch_record import Job
from support.watch_results import FORWARD, a_class, a_finding, a_program, results
from support.watched_program import described

BEFORE_S = 40.0
PROMISED_S, ENDS = 4.0, (3.0, 6.0)


def a_run(span_s: float, *findings: Any, waiting_s: float = 1.0, **changes: Any) -> WatchResults:
    accounts = (
        Account(name="late sender", seconds=waiting_s, share=waiting_s / span_s, by_rank=(waiting_s,) * 4),
        Account(name="computing", seconds=span_s - waiting_s, share=1 - waiting_s / span_s, by_rank=(1.0,) * 4),
    )
    given = {"program": a_program(span_s=span_s), "findings": findings, "accounts": accounts, "saved_s": None}
    return results(**(given | {"saved_interval": None} | changes))


def the_finding(**changes: Any) -> Any:
    return a_finding(**({"saved_s": PROMISED_S, "saved_interval": ENDS, "sites": (FORWARD,)} | changes))


def side(*runs: WatchResults) -> list[tuple[Path, WatchResults]]:
    return [(Path(f"w{number}"), run) for number, run in enumerate(runs)]


def change(after_s: float, *left: Any, **changes: Any) -> WatchComparison:
    return compared(side(a_run(BEFORE_S, the_finding(), waiting_s=5.0)), side(a_run(after_s, *left, **changes)))


@pytest.mark.parametrize(
    ("after_s", "word"),
    [(BEFORE_S - 4, "as promised"), (BEFORE_S - 8, "more than promised"), (BEFORE_S - 1, "less than promised")],
)
def test_what_was_obtained_is_compared_with_what_was_promised(after_s: float, word: str) -> None:
    changed = change(after_s)
    assert (changed.kept_word, changed.promised_s, changed.promised_interval) == (word, PROMISED_S, ENDS)
    assert changed.saved_s == pytest.approx(BEFORE_S - after_s)
    text = " ".join(comparison_lines(changed))
    assert "Promised 4.0 s [3.0, 6.0] by " in text
    assert "one run each, so without an interval" in text


def test_a_finding_that_is_still_there_was_not_changed() -> None:
    changed = change(39.0, the_finding(saved_s=3.9))
    assert (changed.kept_word, changed.promised_s) == ("not promised", None)
    assert any(line.startswith("Still there: ") for line in comparison_lines(changed))
    assert change(39.0, the_finding(saved_s=0.3)).kept_word == "less than promised"
    moved = a_run(39.0, the_finding(id="SP008:aaaaaaaa", saved_s=3.9))
    same = compared(side(a_run(BEFORE_S, the_finding())), side(moved))
    assert not same.promised[0].is_made, "the same words at the same function are the same finding"


def test_accounts_and_places_say_where_the_time_went() -> None:
    classes = (a_class(0, time_s=2.0), a_class(1, "MPI_Waitall", time_s=3.0))
    changed = change(36.0, waiting_s=1.0, classes=classes)
    assert [(row.name, row.before_s, row.after_s) for row in changed.accounts] == [("late sender", 5.0, 1.0)]
    assert changed.places[0].before_s != changed.places[0].after_s
    assert "late sender 1 instead of 5 s" in " ".join(comparison_lines(changed))


def test_several_runs_have_an_interval() -> None:
    before = [a_run(span_s, the_finding()) for span_s in (40.0, 40.2, 39.8)]
    after = [a_run(span_s) for span_s in (36.0, 36.2, 35.8)]
    comparison = compared(side(*before), side(*after))
    assert comparison.interval is not None
    assert comparison.interval[0] < 0.9 < comparison.interval[1] < 1
    assert compared(side(*before), side(*after[:2])).interval is None
    assert "3 and 3 runs)" in comparison_lines(comparison)[0]
    assert comparison.kept_word == "as promised"
    noisy = [a_run(span_s, the_finding()) for span_s in (40.0, 60.0, 20.0)]
    assert compared(side(*noisy), side(*after)).kept_word == "not decided"


def test_what_was_obtained_has_an_interval_where_each_side_has_three_runs() -> None:
    before = [a_run(span_s, the_finding()) for span_s in (40.0, 40.2, 39.8)]
    several = compared(side(*before), side(*(a_run(span_s) for span_s in (36.0, 36.2, 35.8))))
    assert several.saved_interval is not None
    assert several.saved_interval[0] < several.saved_s < several.saved_interval[1]
    assert "Obtained 4.00 s [3.56, 4.43]: " in " ".join(comparison_lines(several))
    assert change(36.0).saved_interval is None
    assert "Obtained 4.00 s (no interval): " in " ".join(comparison_lines(change(36.0)))


@pytest.mark.parametrize(("lacked_s", "word"), [(0.0, "as promised"), (1.0, "as promised"), (3.0, "not decided")])
def test_a_load_that_differs_is_named_and_decides_nothing(lacked_s: float, word: str) -> None:
    busy = Account(name="no processor", seconds=lacked_s, share=lacked_s / BEFORE_S, by_rank=(lacked_s,) * 4)
    before = a_run(BEFORE_S, the_finding(), accounts=(busy,) if lacked_s else ())
    changed = compared(side(before), side(a_run(36.0)))
    assert changed.kept_word == word
    text = " ".join(comparison_lines(changed))
    assert ("for 8 % of A's time and 0 % of B's time" in text) == (lacked_s == 3.0)


def test_load_that_is_gone_is_no_change_that_was_promised() -> None:
    before = a_run(BEFORE_S, the_finding(), the_finding(id="SP081:b", name=OTHERS, sites=(), saved_s=30.0),
                   saved_s=33.0, saved_interval=(20.0, 36.0))  # fmt: skip
    assert compared(side(before), side(a_run(6.0))).promised_s == PROMISED_S


def test_a_screen_is_enough() -> None:
    many = [the_finding(id=f"SP008:{number:08}", name=f"name {number}") for number in range(9)]
    comparison = compared(side(a_run(BEFORE_S, *many)), side(a_run(41.0, *many[3:], the_finding(name="new"))))
    assert len(comparison_lines(comparison)) <= MOST_LINES
    assert any(line.startswith("New: new at ") for line in comparison_lines(comparison, full=True))


def a_watch(folder: Path, late_s: float) -> Path:
    job = Job(ranks=2)
    for number in range(40):
        at = 0.02 + 0.01 * number
        job.ranks[0].send(1, tag=7, start_s=at, end_s=at + 0.001, message_bytes=65_536)
        job.ranks[1].receive(0, tag=7, start_s=at - late_s, end_s=at + 0.0012, message_bytes=65_536)
    job.write(folder / "ranks")
    return described(folder, command=("mpiexec", "./app"), wall_s=0.5)


def test_the_command_takes_watches_and_folders_of_watches(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, other = a_watch(tmp_path / "a" / "1", 0.005), a_watch(tmp_path / "b" / "1", 0.001)
    assert exit_code(["compare", str(first), str(other)]) == 0
    printed = capsys.readouterr().out
    assert "late sender 20 instead of 100 ms" in " ".join(printed.split())
    assert exit_code(["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["a"]["folders"] == [str(first)]
    assert exit_code(["compare", str(first), str(tmp_path)]) == 2
    assert exit_code(["compare", str(first), str(tmp_path / "c")]) == 4
    assert f"error: {tmp_path}/c: does not exist; name a run folder" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("spans_s", "words", "code"),
    [
        ((40.1, 39.9, 40.0), [], 0),
        ((44.1, 43.9, 44.0), [], 1),
        ((44.1, 43.9, 44.0), ["--minimum-effect", "20%"], 0),
        ((44.1, 43.9), [], 3),
        ((60.0, 30.0, 44.0), [], 3),
        ((60.0, 30.0, 44.0), ["--undecided", "pass"], 0),
        ((40.1, 39.9, 40.0), ["--junit", "gate.xml"], 2),
    ],
)
def test_a_gate_passes_or_fails_watches_by_the_time_of_the_program(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], spans_s: Any, words: list[str], code: int
) -> None:
    runs = {"before": [a_run(span_s) for span_s in (40.0, 40.2, 39.8)], "after": [a_run(span_s) for span_s in spans_s]}
    monkeypatch.setattr("slowpath.watch.compare.watches_in", lambda path: [path])
    monkeypatch.setattr("slowpath.watch.compare.read_side", lambda path: side(*runs[path.name]))
    assert exit_code(["gate", "after", "--baseline", "before", *words]) == code
    printed = capsys.readouterr()
    verdicts = {0: "PASS", 1: "REGRESSION", 3: "UNDECIDED"}
    assert code == 2 or printed.out.startswith("UNDECIDED" if "--undecided" in words else verdicts[code])
    assert len(printed.out.splitlines()) <= MOST_LINES + 1
