# SPDX-License-Identifier: Apache-2.0
"""SP043: a first use that takes longer with each rank, or with each use before it."""

from __future__ import annotations

from collections.abc import Sequence

from slowpath.core.units import format_time
from slowpath.findings.evidence.evidence import Evidence
from slowpath.findings.evidence.first_uses import FirstUseGrowth
from slowpath.findings.evidence.words import parameter, ratio_words, times_words
from slowpath.findings.observation import Observation
from slowpath.findings.rivals.judges import by_design
from slowpath.findings.rivals.kinds import claim
from slowpath.findings.rivals.rival import RivalKind
from slowpath.findings.slow_path import SlowPath

_WHAT = {
    "init": "MPI_Init",
    "peer": "The first round over all peers",
    "communicator": "A communicator",
    "collective": "The first call of a collective on a communicator",
}
_NAMED = {"peer": "order", "communicator": "made_by", "collective": "collective"}
_UNIT = {"ranks": "rank", "uses": "communicator that was made before"}


def observe(evidence: Evidence) -> Sequence[Observation]:
    """Lines over the ranks, or over the uses before."""
    return [_observation(evidence, one) for one in evidence.facts(FirstUseGrowth)]


def _observation(evidence: Evidence, one: FirstUseGrowth) -> Observation:
    pattern = parameter(one.slow, "pattern")
    name = parameter(one.slow, _NAMED.get(pattern, ""))
    what = f"{_WHAT[pattern]} ({name})" if name else _WHAT[pattern]
    each = f"{format_time(one.each_s)}{_between(one)}"
    far, far_s = one.example
    predicted = "the law predicted points that it was not fitted to" if one.law.is_predicted else "a fit alone"
    return Observation(
        about=f"{pattern} {name} by {one.over}".replace("  ", " "),
        place=evidence.place(one.cells, [f"first use: {pattern}"]),
        text=f"{what} takes {each} longer for each {_UNIT[one.over]}: {times_words(one)} at {one.most:.0f} and "
        f"{one.least:.0f} {one.over}, {ratio_words(one.ratio)}. At {far:.0f} {one.over} it would take "
        f"{format_time(far_s)} (extrapolated; {predicted}).",
        metric=one.metric,
        phase="first" if one.over == "ranks" else "steady",
        ratio=one.ratio.value,
        interval=one.ratio.interval,
        excess_s=one.excess_s,
        affects_default=evidence.is_default(one.slow),
        cells=tuple(cell.cell for cell in one.cells),
        law=one.law,
        slow_cells=(one.slow.cell,),
        fast_cells=(one.fast.cell,),
    )


def _between(one: FirstUseGrowth) -> str:
    if one.each_interval is None:
        return ""
    low, high = one.each_interval
    return f" [{format_time(low)}, {format_time(high)}]"


_CHAIN = RivalKind(
    "late ranks",
    "Ranks come late, and the more there are the later the last one.",
    claim("waiting", "nothing"),
    "ranks set off by a common deadline, and a time from the last begin to the last end",
    by_design(lambda _, __: True, "times run from the last rank's begin to the last rank's end", ""),
)

SLOW_PATH = SlowPath(
    code="SP043",
    name="first use by peers",
    title="A first use takes longer with each rank, or with each one before it",
    what="Connecting to peers, agreeing on a communicator and the first call of a collective are paid for once, by "
    "ranks that wait for one another.",
    shows="The time of MPI_Init, of a first round over all peers, of a communicator or of a first collective is a line "
    "over the number of ranks, or over the communicators that were made before.",
    why="Ranks that meet their peers in ascending order make a chain: each pair waits for the pairs in front of it. A "
    "library that agrees on a number for each new communicator tries one after the other.",
    needs="The experiment first_use with five numbers of ranks or more, each rank on a core of its own, or forty "
    "communicators in a row: law 'each', which predicts numbers that it was not fitted to.",
    remedy="Meet peers in an order of pairs (rank xor k), connect while nothing waits for it, make communicators once "
    "and keep them.",
    false_alarms="More ranks than cores measure the scheduler: they are left out. A line over five numbers of ranks is "
    "not yet one over a thousand: what is predicted there is marked as extrapolated.",
    sources=("meta-pytorch/torchcomms issue 3627", "open-mpi/ompi issue 3368", "docs/how-to/first-use.md"),
    observe=observe,
    cause="Each rank, or each use before, adds the same to a first use.",
    hypotheses=(
        "ranks connect one after the other, in a chain",
        "the library's agreement takes a step for each rank or communicator",
        "a list of the library is searched",
    ),
    out_of_reach="What ten thousand ranks do needs ten thousand ranks.",
    kind="property",
    claim=claim(None, "nothing"),
    rivals=(_CHAIN,),
    probes=(
        "peers, ascending",
        "peers, xor",
    ),
    depends=frozenset({"use", "rank"}),
)
