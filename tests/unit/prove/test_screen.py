# SPDX-License-Identifier: Apache-2.0
"""--screen: in which order remedies are looked at, what stops one, and which of them are proven."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import pytest

from slowpath.core.errors import EnvironmentFailure
from slowpath.watch.folder import WatchInfo
from slowpath.watch.proof import Proof, ProofWitness
from slowpath.watch.prove import session as conduct
from slowpath.watch.prove.remedies import Candidate, ProgramMpi
from slowpath.watch.prove.rerun import Compared, Rerun, Started
from slowpath.watch.prove.session import (
    Budget,
    ProofRequest,
    ScreenedRemedy,
    in_order,
    is_crowded,
    prove_all,
    screen,
    share_s,
    worth_proving,
)
from support.watch_results import a_finding, a_proof, a_rank, results

COMMAND = ("./app",)
STARTED = Started(None, None, Compared(), 600.0)


class Machine:
    """A clock that runs move, each as long as it is planted, or up to its limit. ran: keys, in order."""

    def __init__(self, seconds: Mapping[str, float], fails: Sequence[str] = ()) -> None:
        self.now_s, self.ran, self._seconds, self._fails = 0.0, [], seconds, fails  # type: ignore[var-annotated]

    def run(self, argv: Sequence[str], environ: Mapping[str, str], started: Started, files: Path) -> Rerun:
        key = environ.get("REMEDY", "as it is")
        self.ran.append(key)
        if key in self._fails:
            self.now_s += 0.1
            return Rerun(0.1, 1, "exit code 1", None, None)
        wall_s = min(self._seconds.get(key, 10.0), started.limit_s)
        self.now_s += wall_s
        hangs = wall_s == started.limit_s
        return Rerun(wall_s, None if hangs else 0, "no end within its limit" if hangs else None, None, None)

    def screened(self, tmp_path: Path, *keys: str, budget_s: float = 1000.0) -> list[ScreenedRemedy]:
        budget = Budget(budget_s, clock=lambda: self.now_s)
        return screen([a_candidate(key) for key in keys], COMMAND, {}, STARTED, tmp_path, budget, 3, self.run)


def a_candidate(key: str) -> Candidate:
    return Candidate(key, "It.", (), COMMAND, {"REMEDY": key})


def test_the_fastest_comes_first_and_those_that_fail_last(tmp_path: Path) -> None:
    rows = Machine({"half": 5.0}, ["breaks"]).screened(tmp_path, "breaks", "same", "half")
    assert [row.candidate.key for row in rows] == ["half", "same", "breaks"]
    assert rows[0].ratio == pytest.approx(0.5)
    assert rows[2].reason == "exit code 1"


def test_half_of_the_budget_is_left_to_the_proof(tmp_path: Path) -> None:
    machine, keys = Machine({}), [str(i) for i in range(9)]
    rows = machine.screened(tmp_path, *keys, budget_s=100.0)
    assert 40.0 <= machine.now_s <= 65.0
    assert any(row.reason == "not run: the time was over" for row in rows)
    machine = Machine({})
    machine.screened(tmp_path, *keys, budget_s=300.0)
    assert 80.0 <= machine.now_s <= 175.0  # all of them once, and no run beyond half of the budget


def test_a_remedy_that_is_clearly_slower_is_stopped_and_the_others_get_their_runs(tmp_path: Path) -> None:
    machine = Machine({"slow": 78.0, "good": 6.0})
    rows = machine.screened(tmp_path, "slow", "good", "same", budget_s=150.0)
    by_key = {row.candidate.key: row for row in rows}
    assert by_key["slow"].ratio is None
    assert "clearly slower: stopped after 20 s" in by_key["slow"].reason
    assert by_key["good"].ratio == pytest.approx(0.6)
    assert by_key["same"].ratio == pytest.approx(1.0)
    assert machine.ran.count("slow") == 1


def test_one_that_is_somewhat_slower_gets_no_second_run(tmp_path: Path) -> None:
    machine = Machine({"slower": 14.0, "good": 6.0})
    machine.screened(tmp_path, "slower", "good")
    assert (machine.ran.count("slower"), machine.ran.count("good")) == (1, 2)


def test_the_first_round_is_in_the_order_of_promise_behind_a_run_as_it_is(tmp_path: Path) -> None:
    machine = Machine({})
    machine.screened(tmp_path, "first", "second", "third", budget_s=70.0)
    assert machine.ran[:4] == ["as it is", "first", "second", "third"]


def test_a_program_that_fails_as_it_is_is_said(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentFailure, match="unchanged, unwatched program fails: exit code 1"):
        Machine({}, ["as it is"]).screened(tmp_path, "any")


def test_yielding_comes_first_where_ranks_exceed_processors_and_then_what_findings_suggest() -> None:
    finding = a_finding(rule="SP024", prove="--remedy keep-freed-memory", remedies=())
    crowded = [remedy.key for remedy in in_order([finding], crowded=True)]
    assert crowded[:2] == ["yield-when-idle", "keep-freed-memory"]
    assert next(remedy.key for remedy in in_order([finding], crowded=False)) == "keep-freed-memory"
    assert sorted(crowded) == sorted(remedy.key for remedy in in_order([], crowded=False))


def test_ranks_are_counted_on_each_host() -> None:
    ranks = tuple(a_rank(rank, host="a" if rank < 3 else "b") for rank in range(5))
    assert is_crowded(results(ranks=ranks), processors=2)
    assert not is_crowded(results(ranks=ranks), processors=3)
    assert not is_crowded(None, processors=1)


def test_what_was_not_faster_is_not_worth_a_proof_but_for_the_fastest() -> None:
    rows = [ScreenedRemedy(a_candidate(str(ratio)), ratio) for ratio in (0.9, 0.99, 1.1)]
    assert worth_proving(rows) == rows[:2]
    assert worth_proving(rows[2:]) == rows[2:]
    assert worth_proving([ScreenedRemedy(a_candidate("x"), None, "failed")]) == []


def test_a_clear_winner_has_all_of_the_budget_and_winners_by_noise_share_it() -> None:
    assert share_s(60.0, [0.5, 0.02, 0.01], 3) == 60.0
    assert share_s(60.0, [0.03, 0.02, 0.01], 3) == 20.0
    assert share_s(40.0, [0.02, 0.01], 2) == 20.0
    assert share_s(20.0, [0.01, 0.001], 1) == 20.0


Tried = list[tuple[str, float]]


@pytest.fixture
def proofs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., tuple[list[Proof], Tried, list[str]]]:
    """Screens and proves remedies of planted ratios and verdicts. Returns: proofs, what was tried, lines."""

    def call(ratios: Mapping[str, float], verdicts: Mapping[str, str], ignored: Sequence[str] = ()) -> object:
        tried: Tried = []
        lines: list[str] = []

        def before(one: Candidate, *_: object) -> ProofWitness:
            return ProofWitness(state="ignored" if one.key in ignored else "not known", text="read back as it is")

        def rows(candidates: Sequence[Candidate], *_: object) -> list[ScreenedRemedy]:
            return sorted(
                (ScreenedRemedy(one, ratios[one.key]) for one in candidates), key=lambda row: row.ratio or 9.0
            )

        def prove(_: ProofRequest, one: Candidate, __: int, budget: Budget, ___: object) -> Proof:
            tried.append((one.key, budget.total_s))
            return msgspec.structs.replace(a_proof(), remedy=one.key, verdict=verdicts[one.key])

        monkeypatch.setattr(conduct, "before_runs", before)
        monkeypatch.setattr(conduct, "screen", rows)
        monkeypatch.setattr(conduct, "_prove", prove)
        info = WatchInfo(slowpath="1", command=COMMAND, started="", working_folder="/", host="n", library="l")
        asked = ProofRequest(tmp_path, info, ProgramMpi(), STARTED, 120.0, 0.01, False, True)
        return prove_all(asked, [a_candidate(key) for key in ratios], lines.append), tried, lines

    return call  # type: ignore[return-value]


def test_a_winner_that_is_not_applied_is_followed_by_the_next_one(
    proofs: Callable[..., tuple[list[Proof], Tried, list[str]]],
) -> None:
    found, tried, _ = proofs({"noise": 0.9, "real": 0.95, "same": 1.0}, {"noise": "ignored", "real": "proven"})
    assert [proof.verdict for proof in found] == ["ignored", "proven"]
    assert [key for key, _ in tried] == ["noise", "real"]
    assert tried[1][1] > 100.0  # what is left, not the end


def test_what_is_seen_not_to_be_taken_is_not_run(
    proofs: Callable[..., tuple[list[Proof], Tried, list[str]]],
) -> None:
    _, tried, lines = proofs({"unknown": 0.5, "real": 0.9}, {"real": "proven"}, ignored=["unknown"])
    assert [key for key, _ in tried] == ["real"]
    assert any("unknown: not taken, so not run: read back as it is" in line for line in lines)


def test_nothing_is_tried_behind_a_proof(proofs: Callable[..., tuple[list[Proof], Tried, list[str]]]) -> None:
    _, tried, _ = proofs({"best": 0.5, "good": 0.6}, {"best": "proven", "good": "proven"})
    assert [key for key, _ in tried] == ["best"]
