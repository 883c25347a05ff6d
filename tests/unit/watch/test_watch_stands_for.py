# SPDX-License-Identifier: Apache-2.0
"""What thinned records say of a program is what full ones say: counts exactly, savings within their interval."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from slowpath.findings.program_pattern import ProgramCalls
from slowpath.watch.analysis import calls_of_program, kept_of, pair_classes, watched
from slowpath.watch.patterns import seen_in
from slowpath.watch.record.layout import EventKind
from slowpath.watch.results import WatchFinding
from slowpath.watch.totals import stands_for
from support.watched_program import ELSEWHERE, HERE, THERE, Program

ROUNDS, EACH = 64, 100
ROUND_S = 1e-3
WINDOW_ROUNDS = 4
SLOWER = 2.3  # calls of a window in which each event is written, as in the draws of docs/results/watch.md


def program_of(level: int, levels: dict[int, int] | None = None) -> Program:
    """Small messages in rounds; one window of four rounds in 2^level is kept, in which calls take longer.

    Args: levels: of ranks that keep more windows.
    """
    program = Program(4)
    for rank in program.job.ranks:
        rank.window_ns = round(WINDOW_ROUNDS * ROUND_S * 1e9)
        rank.level = (levels or {}).get(rank.rank, level)
    for number in range(ROUNDS):
        program.now = [number * ROUND_S + 1e-6] * 4
        program.call_s = 1e-6 * (SLOWER if number // WINDOW_ROUNDS % 4 == 0 else 1.0)
        program.all(size=2048, site=ELSEWHERE)
        for at in [program.send(0, 1) for _ in range(EACH)]:
            program.receive(1, 0, at)
        program.all(size=2048, site=ELSEWHERE)
    return program


def finding_of(program: Program, folder: Path) -> WatchFinding:
    (finding,) = program.watched(folder).findings
    assert finding.rule == "SP050"
    return finding


@pytest.mark.parametrize("levels", [{}, {0: 1}, {0: 1, 1: 0}], ids=["alike", "the sender keeps more", "both do"])
def test_a_thinned_record_has_the_counts_of_a_full_one(levels: dict[int, int], tmp_path: Path) -> None:
    full = finding_of(program_of(0), tmp_path / "full")
    thin = finding_of(program_of(2, levels), tmp_path / "thin")
    assert full.messages == thin.messages == ROUNDS * EACH
    assert f"{ROUNDS * EACH:,} messages of 8 B" in thin.text
    assert full.saved_s is not None
    assert thin.saved_s is not None
    assert thin.saved_interval is not None
    assert thin.saved_interval[0] <= full.saved_s <= thin.saved_interval[1]
    assert thin.saved_s == pytest.approx(full.saved_s, rel=0.25)


def hot(program: Program) -> None:
    """Rank 0 takes one message after the other."""
    sent = {}
    for rank in range(4):
        for number, other in enumerate(other for other in range(4) if other != rank):
            program.call_s = 20e-6 * (rank if number == 0 and rank else 1)
            sent[rank, other] = program.send(rank, other, 2**18) + program.call_s
    program.call_s = 1e-6
    for (rank, other), at in sent.items():
        program.receive(other, rank, at, 2**18)


def chained(program: Program) -> None:
    at = program.send(0, 1, 2048, offset=64)
    for rank in (1, 2, 3):
        program.receive(rank, rank - 1, at, 2048, offset=4096)
        at = program.send(rank, (rank + 1) % 4, 2048, offset=64)
    program.receive(0, 3, at, 2048, offset=4096)


def waits(program: Program) -> None:
    """Rank 0 sends a long message, which goes when rank 1 has computed."""
    start, posted = program.now[0], program.now[1] + 300e-6
    program.at(0).send(1, start_s=start, end_s=posted + 50e-6, message_bytes=2**20, site=HERE)
    program.at(1).receive(0, start_s=posted, end_s=posted + 50e-6, message_bytes=2**20, site=THERE)
    program.now[0] = posted + 350e-6
    program.now[1] = posted + 50e-6


def by_hand(program: Program) -> None:
    sent = [program.send(0, rank, 2048, offset=64) for rank in (1, 2, 3)]
    for rank, at in enumerate(sent, 1):
        program.receive(rank, 0, at, 2048, offset=64)


@pytest.mark.parametrize(("code", "once"), [("SP049", hot), ("SP054", by_hand), ("SP055", chained), ("SP058", waits)])
def test_all_patterns_of_messages_count_those_that_were_not_kept(
    code: str, once: Callable[[Program], None], tmp_path: Path
) -> None:
    found = []
    for level in (0, 1):
        program = Program(4)
        for rank in program.job.ranks:
            rank.window_ns, rank.level = round(WINDOW_ROUNDS * ROUND_S * 1e9), level
        for number in range(2 * ROUNDS):
            program.now = [number * ROUND_S + 1e-6] * 4
            once(program)
            program.all(size=2048, site=ELSEWHERE)
        program.watched(tmp_path / str(level))
        (one,) = [one for path, one in seen_in(calls_in(tmp_path / str(level))) if path.code == code]
        found.append(one)
    full, thin = found
    assert thin.count == full.count >= 2 * ROUNDS
    assert f"{full.count:,}" in thin.text
    assert thin.more_s == pytest.approx(full.more_s, rel=0.01)


def test_no_kind_of_call_stands_for_more_seconds_than_the_profile_counts(tmp_path: Path) -> None:
    """Counts times what a call takes in a kept window would be 1.7 times what all calls took."""
    program_of(2).watched(tmp_path)
    calls = calls_in(tmp_path)
    for call, site, rank in {tuple(row) for row in calls.counted[:, :3].tolist()}:
        mine = (calls.call == call) & (calls.site == site) & (calls.rank == rank)
        kind = (calls.counted[:, :3] == [call, site, rank]).all(axis=1)
        assert calls.weight[mine].sum() == pytest.approx(calls.counted[kind, 3].sum())
        own_s = calls.own_s[mine]
        assert (own_s * calls.seconds_weight[mine]).sum() <= 1.001 * calls.counted_s[kind].sum()
        if calls.names[call] == "MPI_Send":
            assert (own_s * calls.weight[mine]).sum() > 1.3 * calls.counted_s[kind].sum()


def calls_in(folder: Path) -> ProgramCalls:
    found = watched(folder)
    pairs = pair_classes(found.attributed, found.class_keys, found.results.classes)
    return calls_of_program(found, kept_of(found.attributed, pairs))


def test_both_halves_of_a_sendrecv_are_one_call(tmp_path: Path) -> None:
    """The profile counts its message to another rank and its message from one."""
    program = program_of(2)
    for number in range(ROUNDS):
        at_s = number * ROUND_S + 0.9e-3
        for rank, other in ((2, 3), (3, 2)):
            program.at(rank).sendrecv(other, other, start_s=at_s, end_s=at_s + 1e-6, site=HERE)
    program.watched(tmp_path)
    calls = calls_in(tmp_path)
    mine = calls.named("MPI_Sendrecv")
    assert calls.weight[mine].tolist() == [4.0] * (2 * ROUNDS // 4)


def test_polls_that_are_one_event_stand_for_their_time(tmp_path: Path) -> None:
    """One event is a hundred polls: by counts each would stand for all polls of all windows."""
    program = program_of(2)
    for number in range(ROUNDS):
        at_s = number * ROUND_S + 0.9e-3
        program.at(2).event("MPI_Iprobe", at_s, at_s + 50e-6, EventKind.NOTHING, site=THERE)
    program.at(2).profile_row("MPI_Iprobe", 0, ROUNDS * 99, site=THERE)
    program.watched(tmp_path)
    calls = calls_in(tmp_path)
    assert calls.weight[calls.named("MPI_Iprobe")] == pytest.approx(4.0)


def test_a_made_up_count_is_no_number_that_results_cannot_hold(tmp_path: Path) -> None:
    """Rows of 2^62 calls of one place gave a count beyond 2^63, which was written and could not be read again."""
    program = program_of(2)
    program.watched(tmp_path)
    found = watched(tmp_path)
    world, events = found.attributed.world, found.attributed.events
    kept, sites = np.arange(len(events)), np.zeros(len(events), dtype=np.int64)
    counted = np.array([[events.call[0], 0, events.rank[0], 2**62]] * 5, dtype=np.int64)
    weights = stands_for(events, world, kept, np.ones(len(events)), sites, counted)
    assert weights.max() * len(events) < 2.0**63
    assert weights.max() > 1e12
