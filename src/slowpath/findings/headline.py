# SPDX-License-Identifier: Apache-2.0
"""The headline: what to do first, and what it rests on. Pure: findings in, one sentence out.

"Use" stands for a remedy that a trial proved, "Try" for any other. Lengths are those of cells in which it was decided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowpath.core.cell_results import CellResult
from slowpath.core.results import ContrastResult, Finding
from slowpath.core.units import format_bytes, ratio_words

_THINGS = {"time_per_put_s": "puts", "receive_s": "receives", "ipc_open_s": "openings of a handle"}
_THINGS |= {"window_use_s": "windows", "shared_window_use_s": "windows"}
# Which collective, in what way and on how many ranks: the finding's own sentence says it.
_SAY_ALL = ("collective_work_s", "collective_span_s", "collective_own_s")
_DECIDED = ("faster", "slower")
Cells = Mapping[int, CellResult]


def advice(finding: Finding, contrasts: Sequence[ContrastResult], cells: Cells) -> str:
    """`Try huge pages for messages >= 1 MiB: 3.24x [3.10, 3.40] on 16 MiB messages`; the slow path where nothing helps.

    Args: cells: of the run whose contrasts these are; a finding of another run is named without lengths.
    """
    if finding.run is not None:
        contrasts, cells = (), {}
    remedy = finding.lead
    if finding.ratio is None or finding.metric in _SAY_ALL:
        said = finding.text.rstrip(".")
        proven = remedy is not None and remedy.verdict == "proven"
        return f"Use {remedy.phrase or remedy.name}: {said[0].lower()}{said[1:]}" if remedy and proven else said
    gain = f"{ratio_words(finding.ratio, finding.interval)}{_on(finding, cells)}"
    if remedy is None:
        return f"{finding.title}: {gain}"
    if remedy.verdict != "proven" and not (finding.contrasts or finding.phase == "first"):
        # Nothing was compared that the remedy is about, so the ratio is no gain of it.
        return f"{finding.title}: {gain}; try {remedy.phrase or remedy.name}"
    proven = remedy.verdict == "proven"
    share = f"; removes {remedy.removed_ratio.value:.0%}" if proven and remedy.removed_ratio else ""
    word = "Use" if proven else "Try"
    return f"{word} {remedy.phrase or remedy.name}{_scope(finding, contrasts, cells)}: {gain}{share}"


def _on(finding: Finding, cells: Cells) -> str:
    """` on 16 MiB messages`: what the ratio was measured on; empty where it has no length."""
    length = _length(finding.slow_cells[0], cells) if finding.slow_cells else None
    if length is None:
        return ""
    if finding.phase == "first" and finding.metric not in _THINGS:
        return f" on the first {format_bytes(length)} message"
    return f" on {format_bytes(length)} {_things(finding)}"


def _scope(finding: Finding, contrasts: Sequence[ContrastResult], cells: Cells) -> str:
    """` for messages >= 1 MiB`: from the least length on at which, and beyond which, every contrast was decided so.

    Empty where fewer than two lengths were decided: one length is no limit.
    """
    own = set(finding.contrasts)
    mine = [contrast for contrast in contrasts if contrast.id in own and contrast.metric == finding.metric]
    kinds = {_kind(one) for one in mine}
    lengths: dict[int, bool] = {}
    for contrast in contrasts:
        length = _length(contrast.b.cell, cells)
        if _kind(contrast) in kinds and contrast.verdict is not None and length is not None:
            lengths[length] = lengths.get(length, True) and contrast.id in own and contrast.verdict in _DECIDED
    decided: list[int] = []
    for length in sorted(lengths, reverse=True):
        if not lengths[length]:
            break
        decided.append(length)
    return f" for {_things(finding)} >= {format_bytes(decided[-1])}" if len(decided) > 1 else ""


def _kind(contrast: ContrastResult) -> tuple[str, str, str, str, str]:
    return contrast.group, contrast.a.value, contrast.b.value, contrast.metric, contrast.a.phase


def _things(finding: Finding) -> str:
    return _THINGS.get(finding.metric, "messages")


def _length(cell: int, cells: Cells) -> int | None:
    parameters = cells[cell].parameters if cell in cells else {}
    name = "window_bytes" if "window" in parameters.get("pattern", "") else "message_bytes"
    text = parameters.get(name, "")
    return int(text) if text.isdecimal() else None
