# SPDX-License-Identifier: Apache-2.0
"""Sections of single experiments: found by the names that experiments list, shown where one of these was measured."""

from __future__ import annotations

import html

import pytest
from msgspec.structs import replace

from slowpath.core.results import Results
from slowpath.experiments.registry import EXPERIMENTS
from slowpath.report.run_page import missing_note, render_html
from slowpath.report.studies import VIEWS, answers_of, views_of
from slowpath.report.text import render_brief, render_text
from slowpath.report.trace import KINDS
from support.change import change
from support.results import a_skipped_row


def test_every_name_that_an_experiment_lists_is_known() -> None:
    assert {name for one in EXPERIMENTS for name in one.views} == set(VIEWS)
    assert {name for one in EXPERIMENTS for name in one.timelines.values()} == set(KINDS)


def test_a_run_shows_the_views_of_its_experiments_alone(results: Results, puts: Results, cannon: Results) -> None:
    assert [view.name for document in (results, puts, cannon) for view in views_of(document)] == ["put", "cannon"]


def test_a_study_answers_its_question_within_the_verdict(results: Results, puts: Results, cannon: Results) -> None:
    shown = {name: " ".join(render_brief(run).split()) for name, run in (("put", puts), ("cannon", cannon))}
    assert "MPI_Put of mpich: 650 instructions in the call, 38.83 ns" in shown["put"]
    assert "shmem_p, called, checked: 15 instructions in the call" in shown["put"]
    assert "Take shared_direct from n = 256 on: it is 1.90 [1.80, 2.00] times as fast as" in shown["cannon"]
    assert "exposes less than half of its time from n = 360 on" in shown["cannon"]
    assert all(html.escape(answer) in render_html(cannon) for answer in answers_of(cannon))
    assert answers_of(results) == []  # of several experiments: a check-up asks what is slow, and no study's question


def test_the_answer_names_the_share_that_is_known(cannon: Results) -> None:
    assert cannon.cannon is not None
    group = cannon.cannon.groups[0]
    change(group, advice=None, advice_reason="ranks share cores")
    for share in group.critical_n.values():
        change(share, n=None, reason="not measured")
    assert answers_of(cannon) == ["No style is advised: ranks share cores."]


def test_a_long_table_stands_behind_full_where_a_study_answers(
    cannon: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    unasked = replace(cannon, verdict=replace(cannon.verdict, state="nothing asked"))
    assert "speed-up over sendrecv_replace" in render_brief(unasked)
    monkeypatch.setattr("slowpath.report.text.SCREEN", 5)
    shown = render_brief(unasked)
    assert "The tables: --full." in shown
    assert len(shown.splitlines()) <= 12
    assert "speed-up over sendrecv_replace" in render_text(unasked)


def test_what_many_cells_lack_is_in_the_verdict(cannon: Results) -> None:
    assert missing_note(cannon) is None
    rows = [a_skipped_row(cell=cell.cell, label=cell.label, reason="no CUDA driver") for cell in cannon.cells]
    many = replace(cannon, skipped=rows[: len(rows) // 2])
    assert missing_note(many) == f"Not measured: {len(rows) // 2} of {len(rows)} cells: no CUDA driver."
