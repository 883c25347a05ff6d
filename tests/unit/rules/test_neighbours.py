# SPDX-License-Identifier: Apache-2.0
"""Lengths next to each other, and roots: which side is named, and what is not said."""

from __future__ import annotations

from typing import Any

import pytest
from collective_plants import WORK, call
from planted_results import KIB, Planted
from plants import HALF, multiples

from slowpath.core.results import Finding
from slowpath.experiments.registry import ROLES
from slowpath.slowpaths.evaluate import findings


def found(run: Planted) -> list[Finding]:
    return findings(run.results(), ROLES)


@pytest.mark.parametrize(("granule", "words"), [(64, "64 B"), (4 * KIB, "4 KiB"), (64 * KIB, "64 KiB")])
def test_the_smallest_granule_is_named(granule: int, words: str) -> None:
    run = Planted()
    multiples(run, True, granule=granule)
    (one,) = found(run)
    assert one.about == f"multiples of {words}"
    assert f"of a multiple of {words}, are " in one.text
    assert one.kind == "fault"


def roots(collective: str, ratio: float, message_s: float = 1e-6, **also: Any) -> list[Finding]:
    run = Planted()
    for length in (8, 64 * KIB):
        first = call(run, 1e-5, collective=collective, message_bytes=length, root="first")
        last = call(run, 1e-5 * ratio, collective=collective, message_bytes=length, root="last")
        run.contrast("root", WORK, (first, "first"), (last, "last"))
        run.cells[last] |= also
        run.cell({HALF: {"steady": message_s}}, pattern="ping_pong", message_bytes=length)
    return found(run)


def test_the_last_root_is_named_where_it_is_the_slow_one() -> None:
    (one,) = roots("bcast", 1.6)
    assert (one.about, one.kind) == ("bcast, root", "fault")
    assert "whose root is the last rank is " in one.text
    assert one.ratio == pytest.approx(1.6, rel=0.05)
    assert roots("reduce", 1.1) == []
    assert roots("reduce", 0.5) == []
