# SPDX-License-Identifier: Apache-2.0
"""Two MPIs over many cells in one line of the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.finding_results import VerdictWord
from slowpath.core.results import ContrastResult, ContrastSide, Reproduce
from slowpath.core.units import format_time
from slowpath.findings.conclude import conclude

GROUP = "openmpi against mpich: lengths"


def between(where: str, ratio: float, verdict: VerdictWord | None) -> ContrastResult:
    return ContrastResult(
        id=f"{GROUP} {where}",
        group=GROUP,
        question="?",
        axis="mpi",
        a=ContrastSide(cell=0, phase="steady", label=where, value="mpich"),
        b=ContrastSide(cell=1, phase="steady", label=where, value="openmpi"),
        where=where,
        default_side=None,
        metric="half_round_trip_latency_s",
        control=False,
        explains=False,
        minimum_effect=0.03,
        suspect=[],
        interleaved=True,
        reproduce=Reproduce(a=None, b=None),
        a_value_s=1e-6,
        b_value_s=ratio * 1e-6,
        ratio=ratio,
        interval=(ratio * 0.99, ratio * 1.01),
        verdict=verdict,
    )


def line(contrasts: Sequence[ContrastResult]) -> str:
    (only,) = conclude(contrasts, []).verdict.lines
    assert only.level == "info"
    return only.text


def test_how_often_and_where_most() -> None:
    found = [
        between("8 B", 1.5, "slower"),
        between("64 B", 2.0, "slower"),
        between("1 MiB", 0.5, "faster"),
        between("1 KiB", 1.0, "same"),
        between("2 KiB", 1.1, "undecided"),
    ]
    slow, usual, fast = (format_time(value_s) for value_s in (2e-6, 1e-6, 5e-7))
    assert line(found) == (
        "openmpi against mpich: lengths: openmpi is slower in 2 of 5, most at 64 B: 2.000x [1.980, 2.020] as "
        "long, "
        f"{slow} vs {usual}; faster in 1 of 5, most at 1 MiB: 0.5000x [0.4950, 0.5050] as long, "
        f"{fast} vs {usual}; "
        "the same within 3 % in 1 of 5; undecided in 1 of 5."
    )
