# SPDX-License-Identifier: Apache-2.0
"""Results of trials and surveys without a launch: planted times in the form of results.json."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slowpath.stats.contrast import paired
from slowpath.stats.verdict import judge

Json = dict[str, Any]
ContrastOf = Callable[..., Json]


@pytest.fixture(scope="session")
def description() -> Json:
    """What the engine says of itself, as the planner's tests have it."""
    loaded: Json = json.loads((Path(__file__).parents[1] / "plan" / "describe.json").read_text())
    return loaded


@pytest.fixture
def contrast_of() -> ContrastOf:
    """A contrast with planted times: `b` over `a`, noise in each pair."""

    def build(group: str, a_s: float, b_s: float, pairs: int = 10, noise: float = 0.01, seed: int = 1) -> Json:
        generator = np.random.default_rng([seed, len(group)])
        shared = 1 + 0.1 * generator.standard_normal(pairs)
        a = a_s * shared * (1 + noise * generator.standard_normal(pairs))
        b = b_s * shared * (1 + noise * generator.standard_normal(pairs))
        found = paired(a, b, 0.03)
        told = judge(found, found.p)
        return {
            "group": group,
            "ratio": found.ratio,
            "interval": list(found.interval) if found.interval else None,
            "verdict": told.word,
            "reason": told.reason,
            "minimum_effect": 0.03,
            "launches": pairs,
            "pairs": [list(pair) for pair in zip(a.tolist(), b.tolist(), strict=True)],
            "a_value_s": a_s,
            "b_value_s": b_s,
            "where": "",
        }

    return build
