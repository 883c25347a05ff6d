# SPDX-License-Identifier: Apache-2.0
"""SP068: lengths that are multiples of a granule, and slower or faster than those next to them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from slowpath.core.cell_results import CellResult
from slowpath.core.units import format_bytes
from slowpath.findings.facts import CLEAR_RATIO, Facts, Slowdown, is_switched_out
from slowpath.findings.observed import Wording, place_key, slowdown_observed
from slowpath.findings.slow_path import Observation, SlowPath

GROUP = "neighbouring lengths"  # of the survey
LENGTH = "message_bytes"
GRANULES = (64, 4096, 65536)
MOST_APART = 1.05  # lengths of which the longer one takes as long


def observe(facts: Facts) -> Sequence[Observation]:
    """Contrasts of a length with one next to it that is a multiple of a granule."""
    groups: dict[tuple[object, ...], list[Slowdown]] = defaultdict(list)
    for neighbour in _neighbours(facts):
        groups[(_is_multiple_slow(neighbour), *place_key(neighbour.slow))].append(neighbour)
    return [_observation(facts, group) for group in groups.values()]


def _neighbours(facts: Facts) -> Iterator[Slowdown]:
    for slowdown in facts.slowdowns(LENGTH, phase="steady"):
        lengths = (_length(slowdown.slow), _length(slowdown.fast))
        near = max(lengths) <= MOST_APART * min(lengths)
        # Others would take the processor from both. Only from the slow ones: the message itself gives it away.
        calm = not is_switched_out(slowdown.fast)
        if near and calm and slowdown.ratio.least >= CLEAR_RATIO and len({_granule(length) for length in lengths}) == 2:
            yield slowdown


def _length(cell: CellResult) -> int:
    return int(cell.parameters[LENGTH])


def _granule(length: int) -> int:
    """The largest granule of which the length is a multiple; 1: of none."""
    return max((granule for granule in GRANULES if length % granule == 0), default=1)


def _is_multiple_slow(one: Slowdown) -> bool:
    return _granule(_length(one.slow)) > _granule(_length(one.fast))


def _observation(facts: Facts, group: Sequence[Slowdown]) -> Observation:
    """Of several granules the smallest speaks: multiples of the others are multiples of it."""
    slow = _is_multiple_slow(group[0])
    granule = min(max(_granule(_length(slowdown.slow)), _granule(_length(slowdown.fast))) for slowdown in group)
    multiples = f"a multiple of {format_bytes(granule)}"
    subject, reference = (f"of {multiples}", "others") if slow else (f"of no {multiples[2:]}", f"those of {multiples}")
    wording = Wording(
        f"{{size}}messages, {subject},", f"{reference} next to them", f"multiples of {format_bytes(granule)}", True
    )
    return slowdown_observed(facts, group, wording)


SLOW_PATH: SlowPath = SlowPath(
    code="SP068",
    name="multiples",
    title="Multiples of a length are slower than the lengths next to them, or faster",
    what="Multiples of 64 B, 4 KiB or 64 KiB take longer than lengths next to them, or less: 4 KiB aliasing, a copy "
    "in pieces that ends with a short one, a path for whole pages.",
    needs="Four neighbouring lengths: a multiple of 64 KiB, one of 4 KiB alone, one of 64 B alone, and one of none.",
    remedy="Send some bytes more or less than the multiple, or begin buffers at different places of their pages, "
    "and measure again.",
    observe=observe,
    cause="The library, or a cache, handles whole granules in another way.",
    hypotheses=(
        "buffers a multiple of 4 KiB apart map to the same cache sets",
        "messages of whole pages take another path",
    ),
    needs_law=False,
    kind="fault",
    probes=(GROUP,),
)
