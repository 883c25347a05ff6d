# SPDX-License-Identifier: Apache-2.0
"""SP009 is named for the library's default only where the next run will say the same."""

from __future__ import annotations

import pytest
from planted_results import KIB, MIB, Planted
from plants import ONE_WAY, transfer_s

from slowpath.experiments.registry import ROLES
from slowpath.slowpaths.evaluate import findings

LENGTHS = (64 * KIB, MIB, 16 * MIB)


def paths(**slower: float) -> Planted:
    """The default against single copy off; slower: by how much the default takes longer, `at_LENGTH`."""
    run = Planted(1)
    off = run.environment("no single copy", "single_copy_off", MPIR_CVAR_CH4_CMA_ENABLE="0")
    for length in LENGTHS:
        factor = slower.get(f"at_{length}", 1.0)
        a = run.cell({ONE_WAY: {"steady": transfer_s(length) * factor}}, message_bytes=length)
        b = run.cell({ONE_WAY: {"steady": transfer_s(length)}}, message_bytes=length, environment=off)
        run.contrast("environment", ONE_WAY, (a, "default"), (b, "no single copy"), usual="a")
    return run


@pytest.mark.parametrize(
    ("slower", "found"),
    [
        ({f"at_{16 * MIB}": 1.15}, False),
        ({f"at_{16 * MIB}": 1.15, f"at_{MIB}": 1.15}, True),
        ({f"at_{16 * MIB}": 1.6}, True),
    ],
)
def test_a_default_that_is_slower_at_one_length_has_to_be_clearly_so(slower: dict[str, float], found: bool) -> None:
    named = findings(paths(**slower).results(), ROLES)
    assert [one.rule for one in named] == (["SP009"] if found else [])
