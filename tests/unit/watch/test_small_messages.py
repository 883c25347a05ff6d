# SPDX-License-Identifier: Apache-2.0
"""SP050: what lies between the sends of a row is a loop's step, computing, or the watch's own cost."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from slowpath.slowpaths.program import sp050_small_messages
from slowpath.watch.analysis import calls_of_program, kept_of, pair_classes, watched
from support.watched_program import CALL_S, ELSEWHERE, ITERATIONS, Program


def sent_in_python(program: Program, twin: bool) -> None:
    """Between two sends a step of a loop takes longer than the send; the receiver is there."""
    for _ in range(ITERATIONS):
        program.compute()
        for _ in range(1 if twin else 200):
            program.now[0] += 2 * CALL_S
            program.receive(1, 0, program.send(0, 1, 200 * 8 if twin else 8), 200 * 8 if twin else 8)


def test_small_messages_of_a_slow_loop_save_its_steps_at_most(tmp_path: Path) -> None:
    spans = []
    for twin in (False, True):
        program = Program(4)
        sent_in_python(program, twin)
        results = program.watched(tmp_path / str(twin))
        spans.append(results.program.span_s or 0.0)
        if not twin:
            (finding,) = results.findings
    assert finding.rule == "SP050"
    assert finding.saved_interval is not None
    less_s = spans[0] - spans[1]
    assert (finding.saved_s or 0.0) < 0.75 * less_s
    assert finding.saved_interval[1] == pytest.approx(less_s, rel=0.25)


def computed_between(program: Program, rounds: int) -> None:
    """So many rounds' messages leave while the sender computes, 20 us before each; the others' leave in a row."""
    for number in range(ITERATIONS):
        program.compute()
        for _ in range(100):
            program.now[0] += 20e-6 if number < rounds else 0.0
            program.receive(1, 0, program.send(0, 1))
        program.all(size=2048, site=ELSEWHERE)


def test_a_row_in_which_the_sender_had_no_core_is_a_row_like_the_others(tmp_path: Path) -> None:
    program = Program(2)
    computed_between(program, rounds=2)
    (finding,) = program.watched(tmp_path).findings
    assert finding.messages == 100 * ITERATIONS
    assert finding.saved_interval is not None
    assert finding.saved_interval[1] < 100 * ITERATIONS * 8e-6


def test_messages_that_leave_while_their_sender_computes_are_not_named(tmp_path: Path) -> None:
    program = Program(2)
    computed_between(program, rounds=ITERATIONS * 3 // 4)
    assert program.watched(tmp_path).findings == ()


def test_what_watching_adds_between_two_sends_is_not_computing(tmp_path: Path) -> None:
    program = Program(2)
    for _ in range(ITERATIONS):
        program.compute()
        for _ in range(100):
            program.now[0] += 6 * CALL_S
            program.receive(1, 0, program.send(0, 1))
    program.watched(tmp_path)
    found = watched(tmp_path)
    pairs = pair_classes(found.attributed, found.class_keys, found.results.classes)
    calls = calls_of_program(found, kept_of(found.attributed, pairs))
    seen = [
        sp050_small_messages.see(dataclasses.replace(calls, cost_s=cost_s)) for cost_s in (0.0, 4 * CALL_S, 5 * CALL_S)
    ]
    assert [len(patterns) for patterns in seen] == [0, 1, 1]
    between_s = [pattern.more_s[2] for patterns in seen for pattern in patterns]
    assert between_s[0] - between_s[1] == pytest.approx(99 * ITERATIONS * CALL_S, rel=0.02)


def test_the_steps_of_a_slow_loop_are_those_of_all_windows_of_a_thinned_record(tmp_path: Path) -> None:
    program = Program(4)
    sent_in_python(program, twin=False)
    program.watched(tmp_path)
    found = watched(tmp_path)
    pairs = pair_classes(found.attributed, found.class_keys, found.results.classes)
    calls = calls_of_program(found, kept_of(found.attributed, pairs))
    window = np.searchsorted(np.quantile(calls.start_s, [0.25, 0.5, 0.75]), calls.start_s)
    (whole,), (parts,) = (
        sp050_small_messages.see(dataclasses.replace(calls, thread=thread))
        for thread in (calls.thread, 4 * calls.thread + window)
    )
    assert whole.more_s[2] > 0.0
    assert parts.more_s[2] == pytest.approx(whole.more_s[2], rel=0.05)
