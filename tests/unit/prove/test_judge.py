# SPDX-License-Identifier: Apache-2.0
"""Verdicts of planted wall times: what is proven has an effect, and a control, a witness and outputs that allow it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest

from slowpath.watch.proof import Proof, ProofRun, ProofWitness, Side, proof_lines, proofs_brief
from slowpath.watch.prove.judge import SIDES, by_faults, concluded, order, placebo, smallest_decidable, spread
from slowpath.watch.prove.remedies import Candidate
from slowpath.watch.prove.rerun import Compared, Started
from slowpath.watch.prove.session import ProofQuestion, goes_on, new_proof, wants_more, whole_runs_only

TAKEN = ProofWitness(state="taken", text="page faults became fewer")
QUESTION = ProofQuestion(
    Candidate("huge-pages", "malloc asks for huge pages.", ("SP008",), ("./app",), {"GLIBC_TUNABLES": "x=1"}),
    ("./app",),
    {},
    Started(Path("/"), None, Compared(("stdout",)), 60.0),
    0.95,
    0.01,
    True,
)


def run(number: int, block: int, side: Side, wall_s: float, **other: object) -> ProofRun:
    fields: dict[str, object] = {"failed": None, "output_sha256": "same", "minor_faults": None, "exit_code": 0, **other}
    return ProofRun(number=number, phase="proof", block=block, side=side, wall_s=wall_s, **fields)  # type: ignore[arg-type]


def runs(blocks: int, effect: float, noise: float = 0.005, control: float = 1.0, seed: int = 0) -> tuple[ProofRun, ...]:
    """Blocks of a program of 10 s whose remedy takes `effect` of the time."""
    rng, made = np.random.default_rng(seed), []
    times: Mapping[Side, float] = {"as it is": 10.0, "control": 10.0 * control, "remedy": 10.0 * effect}
    for block in range(blocks):
        drift = 1 + 0.3 * math.sin(block)  # slow: common to a block
        for side in order(seed, "proof", block):
            made.append(run(len(made) + 1, block, side, times[side] * drift * math.exp(rng.normal(scale=noise))))
    return tuple(made)


def judged(made: Sequence[ProofRun], witness: ProofWitness = TAKEN) -> Proof:
    return concluded(msgspec.structs.replace(new_proof(QUESTION, witness), runs=tuple(made)))


def test_a_faster_program_is_proven_with_what_it_saves() -> None:
    proof = judged(runs(12, 0.9))
    assert proof.verdict == "proven"
    assert proof.effect is not None
    assert proof.effect.interval is not None
    assert proof.effect.interval[0] < 0.9 < proof.effect.interval[1]
    assert proof.saved_s is not None
    assert proof.run_s is not None
    assert proof.saved_s == pytest.approx(0.1 * proof.run_s, rel=0.1)
    assert "less time" in proof_lines(proof)[0]
    assert any("export GLIBC_TUNABLES=x=1" in line for line in proof_lines(proof))


def test_several_remedies_fit_a_screen_those_that_help_first() -> None:
    made = {
        "little": judged(runs(12, 0.97)),
        "much": judged(runs(12, 0.8)),
        "slower": judged(runs(12, 1.1)),
        "undecided": judged(runs(3, 0.5)),
    }
    named = [msgspec.structs.replace(proof, remedy=name) for name, proof in made.items()]
    rows = proofs_brief([*named, *(named[2:3] * 20)], "w/report.html").lines()
    assert rows[0] == "2 remedies help, of 24 that were tried."
    assert rows[1].startswith("  1. export GLIBC_TUNABLES=x=1 (much): 20.")
    assert any(row.startswith("  2. export GLIBC_TUNABLES=x=1 (little): ") for row in rows)
    assert "Undecided: undecided; run the same command to continue." in rows
    assert rows[-1] == "Report: w/report.html"
    assert len(rows) <= 12
    assert proofs_brief(named[2:3], None).lines()[0] == "No remedy is proven to help, of 1 that were tried."


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (runs(12, 1.0, noise=0.002), "no effect"),
        (runs(12, 1.1), "slower"),
        (runs(3, 0.5), "undecided"),
        (runs(12, 1.0, noise=0.1), "undecided"),
        (runs(40, 0.995, noise=0.001), "no effect"),
        (runs(12, 0.9, control=0.9), "control moved"),
    ],
)
def test_verdicts(made: tuple[ProofRun, ...], verdict: str) -> None:
    proof = judged(made)
    assert proof.verdict == verdict
    assert proof.saved_s is None


def test_a_control_that_moves_by_less_than_counts_takes_no_proof_away() -> None:
    """With intervals at 95 % one proof in twenty would end so, beside an effect a hundred times as large."""
    proof = judged(runs(12, 0.5, noise=0.001, control=0.995))
    assert proof.control is not None
    assert proof.control.interval is not None
    assert proof.control.interval[1] < 1
    assert proof.verdict == "proven"
    assert "the control's is within 0.01 of 1" in proof.reason
    assert judged(runs(12, 0.9, noise=0.001, control=0.98)).verdict == "control moved"


def test_a_control_that_may_explain_the_effect_takes_the_proof_away() -> None:
    """A remedy of 1.9 % beside a control of 0.9 %: without the latter's move less is left than counts."""
    proof = judged(runs(40, 0.981, noise=0.001, control=0.991))
    assert proof.effect is not None
    assert proof.effect.ratio < 0.99
    assert proof.verdict == "control moved"


def test_a_setting_that_is_ignored_proves_nothing_however_fast() -> None:
    assert judged(runs(12, 0.5), ProofWitness(state="ignored", text="MPI_T: no such variable")).verdict == "ignored"


def test_a_failing_run_is_not_a_fast_one() -> None:
    made = (*runs(12, 0.5), run(99, 12, "remedy", 0.1, failed="exit code 1", exit_code=1))
    proof = judged(made)
    assert proof.verdict == "failed"
    assert "run 99, with the remedy: exit code 1" in proof.reason


def test_another_output_is_not_proven() -> None:
    made = [*runs(12, 0.5)]
    made[-1] = run(36, 11, "remedy", 5.0, output_sha256="other")
    assert judged(made).verdict == "output differs"
    usual = [run(1, 0, "as it is", 1.0, output_sha256="a"), run(2, 0, "control", 1.0, output_sha256="b")]
    assert "--ignore" in judged(usual).reason


def test_nothing_is_proven_of_nothing_in_19_of_20_cases_though_each_block_is_looked_at() -> None:
    proven = 0
    for seed in range(200):
        every = runs(25, 1.0, noise=0.02, seed=seed)
        proven += any(judged(every[: 3 * blocks]).verdict in ("proven", "slower") for blocks in range(4, 26))
    assert proven <= 10


def test_order_is_random_and_the_same_again() -> None:
    orders = {order(7, "proof", block) for block in range(60)}
    assert len(orders) == math.factorial(len(SIDES["proof"]))
    assert order(7, "proof", 3) == order(7, "proof", 3)


def test_the_control_makes_the_environment_as_long_as_the_remedy() -> None:
    for variables in ({"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}, {"A" * 30: "1", "B" * 30: "2"}):
        control = placebo(variables)
        assert sum(len(f"{k}={v}") + 1 for k, v in control.items()) == sum(
            len(f"{k}={v}") + 1 for k, v in variables.items()
        )
    assert placebo({}) == {}


def test_what_can_be_decided_is_found_in_about_four_cases_of_five() -> None:
    for blocks, noise in ((8, 0.02), (15, 0.01), (15, 0.003), (40, 0.02)):
        least = smallest_decidable(noise, blocks, 0.95, 0.01)
        assert least is not None
        found = sum(judged(runs(blocks, 1 / (1 + least), noise, seed=seed)).verdict == "proven" for seed in range(100))
        assert 70 <= found <= 97, (blocks, noise)
    assert smallest_decidable(noise, 3, 0.95, 0.01) is None


def test_the_spread_of_one_run_comes_from_pairs() -> None:
    rng = np.random.default_rng(0)
    pairs = [(math.exp(a), math.exp(b)) for a, b in rng.normal(scale=0.02, size=(4000, 2))]
    assert spread(pairs) == pytest.approx(0.02, rel=0.05)
    assert spread([]) is None


def test_page_faults_show_whether_it_acts() -> None:
    def faulting(usual: int, with_it: int) -> list[ProofRun]:
        made = [run(i, i // 2, "as it is" if i % 2 else "control", 1.0, minor_faults=usual + i) for i in range(4)]
        return [*made, *(run(9 + i, i, "remedy", 1.0, minor_faults=with_it + i) for i in range(2))]

    fewer, same = by_faults(faulting(100_000, 20_000)), by_faults(faulting(100_000, 100_000))
    assert fewer is not None
    assert fewer.state == "taken"
    assert same is not None
    assert same.state == "ignored"
    assert by_faults(faulting(100_000, 20_000)[:3]) is None


def test_an_open_proof_goes_on_with_whole_blocks_and_a_decided_one_does_not() -> None:
    every = runs(5, 1.0, noise=0.1)
    cut = judged(every[:-1])
    assert cut.verdict == "undecided"
    assert goes_on(cut, QUESTION)
    assert len(whole_runs_only(cut).runs) == len(every) - 3
    assert not goes_on(judged(runs(12, 0.5)), QUESTION)
    assert not goes_on(msgspec.structs.replace(cut, command=("./other",)), QUESTION)


def test_a_proven_remedy_is_measured_on_until_it_says_how_much() -> None:
    assert wants_more(judged(runs(4, 0.6, noise=0.04)))
    assert not wants_more(judged(runs(9, 0.6, noise=0.001)))
    assert not wants_more(judged(runs(12, 1.0, noise=0.002)))
