# SPDX-License-Identifier: Apache-2.0
"""What any MPI should keep to: a collective is not slower than what the same library's other calls make of it. Pure.

Sources: Träff, Gropp, Thakur 2010, doi 10.1109/TPDS.2009.53; Hunold, Carpen-Amarie 2018 (PGMPITuneLib), doi
10.1145/3242661; lanes: Träff, Hunold 2020, arXiv 1910.13373.
"""

from __future__ import annotations

from dataclasses import dataclass


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


GUIDELINES: tuple[Guideline, ...] = ()
