# SPDX-License-Identifier: Apache-2.0
"""Outcomes as a table in Markdown."""

from __future__ import annotations

import numpy as np

from slowpath.stats.contrast import paired

from .runs import Outcome

HEAD = (
    "| program | MPI | calls imported, of them watched | kinds seen | calls | messages | matched | in MPI a rank | "
    "without a name | findings | output | unwatched | watched |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|"
)


def row(outcome: Outcome) -> str:
    """What one program showed."""
    says = outcome.says
    if says is None:
        seen = ["no record"] + [""] * 7
    else:
        matched = "" if says["matched_share"] is None else f"{says['matched_share']:.1%}"
        imported = f"{says['imported']}, {says['wrapped']}"
        seen = [imported, str(says["kinds"]), f"{says['calls']:,}", f"{says['messages']:,}", matched]
        seen += [f"{says['mpi_s']:.3f} s", f"{says['accounts'].get('no name', 0.0):.1%}"]
        seen.append(", ".join(says["findings"]) or "none")
    plain_s, watched_s = ([run.wall_s for run in runs] for runs in (outcome.plain, outcome.watched))
    cells = [
        outcome.case,
        outcome.mpi,
        *seen,
        _output(outcome),
        f"{np.median(plain_s):.2f} s",
        _ratio(watched_s, plain_s),
    ]
    return "| " + " | ".join(cells) + " |"


def _output(outcome: Outcome) -> str:
    codes = {run.code for run in outcome.plain}
    if outcome.is_equal:
        return "equal" if codes == {0} else f"equal, exit {', '.join(map(str, sorted(codes)))} in both"
    if not outcome.is_repeatable:
        return "differs between unwatched runs"
    return "DIFFERS"


def _ratio(watched_s: list[float], plain_s: list[float]) -> str:
    """Median ratio of pairs with its interval at 95 %."""
    if len(plain_s) < 3:
        return f"{np.median(np.divide(watched_s, plain_s)):.3f}x"
    found = paired(np.array(plain_s), np.array(watched_s), 0.01)
    interval = "" if found.interval is None else f" [{found.interval[0]:.3f}, {found.interval[1]:.3f}]"
    return f"{found.ratio:.3f}x{interval}"
