# SPDX-License-Identifier: Apache-2.0
"""The page and files of a watch."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import get_args

import pytest
from msgspec.structs import replace
from test_report_html import HOSTILE, SEEN, Page, pictures, require_well_formed

from slowpath.core.result import LARGEST, LARGEST_NUMBER
from slowpath.watch.report import write as tables
from slowpath.watch.report.page import _PARTS, render_watch_html
from slowpath.watch.report.write import FILES, write_watch
from slowpath.watch.results import AccountName, Pair, Slice, WatchResults, read_watch_results
from slowpath.watch.verdict import with_proofs
from support.watch_results import (
    a_class,
    a_coverage,
    a_finding,
    a_program,
    a_proof,
    a_rank,
    a_site,
    classes,
    findings,
    results,
)


def nothing() -> WatchResults:
    """A program whose ranks left no record."""
    names = ("verdict", "findings", "ranks", "calls", "classes", "sites", "pairs")
    empty: dict[str, tuple[()]] = dict.fromkeys((*names, "slices"), ())
    program = a_program(ranks=0, recorded_ranks=0, span_s=None, hosts=(), exit_code=None, signal=9)
    return results(program=program, saved_s=None, saved_interval=None, **empty)


@pytest.fixture
def page() -> str:
    return render_watch_html(results(), "a watch")


@pytest.mark.parametrize("made", [results(), results(1), results(256), nothing()], ids=["4", "1", "256", "nothing"])
def test_page_is_well_formed(made: WatchResults) -> None:
    text = render_watch_html(made)
    require_well_formed(text)
    assert pictures(text) or made.program.ranks == 0


def test_a_finding_has_what_it_rests_on_and_its_commands(page: str) -> None:
    words = re.sub(r"<[^>]*>", " ", page)
    assert "CommBrick::forward_comm(int) (comm_brick.cpp:512)" in words
    assert "called by Verlet::run(int) &lt; Run::command(int, char**) &lt; main" in words
    assert "slowpath prove &#39;a watch&#39; --remedy huge-pages" in words
    assert "GLIBC_TUNABLES=glibc.malloc.hugetlb=1" in words
    assert "libplugin.so+0x1f40" in words


def test_what_was_proven_is_said_to_be() -> None:
    page = render_watch_html(results(findings=(a_finding(status="proven"),)))
    assert ("1 slow path, 1 proven" in page, "proven on the program itself" in page) == (True, True)
    assert ">Use huge pages of malloc</h3>" in page


def test_a_proof_is_drawn_and_told() -> None:
    text = render_watch_html(results(), "w", [("proof-1", a_proof()), ("proof-2", a_proof(verdict="ignored", runs=()))])
    words = re.sub(r"<[^>]*>", " ", text)
    assert "proven: 4.8% [3.6%, 6.0%] less time" in words
    assert "page faults of a run: 492,977 as it is, 13,386 with the remedy" in words
    assert words.index("not taken") < words.index("proven: 4.8%")  # the latest first
    section = text[text.index('id="proofs"') : text.index('id="findings"')]
    assert sum(path.count("M") for path in re.findall(r'<path d="([^"]*)" class="dots', section)) == 12
    parsed = Page(text)
    assert len(parsed.ids) == len(set(parsed.ids))


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [(("proven",), "proven"), (("undecided", "no effect"), "no effect"), (("slower",), "no effect"),
     (("ignored", "failed"), "priced"), (("no effect", "proven"), "proven"), (("running",), "undecided")],
)  # fmt: skip
def test_a_finding_says_what_its_proofs_show(verdicts: tuple[str, ...], status: str) -> None:
    proven = with_proofs(results(), [a_proof(verdict=verdict) for verdict in verdicts])
    assert [finding.status for finding in proven.findings] == [status, "priced"]  # the other rule has no proof


def test_notes_stand_below_what_is_proven_and_found() -> None:
    text = render_watch_html(results(verdict=("a head", "1. a change", "an account")), "w", [("proof-1", a_proof())])
    places = [text.index(words) for words in ("a head<", "a change<", 'id="proofs"', 'id="findings"', "an account<")]
    assert places == sorted(places)


def test_a_proof_that_saves_is_the_one_number_of_its_change() -> None:
    proven = with_proofs(results(), [a_proof(verdict="proven")])
    (change,) = [words for words in proven.verdict if words.startswith("1. ")]
    assert change.startswith("1. Saves 2.00 s [1.50, 2.50] (proven by reruns). ")
    assert not any(words.startswith("Tried") for words in proven.verdict)
    others = with_proofs(results(), [a_proof(verdict="no effect")]).verdict
    assert any(words.startswith("Tried huge-pages: no effect") for words in others)


@pytest.mark.parametrize("place", ["verdict", "function", "callers", "file", "note", "unseen", "program", "id"])
def test_no_name_gets_out_of_its_place(place: str) -> None:
    """Names of functions and files come from the program, and are anybody's."""
    site = {"function": {"function": HOSTILE}, "callers": {"callers": (HOSTILE,)}, "file": {"file": HOSTILE}}
    made = {
        "verdict": lambda: results(verdict=(HOSTILE, HOSTILE)),
        "note": lambda: results(coverage=a_coverage(notes=(HOSTILE,))),
        "unseen": lambda: results(coverage=a_coverage(unseen=(HOSTILE,))),
        "program": lambda: results(program=a_program(program=HOSTILE, library=HOSTILE, command=(HOSTILE,))),
        "id": lambda: results(findings=(a_finding(id=HOSTILE, text=HOSTILE, change=HOSTILE),)),
    }.get(place, lambda: results(sites=(a_site(**site.get(place, {})), *results().sites[1:])))()
    clean, text = render_watch_html(results()), render_watch_html(made, HOSTILE)
    parsed = Page(text)
    assert parsed.open == []
    assert len(parsed.scripts) == len(Page(clean).scripts)
    assert "\u202e" not in text
    seen = SEEN.rpartition("/")[2] if place == "file" else SEEN.split("<b>")[0]  # of a file no folder
    assert any(seen in words for words in [*parsed.words, " ".join(parsed.words)])


def test_warnings_stand_on_top() -> None:
    ranks = (a_rank(0), a_rank(1, ended="killed"))
    made = results(ranks=ranks, program=a_program(ranks=4, recorded_ranks=2), coverage=a_coverage(contradictions=3))
    page = render_watch_html(made)
    assert "2 of 4 ranks left a readable record." in page
    assert "Rank 1 ended without MPI_Finalize" in page
    assert "3 matched pairs contradict each other." in page
    assert 'class="warn"' not in render_watch_html(results())


def test_every_name_of_time_has_a_part_of_the_bars() -> None:
    drawn = [name for _, _, names in _PARTS for name in names]
    assert sorted(drawn) == sorted({*get_args(AccountName)} - {"unattributed"})


def test_tables_hold_all_fields_and_places() -> None:
    rows = list(csv.DictReader(io.StringIO(tables.classes_csv(results()))))
    assert len(rows) == len(classes())
    assert (rows[0]["function"], rows[0]["line"], rows[0]["transfer_s"]) == (
        "CommBrick::forward_comm(int)",
        "512",
        "5.1",
    )
    assert rows[1]["transfer_s"] == ""


def test_files_come_back(tmp_path: Path) -> None:
    paths = write_watch(tmp_path, results())
    assert [path.name for path in paths] == list(FILES)
    assert all(path.is_file() for path in paths)
    assert read_watch_results(tmp_path) == results()


def nought() -> WatchResults:
    """Everything took no time and had no bytes."""
    rank = a_rank(0, span_s=0.0, mpi_s=0.0)
    calls = tuple(replace(call, calls=0, time_s=0.0, bytes=0) for call in results().calls)
    empty = a_class(count=0, bytes=0, time_s=0.0, wait_s=0.0, transfer_s=0.0)
    flat = Slice(rank=0, start_s=0.0, end_s=0.0, computing=0.0, waiting=0.0, transfer=0.0, other=0.0, is_kept=True)
    return results(
        1, program=a_program(ranks=1, recorded_ranks=0, wall_s=0.0, span_s=0.0), ranks=(rank,), calls=calls,
        classes=(empty,), findings=(), slices=(flat,), pairs=(Pair(source=0, destination=0, messages=0, bytes=0),),
    )  # fmt: skip


def vast() -> WatchResults:
    """Everything is as large as it can be."""
    largest = a_class(count=LARGEST, bytes=LARGEST, bytes_high=LARGEST, time_s=LARGEST_NUMBER,
                      transfer_s=LARGEST_NUMBER, page_bytes=LARGEST)  # fmt: skip
    finding = replace(findings()[0], seconds=-LARGEST_NUMBER, interval=(-LARGEST_NUMBER, LARGEST_NUMBER))
    rank = a_rank(LARGEST, mpi_s=LARGEST_NUMBER)
    return results(
        program=a_program(ranks=LARGEST, recorded_ranks=LARGEST, wall_s=LARGEST_NUMBER), classes=(largest,),
        ranks=(rank,), findings=(finding,), pairs=(Pair(source=LARGEST - 1, destination=0, messages=1, bytes=LARGEST),),
    )  # fmt: skip


@pytest.mark.parametrize("made", [nought(), vast()], ids=["nought", "vast"])
def test_the_ends_are_drawn(made: WatchResults) -> None:
    text = render_watch_html(made)
    assert Page(text).open == []
    body = text.partition("<main")[2]
    assert "nan" not in body.replace("finance", "")
    assert "inf" not in body.replace("info", "")
    assert tables.classes_csv(made)
