# SPDX-License-Identifier: Apache-2.0
"""What any MPI should keep to: a collective is not slower than what the same library's other calls make of it. Pure.

Sources: Träff, Gropp, Thakur 2010, doi 10.1109/TPDS.2009.53; Hunold, Carpen-Amarie 2018 (PGMPITuneLib), doi
10.1145/3242661; lanes: Träff, Hunold 2020, arXiv 1910.13373.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_TGT: Final = "Träff, Gropp, Thakur 2010, doi 10.1109/TPDS.2009.53"
_OF_THE_KIND: Final = "of the same kind, without a source"
_ALGORITHM: Final = "an algorithm of sends"
_SAME_WORK: Final = "the same work, requested in another way"


@dataclass(frozen=True)
class Guideline:
    """`left` must not take longer than `right`.

    name: as findings have it, "bcast <= scatter+allgather".  collective: of engine/mockups.  mockup: what `way` is on
    the right side.  source: who said so.
    """

    name: str
    collective: str
    mockup: str
    source: str


#: Collectives that are compared with equivalents, what programs call most first.
COMPARED: Final = (
    "allreduce",
    "bcast",
    "allgather",
    "alltoall",
    "reduce",
    "reduce_scatter_block",
    "gather",
    "scatter",
    "scan",
    "exscan",
    "allgatherv",
    "alltoallv",
    "gatherv",
    "scatterv",
    "reduce_scatter",
)

#: Each mock-up of engine/mockups but `nonblocking`, which is a value of `start`, by the source of its guideline.
_MOCKUPS: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "barrier": {_OF_THE_KIND: ("allreduce",), _ALGORITHM: ("dissemination",)},
    "bcast": {
        _TGT: ("allgatherv", "scatter+allgather", "padded", "split_2", "split_8"),
        _OF_THE_KIND: ("scatterv+allgatherv",),
        _ALGORITHM: ("circulant",),
        _SAME_WORK: ("bytes",),
    },
    "gather": {_TGT: ("allgather", "gatherv", "reduce")},
    "scatter": {_TGT: ("bcast", "scatterv")},
    "allgather": {_TGT: ("allgatherv", "allreduce", "alltoall", "gather+bcast"), _ALGORITHM: ("circulant",)},
    "alltoall": {_TGT: ("alltoallv",), _ALGORITHM: ("sendrecv",), _SAME_WORK: ("copy+alltoall",)},
    "reduce": {
        _TGT: (
            *("allreduce", "reduce_scatter_block+gather", "reduce_scatter+gatherv", "reduce_scatter"),
            *("split_2", "split_8"),
        )
    },
    "allreduce": {
        _TGT: (
            *("reduce+bcast", "reduce_scatter_block+allgather", "reduce_scatter+allgatherv"),
            *("padded", "split_2", "split_8"),
        ),
        _ALGORITHM: ("allgather+reduce_local",),
    },
    "reduce_scatter_block": {_TGT: ("reduce+scatter", "reduce_scatter", "allreduce")},
    "reduce_scatter": {_TGT: ("allreduce", "reduce+scatterv")},
    "scan": {_TGT: ("exscan+reduce_local",), _OF_THE_KIND: ("allgather+reduce_local",), _ALGORITHM: ("doubling",)},
    "exscan": {_ALGORITHM: ("allgather+reduce_local", "doubling")},
}
#: Every collective, as `collective` of the experiment has it.
COLLECTIVES: Final = (
    *("barrier", "bcast", "gather", "gatherv", "scatter", "scatterv", "allgather", "allgatherv"),
    *("alltoall", "alltoallv", "alltoallw"),
    *("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"),
    *("neighbor_allgather", "neighbor_allgatherv"),
    *("neighbor_alltoall", "neighbor_alltoallv", "neighbor_alltoallw"),
)


def _guidelines() -> Iterator[Guideline]:
    for collective in COLLECTIVES:
        for source, mockups in _MOCKUPS.get(collective, {}).items():
            for mockup in mockups:
                yield Guideline(f"{collective} <= {mockup}", collective, mockup, source)


#: All of them, in the order of the collectives.
GUIDELINES: Final[tuple[Guideline, ...]] = tuple(_guidelines())
#: Collectives that the library's other calls can make, what programs call most first.
MADE_BY_OTHERS: Final = tuple(
    collective for collective in COMPARED if any(guideline.collective == collective for guideline in GUIDELINES)
)
