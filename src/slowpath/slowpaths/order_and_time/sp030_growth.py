# SPDX-License-Identifier: Apache-2.0
"""SP030: messages that take longer the more of them were sent."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.units import format_time
from slowpath.findings.evidence.evidence import Evidence, Lengthening
from slowpath.findings.evidence.observed import observed
from slowpath.findings.evidence.words import ratio_words, sizes, times_words, where_words
from slowpath.findings.observation import Observation
from slowpath.findings.slow_path import SlowPath


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Growth by the same for each message, in cells whose messages are unlike."""
    return [_observation(evidence, one) for one in evidence.lengthenings()]


def _observation(evidence: Evidence, one: Lengthening) -> Observation:
    size = f"{sizes([one.slow])} message".strip()
    low, high = (format_time(end) for end in one.interval)
    return observed(
        one,
        about="growth over a launch",
        place=evidence.place(one.cells, where_words(one.cells)),
        text=f"Each {size} takes {format_time(one.per_message_s)} [{low}, {high}] longer than the one before it. After "
        f"{one.messages} of them it takes {ratio_words(one.ratio)} as long as the first ones of a launch: "
        f"{times_words(one)}.",
        affects_default=evidence.is_default(one.slow),
        cells=tuple(cell.cell for cell in one.cells),
        slow_cells=tuple(cell.cell for cell in one.cells),
        fast_cells=(),
        evidence=(
            f"{len(one.cells)} cells agree on what each message adds, though the times of their messages lie 3 times "
            f"apart and more; by chance: p = {one.p:.1g}",
        ),
    )


SLOW_PATH = SlowPath(
    code="SP030",
    name="growth",
    title="Messages take longer the more of them were sent",
    what="A launch begins quick and becomes slower with each message. A benchmark of some thousand messages does not "
    "see what a program that runs for a day pays.",
    shows="In long series the last third of the messages takes longer than the first, in every launch, by the same for "
    "each message at short lengths and at long ones.",
    why="A list that is searched from its begin and never emptied, requests or handles that are not freed, a cache "
    "that fills up, memory that becomes fragmented.",
    needs="100 single messages and more in 3 launches or more, of two lengths whose times are 3 times apart. Both "
    "grow, with p below 0.01 over all cells, by amounts within 1.5 of each other; the shortest by a tenth over its "
    "series.",
    remedy="Free requests and datatypes, and report it: a time that grows without end is a defect of the library.",
    false_alarms="A processor that lowers its clock slows long messages by more than short ones: that is not named.",
    sources=("docs/internals/statistics.md",),
    observe=observe,
    cause="The library does more for each message, the more of them there were.",
    hypotheses=(
        "a list grows and is searched for each message",
        "requests or handles are not freed",
        "a cache fills up, or memory becomes fragmented",
    ),
    needs_law=False,
    kind="fault",
    probes=("long series",),
    depends=frozenset({"index", "time"}),
)
