# SPDX-License-Identifier: Apache-2.0
"""Rival of a late receive that costs a copy: a receive that takes as long where the message has not come yet. Pure."""

from __future__ import annotations

from slowpath.core.results import Claim
from slowpath.core.units import format_time
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.witness import sides
from slowpath.findings.rivals.judges import GONE, NOT_MADE, SURELY
from slowpath.findings.rivals.rival import Judged, RivalKind, Varied
from slowpath.findings.rule import Observation, Support
from slowpath.stats.removed_share import removed

_TOGETHER = Varied({"posted": "together"}, {})
_WORDS = "the same MPI_Recv, called when the message is sent (posted=together)"


def _judge(evidence: Evidence, seen: Observation, _: Support) -> Judged:
    """What of the excess a receive lacks that is there in time: all of it, if it comes from being late."""
    made = evidence.variation(sides(evidence, seen), (_TOGETHER.slow, _TOGETHER.fast), seen.metric, ("steady",) * 2)
    if made is None or not seen.excess_s:
        return Judged("standing", NOT_MADE.format(_WORDS))
    expected_s = [value - seen.excess_s for value in made.slow_s]
    if min(expected_s) <= 0:
        return Judged("standing", "measured again: the excess was not there to be removed")
    found = removed(made.slow_s, made.slow_varied_s, expected_s, expected_s)
    if found is None:
        return Judged("standing", "measured again: the excess was not there to be removed")
    in_time_s = format_time(sorted(made.slow_varied_s)[len(made.slow_varied_s) // 2])
    late_s = format_time(sorted(made.slow_s)[len(made.slow_s) // 2])
    line = f"MPI_Recv takes {late_s} for a message that is there already, {in_time_s} for one that is just sent"
    if found.value >= GONE and found.interval[0] >= SURELY:
        return Judged("refuted", line, (line,))
    if found.value <= 1 - GONE and found.interval[1] <= 1 - SURELY:
        return Judged("true", line, (line,))
    return Judged("standing", f"{line}: neither all nor nothing of the excess", (line,))


IN_TIME = RivalKind(
    name="slow receive",
    cause="MPI_Recv takes as long for a message that has not come yet: that it comes early costs nothing.",
    claim=Claim(time=None, side="receiver", by=None),
    experiment=_WORDS,
    judge=_judge,
    varied=_TOGETHER,
    title="Receives by MPI_Recv are slow, whether their message comes early or not",
)
