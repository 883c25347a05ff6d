# SPDX-License-Identifier: Apache-2.0
"""A library whose broadcast of long messages is slower than its scatter and allgather, and one whose is not."""

from __future__ import annotations

from planted_results import KIB, Planted

LENGTHS = (8, KIB, 16 * KIB, 256 * KIB)
WAYS = {"library": 1.0, "scatter+allgather": 1.3, "gather+bcast": 1.6}  # over the library's own, where nothing is slow


def guideline(run: Planted, slow: bool, times: float = 3.0) -> None:
    for length in LENGTHS:
        cells = {}
        for way, factor in WAYS.items():
            lost = times if slow and way == "library" and length >= 16 * KIB else 1.0
            took = {"collective_work_s": {"steady": (1e-6 + length * 1e-9) * factor * lost}}
            more = {"pattern": "calls", "collective": "bcast", "message_bytes": length, "members": "all"}
            cells[way] = run.cell(took, experiment="coll", way=way, **more)
        for way in ("scatter+allgather", "gather+bcast"):
            sides = (cells["library"], "library"), (cells[way], way)
            run.contrast("way", "collective_work_s", *sides, usual="a")


PLANTS = {"SP036": guideline}
