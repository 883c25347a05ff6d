# SPDX-License-Identifier: Apache-2.0
"""The law of first messages on two real H200s (docs/results/gpu.md), out of the recorded runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from planting import KIB, MIB

from slowpath.analyse.build import build_results
from slowpath.experiments.registry import ROLES
from slowpath.findings.laws import sweeps
from slowpath.stats.laws.choose import choose
from slowpath.stats.laws.law import Sweep

RUNS = Path(__file__).parents[2] / "data" / "gpu"
Of = Callable[[str], list[Sweep]]


@pytest.fixture(scope="module")
def sweeps_of(tmp_path_factory: pytest.TempPathFactory) -> Of:
    folder = tmp_path_factory.mktemp("gpu")
    built: dict[str, list[Sweep]] = {}

    def of(name: str) -> list[Sweep]:
        if name not in built:
            shutil.unpack_archive(RUNS / f"{name}.tar.xz", folder)
            built[name] = sweeps(build_results(folder / name).cells, ROLES)
        return built[name]

    return of


def first(swept: list[Sweep], metric: str, label: str) -> Sweep:
    """The first of these, which is the one within a GPU."""
    return next(s for s in swept if (s.metric, s.phase, s.label) == (metric, "first", label))


def test_the_remainder_decides_the_granule_of_a_first_message(sweeps_of: Of) -> None:
    choice = choose(first(sweeps_of("gpu-pages"), "one_way_s", "remainder"))
    assert choice.winner is not None, choice.refused
    assert choice.winner.name == "granules"
    low, high = choice.winner.brackets
    assert low.above < 64 * KIB <= low.up_to
    assert (high.above, high.up_to) == (MIB, 2 * MIB)
    by_name = {term.name: term.value for term in choice.winner.coefficients}
    # A first message that replaces a freed buffer takes the old mapping down as well.
    assert 16e-9 < by_name["4 KiB granules"] < 30e-9
    assert 180e-9 < by_name["64 KiB granules"] < 300e-9
