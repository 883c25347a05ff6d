# SPDX-License-Identifier: Apache-2.0
"""Verdicts of planted wall times: what is proven has an effect, and a control, a witness and outputs that allow it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace
from numpy.typing import NDArray

from slowpath.core.errors import UsageError
from slowpath.slowpaths.registry import (
    PROGRAM_REMEDIES,
    REMEDIES,
    codes_helped_by,
    program_remedies_for,
)
from slowpath.stats.contrast import critical_t, half_width, interval
from slowpath.watch.proof import (
    Proof,
    ProofRun,
    ProofWitness,
    Side,
    new_proof_folder,
    proof_folders,
    proof_lines,
    write_proof,
)
from slowpath.watch.prove.candidates import (
    Candidate,
    ProgramMpi,
    by_name,
    ready,
    suggested_by,
)
from slowpath.watch.prove.judge import by_faults, concluded, order, placebo, smallest_decidable
from slowpath.watch.prove.rerun import Compared, Started
from slowpath.watch.prove.session import ProofQuestion, goes_on, new_proof, whole_runs_only
from slowpath.watch.results import WatchResults
from slowpath.watch.verdict import with_proofs
from support import watch_results
from support.watch_results import a_finding

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


def test_a_control_that_may_explain_the_effect_takes_the_proof_away() -> None:
    """A remedy of 1.9 % beside a control of 0.9 %: without the latter's move less is left than counts."""
    proof = judged(runs(40, 0.981, noise=0.001, control=0.991))
    assert proof.effect is not None
    assert proof.effect.ratio < 0.99
    assert proof.verdict == "control moved"


def test_a_failing_run_is_not_a_fast_one() -> None:
    made = (*runs(12, 0.5), run(99, 12, "remedy", 0.1, failed="exit code 1", exit_code=1))
    proof = judged(made)
    assert proof.verdict == "failed"
    assert "run 99, with the remedy: exit code 1" in proof.reason


def test_nothing_is_proven_of_nothing_in_19_of_20_cases_though_each_block_is_looked_at() -> None:
    proven = 0
    for seed in range(200):
        every = runs(25, 1.0, noise=0.02, seed=seed)
        proven += any(judged(every[: 3 * blocks]).verdict in ("proven", "slower") for blocks in range(4, 26))
    assert proven <= 10


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
        proven = sum(judged(runs(blocks, 1 / (1 + least), noise, seed=seed)).verdict == "proven" for seed in range(100))
        assert 70 <= proven <= 97, (blocks, noise)
    assert smallest_decidable(noise, 3, 0.95, 0.01) is None


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


LOOKS, REPETITIONS = 60, 1000


def normal(rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.normal(size=(LOOKS, 3))


def stalls(rng: np.random.Generator) -> NDArray[np.float64]:
    """One run in twenty takes far longer."""
    hit = rng.random((LOOKS, 3)) < 0.05
    return rng.normal(scale=0.01, size=(LOOKS, 3)) + hit * rng.exponential(size=(LOOKS, 3))


def skewed(rng: np.random.Generator) -> NDArray[np.float64]:
    return rng.exponential(size=(LOOKS, 3))


def ever_excluded(draw: Callable[[np.random.Generator], NDArray[np.float64]], effect: float) -> float:
    """Share of sequences of blocks (as it is, control, remedy) that exclude "no effect" at any of LOOKS looks."""
    rng, limits = np.random.default_rng(1), np.array([critical_t(n, 0.95) for n in range(1, LOOKS + 1)])
    count, excluded = np.arange(1, LOOKS + 1), 0
    for _ in range(REPETITIONS):
        logs = draw(rng)
        d = logs[:, 2] + effect - logs[:, :2].mean(axis=1)
        mean = np.cumsum(d) / count
        variance = (np.cumsum(d**2) - count * mean**2)[1:] / (count[1:] - 1)
        excluded += bool((np.abs(mean[1:]) > limits[1:] * np.sqrt(variance / count[1:])).any())
    return excluded / REPETITIONS


@pytest.mark.parametrize("draw", [normal, stalls, skewed])
def test_no_effect_is_excluded_at_any_look_in_one_case_of_twenty_at_most(
    draw: Callable[[np.random.Generator], NDArray[np.float64]],
) -> None:
    assert ever_excluded(draw, 0.0) <= 0.05


def test_an_effect_is_found() -> None:
    assert ever_excluded(normal, 1.5) > 0.99


def test_the_interval_is_about_the_mean_and_shrinks() -> None:
    bounds = interval([1.0, 2.0, 3.0, 4.0, 5.0], 0.95)
    assert bounds is not None
    assert (bounds.low + bounds.high) / 2 == pytest.approx(3.0)
    assert half_width(100, 1.0, 0.95) < half_width(10, 1.0, 0.95) < half_width(10, 1.0, 0.99)


PROVEN, REFUTED, OPEN = judged(runs(12, 0.9)), judged(runs(12, 1.0, noise=0.002)), judged(runs(3, 0.9))


def watched() -> WatchResults:
    remedy = watch_results.a_remedy(name="huge pages")
    finding = watch_results.a_finding(rule="SP008", prove="--remedy huge-pages", remedies=(remedy,))
    return watch_results.results(findings=(finding,))


def shown(*proofs: Proof) -> WatchResults:
    return with_proofs(watched(), proofs)


def test_a_refuted_remedy_is_said() -> None:
    results_shown = shown(REFUTED)
    assert results_shown.findings[0].status == "no effect"
    assert results_shown.findings[0].remedies[0].verdict == "no effect"


def test_what_was_not_taken_says_nothing_of_the_finding_but_stands_in_the_verdict() -> None:
    results_shown = shown(judged(runs(3, 0.9), replace(TAKEN, state="ignored")))
    assert results_shown.findings[0].status == "priced"
    assert any(sentence.startswith("Tried huge-pages: not taken") for sentence in results_shown.verdict)


def test_folders_of_proofs_are_in_order_of_their_numbers(tmp_path: Path) -> None:
    for name in ("proof-1", "proof-2", "proof-10", "proof-x"):
        (tmp_path / name).mkdir()
    write_proof(tmp_path / "proof-10", PROVEN)
    write_proof(tmp_path / "proof-2", PROVEN)
    assert [folder.name for folder in proof_folders(tmp_path)] == ["proof-2", "proof-10"]
    assert new_proof_folder(tmp_path).name == "proof-11"


FINDINGS = [a_finding(rule="SP001", prove=None, remedies=()), a_finding(rule="SP008", prove="--remedy pad-host")]


def test_first_the_first_remedy_of_each_finding_then_the_second_ones() -> None:
    keys = [remedy.key for remedy in suggested_by(FINDINGS)]
    assert keys[:2] == ["keep-freed-memory", "pad-host"]
    assert len(set(keys)) == len(keys)
    assert {"huge-pages", "keep-huge-pages", "two-copies"} <= set(keys)


@pytest.mark.parametrize("findings", [[], [a_finding(rule="SP015")]])
def test_nothing_suggested_says_what_to_do(findings: list[object]) -> None:
    with pytest.raises(UsageError, match="without code changes; name one with --remedy"):
        by_name([], findings)  # type: ignore[arg-type]


def test_what_can_not_be_tried_here_has_its_reason() -> None:
    chosen = ready(PROGRAM_REMEDIES, ["./app"], ProgramMpi("mpich", "5.0.2"), {"PATH": "/bin"}, ())
    reasons = dict(chosen.left_out)
    assert reasons["bind-cores"] == "the command can't bind ranks to a core"
    assert "keep-freed-memory" in [remedy.key for remedy in chosen.candidates]


def test_keys_are_unique_and_can_be_typed() -> None:
    keys = [remedy.key for remedy in PROGRAM_REMEDIES]
    assert len(set(keys)) == len(keys)
    assert all(key.replace("-", "").isalnum() and key.islower() for key in keys)
    assert "all" not in keys


def test_rules_and_remedies_that_it_names_exist() -> None:
    names = {remedy.name for remedy in REMEDIES}
    for remedy in PROGRAM_REMEDIES:
        assert codes_helped_by(remedy), remedy.key
        assert set(remedy.table) <= names, remedy.key


def test_the_one_that_a_finding_names_stands_first() -> None:
    assert program_remedies_for("SP001", ("pad to 2 MiB",))[0].key == "pad"
    assert program_remedies_for("SP001")[0].key == "keep-freed-memory"
