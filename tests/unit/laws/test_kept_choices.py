# SPDX-License-Identifier: Apache-2.0
"""A law is chosen once for the same times; any other number, law or effect is another question."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from planting import make_sweep

from slowpath.stats.laws.choose import choose
from slowpath.stats.laws.known import BY_BYTE, CONSTANT
from slowpath.stats.laws.law import Sweep

LENGTHS = np.array([1e3, 2e3, 4e3, 8e3, 16e3, 32e3])
LAWS = (CONSTANT, BY_BYTE)


def sweep(each_s: float = 1e-9) -> Sweep:
    noise = np.random.default_rng(3).normal(0, 0.01, (5, len(LENGTHS)))
    return make_sweep({"message_bytes": LENGTHS}, (2e-6 + each_s * LENGTHS) * np.exp(noise), label="x")


def test_the_same_times_are_one_question() -> None:
    first = choose(sweep(), LAWS)
    assert choose(sweep(), list(LAWS)) is first
    assert first.winner is not None
    assert first.winner.name == "bytes"


def test_another_number_law_or_effect_is_another_question() -> None:
    first, plain = choose(sweep(), LAWS), sweep()
    assert choose(sweep(2e-9), LAWS) is not first
    assert choose(plain, LAWS, 0.5) is not first
    assert choose(plain, (CONSTANT,)) is not first
    one_later = plain.launch_s.copy()
    one_later[0, 0] *= 1 + 1e-12
    changed = [
        replace(plain, launch_s=one_later),
        replace(plain, covariates={"message_bytes": LENGTHS + 1}),
        replace(plain, samples=plain.samples + 1),
        replace(plain, label="y"),
        replace(plain, cells=tuple(range(len(LENGTHS)))),
    ]
    assert len({plain.identity, *(one.identity for one in changed)}) == 1 + len(changed)
