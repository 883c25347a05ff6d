# SPDX-License-Identifier: Apache-2.0
"""What the trial of all proven remedies together says. Pure: results in, outcome out.

A finding *keeps* when its cell is as fast with all remedies as with its own alone, or faster; it *loses* when it is
slower; else it is undecided. Lines to copy are given for the combination that was measured, and only where none loses.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from slowpath.core.units import format_ratio, format_time
from slowpath.diagnose.combine import JOB_AXES
from slowpath.diagnose.judge import FEWEST_PAIRS
from slowpath.diagnose.records import Step
from slowpath.diagnose.together import ALONE, contrast_name
from slowpath.diagnose.trial import SIDE
from slowpath.stats.contrast import paired
from slowpath.stats.verdict import judge

Json = Mapping[str, Any]
Pairs = Sequence[tuple[float, float]]
_WORD = {"same": "keeps", "faster": "keeps", "slower": "loses"}


def outcome_of(measured: Sequence[tuple[Step, Json]]) -> dict[str, Any] | None:
    """Of the last step of this kind; None: no two remedies were tried together."""
    last = next(((step, results) for step, results in reversed(measured) if step.kind == "together"), None)
    return None if last is None else {"folder": last[0].folder, **judge_together(last[0].about, last[1])}


def judge_together(about: Json, results: Json) -> dict[str, Any]:
    """{job, findings: [{finding, rule, remedy, others, verdict, ...}], side_effects, listed, snippet, reason}.

    Args: about: as `together.design` gives it.  results: of its run.
    snippet: {shell, modulefile}, null with a `reason` where not all that was measured can be recommended.
    """
    contrasts: dict[str, list[Json]] = defaultdict(list)
    for contrast in results["contrasts"]:
        contrasts[contrast["group"]].append(contrast)
    findings = [_finding(number, case, contrasts) for number, case in enumerate(about["cases"], start=1)]
    reason = _why_not(findings)
    return {
        "job": list(about["job"]),
        "findings": findings,
        "side_effects": _side_effects(contrasts),
        "listed": list(about["listed"]),
        "snippet": about["snippet"] if reason is None else None,
        "reason": reason,
    }


def _finding(number: int, case: Json, contrasts: Mapping[str, Sequence[Json]]) -> dict[str, Any]:
    alone = contrasts.get(contrast_name(number, ALONE), ())
    links = [contrasts.get(contrast_name(number, link), ()) for link in case["links"]]
    told: dict[str, Any] = {key: case[key] for key in ("finding", "rule", "remedy", "others")}
    told |= {"ratio": None, "interval": None, "pairs": 0, "as_it_is_s": None, "alone_s": None, "together_s": None}
    times = _times(alone, links)
    if times is None:
        why = next((one["reason"] for found in (alone, *links) for one in found if one.get("reason")), None)
        return told | {"verdict": "undecided", "text": f"the run gave no pairs: {why or 'nothing was measured'}"}
    found = paired(times[:, 1], times[:, 2], alone[0]["minimum_effect"])
    word = _WORD.get(judge(found, found.p).word, "undecided") if len(times) >= FEWEST_PAIRS else "undecided"
    middle = np.median(times, axis=0)
    told |= {f"{name}_s": float(value) for name, value in zip(("as_it_is", "alone", "together"), middle, strict=True)}
    told |= {"ratio": found.ratio, "interval": list(found.interval) if found.interval else None, "pairs": len(times)}
    return told | {"verdict": word, "text": _words(told)}


def _words(told: Json) -> str:
    span = told["interval"]
    between = f" [{format_ratio(span[0])}, {format_ratio(span[1])}]" if span else ""
    times = ", ".join(format_time(told[name]) for name in ("as_it_is_s", "alone_s", "together_s"))
    others = ", ".join(f"'{name}'" for name in told["others"])
    return (
        f"'{told['remedy']}' with {others}: {format_ratio(told['ratio'])} times as long{between} as alone, "
        f"{told['pairs']} pairs; as it is, alone and together: {times}"
    )


def _times(alone: Sequence[Json], links: Sequence[Sequence[Json]]) -> Any:
    """Shape (pairs, 3), seconds: as it is, alone, together; of each side's copies in a round the faster one counts.

    None: not measured. Where a copy lacks a round the first copy stands alone.
    """
    copies = []
    for gap in alone:
        moved = _along(gap["a"]["cell"], links)
        rows = [(b, a, c) for a, b, c in _joined(gap["pairs"], moved)]
        if rows:
            copies.append(np.array(rows, dtype=np.float64))
    if not copies:
        return None
    return np.minimum.reduce(copies) if len({one.shape for one in copies}) == 1 else copies[0]


def _along(cell: int, links: Sequence[Sequence[Json]]) -> Pairs:
    """Pairs of a cell and the one at the end of the links, which lead from a cell to the next one."""
    pairs: Pairs | None = None
    for contrasts in links:
        link = next((one for one in contrasts if one["a"]["cell"] == cell), None)
        if link is None:
            return []
        here = link["pairs"]
        pairs = here if pairs is None else [(a, c) for b, a, c in _joined([(b, a) for a, b in pairs], here)]
        cell = link["b"]["cell"]
    return pairs or []


def _joined(first: Pairs, second: Pairs) -> list[tuple[float, float, float]]:
    """(common, one, other) of pairs (common, one) and (common, other): the common cell's time tells the round."""
    waiting: dict[float, deque[float]] = defaultdict(deque)
    for common, other in second:
        waiting[common].append(other)
    return [(common, one, waiting[common].popleft()) for common, one in first if waiting[common]]


def _side_effects(contrasts: Mapping[str, Sequence[Json]]) -> list[dict[str, Any]]:
    """Cells that all remedies together made slower than they were without any."""
    links = [found for link in JOB_AXES if (found := contrasts.get(f"{SIDE}: {link}"))]
    told = []
    for start in links[0] if links else ():
        pairs = _along(start["a"]["cell"], links)
        if not pairs:
            continue
        change = paired([a for a, _ in pairs], [b for _, b in pairs], start["minimum_effect"])
        if judge(change, change.p).word == "slower":
            span = list(change.interval) if change.interval else None
            told.append({"where": start["where"], "ratio": change.ratio, "interval": span, "verdict": "slower"})
    return told


def _why_not(findings: Sequence[Json]) -> str | None:
    """Why the combination is not recommended; None: it is."""
    losing = [one["rule"] for one in findings if one["verdict"] == "loses"]
    if losing:
        return f"{', '.join(losing)} would lose; set what helps most, and not all of them"
    if not any(one["verdict"] == "keeps" for one in findings):
        return "for no finding it is decided whether it keeps; more rounds would"
    return None


def words(outcome: Json) -> str:
    """One line: `keeps for SP008, SP018; loses for SP009`."""
    by_verdict = {word: [one["rule"] for one in outcome["findings"] if one["verdict"] == word]
                  for word in ("keeps", "loses", "undecided")}  # fmt: skip
    parts = [f"{word} for {', '.join(rules)}" for word, rules in by_verdict.items() if rules]
    slower = len(outcome["side_effects"])
    return "; ".join([*parts, *([f"{slower} other cells slower"] if slower else [])])
