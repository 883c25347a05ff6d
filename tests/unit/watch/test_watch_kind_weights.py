# SPDX-License-Identifier: Apache-2.0
"""Kept calls stand for the time and the number of their kind, also where the profile had no room for its place."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slowpath.findings.program_pattern import ProgramCalls
from slowpath.watch.analysis import AttributedWatch, calls_of_program, kept_of, pair_classes, watched
from slowpath.watch.patterns import seen_in
from slowpath.watch.results import WatchResults
from slowpath.watch.totals import shared
from support.watched_program import ELSEWHERE, HERE, THERE, Program

ROUNDS, ROUND_S, WINDOW_ROUNDS = 64, 1e-3, 4
SLOWER = 2.3  # waits of a window in which each event is written
WAIT_S, CALL_S = 100e-6, 1e-6


def thinned(ranks: int, level: int) -> Program:
    program = Program(ranks)
    for rank in program.job.ranks:
        rank.window_ns, rank.level = round(WINDOW_ROUNDS * ROUND_S * 1e9), level
    return program


def is_kept(number: int) -> bool:
    return number // WINDOW_ROUNDS % 4 == 0


def late_receives(level: int) -> Program:
    """Rank 0 sends a long message, which goes when rank 1 has computed: longer where events are written. Other sends of
    rank 0, at another place, take longer where none are.
    """
    program = thinned(4, level)
    for number in range(ROUNDS):
        start = number * ROUND_S + 1e-6
        wait_s = WAIT_S * (SLOWER if is_kept(number) else 1.0)
        posted, end = start + wait_s, start + wait_s + 10e-6
        program.at(0).send(1, start_s=start, end_s=end, message_bytes=2**20, site=HERE)
        program.at(1).receive(0, start_s=posted, end_s=end, message_bytes=2**20, site=THERE)
        short, took_s = end + 1e-6, CALL_S * (1.0 if is_kept(number) else 100.0)
        program.at(0).send(2, start_s=short, end_s=short + took_s, message_bytes=2**10, site=ELSEWHERE)
        program.at(2).receive(0, start_s=short, end_s=short + took_s, message_bytes=2**10, site=THERE)
        program.now = [number * ROUND_S + 0.9e-3] * 4
        program.all(size=2048, site=ELSEWHERE)
    return program


def seen(program: Program, folder: Path) -> tuple[AttributedWatch, ProgramCalls, WatchResults]:
    results = program.watched(folder)
    found = watched(folder)
    pairs = pair_classes(found.attributed, found.class_keys, found.results.classes)
    return found, calls_of_program(found, kept_of(found.attributed, pairs)), results


def test_parts_of_a_kind_never_exceed_what_the_profile_counted(tmp_path: Path) -> None:
    found, calls, _ = seen(late_receives(2), tmp_path)
    whole_s = calls.end_s - calls.start_s
    events = found.attributed.events
    parts_s = found.attributed.split.parts_s.sum(axis=1) * found.weight
    sends_s = []
    for call, site, rank in {tuple(row) for row in calls.counted[:, :3].tolist()}:
        counted_s = calls.counted_s[(calls.counted[:, :3] == [call, site, rank]).all(axis=1)].sum()
        kind = (calls.call == call) & (calls.site == site) & (calls.rank == rank)
        assert (whole_s * calls.seconds_weight)[kind].sum() <= 1.001 * counted_s
        sites = [one for one, index in found.site_of.items() if index == site]
        mine = (events.call == call) & np.isin(events.site, sites) & (events.rank == rank)
        assert parts_s[mine].sum() == pytest.approx(counted_s, rel=0.001)
        sends_s.append(counted_s if calls.names[call] == "MPI_Send" else 0.0)
    # What the law is for: the two places of sends differ, and by the call's whole time the first would get most of it.
    long_s, short_s = sorted(filter(None, sends_s), reverse=True)
    assert short_s > 0.3 * long_s


def test_waits_of_a_thinned_record_are_not_as_long_as_those_of_its_slow_windows(tmp_path: Path) -> None:
    _, calls, results = seen(late_receives(2), tmp_path)
    waited_s = ROUNDS * WAIT_S * (0.25 * SLOWER + 0.75)
    (waits,) = [one.waited_s for path, one in seen_in(calls) if path.code == "SP058"]
    assert 0.5 * waited_s < 4 * waits <= 1.05 * waited_s
    (late,) = [wait for wait in results.waits if wait.kind == "late receiver"]
    assert late.longest_s == pytest.approx(waited_s, rel=0.05)
    assert results.accounts is not None
    assert sum(account.seconds for account in results.accounts) == pytest.approx(
        sum(rank.mpi_s for rank in results.ranks) / 4
    )


def test_a_place_of_which_no_call_was_kept_has_no_waits(tmp_path: Path) -> None:
    """Its time was given to the kept calls of other places."""
    program = late_receives(2)
    for number in range(ROUNDS):
        if not is_kept(number):
            at_s = number * ROUND_S + 0.5e-3
            program.at(0).send(3, start_s=at_s, end_s=at_s + 300e-6, site=THERE)
            program.at(3).receive(0, start_s=at_s, end_s=at_s + 300e-6, site=THERE)
    _, _, results = seen(program, tmp_path)
    (late,) = [wait for wait in results.waits if wait.kind == "late receiver"]
    assert late.longest_s == pytest.approx(ROUNDS * WAIT_S * (0.25 * SLOWER + 0.75), rel=0.05)
    assert results.ranks[0].unexplained_s >= 0.99 * 48 * 300e-6


EACH, FEW = 100, 10


def overflowed(level: int, *, is_full: bool) -> Program:
    """Small messages of two places; the profile counts the second half of those of the first without their place."""
    program = thinned(2, level)
    for number in range(ROUNDS):
        program.now = [number * ROUND_S + 1e-6] * 2
        for i in range(EACH + FEW):
            start, here = program.now[0], i < EACH
            fields = {"counted_at": 0} if is_full and here and number >= ROUNDS // 2 else {}
            program.at(0).send(
                1, start_s=start, end_s=start + CALL_S, site=HERE if here else ELSEWHERE, message_bytes=8, **fields
            )
            program.now[0] = start + CALL_S + 50e-9
            program.receive(1, 0, start)
        program.all(size=2048, site=ELSEWHERE)
    program.at(0).lost["profile"] = ROUNDS // 2 * EACH if is_full else 0
    return program


@pytest.mark.parametrize("is_full", [False, True], ids=["room", "no room"])
def test_a_place_for_which_the_profile_had_no_room_is_counted(is_full: bool, tmp_path: Path) -> None:
    found, calls, results = seen(overflowed(2, is_full=is_full), tmp_path)
    sends = calls.named("MPI_Send")
    place_of = {site: int(calls.weight[sends & (calls.site == site)].sum()) for site in np.unique(calls.site[sends])}
    assert sorted(place_of.values()) == [ROUNDS * FEW, ROUNDS * EACH]
    stood_s = ((calls.end_s - calls.start_s) * calls.seconds_weight)[sends].sum()
    assert stood_s == pytest.approx(ROUNDS * (EACH + FEW) * CALL_S, rel=0.001)
    said = [note for note in results.coverage.notes if "had no room for the places" in note]
    assert len(said) == is_full
    if is_full:
        assert f"of {ROUNDS // 2 * EACH:,} calls (MPI_Send)" in said[0]
        assert "counts by place in findings are estimates" in said[0]
    assert found.attributed.world.level == 2


def test_no_call_gets_more_of_the_coarse_row_than_it_holds() -> None:
    guess, own = np.array([100.0, 50.0, 7.0]), np.array([40.0, 10.0, 9.0])
    found = shared(guess, own, np.array([50.0, 5.0]), np.array([0, 0, 1]))
    assert found.tolist() == pytest.approx([40 + 50 * 50 / 90, 10 + 40 * 50 / 90, 9])
    assert shared(guess, own, np.array([500.0, 5.0]), np.array([0, 0, 1])).tolist() == [100.0, 50.0, 9.0]
