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
_ALGORITHM: Final = "an algorithm of sends, which the library could use"
_SAME_WORK: Final = "the same work, requested in another way"


@dataclass(frozen=True)
class Guideline:
    """`left` must not take longer than `right`.

    name: as findings have it, "bcast <= scatter+allgather".  collective: of engine/mockups.  mockup: what `way` is on
    the right side; None: both sides are the library's own and differ in `axis` alone, from `right` to `left`.
    source: who said so.
    """

    name: str
    collective: str
    mockup: str | None
    source: str
    axis: str = "way"
    left: str = "library"
    right: str = ""


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
_REDUCTIONS: Final = ("reduce", "allreduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan")
_WITHOUT_MESSAGE: Final = ("barrier",)
#: MPI-4.1 sections 6.3 to 6.11 and 8.6: no MPI_IN_PLACE for these.
_NEVER_IN_PLACE: Final = ("barrier", "bcast")
#: Lengths or datatypes of each block of its own: `shape` does not apply to what has a datatype a block.
_TYPES_BY_BLOCK: Final = ("alltoallw", "neighbor_alltoallw")


def _guidelines() -> Iterator[Guideline]:
    for collective in COLLECTIVES:
        for source, mockups in _MOCKUPS.get(collective, {}).items():
            for mockup in mockups:
                yield Guideline(f"{collective} <= {mockup}", collective, mockup, source, right=mockup)
        yield from _of_one_axis(collective)


def _of_one_axis(collective: str) -> Iterator[Guideline]:
    def row(source: str, axis: str, left: str, right: str, text: str) -> Guideline:
        return Guideline(f"{collective}: {text}", collective, None, source, axis, left, right)

    yield row(_SAME_WORK, "start", "blocking", "nonblocking", "blocking <= nonblocking and wait")
    yield row(_SAME_WORK, "start", "persistent", "blocking", "start of a persistent one <= blocking")
    if collective in _WITHOUT_MESSAGE:
        return
    yield row(_TGT, "message_bytes", "n", "n+m", "n <= n+m")
    if "split_2" not in _mockups_of(collective):
        yield row(_TGT, "message_bytes", "k n", "k times n", "k n <= k times n")
    if collective not in _NEVER_IN_PLACE and not collective.startswith("neighbor_"):
        yield row(_SAME_WORK, "in_place", "on", "off", "in place <= out of place")
    if collective in _REDUCTIONS:
        yield row(_SAME_WORK, "op", "sum", "user", "built-in op <= user op")
    elif collective not in _TYPES_BY_BLOCK:
        yield row(_SAME_WORK, "shape", "one_type", "elements", "one element of a contiguous type <= its elements")


def _mockups_of(collective: str) -> tuple[str, ...]:
    return tuple(name for names in _MOCKUPS.get(collective, {}).values() for name in names)


#: All of them, in the order of the collectives.
GUIDELINES: Final[tuple[Guideline, ...]] = tuple(_guidelines())
#: Collectives that the library's other calls can make, what programs call most first.
MADE_BY_OTHERS: Final = tuple(
    collective
    for collective in COMPARED
    if any(guideline.collective == collective and guideline.mockup is not None for guideline in GUIDELINES)
)
