# SPDX-License-Identifier: Apache-2.0
"""A collective that takes longer than what the library's other calls make of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from slowpath.findings.evidence.evidence import Difference

WAY, SPLIT = "way", "message_bytes"
LEAST = 1.05  # less is not worth another way


@dataclass(frozen=True, kw_only=True)
class Violation(Difference):
    """One collective, one other way, and the lengths at which the collective takes longer.

    slow, fast, slow_s, fast_s: at the length that the choosing launches show to lose most.  ratio: over all lengths of
    `ranges`, geometric mean, of the launches that prove.  p: the largest of these lengths, corrected for all that were
    tested.

    left, right: values of `axis` on the slow and on the fast side; right is the mock-up's name where the axis is WAY,
    where it is SPLIT the bytes of one piece.  ranges: [first, last] of neighbouring lengths, bytes; () where the
    collective has no length.  ranks: that call it; None: not recorded.
    rivals: other ways that were measured.  chose, proved: launches.  cells: all that it rests on.
    """

    collective: str
    axis: str
    left: str
    right: str
    ranges: tuple[tuple[int, int], ...]
    ranks: int | None
    p: float
    rivals: int
    chose: int
    proved: int
    cells: tuple[int, ...]
    contrasts: tuple[str, ...]
